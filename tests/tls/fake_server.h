/* fake_server.h: a small TLS server, in a process of its own, for what no Redis does when it is
 * asked to. It says yes to everything. */
#ifndef TLS_FAKE_SERVER_H
#define TLS_FAKE_SERVER_H

#include "tests/servers.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* What it shall do, and what it saw: both processes look at it. */
struct toy_facts {
  int delay_ms;      /* before each piece that it sends */
  int updates_keys;  /* ... and asks for the other side's, behind each answer */
  int half_closes;   /* so many connections, behind the first answer */
  int connections, resumed, key_updates;
  char asked_for[64]; /* by the last client: the name of the server */
};

struct toy {
  pid_t pid;
  int port, listener;
  SSL_CTX *context;
  struct toy_facts *facts;
};

static inline void toy_pause(int ms) {
  struct timespec t;
  t.tv_sec = ms / 1000;
  t.tv_nsec = ms % 1000 * 1000000L;
  nanosleep(&t, NULL);
}

static inline long toy_on_bio(BIO *b, int what, const char *data, size_t size, int i, long l,
                              int result, size_t *done) {
  const struct toy *t = (const struct toy *)(void *)BIO_get_callback_arg(b);
  (void)data, (void)size, (void)i, (void)l, (void)done;
  if (what == BIO_CB_WRITE) toy_pause(t->facts->delay_ms);
  return result;
}

static inline void toy_on_message(int sent, int version, int type, const void *data, size_t size,
                                  SSL *ssl, void *arg) {
  const unsigned char *kind = (const unsigned char *)data;
  (void)version, (void)ssl;
  if (!sent && type == SSL3_RT_HANDSHAKE && size && *kind == SSL3_MT_KEY_UPDATE)
    ((struct toy *)arg)->facts->key_updates++;
}

/* One answer for each command, by the words that no value holds. */
static inline int toy_answer(SSL *ssl, const char *asked, int size) {
  char reply[4096];
  int at, used = 0;
  for (at = 0; at + 11 < size; at++) {
    if (memcmp(asked + at, "$3\r\nSET\r\n", 9) == 0) used += sprintf(reply + used, "+OK\r\n");
    if (memcmp(asked + at, "$4\r\nEVAL\r\n", 10) == 0)
      used += sprintf(reply + used, "%s",
                      memcmp(asked + at + 15, "return{ok=", 10) ? ":1\r\n" : "+redlock\r\n");
    if (memcmp(asked + at, "$5\r\nHELLO\r\n", 11) == 0 ||
        memcmp(asked + at, "$6\r\nCLIENT\r\n", 12) == 0)
      used += sprintf(reply + used, "-ERR unknown command\r\n");
  }
  return used ? SSL_write(ssl, reply, used) : 1;
}

static inline void toy_talk(struct toy *t, SSL *ssl) {
  char asked[16384];
  int size;
  while ((size = SSL_read(ssl, asked, sizeof asked)) > 0 && toy_answer(ssl, asked, size) > 0) {
    if (t->facts->updates_keys) {
      SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
      SSL_do_handshake(ssl);
    }
    if (t->facts->half_closes == 0) continue;
    t->facts->half_closes--;
    SSL_shutdown(ssl); /* it hears all that comes, and says no more */
    while (SSL_read(ssl, asked, sizeof asked) > 0) {}
    return;
  }
}

static inline void toy_serve(struct toy *t) {
  for (;;) {
    int fd = accept(t->listener, NULL, NULL);
    SSL *ssl = SSL_new(t->context);
    SSL_set_fd(ssl, fd);
    BIO_set_callback_ex(SSL_get_wbio(ssl), toy_on_bio);
    BIO_set_callback_arg(SSL_get_wbio(ssl), (char *)t);
    SSL_set_msg_callback(ssl, toy_on_message);
    SSL_set_msg_callback_arg(ssl, t);
    if (SSL_accept(ssl) == 1) {
      const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
      snprintf(t->facts->asked_for, sizeof t->facts->asked_for, "%s", name ? name : "");
      t->facts->connections++;
      t->facts->resumed += SSL_session_reused(ssl);
      toy_talk(t, ssl);
    }
    SSL_free(ssl);
    close(fd);
  }
}

static inline void toy_start(struct toy *t, const char *certificate, const char *key) {
  pid_t parent = getpid();
  t->context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_session_id_context(t->context, (const unsigned char *)"toy", 3);
  t->facts = (struct toy_facts *)mmap(NULL, sizeof *t->facts, PROT_READ | PROT_WRITE,
                                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  t->listener = servers_listener(&t->port);
  if (t->facts == MAP_FAILED ||
      SSL_CTX_use_certificate_file(t->context, certificate, SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(t->context, key, SSL_FILETYPE_PEM) != 1) exit(1);
  t->pid = fork();
  if (t->pid == 0) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(1);
    signal(SIGPIPE, SIG_IGN);
    toy_serve(t);
  }
}

static inline void toy_stop(struct toy *t) {
  kill(t->pid, SIGKILL);
  waitpid(t->pid, NULL, 0);
  munmap(t->facts, sizeof *t->facts);
  SSL_CTX_free(t->context);
  close(t->listener);
}

#endif
