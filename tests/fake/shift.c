/* shift.c: in the handshake of every server one reply has an element too few or too many, or is
 * missing, or comes behind another one that nobody asked for: at each place, of each type of RESP.
 * No lock behind it is told another's answer (R4 R8). */
#include "fixture.h"

#include "../shifts.h"

enum { LOCKS = 3, SLOW_TIMEOUT = 2000 };

static const char *const kind_text[SHIFTS] = {"no fault", "an element too few",
                                              "an element too many", "a reply too many",
                                              "a reply missing"};

/* Where the fault is: in which reply of a connection, at which of its elements, with which text. */
static struct {
  enum shift kind;
  int reply, element, text;
  int asked, reached; /* there is such a reply, and such a place in it */
} fault;

static void do_wrong(struct fake *f, const struct fake_connection *c, struct reply *r) {
  enum fake_kind kind = f->log[f->logged - 1].kind;
  if (c->replies != fault.reply || kind <= FAKE_EXTEND) return;
  fault.asked = 1;
  if (shift_reply(r, fault.kind, fault.element, shift_texts[fault.text],
                  kind == FAKE_PROOF || kind == FAKE_INFO))
    fault.reached = 1;
}

/* What kinds of servers there are, and what they are asked. */
struct manner {
  const char *name;
  int refuses_hello, refuses_tracking, password, max_ttl;
  int64_t gap_ms; /* between two bytes, so that much is sent before all of it has come */
};

static const struct manner manners[] = {
  {"all optional", 0, 0, 0, 0, 0},  {"tracking refused", 0, 1, 0, 0, 0},
  {"an old server", 1, 1, 0, 0, 0}, {"a password", 0, 0, 1, 0, 0},
  {"max_ttl_ms", 0, 0, 0, 1, 0},    {"a password, slow", 0, 0, 1, 0, 1},
  {"max_ttl_ms, slow", 0, 0, 0, 1, 1}
};
enum { MANNERS = sizeof manners / sizeof *manners };

static redlock_lock locks[LOCKS];

static void begin(const struct manner *m) {
  prepare(3);
  options.server_timeout_ms = SLOW_TIMEOUT;
  options.max_ttl_ms = m->max_ttl ? 60000 : 0;
  options.password = m->password ? "secret" : NULL;
  SET_SERVERS(0, 2, store.refuse_hello, m->refuses_hello);
  SET_SERVERS(0, 2, store.refuse_tracking, m->refuses_tracking);
  SET_SERVERS(0, 2, store.password, options.password);
  SET_SERVERS(0, 2, gap_ms, m->gap_ms);
  memset(locks, 0, sizeof locks);
  fault.reached = 0;
  fake.on_reply = do_wrong;
  occupy(0, 2, "many0", 60000); /* it is another's; the next is free; the third another's too */
  occupy(0, 2, "many2", 60000);
  ready();
}

/* Whether the server has given that answer to the lock's SET. */
static int was_answered(int server, int i, const char *signs) {
  const struct fake_command *c;
  int k;
  for (k = 0; (c = fake_nth(&fake, server, FAKE_SET, k)) != NULL; k++)
    if (fake_text_is(&c->key, arg_of(numbered(i))) && fake_answer_is(c, signs)) return 1;
  return 0;
}

static int is_told_the_truth(int i) {
  int server, true_votes = 1;
  for (server = 0; server < 3; server++) {
    redlock_vote vote = locks[i].votes[server];
    if (vote == REDLOCK_VOTE_YES) true_votes &= was_answered(server, i, "+");
    if (vote == REDLOCK_VOTE_TAKEN) true_votes &= was_answered(server, i, "_$");
  }
  return true_votes && (i == 1 || redlock_remaining_ms(&rl, &locks[i]) == 0);
}

/* Whether there is such a place. */
static int try_fault(const struct manner *m, int count) {
  int i, all_true = 1;
  begin(m);
  for (i = 0; i < count; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &locks[i], numbered(i), 60000, 0), REDLOCK_PENDING);
  run_for(SLOW_TIMEOUT + 100);
  for (i = 0; i < count; i++) all_true &= is_told_the_truth(i);
  if (!CHECK(all_true))
    printf("    %s: reply %d, element %d: %s: %.*s\n", m->name, fault.reply, fault.element,
           kind_text[fault.kind], (int)strcspn(shift_texts[fault.text], "\r"),
           shift_texts[fault.text]);
  end();
  return fault.reached;
}

/* With each text that may be put there; whether there is such a place. */
static int try_texts(const struct manner *m, int count) {
  int texts = fault.kind == SHIFT_TOO_FEW || fault.kind == SHIFT_MISSING ? 1
              : m->gap_ms || count < LOCKS                  ? SHIFT_FEW
                                                            : SHIFT_TEXTS;
  for (fault.text = 0; fault.text < texts; fault.text++)
    if (!try_fault(m, count)) return 0;
  return 1;
}

/* At each element of each reply of the handshake. */
static void try_places(const struct manner *m, int count) {
  int within = fault.kind == SHIFT_TOO_FEW || fault.kind == SHIFT_TOO_MANY;
  fault.reply = 0;
  do {
    fault.asked = fault.element = 0;
    while (try_texts(m, count) && within) fault.element++;
  } while (fault.asked && ++fault.reply);
  CHECK(fault.reply >= 3);
}

static void try_all(enum shift kind) {
  int i, count;
  fault.kind = kind;
  for (i = 0; i < MANNERS; i++)
    for (count = 2; count <= LOCKS; count++) try_places(&manners[i], count);
}

TEST(true_replies_are_votes) {
  int i;
  fault.kind = SHIFT_NONE;
  fault.reply = 0;
  for (i = 0; i < MANNERS; i++) {
    CHECK(try_fault(&manners[i], LOCKS));
    CHECK_EQ(locks[0].status, REDLOCK_TAKEN);
    CHECK_EQ(locks[1].status, REDLOCK_OK);
    CHECK_EQ(locks[2].status, REDLOCK_TAKEN);
  }
}

TEST(an_element_too_few_tells_no_lock_anothers_answer) { try_all(SHIFT_TOO_FEW); }
TEST(an_element_too_many_tells_no_lock_anothers_answer) { try_all(SHIFT_TOO_MANY); }
TEST(a_reply_too_many_tells_no_lock_anothers_answer) { try_all(SHIFT_ONE_MORE); }
TEST(a_missing_reply_tells_no_lock_anothers_answer) { try_all(SHIFT_MISSING); }
