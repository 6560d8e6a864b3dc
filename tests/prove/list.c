/* list.c: the list of servers: every string of up to N bytes behind PREFIX, in an object that ends
   with it, so that one byte read too far is seen. */
#include "inside.h"
#ifndef N
#define N 8
#endif
#ifdef URL
#define PREFIX "redis://"
#else
#define PREFIX ""
#endif

enum { PREFIX_BYTES = sizeof PREFIX - 1, LIST_BYTES = PREFIX_BYTES + N };

static void any_list(char list[LIST_BYTES + 1]) {
  int i;
  memcpy(list, PREFIX, PREFIX_BYTES);
  for (i = PREFIX_BYTES; i < LIST_BYTES; i++) list[i] = any(char);
  list[LIST_BYTES] = 0;
}

static int is_within(rl_span t, const char *list) {
  return t.size == 0 || (t.at >= list && t.at + t.size <= list + LIST_BYTES);
}

void an_entry_is_taken_apart(void) {
  char list[LIST_BYTES + 1];
  rl_endpoint t;
  size_t i;
  any_list(list);
  if (!rl_parse_entry(list, &t)) return;
  prove(t.host.size >= 1 && t.host.size < RL_HOST_BYTES && is_within(t.host, list));
  prove(is_within(t.user, list) && is_within(t.password, list));
  prove(t.port <= 65535 && t.database < 1000000);
  prove(t.port != 0 || *t.host.at == '/');
  for (i = 0; i < t.host.size; i++) prove(!strchr(" ,\t\r\n", t.host.at[i]));
  reaches(t.host.size == 1 && t.port == 65);
#ifdef URL
  reaches(t.user.size && t.password.size);
  reaches(t.database == 7);
#else
  reaches(*t.host.at == '/');
  reaches(*list == '[');
#endif
}

/* A word of a URL that was found good is decoded without reading on, and its "$n" is right. */
void a_secret_is_decoded(void) {
  char list[N + 2], out[N + 40];
  rl_writer w = {out, 0, sizeof out, 0};
  size_t i, size = any(size);
  rl_endpoint parts;
  given(size >= 1 && size <= N);
  for (i = 0; i < N; i++) list[i] = any(char);
  for (i = 0; i < size; i++) given(list[i] != 0);
  list[size] = '@'; /* what stands behind it */
  list[size + 1] = 0;
  memset(&parts, 0, sizeof parts);
  if (!rl_parse_userinfo(list, list + size, &parts) || parts.user.size != size) return;
  rl_put_bulk_decoded(&w, list, size);
  prove(w.room == sizeof out - w.total && w.total >= 7);
  prove(out[0] == '$' && out[2] == '\r' && out[w.total - 1] == '\n');
  prove(w.total == 4u + (size_t)(out[1] - '0') + 2u);
  reaches(size == 4 && out[1] == '2');
}

/* redlock_init with any list: a client that keeps its word, or INVALID, or SYSTEM. */
static int64_t reading(void *ctx) { (void)ctx; return any(i64); }

void a_client_begins_or_is_refused(void) { /* R5 */
  static redlock_io io;
  static redlock rl;
  static redlock_options o;
  char list[LIST_BYTES + 1];
  redlock_status status;
  any_list(list);
  o.io = &io;
  o.now_ms = reading;
  status = redlock_init(&rl, list, &o);
  prove(status == REDLOCK_OK || status == REDLOCK_INVALID || status == REDLOCK_SYSTEM);
  prove((status == REDLOCK_OK) == rl_is_initialised(&rl));
  reaches(status == REDLOCK_SYSTEM);
  reaches(status == REDLOCK_OK && rl.server_count == 2);
  if (status != REDLOCK_OK) return;
  prove(rl.server_count >= 1 && rl.server_count <= REDLOCK_MAX_SERVERS);
  prove(rl.quorum == rl.server_count / 2 + 1);
  prove(rl.server_end == rl.server + rl.server_count && rl.now_ms >= 0);
}

/* redlock_start_adopt with any name of up to N bytes: it starts, or is refused; and the value that
   it is given stands behind the name. */
void an_adoption_begins_or_is_refused(void) { /* R28 */
  static redlock_io io;
  static redlock rl;
  static redlock_options o;
  static redlock_lock lock;
  char name[N + 1], value[RL_VALUE_BYTES];
  size_t size = any(size), k = any(size);
  redlock_status status;
  int i;
  given(size <= N && k < RL_VALUE_BYTES);
  for (i = 0; i < N; i++) name[i] = any(char);
  for (i = 0; i < (int)size; i++) given(name[i] != 0);
  name[size] = 0;
  o.io = &io;
  o.now_ms = reading;
  if (redlock_init(&rl, "a", &o) != REDLOCK_OK) return;
  status = redlock_start_adopt(&rl, &lock, name, 10000, value);
  reaches(status == REDLOCK_PENDING);
  reaches(status == REDLOCK_INVALID && size == N);
  if (size == 0 || size + RL_VALUE_BYTES > REDLOCK_MAX_RESOURCE) prove(status == REDLOCK_INVALID);
  else prove(status == REDLOCK_PENDING || status == REDLOCK_SYSTEM);
  if (status != REDLOCK_PENDING) return;
  prove(lock.adopts && lock.resource_size == size && lock.phase == RL_PHASE_QUEUED);
  prove(lock.resource[RL_REPLACED_AT + k] == value[k] && rl_first_queued(&rl) == &lock);
}
