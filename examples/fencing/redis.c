/* redis.c: adds to a total in a Redis server under a lock, and that server refuses a holder whose
 * lock has gone to another one. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I../.. redis.c -lhiredis -o redis
 *   ./redis 10.0.0.1,10.0.0.2,10.0.0.3 10.0.0.9 6379 10
 *
 * The storage, 10.0.0.9 here, is one master of its own. It keeps tokens for as long as it keeps
 * data: what it may lose, it loses together.
 *
 * It reads the total, then waits for Enter: that is the work. Leave it there for more than ten
 * seconds, run it in a second terminal too, and then press Enter here: it is refused, for the
 * other's token is greater. With `unchecked` as a last argument it is not, and the other's addition
 * is lost. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every client has the same max_ttl_ms, and a server votes once it has been up for that long. Its
   clock is kept right, and never stepped forward (by chrony), within a tenth of it. */
enum { TTL_MS = 10000, MAX_TTL_MS = 300000, WAIT_MS = 30000 };
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
#define EVAL "EVAL %s 2 invoice:42:total invoice:42:token" /* token [total] */

static void fail(const char *what) {
  fprintf(stderr, "redis: %s\n", what);
  exit(FAILED);
}

static redisContext *open_storage(const char *host, int port) {
  redisContext *db = redisConnect(host, port);
  if (!db || db->err) fail(db ? db->errstr : "no memory");
  return db;
}

/* What is stored then. 0 = refused. */
static int ask(redisContext *db, uint64_t token, const long long *total, long long *stored) {
  const char *which = unchecked ? unchecked_script : script;
  unsigned long long number = token;
  redisReply *reply;
  int accepted;
  if (total) reply = redisCommand(db, EVAL " %llu %lld", which, number, *total);
  else reply = redisCommand(db, EVAL " %llu", which, number);
  if (!reply) fail(db->errstr);
  if (reply->type == REDIS_REPLY_ERROR) fail(reply->str);
  accepted = reply->type == REDIS_REPLY_STRING;
  if (accepted) *stored = atoll(reply->str);
  freeReplyObject(reply);
  return accepted;
}

static int read_total(redisContext *db, uint64_t token, long long *total) {
  return ask(db, token, NULL, total);
}

static int write_total(redisContext *db, uint64_t token, long long total) {
  return ask(db, token, &total, &total);
}

/* ---- under the lock ---- */

static void work(void) {
  int c = getchar();
  while (c != '\n' && c != EOF) c = getchar();
}

/* A look at redlock_remaining_ms before the write would make a refusal rare, not impossible: the
   pause may come right behind it. */
static int add(redisContext *db, uint64_t token, long long amount) {
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

/* Why a call failed: on this side (-1), and on each server that has something to say. */
static int explain(const redlock *rl, const char *what, redlock_status status) {
  const char *error;
  int i;
  fprintf(stderr, "%s: %s\n", what, redlock_strerror(status));
  for (i = -1; (error = redlock_server_error(rl, i)) != NULL; i++)
    if (*error) fprintf(stderr, "  server %d: %s\n", i, error);
  return 1;
}

static int take_and_add(redlock *rl, redisContext *db, long long amount) {
  redlock_lock lock;
  redlock_status status = redlock_acquire(rl, &lock, "invoice:42", TTL_MS, WAIT_MS);
  int result;
  if (status != REDLOCK_OK) return explain(rl, "acquire", status);
  result = add(db, lock.token, amount);
  if (result == REFUSED) printf("refused: a greater token has been here\n");
  redlock_release(rl, &lock);
  return result;
}

int main(int argc, char **argv) {
  redlock_options options;
  redlock rl;
  redisContext *db;
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
  db = open_storage(argv[2], atoi(argv[3]));
  result = take_and_add(&rl, db, strtoll(argv[4], NULL, 10));
  redisFree(db);
  redlock_close(&rl);
  return result;
}
