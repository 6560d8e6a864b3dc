/* flood.h: peers that have no end of what is no answer. Before the handshake anybody can send it
 * who answers on the port; behind it, who has a certificate that the client trusts. */
#ifndef FLOOD_H
#define FLOOD_H

#include "fake_server.h"

#include <poll.h>

enum { FLOOD_PORTION = 262144, FLOOD_RECORD = 16384 };

static inline int flood_update(SSL *ssl) {
  return SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) && SSL_do_handshake(ssl) == 1;
}

static inline int flood_update_both(SSL *ssl) {
  return SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) && SSL_do_handshake(ssl) == 1;
}

static inline int flood_ticket(SSL *ssl) {
  return SSL_new_session_ticket(ssl) && SSL_do_handshake(ssl) == 1;
}

static inline int flood_renegotiation(SSL *ssl) {
  return SSL_renegotiate(ssl) && SSL_do_handshake(ssl) == 1;
}

/* A push of another key, a byte a record. */
static inline int flood_push(SSL *ssl) {
  static const char push[] = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nx\r\n";
  static unsigned at;
  return SSL_write(ssl, push + at++ % (sizeof push - 1), 1) == 1;
}

/* Records of this type and size, filled with four bytes again and again; or what OpenSSL makes. */
struct flood_kind {
  const char *name;
  int (*make)(SSL *ssl); /* one more of them, behind the handshake; NULL = the record */
  unsigned char type;
  unsigned size;
  unsigned char fill[5];
};

enum { FLOOD_HELLO_REQUESTS, FLOOD_UPDATES = 7, FLOOD_RENEGOTIATIONS = 10, FLOOD_PUSHES, FLOODS };

static const struct flood_kind flood_kinds[FLOODS] = {
  {"HelloRequests, 4096 a record", NULL, SSL3_RT_HANDSHAKE, FLOOD_RECORD, {0}},
  {"HelloRequests, one a record", NULL, SSL3_RT_HANDSHAKE, 4, {0}},
  {"handshake, a byte a record", NULL, SSL3_RT_HANDSHAKE, 1, {0}},
  {"empty records", NULL, SSL3_RT_HANDSHAKE, 0, {0}},
  {"a hello of 20 000 bytes", NULL, SSL3_RT_HANDSHAKE, FLOOD_RECORD, "\2\0\x4e\x20"},
  {"alerts", NULL, SSL3_RT_ALERT, 2, "\1\x5a\1\x5a"},
  {"changes of cipher", NULL, SSL3_RT_CHANGE_CIPHER_SPEC, 1, "\1\1\1\1"},
  {"updates of keys", flood_update, 0, 0, {0}},
  {"updates of both keys", flood_update_both, 0, 0, {0}},
  {"tickets", flood_ticket, 0, 0, {0}},
  {"renegotiations", flood_renegotiation, 0, 0, {0}}, /* TLS 1.2 */
  {"pushes, a byte a record", flood_push, 0, 0, {0}}
};

/* Fills `to` with whole records; returns how many bytes. One HelloRequest comes first: the first
   byte of a server is to be TLS. */
static inline size_t flood_fill(int kind, unsigned char *to, size_t room) {
  const struct flood_kind *k = &flood_kinds[kind];
  static const unsigned char first[] = {SSL3_RT_HANDSHAKE, 3, 3, 0, 4, 0, 0, 0, 0};
  size_t used = sizeof first;
  unsigned i;
  memcpy(to, first, sizeof first);
  while (used + 5 + k->size <= room) {
    to[used++] = k->type;
    to[used++] = 3;
    to[used++] = 3;
    to[used++] = (unsigned char)(k->size >> 8);
    to[used++] = (unsigned char)k->size;
    for (i = 0; i < k->size; i++) to[used++] = k->fill[i % 4];
  }
  return used;
}

/* A context that takes part in such floods. */
static inline SSL_CTX *flood_context(int kind, const char *certificate, const char *key) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (kind == FLOOD_RENEGOTIATIONS) SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_session_id_context(context, (const unsigned char *)"toy", 3);
  if (SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) exit(1);
  return context;
}

/* ---- a server, in a process of its own, that floods whoever connects ---- */

struct flood {
  pid_t pid;
  int port, listener;
  int *connections; /* so many there have been; all processes look at it */
};

/* At most so many bytes a second, if any. */
static inline int flood_write(int fd, const void *data, size_t size, long a_second) {
  const char *at = (const char *)data, *end = at + size;
  while (at < end) {
    size_t most = a_second ? (size_t)a_second / 100 : size;
    ssize_t sent = write(fd, at, most < (size_t)(end - at) ? most : (size_t)(end - at));
    if (sent <= 0) return 0;
    at += sent;
    if (a_second) toy_pause((int)(sent * 1000 / a_second));
  }
  return 1;
}

static inline void flood_behind(int kind, int fd, SSL *ssl, long a_second) {
  char *data;
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) != 1) return;
  SSL_set0_wbio(ssl, BIO_new(BIO_s_mem()));
  while (flood_kinds[kind].make(ssl)) {
    long size = BIO_get_mem_data(SSL_get_wbio(ssl), &data);
    if (size < FLOOD_RECORD) continue;
    if (!flood_write(fd, data, (size_t)size, a_second)) return;
    (void)BIO_reset(SSL_get_wbio(ssl));
  }
}

static inline void flood_serve(int kind, int fd, SSL_CTX *context, long a_second) {
  static unsigned char portion[FLOOD_PORTION];
  size_t size;
  if (flood_kinds[kind].make) {
    flood_behind(kind, fd, SSL_new(context), a_second);
    return;
  }
  size = flood_fill(kind, portion, sizeof portion);
  if (!flood_write(fd, portion, size, a_second)) return;
  while (flood_write(fd, portion + 9, size - 9, a_second)) {}
}

static inline void flood_start(struct flood *f, int kind, long a_second, const char *certificate,
                               const char *key) {
  pid_t parent = getpid();
  SSL_CTX *context = flood_context(kind, certificate, key);
  f->connections = (int *)mmap(NULL, sizeof *f->connections, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (f->connections == MAP_FAILED) exit(1);
  f->listener = servers_listener(&f->port);
  f->pid = fork();
  if (f->pid == 0) {
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(1);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
      int fd = accept(f->listener, NULL, NULL);
      ++*f->connections;
      if (fork() == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        flood_serve(kind, fd, context, a_second);
        _exit(0);
      }
      close(fd);
    }
  }
  (void)setpgid(f->pid, f->pid);
  SSL_CTX_free(context);
}

static inline void flood_stop(struct flood *f) {
  kill(-f->pid, SIGKILL);
  waitpid(f->pid, NULL, 0);
  munmap(f->connections, sizeof *f->connections);
  close(f->listener);
}

#endif
