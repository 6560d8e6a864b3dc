/* command.h: what the files of the command share. Each part says which file holds it. */
#ifndef COMMAND_H
#define COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* In place of the system's functions, for the library. */
int noted_socket(int family, int type, int protocol);
int noted_connect(int fd, const struct sockaddr *to, socklen_t size);
ssize_t noted_send(int fd, const void *data, size_t size, int flags);
ssize_t noted_recv(int fd, void *data, size_t size, int flags);

#define REDLOCK_MAX_SERVERS 15
#define REDLOCK_MAX_RESOURCE 275 /* MAX_RESOURCE and what an adoption replaces */
#define REDLOCK_MAX_ERROR 160
#include "redlock.h"

#include <poll.h>

enum {
  MAX_RESOURCE = 255,
  MIN_TTL_MS = 200 /* in less than this no process can be stopped with certainty */
};

/* Out of the way of what commands use; 124 to 127 are as with timeout(1) and env(1). */
enum {
  EXIT_MINORITY = 119, /* of the servers is missing: --status --strict */
  EXIT_TAKEN = 120,
  EXIT_NO_QUORUM = 121,
  EXIT_LOST = 122,
  EXIT_SYSTEM = 123,
  EXIT_MAX_HOLD = 124,
  EXIT_USAGE = 125,
  EXIT_NOT_RUN = 126,
  EXIT_NOT_FOUND = 127,
  EXIT_SIGNAL = 128    /* plus the signal's number */
};

/* ---- redlock.c: the client, and all that waits ---- */

extern redlock client;
extern redlock_lock lock;

void finish(int status); /* closes the client and exits */
uint32_t server_timeout_ms(void); /* that each server has for its part */
uint32_t slack_ms(void);
int count_servers(void);
int quorum(void);
int count_votes(redlock_vote vote);
int64_t now_ms(void);
int addresses_of(int server, struct sockaddr_storage at[2]); /* returns how many it has */
int is_awaited(int server); /* a reply from it is still to come */
int64_t quarantine_after_ms(int64_t uptime_s); /* whoever reads this uptime waits for so long until
                                                  that server votes; <= 0: it votes (R24) */
void say_unreleased(void); /* that the lock could not be released, and why */
struct pollfd poll_entry(int fd, short events);
void wait_for_news(int64_t limit_ms); /* at most so long, -1 = no limit */

enum end { END_NONE, END_REPLY, END_PUSH, END_BAD /* no answer of Redis has such a byte there */ };
enum end end_of(int server, char byte); /* what ends with this byte of its connection */

/* ---- settings.c: the command line ---- */

extern struct settings {
  const char *servers, *resource;
  const char *servers_from, *max_ttl_from; /* who said so: an option, a variable or a file */
  const char *user, *password; /* for entries of the list that name none; NULL = none */
  const char *cacert, *cert, *key; /* files of TLS; NULL = none */
  char **command;
  uint32_t ttl_ms, wait_ms, kill_ms, min_hold_ms, max_hold_ms, max_ttl_ms;
  uint32_t server_timeout_ms; /* 0 = a part of ttl_ms */
  int has_ttl, has_kill, taken_status, quiet, verbose, status, strict, json, insecure, fencing;
  int wait_anyway, no_label;
  enum step { RUN_COMMAND, TAKE, EXTEND, RELEASE, RUN_TICKET } step; /* past TAKE with a ticket */
  const char *ticket_file; /* NULL = stdout, and the command line */
  char value[20];          /* of the ticket */
  int has_token;
} set;

void take_arguments(char **words);
int renew_password(void); /* if a server refuses it, and its file has another one by now */
void usage(const char *format, const char *what);
void print_and_exit(int status);

/* ---- messages.c: what is said, and the names of servers ---- */

enum level { ERROR = 3, WARNING = 4, INFO = 6 }; /* syslog's: the journal is told */

void say_as(enum level level, const char *format, ...) /* an indented line is a part of the last */
#ifdef __GNUC__
  __attribute__((format(printf, 2, 3)))
#endif
  ;
#define say(...) say_as(ERROR, __VA_ARGS__)
#define warn(...) say_as(WARNING, __VA_ARGS__)
void print_line(const char *format, ...) /* to stdout; as with say, nothing in it moves a cursor */
#ifdef __GNUC__
  __attribute__((format(printf, 1, 2)))
#endif
  ;
void keep_unsaid(void); /* from here on nothing waits until stderr has room, */
void say_unsaid(void);  /* and here what still found none is said */
#define SAY_MORE(...) (set.verbose ? say_as(INFO, __VA_ARGS__) : (void)0)

enum { EXPLANATION = 900 };

const char *in_units(int64_t ms, char text[16]); /* 30s or 500ms */
int count_complaints(void);                /* servers with which something is wrong */
void say_servers(void);                    /* what it is */
const char *advice_for(const char *error); /* what to do about a server's own words */
int bare_size(const char *error);          /* so much of them stands before ": " */
int is_about_rights(const char *error);    /* it denies this user a command */
int is_about_key(const char *error);       /* it denies this user the lock's name */
int is_lasting(int server);                /* only a person can mend what is wrong with it (R15) */

/* Why a server did not help, then ": " and what to do about it. Returns the size of the first, 0 =
   it did its part. */
