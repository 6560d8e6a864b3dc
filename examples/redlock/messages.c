/* messages.c: what the command says, how it calls a server, and what a person can do about one. */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One write each, so that they do not mix with what COMMAND prints. */
void say(const char *format, ...) {
  char line[1024] = "redlock: ";
  size_t head = strlen(line), size;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line + head, sizeof line - head - 1, format, arguments);
  va_end(arguments);
  size = strlen(line);
  line[size++] = '\n';
  if (write(STDERR_FILENO, line, size) < 0) return; /* no one is listening */
}

struct name entry_of(int i) {
  static const char between[] = ", \t\r\n";
  const char *at = set.servers + strspn(set.servers, between);
  struct name entry;
  for (; i > 0; i--) {
    at += strcspn(at, between);
    at += strspn(at, between);
  }
  entry.at = at;
  entry.size = (int)strcspn(at, between);
  return entry;
}

struct name from(struct name entry, int skip) {
  entry.at += skip;
  entry.size -= skip;
  return entry;
}

int find(struct name in, char c) {
  int i = 0;
  while (i < in.size && in.at[i] != c) i++;
  return i;
}

/* Where the host begins: behind "user:password@", if that is there. */
int host_of(struct name entry) {
  int i = entry.size;
  while (i > 0 && entry.at[i - 1] != '@') i--;
  return i;
}

/* What stands behind "redis://"; an entry of another kind has no such part. */
struct name url_of(struct name entry) {
  struct name url = from(entry, find(entry, ':'));
  if (url.size < 3 || strncmp(url.at, "://", 3) != 0) return from(entry, entry.size);
  return from(url, 3);
}

int is_path(struct name entry) {
  return entry.size > 5 && strncmp(entry.at, "unix:", 5) == 0;
}

/* Whether a part of it may be a password. In a malformed list it may be any part: a comma or a
   blank that was not written as %XX cuts an entry, and so a password, in two. */
int is_secret(const char *text) { return strchr(text, '@') || strstr(text, "://"); }

/* In a list that was found good. */
struct name name_of(int i) {
  struct name entry = entry_of(i), url = url_of(entry);
  if (is_path(entry)) return entry;
  if (url.size) entry = url;
  return from(entry, host_of(entry));
}

/* What a person can do about an error, known by how it begins; NULL = it tells enough itself. */
const char *advice_for(const char *error) {
  static const char rights[] = "locks need +set +eval +get +del +pttl +pexpire and the keys, "
                               "--status and --max-ttl +info, a /db +select";
  static const char *const known[][2] = {
    {"NOAUTH", "give user and password: redis://user:password@host"},
    {"WRONGPASS", "check user and password in the list"},
    {"ERR AUTH", "it wants no password: take it out of the list"},
    {"ERR invalid password", "check the password in the list"},
    {"NOPERM", rights},
    {"ERR ACL failure", rights},
    {"ERR The user executing", rights},
    {"DENIED", "see protected-mode in its configuration"},
    {"ERR max", "raise maxclients in its configuration"},
    {"OOM", "see maxmemory in its configuration"},
    {"MISCONF", "it cannot write to its disk: see its log"},
    {"LOADING", "wait: it reads its data"},
    {"BUSY", "wait: a script runs, or SCRIPT KILL"},
    {"READONLY", "list masters only"},
    {"MASTERDOWN", "list masters only"},
    {"MOVED", "list plain masters, no Cluster"},
    {"CLUSTERDOWN", "list plain masters, no Cluster"},
    {"WRONGTYPE", "something else uses this key"},
    {"ERR unknown command", "it renames or lacks this command"},
    {"ERR DB", "check the database's number in the list"},
    {"no connection", "does it run, is the address right?"},
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(error, known[i][0], strlen(known[i][0])) == 0) return known[i][1];
  return NULL;
}

/* Why a server did not help; NULL = it did its part. */
static const char *complaint(int server) {
  const char *error = redlock_server_error(&client, server);
  switch (lock.votes[server]) {
    case REDLOCK_VOTE_TIMEOUT: return "no answer in time: is it frozen, overloaded, too far away?";
    case REDLOCK_VOTE_QUARANTINED: return "restarted less than --max-ttl ago: it will vote later";
    case REDLOCK_VOTE_UNREACHABLE:
    case REDLOCK_VOTE_ERROR: return *error ? error : "not reached: is the address right?";
    default: return *error ? error : NULL;
  }
}

void say_servers(void) {
  int i;
  for (i = 0; redlock_server_error(&client, i); i++) {
    struct name name = name_of(i);
    const char *why = complaint(i), *advice = why ? advice_for(why) : NULL;
    if (!why) continue;
    say("  %.*s: %s%s%s", name.size, name.at, why, advice ? ": " : "", advice ? advice : "");
  }
}
