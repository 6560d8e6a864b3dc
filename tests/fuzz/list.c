/* list.c: the list of servers and the options, of any bytes.
 *
 * The first bytes are options; then come the user, the password and the list, each with its end.
 * A refusal must give its reason. An accepted list must open the servers that a second parser finds
 * in it, and a list made of what was opened must open the same. */
#define REDLOCK_NO_DNS
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../unit/recording_io.h"
#include "fuzz.h"

enum { MOST = 1024, PLACE = WIRE_HOST };

/* ---- A second reading ------------------------------------------------------------------------ */

/* Host and port of an entry that is known to be good. */
static void read_entry(const char *at, size_t size, char *host, char *port) {
  const char *end = at + size, *stop, *c;
  strcpy(port, "6379");
  if (size > 5 && memcmp(at, "unix:", 5) == 0) {
    memcpy(host, at + 5, size - 5);
    host[size - 5] = port[0] = '\0';
    return;
  }
  if (size > 8 && memcmp(at, "redis://", 8) == 0) {
    at += 8;
    if ((stop = memchr(at, '/', (size_t)(end - at)))) end = stop;
    for (c = at; c < end; c++)
      if (*c == '@') at = c + 1;
  }
  stop = memchr(at, *at == '[' ? ']' : ':', (size_t)(end - at));
  if (!stop) stop = end;
  if (*at == '[') at++;
  memcpy(host, at, (size_t)(stop - at));
  host[stop - at] = '\0';
  if (stop < end && *stop == ']') stop++;
  if (stop == end) return;
  while (stop[1] == '0') stop++; /* a port is a number; it is not 0, so another digit follows */
  memcpy(port, stop + 1, (size_t)(end - stop - 1));
  port[end - stop - 1] = '\0';
}

/* Each entry was opened, in order, and nothing else. */
static void is_list(const char *list) {
  int count = 0;
  while (*list) {
    size_t size = strcspn(list, ", \t\r\n");
    if (size > 0) {
      char host[PLACE], port[8];
      FUZZ_CHECK(count < wire.calls[WIRE_OPEN]);
      read_entry(list, size, host, port);
      FUZZ_CHECK(strcmp(host, wire.server[count].host) == 0 &&
                 strcmp(port, wire.server[count].port) == 0);
      count++;
    }
    list += size + (list[size] != '\0');
  }
  FUZZ_CHECK(count == wire.calls[WIRE_OPEN]);
}

/* The plainest list of what was opened. */
static void spell(char *to) {
  int i;
  for (*to = '\0', i = 0; i < wire.calls[WIRE_OPEN]; i++) {
    const char *host = wire.server[i].host, *port = wire.server[i].port;
    to += strlen(to);
    int v6 = strchr(host, ':') || *host == '[';
    if (*host == '/') sprintf(to, "unix:%s\n", host);
    else if (v6) sprintf(to, "redis://[%s]:%s\n", host, port);
    else sprintf(to, "redis://%s:%s\n", host, port);
  }
}

/* ---- The client ------------------------------------------------------------------------------ */

static void open_all(redlock *rl, redlock_lock *lock) {
  wire_reset();
  memset(lock, 0, sizeof *lock);
  if (redlock_start_acquire(rl, lock, "r", 1000, 0) == REDLOCK_PENDING) (void)redlock_step(rl);
}

/* A word about it, with an end, of what can be printed. */
static int has_a_word(const redlock *rl) {
  const char *text;
  int i, found = 0;
  for (i = 0; (text = redlock_server_error(rl, i)) != NULL; i++) {
    found |= *text != '\0';
    for (; *text; text++) FUZZ_CHECK(*text >= ' ' && *text <= '~');
  }
  return found;
}

/* The lock is pending until the client is closed. */
static void is_accepted(redlock *rl, redlock_lock *lock, const char *list,
                        redlock_options *options) {
  static char plain[REDLOCK_MAX_SERVERS * (PLACE + 24)];
  redlock again;
  redlock_lock other;
  open_all(rl, lock);
  if (wire.calls[WIRE_OPEN] == 0) return; /* no ttl is good under these options */
  is_list(list);
  spell(plain);
  options->username = NULL; /* the entry's own password is not spelled, and a user needs one */
  FUZZ_CHECK(redlock_init(&again, plain, options) == REDLOCK_OK);
  open_all(&again, &other);
  is_list(list);
  redlock_close(&again);
}

static int are_good(const redlock_options *o) {
  uint32_t most = o->retry_delay_max_ms;
  return o->drift_ppm < 1000000 && (!most || o->retry_delay_min_ms <= most);
}

/* The list, in memory of its own size. */
static void try_list(const char *list, size_t size, redlock_options *options) {
  redlock rl;
  redlock_lock lock;
  char *copy = malloc(size + 1);
  redlock_status status;
  if (!copy) abort();
  memcpy(copy, list, size);
  copy[size] = '\0';
  status = redlock_init(&rl, copy, options);
  FUZZ_CHECK(status == REDLOCK_OK || status == REDLOCK_INVALID);
  if (!are_good(options)) FUZZ_CHECK(status == REDLOCK_INVALID);
  else if (status == REDLOCK_INVALID)
    FUZZ_CHECK(has_a_word(&rl) || copy[strspn(copy, ", \t\r\n")] == '\0');
  else if (options->io) is_accepted(&rl, &lock, copy, options);
  redlock_close(&rl);
  free(copy);
}

/* A text up to a zero byte, or NULL when it is empty. */
static const char *take_text(struct fuzz_input *in, char *room, size_t most) {
  size_t size = 0;
  uint8_t byte;
  while (in->at < in->end && (byte = fuzz_byte(in)) != 0)
    if (size + 1 < most) room[size++] = (char)byte;
  room[size] = '\0';
  return size ? room : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint32_t numbers[] = {0, 1, 50, 1000, 999999, 1000000, UINT32_MAX - 1, UINT32_MAX};
  char user[256], password[256];
  redlock_options options;
  struct fuzz_input in;
  uint8_t how, more;
  fuzz_count();
  if (size > MOST) return 0;
  in.at = data;
  in.end = data + size;
  how = fuzz_byte(&in);
  more = fuzz_byte(&in);
  memset(&options, 0, sizeof options);
  wire_reset();
  options.io = how & 1 ? NULL : &wire.io;
  options.drift_ppm = numbers[how >> 1 & 7];
  options.server_timeout_ms = numbers[how >> 4 & 7];
  options.retry_delay_min_ms = numbers[more & 7];
  options.retry_delay_max_ms = numbers[more >> 3 & 7];
  options.max_ttl_ms = numbers[more >> 6];
  options.username = take_text(&in, user, sizeof user);
  options.password = take_text(&in, password, sizeof password);
  try_list((const char *)in.at, (size_t)(in.end - in.at), &options);
  return 0;
}