int explain(int server, char text[EXPLANATION]);
int set_back_words(int64_t seconds, char text[EXPLANATION]); /* as explain */
int quarantine_words(int64_t left_ms, char text[EXPLANATION]);
int time_out_words(int server, uint32_t ms, char text[EXPLANATION]);
void format_uptime(int64_t seconds, char text[24]);
const char *in_words(const char *error);   /* what the library says, in the command's words */
int is_time_out(const char *words);        /* of the library, or of explain */

/* A part of the list, as printf's "%.*s" wants it. */
struct name {
  int size;
  const char *at;
};

struct name entry_of(int i); /* with user and password */
struct name name_of(int i);  /* without them; the list must be valid */
struct name url_of(struct name entry);
struct name from(struct name entry, int skip);
int find(struct name in, char c);
int host_of(struct name entry);
int is_path(struct name entry);
int is_over_tls(int server);
const char *slip_of(struct name entry); /* why a malformed one is; NULL = in no common way */
int is_secret(const char *text);

/* A server may repeat the password that it was sent: its words, in a place of REDLOCK_MAX_ERROR
   bytes, end in *** there. */
void hide_password(int server, char *words);

/* ---- run.c: signals, and COMMAND under the lock ---- */

extern int signal_pipe[2];

void catch_signals(void);
int next_signal(void);  /* the next one that is not about a child, 0 = none */
int run_command(void);  /* to its end, then releases the lock; returns the exit status */

/* ---- tree.c: all that COMMAND has started ---- */

enum heard { UNHEARD, HEARD, DENIED /* to a part of it: that is another user's */ };
enum left { NOBODY, SOMEBODY, FOREIGN /* another user's alone */, UNSEEN /* nobody says who */ };
enum { NAME_LEFT = 64 };

void gather_orphans(void);            /* from here on, and before COMMAND is started */
void know_command(pid_t id);          /* before it is waited for; its group has that number too */
enum heard signal_group(int number);
enum heard signal_beyond(int number); /* to what has left the group */
enum heard signal_all(int number);
enum left who_is_left(void);          /* when COMMAND itself is gone */
void name_left(char text[NAME_LEFT]);

/* ---- ticket.c ---- */

void take_ticket(const char *text); /* of --extend, --run and --release; NULL = that in the file */
void remove_ticket_file(void);      /* only if it holds our ticket */
void prepare_next_ticket(void);     /* before the lock changes hands: it exits if that cannot be */
void drop_next_ticket(void);
redlock_status release_ticket(void);
int take_step(void);                /* the lock is taken: the rest; returns the exit status */

/* ---- ask.c: what the library has no call for, over the client's own connections ---- */

#define NO_KEY "redlock --status" /* where no lock is named; nothing is done to it */

struct answer {
  int fd;                   /* -1 = nothing is asked, or no longer */
  const redlock_layer *layer; /* NULL = no TLS */
  size_t got;
  char text[8192];          /* its replies, ending in 0 */
  const char *reply[6];     /* where each begins */
  int count;                /* so many of them are whole */
  int is_garbled;           /* what came is no answer of Redis */
  int64_t asked_us, took_us; /* -1 = not all have come */
};

extern struct answer answers[REDLOCK_MAX_SERVERS];

const char *key_or_none(void);
uint32_t connect_limit_ms(void); /* for so long, connect_all waits for a server */
void connect_all(void);
void ask_all(const char *request, size_t size, int replies); /* of each that is connected, and
                                                                from which no reply is to come */

/* By how much clocks were set back since their servers started, at least; 0 = it is not known. */
extern int64_t set_back_s[REDLOCK_MAX_SERVERS];
void ask_uptimes(void); /* of those that seem to have just started */

/* A line of a server's words. They may be any bytes, and nothing that a terminal obeys or a program
   stumbles over gets in. Returns where it ends. */
const char *take_line(char to[REDLOCK_MAX_ERROR], const char *at);

/* ---- lookup.c: names, which nothing waits for once the client is open ---- */

int is_by_name(int server);
void follow_names(void); /* looks up those of servers that stay away, and follows them */
int name_words(int server, char text[EXPLANATION]); /* as explain: what became of its name */

/* ---- reach.c: what came of the last connections ---- */

int connect_error(int server);        /* errno, of what this side could not do; 0 = nothing */
int has_hung_up(int server);          /* it closed the last one, on which it had spoken */
int is_silent_peer(int server);       /* nothing has come on the last one */
int64_t connected_for_ms(int server); /* since that began */

/* What came of each address of a name that has two; "" = it has not. Returns whether one of them
   has not answered. */
enum { ADDRESS_WORDS = 280 };
int address_words(int server, char text[ADDRESS_WORDS]);
void format_address(const struct sockaddr_storage *at, char text[64]);

/* ---- label.c ---- */

int labelled_entropy(void *ctx, void *data, size_t size); /* of redlock_options */

/* ---- tls.c ---- */

extern const int has_tls;
const redlock_layer *tls_layer(void); /* for rediss://; NULL = it is not asked for, or not there */
int renew_certificates(void); /* if a server is away, and files have other ones by now */

/* ---- status.c ---- */

void show_status(void); /* --status; it exits */

#endif
