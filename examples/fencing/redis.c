/* redis.c: adds to a total in a Redis server under a lock, and that server refuses a holder whose
 * lock has gone to another one. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I../.. redis.c -o redis
 *   ./redis 10.0.0.1,10.0.0.2,10.0.0.3 10.0.0.9 6379 10
 *
 * The storage, 10.0.0.9 here, is one master of its own. It keeps tokens for as long as it keeps
 * data: what it may lose, it loses together.
 *
 * It reads the total, then waits for Enter: that is the work. Leave it there for more than a
 * second, run it in a second terminal too, and then press Enter here: it is refused, for the
 * other's token is greater. With `unchecked` as a last argument it is not, and the other's addition
 * is lost. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As short as they may be, for the show: yours will be longer. Every client has the same
   max_ttl_ms, and every server's clock is kept right by NTP, within an eighth of it. */
enum { TTL_MS = 1000, MAX_TTL_MS = 1000, WAIT_MS = 10000 };
enum { ADDED, FAILED, REFUSED };

static int unchecked;

/* ---- the storage ---- */

/* The check, and the read or write, in one step. > and not >=, because one holder comes more than
   once. The first read shows the token too: from then on no earlier holder can write. Nil = a
   greater token has been here. */
static const char script[] =
    "if (redis.call('get', KEYS[2]) or '0') + 0 > ARGV[1] + 0 then return false end "
    "redis.call('set', KEYS[2], ARGV[1]) "
    "if ARGV[2] then redis.call('set', KEYS[1], ARGV[2]) end "
    "return redis.call('get', KEYS[1]) or '0'";
static const char unchecked_script[] =
    "if ARGV[2] then redis.call('set', KEYS[1], ARGV[2]) end "
    "return redis.call('get', KEYS[1]) or '0'";

static void fail(const char *what) {
  fprintf(stderr, "redis: %s\n", what);
  exit(FAILED);
}

struct storage {
  FILE *to, *from; /* one connection */
};

static void open_storage(struct storage *db, const char *host, const char *port) {
  struct addrinfo hints, *found;
  int fd;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &found)) fail("no such host");
  fd = socket(found->ai_family, found->ai_socktype, 0);
  if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen)) fail("no connection");
  freeaddrinfo(found);
  db->to = fdopen(fd, "w");
  db->from = fdopen(dup(fd), "r");
  if (!db->to || !db->from) fail("no memory");
}

static void close_storage(struct storage *db) {
  fclose(db->to);
  fclose(db->from);
}

static void send_word(FILE *to, const char *word) {
  fprintf(to, "$%zu\r\n%s\r\n", strlen(word), word);
}

static void send_number(FILE *to, long long number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", number);
  send_word(to, text);
}

/* EVAL script 2 invoice:42:total invoice:42:token token [total] */
static void send_script(FILE *to, uint64_t token, const long long *total) {
  fprintf(to, "*%d\r\n", total ? 7 : 6);
  send_word(to, "EVAL");
  send_word(to, unchecked ? unchecked_script : script);
  send_word(to, "2");
  send_word(to, "invoice:42:total");
  send_word(to, "invoice:42:token");
  send_number(to, (long long)token);
  if (total) send_number(to, *total);
  fflush(to);
}

/* What is stored then. 0 = refused. */
static int ask(struct storage *db, uint64_t token, const long long *total, long long *stored) {
  char line[64];
  send_script(db->to, token, total);
  if (!fgets(line, sizeof line, db->from)) fail("connection lost");
  if (strcmp(line, "$-1\r\n") == 0) return 0;
  if (line[0] != '$' || !fgets(line, sizeof line, db->from)) fail(line);
  *stored = atoll(line);
  return 1;
}

static int read_total(struct storage *db, uint64_t token, long long *total) {
  return ask(db, token, NULL, total);
}

static int write_total(struct storage *db, uint64_t token, long long total) {
  return ask(db, token, &total, &total);
}

/* ---- under the lock ---- */

static void work(void) {
  int c = getchar();
  while (c != '\n' && c != EOF) c = getchar();
}

/* A look at redlock_remaining_ms before the write would make a refusal rare, not impossible: the
   pause may come right behind it. */
static int add(struct storage *db, uint64_t token, long long amount) {
  long long total;
  if (!read_total(db, token, &total)) return REFUSED;
  printf("token %llu, the total is %lld: press Enter\n", (unsigned long long)token, total);
  fflush(stdout);
  work();
  total += amount;
  if (!write_total(db, token, total)) return REFUSED;
  printf("added, the total is %lld\n", total);
  return ADDED;
}

static int take_and_add(redlock *rl, struct storage *db, long long amount) {
  redlock_lock lock;
  redlock_status status = redlock_acquire(rl, &lock, "invoice:42", TTL_MS, WAIT_MS);
  int result;
  if (status != REDLOCK_OK) { /* after INVALID nothing is in the lock, not even its status */
    fprintf(stderr, "acquire: %s\n", redlock_strerror(status));
    return FAILED;
  }
  result = add(db, lock.token, amount);
  if (result == REFUSED) printf("refused: a greater token has been here\n");
  redlock_release(rl, &lock);
  return result;
}

int main(int argc, char **argv) {
  redlock_options options;
  redlock rl;
  struct storage db;
  int result;
  if (argc < 5) {
    fprintf(stderr, "usage: redis SERVERS HOST PORT AMOUNT [unchecked]\n");
    return FAILED;
  }
  unchecked = argc > 5 && strcmp(argv[5], "unchecked") == 0;
  memset(&options, 0, sizeof options);
  options.max_ttl_ms = MAX_TTL_MS;
  options.fencing = 1;
  if (redlock_init(&rl, argv[1], &options) != REDLOCK_OK) {
    fprintf(stderr, "init: %s\n", redlock_server_error(&rl, -1));
    return FAILED;
  }
  open_storage(&db, argv[2], argv[3]);
  result = take_and_add(&rl, &db, strtoll(argv[4], NULL, 10));
  close_storage(&db);
  redlock_close(&rl);
  return result;
}
