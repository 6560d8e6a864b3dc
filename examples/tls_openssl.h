/* tls_openssl.h: the layer for OpenSSL 3, for copying; tls.c shows how it is used. Certificate and
 * host name are verified, TLS 1.2 is the minimum, and a reconnect resumes the session. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes. So much, and no more, may a server have OpenSSL do and keep, most of it before its
   certificate is looked at. */
enum {
  TLS_PIECE = 1024,        /* OpenSSL is given so many in one call: 1 ms of work at most */
  TLS_IN_VAIN = 131072,    /* so many, with none of Redis's among them, end the connection; a
                              handshake and what follows it take a few thousand */
  TLS_UNSENT = 65536,      /* as do so many that it makes OpenSSL answer, and does not read */
  TLS_CERTIFICATES = 32768 /* the longest chain */
};

/* As RFC 9525 wants it: no name is taken from the subject, and a * stands for a whole label. */
#define TLS_NAMES (X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)

/* A few bytes must not cost a handshake each, nor unpack to megabytes. */
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
#define TLS_OPTIONS (SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_RX_CERTIFICATE_COMPRESSION)
#else
#define TLS_OPTIONS SSL_OP_NO_RENEGOTIATION
#endif

typedef struct tls { /* of one client */
  SSL_CTX *context;
  redlock_layer layer;
  SSL *ssl[REDLOCK_MAX_SERVERS];
  SSL_SESSION *session[REDLOCK_MAX_SERVERS];
  intptr_t fd[REDLOCK_MAX_SERVERS];
  long in_vain[REDLOCK_MAX_SERVERS]; /* bytes that have come since the last one for the client */
  const char *error[REDLOCK_MAX_SERVERS];
} tls;

/* The first failure says why. Returns -1. */
static int tls_fail(tls *t, int server, const char *why) {
  if (!t->error[server]) t->error[server] = why;
  return -1;
}

static int tls_may_pass(void) { return errno == EAGAIN || errno == EINTR || errno == ENOTCONN; }

/* OpenSSL writes to memory, and this sends what the socket accepts of it: so OpenSSL never holds a
   record back until there is room, and no SIGPIPE comes. `result` is what OpenSSL returned; this
   returns what redlock.h wants instead. */
static int tls_result(tls *t, int server, int result) {
  SSL *ssl = t->ssl[server];
  char *data, gone[8192];
  long size = BIO_get_mem_data(SSL_get_wbio(ssl), &data), most = size < 8192 ? size : 8192;
  ssize_t sent = most ? send((int)t->fd[server], data, (size_t)most, MSG_NOSIGNAL) : 0;
  unsigned long error = ERR_peek_error();
  if (sent > 0) (void)BIO_read(SSL_get_wbio(ssl), gone, (int)sent);
  if (size > TLS_UNSENT) return tls_fail(t, server, "it reads nothing, and wants answers in TLS");
  if (sent >= 0 || tls_may_pass()) {
    if (result > 0) return result;
    if (SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ) return 0;
  }
  /* A command that counts as unsent must not leave with the next call. */
  if (SSL_is_init_finished(ssl)) (void)BIO_reset(SSL_get_wbio(ssl));
  if (ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED)
    return tls_fail(t, server, X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
  return tls_fail(t, server, ERR_reason_error_string(error));
}

static int tls_open(void *ctx, int server, intptr_t fd, const char *host) {
  tls *t = (tls *)ctx;
  SSL *ssl = t->ssl[server] = SSL_new(t->context);
  t->error[server] = "no memory for TLS";
  if (!ssl) return -1;
  t->fd[server] = fd;
  t->in_vain[server] = 0;
  SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  (void)BIO_set_mem_eof_return(SSL_get_rbio(ssl), -1); /* empty is not the end */
  if (t->session[server]) (void)SSL_set_session(ssl, t->session[server]);
  X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(ssl), TLS_NAMES);
  if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) &&
      !(SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host))) return -1;
  t->error[server] = NULL;
  ERR_clear_error();
  return tls_result(t, server, SSL_connect(ssl)) < 0;
}

static int tls_send(void *ctx, int server, const void *data, size_t size) {
  SSL *ssl = ((tls *)ctx)->ssl[server];
  ERR_clear_error();
  if (BIO_pending(SSL_get_wbio(ssl))) return tls_result((tls *)ctx, server, 1) < 0 ? -1 : 0;
  return tls_result((tls *)ctx, server, SSL_write(ssl, data, (int)size));
}

/* OpenSSL reads from memory, which gets one piece of what has come. It reads on and on for as long
   as there is something that is no answer, and a server may have no end of that: HelloRequests,
   tickets, updates of keys. Returns 0, or -1 if the connection is to end. */
