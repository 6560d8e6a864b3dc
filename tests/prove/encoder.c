/* encoder.c: what leaves in pieces is what would leave at once, and every command is RESP. */
#include "inside.h"

/* BYTEWISE: constants stay known through copies. SIZES_ONLY: nothing is copied, but all of it could
   be. */
#ifdef BYTEWISE
void *memcpy(void *to, const void *from, size_t size) {
  size_t i;
  for (i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
#elif defined(SIZES_ONLY)
void *memcpy(void *to, const void *from, size_t size) {
  prove(size == 0 || (__CPROVER_w_ok(to, size) && __CPROVER_r_ok(from, size)));
  return to;
}
#endif

/* By induction over the words of a message. `total` of its bytes have been put through a window of
   `room` bytes that begins `skip` bytes into the message: what the writer then says follows from
   these three alone. One more word of up to N bytes, through any window, leaves it so, and lands
   where it belongs. So for every message, cut anywhere, any number of times. */
#ifndef N
#define N 6
#endif

static size_t bytes_kept(size_t total, size_t skip, size_t room) {
  size_t behind = total < skip ? 0 : total - skip;
  return behind < room ? behind : room;
}

static int stands(const rl_writer *w, char *window, size_t total, size_t skip, size_t room) {
  size_t kept = bytes_kept(total, skip, room);
  return w->total == total && w->skip == (total < skip ? skip - total : 0) &&
         w->room == room - kept && w->at == window + kept;
}

void a_word_goes_through_any_window(void) { /* R12 */
  char window[2 * N], word[N], old;
  size_t total = any(size), skip = any(size), room = any(size), size = any(size);
  size_t place = any(size), before, after;
  rl_writer w;
  given(room <= sizeof window && size <= N && total <= SIZE_MAX / 2 && skip <= SIZE_MAX / 2);
  before = bytes_kept(total, skip, room);
  w.at = window + before;
  w.skip = total < skip ? skip - total : 0;
  w.room = room - before;
  w.total = total;
  prove(stands(&w, window, total, skip, room));
  given(place < room);
  old = window[place];
  rl_put(&w, word, size);
  prove(stands(&w, window, total + size, skip, room));
  after = bytes_kept(total + size, skip, room);
  if (place < before || place >= after) prove(window[place] == old);
  else prove(window[place] == word[skip + place - total]);
  reaches(skip > total && after == room && room > 1 && skip + room < total + size);
}

/* The command of a lock: an acquire, adoption, extension or release, fenced or not. */
static redlock rl;
static redlock_lock lock;
static rl_command first;

static rl_command *encoded(uint8_t kind) {
  rl.server_count = rl.quorum = 1;
  rl.server_end = rl.server + 1;
  rl.ring = &first;
  rl_init_lists(&rl);
  return rl_append_command(&rl, &lock, kind, 1);
}

/* R7, R28: resource, value, age and the value that is to be replaced find room in a command,
   whatever they are. */
void the_longest_command_fits(void) {
  rl_command *c;
  uint8_t kind = any(u8);
  given(kind <= RL_TASK_RELEASE);
  lock.adopts = any(u8) & 1;
  lock.tracks = any(u8);
  lock.resource_size = any(u16);
  given(lock.resource_size >= 1 && lock.resource_size <= REDLOCK_MAX_RESOURCE);
  if (lock.adopts) given(lock.resource_size + RL_VALUE_BYTES <= REDLOCK_MAX_RESOURCE);
  lock.round_ttl_ms = any(u32);
  lock.longest_ttl_ms = any(u32);
  rl.options.fencing = any(u32);
  rl.options.max_ttl_ms = UINT32_MAX; /* the longest to write */
  rl.server[0].clock_offset_us = any(u64);
  rl.last_token = any(u64);
  c = encoded(kind);
  prove(c->args_size + (lock.adopts ? RL_VALUE_BYTES : 0) <= sizeof c->args);
  reaches(c->args_size == sizeof c->args);
  reaches(lock.adopts && lock.resource_size + RL_VALUE_BYTES == REDLOCK_MAX_RESOURCE);
}

/* Reads one command as a plain reader of RESP: "*" tells how many words there are, and each "$" how
   long the next one is. Returns where it ends; 0 = malformed. */
static size_t end_of_command(const char *at, size_t size, int *words) {
  size_t i = 4;
  int k;
  if (size < 5 || at[0] != '*') return 0;
  *words = at[1] - '0';
  if (at[2] != '\r') { /* two digits */
    *words = 10 * *words + at[2] - '0';
    i++;
  }
  if (at[i - 2] != '\r' || at[i - 1] != '\n') return 0;
  for (k = 0; k < *words; k++) {
    size_t length = 0;
    if (i >= size || at[i++] != '$') return 0;
    while (i < size && at[i] >= '0' && at[i] <= '9') length = length * 10 + (size_t)(at[i++] - '0');
    if (size - i < length + 4 || at[i++] != '\r' || at[i++] != '\n') return 0;
    i += length;
    if (at[i++] != '\r' || at[i++] != '\n') return 0;
  }
  return i;
}

/* The sort of command is given at compile time; resource and value are any bytes. */
#ifndef KIND
#define KIND RL_TASK_SET
#endif
#ifndef FENCED
#define FENCED 0
#endif
#ifndef ARMED
#define ARMED 0
#endif
#ifndef ADOPTS
#define ADOPTS 0
#endif
#ifndef FORM
#define FORM RL_RELEASE_SCRIPT
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef WORDS
#define WORDS 6
#endif
void a_command_reads_back(void) {
  char message[700];
  rl_writer w = {message, 0, sizeof message, 0};
  rl_server s = {.bit = 1};
  rl_command *c;
  int words = 0, i;
  for (i = 0; i < REDLOCK_MAX_RESOURCE; i++) lock.resource[i] = any(char);
  for (i = 0; i < RL_VALUE_BYTES; i++) lock.value[i] = any(char);
  lock.resource_size = 12;
  lock.tracks = ARMED;
  lock.adopts = ADOPTS;
  lock.longest_ttl_ms = lock.round_ttl_ms = UINT32_MAX;
  rl.options.fencing = FENCED;
  rl.options.max_ttl_ms = UINT32_MAX;
  c = encoded(KIND);
  c->token = UINT64_MAX;
  s.release_form = FORM;
  if (RESTORES) c->sets_at = s.bit;
  rl_put_command(&w, &rl, c, rl_form_for(c, &s));
  prove(w.total <= sizeof message);
  prove(end_of_command(message, w.total, &words) == w.total && words == WORDS);
  for (i = 0; ADOPTS && i < RL_VALUE_BYTES; i++) /* its last word */
    prove(message[w.total - 22 + (size_t)i] == lock.resource[RL_REPLACED_AT + i]);
  reaches(message[0] == '*');
}

/* The handshake has as many commands as it says that there will be replies (R8). */
#ifdef URL
#define ENTRY "redis://user:pass%20word@host:1/7"
#define MAX_TTL 60000
#else
#define ENTRY "host"
#define MAX_TTL 0
#endif
void a_handshake_reads_back(void) {
  static char message[700];
  rl_server *s = rl.server;
  rl_writer w = {message, 0, sizeof message, 0};
  size_t at = 0, end;
  int words, replies = 0, said;
  s->entry = ENTRY;
  rl.options.username = rl.options.password = ""; /* as the client begins */
  rl.options.max_ttl_ms = MAX_TTL;
  said = rl_put_handshake(&rl, s, &w);
  prove(w.total <= sizeof message);
  while (at < w.total && (end = end_of_command(message + at, w.total - at, &words)) != 0) {
    at += end;
    replies++;
  }
  prove(at == w.total && replies == said);
  reaches(said >= 2);
}
