/* postgres.c: adds to a total in PostgreSQL under a lock, and the database itself refuses a holder
 * whose lock has gone to another one. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I../.. -I$(pg_config --includedir) postgres.c \
 *      -lpq -o postgres              (on Debian, libpq-dev has what this needs)
 *   ./postgres 10.0.0.1,10.0.0.2,10.0.0.3 "dbname=invoices" 10
 *
 * It reads the total, then waits for Enter: that is the work. Leave it there for more than ten
 * seconds, run it in a second terminal too, and then press Enter here: it is refused, for the
 * other's token is greater. With `unchecked` as a last argument it is not, and the other's addition
 * is lost. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every client has the same max_ttl_ms, and a server votes once it has been up for that long. Its
   clock is kept right, and never stepped forward (by chrony), within a tenth of it. */
enum { TTL_MS = 10000, MAX_TTL_MS = 300000, WAIT_MS = 30000 };
enum { ADDED, FAILED, REFUSED };

static const char schema[] =
    "SET client_min_messages TO warning;"
    "CREATE TABLE IF NOT EXISTS invoice(id bigint PRIMARY KEY, total bigint);"
    "INSERT INTO invoice VALUES (42, 0) ON CONFLICT DO NOTHING;"
    "CREATE TABLE IF NOT EXISTS fence(resource text PRIMARY KEY, token bigint)";

static int unchecked;

/* ---- the database ---- */

static void fail(PGconn *db) {
  fprintf(stderr, "postgres: %s", PQerrorMessage(db));
  exit(FAILED);
}

static void run(PGconn *db, const char *sql) {
  PGresult *result = PQexec(db, sql);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(db);
  PQclear(result);
}

/* One statement and its $1. What it reads, or else how many rows it changed. */
static long long run_with(PGconn *db, const char *sql, long long value) {
  char text[24];
  const char *values[1];
  PGresult *result;
  long long number = 0;
  snprintf(text, sizeof text, "%lld", value);
  values[0] = text;
  result = PQexecParams(db, sql, 1, NULL, values, NULL, NULL, 0);
  if (PQresultStatus(result) == PGRES_TUPLES_OK) number = atoll(PQgetvalue(result, 0, 0));
  else if (PQresultStatus(result) == PGRES_COMMAND_OK) number = atoll(PQcmdTuples(result));
  else fail(db);
  PQclear(result);
  return number;
}

static PGconn *open_database(const char *where) {
  PGconn *db = PQconnectdb(where);
  if (PQstatus(db) != CONNECTION_OK) fail(db);
  run(db, schema);
  return db;
}

/* The check. It begins the transaction that reads or writes, and locks the resource's row until its
   end, so nobody comes in between. <= and not <, because one holder comes more than once. 0 = a
   greater token has been here. No transaction lasts as long as the work: a holder that pauses in
   one would make the next holder wait for that row. */
static int enter(PGconn *db, uint64_t token) {
  run(db, "BEGIN");
  if (unchecked) return 1;
  if (run_with(db,
               "INSERT INTO fence AS f VALUES ('invoice:42', $1) ON CONFLICT (resource) "
               "DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token",
               (long long)token) == 1)
    return 1;
  run(db, "ROLLBACK");
  return 0;
}

/* The first read shows the token too: from then on no earlier holder can write. */
static int read_total(PGconn *db, uint64_t token, long long *total) {
  if (!enter(db, token)) return 0;
  *total = run_with(db, "SELECT total FROM invoice WHERE id = $1", 42);
  run(db, "COMMIT");
  return 1;
}

static int write_total(PGconn *db, uint64_t token, long long total) {
  if (!enter(db, token)) return 0;
  run_with(db, "UPDATE invoice SET total = $1 WHERE id = 42", total);
  run(db, "COMMIT");
  return 1;
}

/* ---- under the lock ---- */

static void work(void) {
  int c = getchar();
  while (c != '\n' && c != EOF) c = getchar();
}

/* A look at redlock_remaining_ms before the write would make a refusal rare, not impossible: the
   pause may come right behind it. */
static int add(PGconn *db, uint64_t token, long long amount) {
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

static int take_and_add(redlock *rl, PGconn *db, long long amount) {
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
  PGconn *db;
  int result;
  if (argc < 4) {
    fprintf(stderr, "usage: postgres SERVERS DATABASE AMOUNT [unchecked]\n");
    return FAILED;
  }
  unchecked = argc > 4 && strcmp(argv[4], "unchecked") == 0;
  memset(&options, 0, sizeof options);
  options.max_ttl_ms = MAX_TTL_MS;
  options.fencing = 1;
  if (redlock_init(&rl, argv[1], &options) != REDLOCK_OK) {
    fprintf(stderr, "init: %s\n", redlock_server_error(&rl, -1));
    return FAILED;
  }
  db = open_database(argv[2]);
  result = take_and_add(&rl, db, strtoll(argv[3], NULL, 10));
  PQfinish(db);
  redlock_close(&rl);
  return result;
}
