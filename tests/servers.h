/* servers.h: real Redis or Valkey servers for tests and the demo.
 *
 * They listen on free ports of 127.0.0.1 and on a unix socket in a temporary folder, keep nothing
 * on disk, and end with this process, also when it is interrupted. If a server does not start, the
 * program ends: no test can go on without it.
 *
 * Tests look at keys through the unix socket, which nothing that they do to TCP affects. */
#ifndef SERVERS_H
#define SERVERS_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SERVERS_MAX = 7, SERVERS_PATH = 104, SERVERS_LIST = 256, SERVERS_FILLERS = 16 };

struct server {
  pid_t pid; /* 0 = not running */
  int port;
  int frozen;
  char dir[SERVERS_PATH - 8];
  char socket[SERVERS_PATH];
  char args[200];  /* more of the command line, for a shell, with $port; kept for a restart. The
                      first may be the path of a configuration: then that says what is kept on
                      disk */
  char login[64];  /* what server_command says first, such as "AUTH x"; "" = nothing */
};

struct servers {
  struct server at[SERVERS_MAX];
  int count;
};

/* NULL when servers can be started, else why not. */
const char *servers_missing(void);

/* One server. */
void server_start(struct server *s, const char *args);
void server_kill(struct server *s);    /* SIGKILL, and waited for */
void server_restart(struct server *s); /* the same port; empty, unless it keeps things on disk */
void server_lose_disk(struct server *s); /* killed, and nothing of it is left */
void server_freeze(struct server *s);  /* returns when it stands still */
void server_thaw(struct server *s);

/* Sends one inline command and returns the reply as text, valid until the next call: errors begin
   with '-', nil is "(nil)", an array's members are separated by blanks. */
const char *server_command(const struct server *s, const char *format, ...)
#ifdef __GNUC__
  __attribute__((format(printf, 2, 3)))
#endif
  ;
int server_has_users(const struct server *s);  /* and ACLs: Redis 6 and later */
int server_has_old_errors(const struct server *s); /* of scripts: before Redis 7, and KeyDB */
int server_takes_empty(const struct server *s); /* "" in an inline command: not Redis 2.8 */
const char *server_native_release(const struct server *s); /* "delex", "delifeq", or NULL */
void server_want_password(struct server *s, const char *password); /* "" = none; logs in with it */
long server_number(const struct server *s, const char *command); /* the reply; -1 = not a number */
long server_info(const struct server *s, const char *field);     /* a number in INFO ALL, or -1 */

/* To the first ones of a set: the same to each. */
void servers_command(const struct servers *set, int count, const char *format, ...)
#ifdef __GNUC__
  __attribute__((format(printf, 3, 4)))
#endif
  ;
void servers_kill(struct servers *set, int count);
void servers_freeze(struct servers *set, int count);

/* All of them. */
void servers_start(struct servers *set, int count, const char *args);
void servers_stop(struct servers *set);
void servers_mend(struct servers *set); /* restarted and thawed */
void servers_heal(struct servers *set); /* and emptied */
const char *servers_folder(void); /* temporary; ends with this process, as the servers do */
const char *servers_list(const struct servers *set, int count, char text[SERVERS_LIST]);

/* A connection to that port of 127.0.0.1; -1 = none. */
int servers_dial(int port);

/* A listening socket of 127.0.0.1, on a port that is free, for a toy server. */
int servers_listener(int *port);

/* A listening port that lets connects hang, as a host behind a firewall does. */
struct blackhole {
  int port;
  int count;
  int fds[SERVERS_FILLERS];
};

void blackhole_open(struct blackhole *hole);
void blackhole_close(struct blackhole *hole);

#ifdef __cplusplus
}
#endif

#endif