static int tls_feed(tls *t, int server) {
  BIO *bio = SSL_get_rbio(t->ssl[server]);
  char piece[TLS_PIECE];
  ssize_t got = recv((int)t->fd[server], piece, sizeof piece, 0);
  int is_first = t->in_vain[server] == 0 && !SSL_is_init_finished(t->ssl[server]);
  if (got < 0 && tls_may_pass()) return 0;
  if (is_first && (got == 0 || (got < 0 && errno == ECONNRESET)))
    return tls_fail(t, server, "no TLS handshake: it hangs up");
  if (got < 0) return -1;
  if (got == 0) {
    (void)BIO_set_mem_eof_return(bio, 0); /* OpenSSL says what that means here */
    return 0;
  }
  if (is_first && *piece != SSL3_RT_HANDSHAKE && *piece != SSL3_RT_ALERT)
    return tls_fail(t, server, "no TLS handshake: is it redis://?");
  t->in_vain[server] += (long)got;
  if (t->in_vain[server] > TLS_IN_VAIN) return tls_fail(t, server, "no end of TLS, and no answer");
  return BIO_write(bio, piece, (int)got) == got ? 0 : tls_fail(t, server, "no memory for TLS");
}

static int tls_recv(void *ctx, int server, void *data, size_t size) {
  tls *t = (tls *)ctx;
  SSL *ssl = t->ssl[server];
  int total = 0, got = 1;
  if (!BIO_pending(SSL_get_rbio(ssl)) && !SSL_pending(ssl) && tls_feed(t, server)) return -1;
  ERR_clear_error();
  while (got > 0 && total < (int)size) { /* all of the piece: poll knows nothing of it */
    got = SSL_read(ssl, (char *)data + total, (int)size - total);
    if (got > 0) total += got;
  }
  if (total) t->in_vain[server] = 0;
  got = tls_result(t, server, got);
  return total ? total : got;
}

static void tls_close(void *ctx, int server) {
  tls *t = (tls *)ctx;
  int keeps;
  if (!t->ssl[server]) return;
  keeps = !t->error[server] && SSL_get_SSL_CTX(t->ssl[server]) == t->context;
  SSL_SESSION_free(t->session[server]);
  t->session[server] = keeps ? SSL_get1_session(t->ssl[server]) : NULL;
  SSL_set_shutdown(t->ssl[server], SSL_SENT_SHUTDOWN); /* sends nothing; keeps the session */
  SSL_free(t->ssl[server]);
}

/* During a handshake the socket may have room, but OpenSSL has nothing to send. What failed behind
   bytes for the client is told by the next call: there is room for nothing, at once. */
static unsigned tls_want(void *ctx, int server, unsigned events) {
  const tls *t = (const tls *)ctx;
  SSL *ssl = t->ssl[server];
  int is_over = t->error[server] || (SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN);
  if (!SSL_is_init_finished(ssl)) events = REDLOCK_READ;
  return BIO_pending(SSL_get_wbio(ssl)) || is_over ? events | REDLOCK_WRITE : events;
}

/* A server of Redis without TLS says nothing to the beginning of a handshake: so silence does not
   tell what it speaks, and a slow one is slow. */
static const char *tls_error(void *ctx, int server) {
  const tls *t = (const tls *)ctx;
  SSL *ssl = t->ssl[server];
  if (t->error[server] || SSL_is_init_finished(ssl)) return t->error[server];
  return BIO_pending(SSL_get_wbio(ssl)) || t->in_vain[server]
           ? NULL : "no answer within server_timeout_ms: slow, or not TLS?";
}

/* One that trusts nobody yet; NULL = OpenSSL failed. */
static SSL_CTX *tls_context(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (!context) return NULL;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  (void)SSL_CTX_set_options(context, TLS_OPTIONS);
  SSL_CTX_set_max_cert_list(context, TLS_CERTIFICATES);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)) return context;
  SSL_CTX_free(context);
  return NULL;
}

/* Next, say whom to trust, as with SSL_CTX_load_verify_file(t->context, "ca.crt"), and set
   options.tls to &t->layer. Returns 0, or -1 if OpenSSL failed. */
static int tls_begin(tls *t) {
  const redlock_layer calls = {tls_open, tls_send, tls_recv, tls_close, tls_want, tls_error, t};
  memset(t, 0, sizeof *t);
  t->layer = calls;
  t->context = tls_context();
  return t->context ? 0 : -1;
}

/* OpenSSL reads files once. A program that outlives its certificate, or its servers' authority,
   looks now and then whether a file has changed. Then it makes a tls_context(), loads into that
   what it loaded into the first one, and if all of it could be read gives it here, between two
   calls of the client. Connections that stand keep the old one; no later one resumes what began
   under it, for then neither side would look at a certificate. */
static inline void tls_replace(tls *t, SSL_CTX *context) {
  int i;
  for (i = 0; i < REDLOCK_MAX_SERVERS; i++) {
    SSL_SESSION_free(t->session[i]);
    t->session[i] = NULL;
  }
  SSL_CTX_free(t->context);
  t->context = context;
}

/* After redlock_close. */
static inline void tls_end(tls *t) { tls_replace(t, NULL); }
