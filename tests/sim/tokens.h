/* tokens.h: invariant 7. Two grants of one resource have different tokens, and of two, one of which
 * was returned before the other's value was even drawn, the later has the greater one. It asks
 * for nothing else: not whether the lock was held, nor what any clock shows. */
#ifndef SIM_TOKENS_H
#define SIM_TOKENS_H

enum { TOKEN_PLACES = 1 << 20, MAX_GRANTS = 1 << 18 };

/* What was returned: when, and the greatest token by then. */
struct handed {
  ns at;
  uint64_t most;
};

static struct {
  struct handed *handed[MAX_RESOURCES];
  long count[MAX_RESOURCES];
  uint64_t *place;                /* all tokens of this run, by hashing; 0 = none */
  uint32_t *run, runs;            /* in which run each place was filled */
} tokens;

static inline void tokens_reset(void) {
  tokens.runs++;
  memset(tokens.count, 0, sizeof tokens.count);
}

/* 0 = this resource has had it before. */
static inline int token_is_new(int resource, uint64_t token) {
  uint64_t key = token * MAX_RESOURCES + (unsigned)resource, x = key;
  uint32_t at;
  if (!tokens.place) {
    tokens.place = (uint64_t *)room_for(TOKEN_PLACES * sizeof *tokens.place);
    tokens.run = (uint32_t *)room_for(TOKEN_PLACES * sizeof *tokens.run);
  }
  for (at = (uint32_t)splitmix(&x) % TOKEN_PLACES; tokens.run[at] == tokens.runs;
       at = (at + 1) % TOKEN_PLACES)
    if (tokens.place[at] == key) return 0;
  tokens.place[at] = key;
  tokens.run[at] = tokens.runs;
  return 1;
}

/* The greatest token that was returned before then. */
static inline uint64_t most_before(int resource, ns when) {
  const struct handed *h = tokens.handed[resource];
  long n = tokens.count[resource];
  while (n > 0 && h[n - 1].at >= when) n--;
  return n ? h[n - 1].most : 0;
}

static inline void token_note(int resource, uint64_t token) {
  struct handed *h = tokens.handed[resource];
  long n = tokens.count[resource];
  uint64_t most = most_before(resource, NEVER);
  if (n == MAX_GRANTS) return;
  if (!h) {
    h = (struct handed *)room_for(MAX_GRANTS * sizeof *h);
    tokens.handed[resource] = h;
  }
  h[n].at = W.now;
  h[n].most = token > most ? token : most;
  tokens.count[resource] = n + 1;
}

/* A token was granted just now, to someone who asked for it then. client -1 = a stranger */
static inline void check_order(int client, int slot, int resource, uint64_t token, ns asked) {
  uint64_t most = most_before(resource, asked);
  if (!token_is_new(resource, token))
    violation("invariant 7: client %d slot %d has token %llu, which resource %d has had before",
              client, slot, (unsigned long long)token, resource);
  if (token < most)
    violation("invariant 7: client %d slot %d has token %llu of resource %d, and %llu was handed "
              "back before it was asked for", client, slot, (unsigned long long)token, resource,
              (unsigned long long)most);
  token_note(resource, token);
}

/* A lock was granted just now. */
static inline void check_token(struct slot *s, long value) {
  uint64_t token = s->lock.token;
  s->token = token;
  if (!W.cfg.fenced || token == 0) {
    if (W.cfg.fenced || token)
      slot_fails(s, "invariant 7", "is granted resource %d with token %llu", s->resource,
                 (unsigned long long)token);
    return;
  }
  T->tokens++;
  T->broken_tokens += (unsigned)W.cfg.broken;
  check_order(s->client, s->index, s->resource, token, value < 0 ? 0 : W.value[value].drawn);
}

#endif
