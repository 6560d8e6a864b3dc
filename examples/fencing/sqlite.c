/* sqlite.c: adds to a total in SQLite under a lock, and the database itself refuses a holder whose
 * lock has gone to another one. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I../.. sqlite.c -lsqlite3 -o sqlite
 *   ./sqlite 10.0.0.1,10.0.0.2,10.0.0.3 invoices.db 10
 *
 * It reads the total, then waits for Enter: that is the work. Leave it there for more than ten
 * seconds, run it in a second terminal too, and then press Enter here: it is refused, for the
 * other's token is greater. With `unchecked` as a last argument it is not, and the other's addition
 * is lost. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every client has the same max_ttl_ms, and a server votes once it has been up for that long. Its
   clock is kept right, and never stepped forward (by chrony), within a tenth of it. */
enum { TTL_MS = 10000, MAX_TTL_MS = 300000, WAIT_MS = 30000 };
enum { ADDED, FAILED, REFUSED };

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS invoice(id INTEGER PRIMARY KEY, total INTEGER, fence INTEGER);"
    "INSERT OR IGNORE INTO invoice VALUES (42, 0, 0)";

static int unchecked;

/* ---- the database ---- */

static void fail(sqlite3 *db) {
  fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
  exit(FAILED);
}

static void run(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(db);
}

/* One statement and its ?1. What it reads, or else how many rows it changed. */
static sqlite3_int64 run_with(sqlite3 *db, const char *sql, sqlite3_int64 value) {
  sqlite3_stmt *statement;
  sqlite3_int64 result = 0;
  int outcome;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail(db);
  sqlite3_bind_int64(statement, 1, value);
  outcome = sqlite3_step(statement);
  if (outcome == SQLITE_ROW) result = sqlite3_column_int64(statement, 0);
  else if (outcome == SQLITE_DONE) result = sqlite3_changes(db);
  else fail(db);
  sqlite3_finalize(statement);
  return result;
}

static sqlite3 *open_database(const char *path) {
  sqlite3 *db;
  if (sqlite3_open(path, &db) != SQLITE_OK) fail(db);
  sqlite3_busy_timeout(db, 5000);
  run(db, schema);
  return db;
}

/* The check. It begins the transaction that reads or writes, so nobody comes in between. <= and not
   <, because one holder comes more than once. 0 = a greater token has been here. */
static int enter(sqlite3 *db, uint64_t token) {
  run(db, "BEGIN IMMEDIATE");
  if (unchecked) return 1;
  if (run_with(db, "UPDATE invoice SET fence = ?1 WHERE id = 42 AND fence <= ?1",
               (sqlite3_int64)token) == 1)
    return 1;
  run(db, "ROLLBACK");
  return 0;
}

/* The first read shows the token too: from then on no earlier holder can write. */
static int read_total(sqlite3 *db, uint64_t token, sqlite3_int64 *total) {
  if (!enter(db, token)) return 0;
  *total = run_with(db, "SELECT total FROM invoice WHERE id = 42", 0);
  run(db, "COMMIT");
  return 1;
}

static int write_total(sqlite3 *db, uint64_t token, sqlite3_int64 total) {
  if (!enter(db, token)) return 0;
  run_with(db, "UPDATE invoice SET total = ?1 WHERE id = 42", total);
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
static int add(sqlite3 *db, uint64_t token, sqlite3_int64 amount) {
  sqlite3_int64 total;
  if (!read_total(db, token, &total)) return REFUSED;
  printf("token %llu, the total is %lld: press Enter\n", (unsigned long long)token,
         (long long)total);
  fflush(stdout);
  work();
  total += amount;
  if (!write_total(db, token, total)) return REFUSED;
  printf("added, the total is %lld\n", (long long)total);
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

static int take_and_add(redlock *rl, sqlite3 *db, sqlite3_int64 amount) {
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
  sqlite3 *db;
  int result;
  if (argc < 4) {
    fprintf(stderr, "usage: sqlite SERVERS FILE AMOUNT [unchecked]\n");
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
  sqlite3_close(db);
  redlock_close(&rl);
  return result;
}
