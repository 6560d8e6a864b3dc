/* tls_openssl.h: the layer for OpenSSL 3, for copying; tls.c shows how it is used. Certificate and
 * host name are verified, TLS 1.2 is the minimum, and a reconnect resumes the session. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

typedef struct tls { /* of one client */
  SSL_CTX *context;
  redlock_layer layer;
  SSL *ssl[REDLOCK_MAX_SERVERS];
  SSL_SESSION *session[REDLOCK_MAX_SERVERS];
  const char *error[REDLOCK_MAX_SERVERS];
} tls;

/* OpenSSL writes to memory, and this sends what the socket accepts of it: so OpenSSL never holds a
   record back until there is room, and no SIGPIPE comes. `result` is what OpenSSL returned; this
   returns what redlock.h wants instead. */
static int tls_result(tls *t, int server, int result) {
  SSL *ssl = t->ssl[server];
  char *data, gone[8192];
  long size = BIO_get_mem_data(SSL_get_wbio(ssl), &data), most = size < 8192 ? size : 8192;
  ssize_t sent = most ? send(SSL_get_fd(ssl), data, (size_t)most, MSG_NOSIGNAL) : 0;
  unsigned long error = ERR_peek_error();
  if (sent > 0) (void)BIO_read(SSL_get_wbio(ssl), gone, (int)sent);
  if (sent >= 0 || errno == EAGAIN || errno == EINTR || errno == ENOTCONN) {
    if (result > 0) return result;
    if (SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ) return 0;
  }
  /* A command that counts as unsent must not leave with the next call. */
  if (SSL_is_init_finished(ssl)) (void)BIO_reset(SSL_get_wbio(ssl));
  if (t->error[server]) return -1; /* the first failure says why */
  t->error[server] = ERR_reason_error_string(error);
  if (ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED)
    t->error[server] = X509_verify_cert_error_string(SSL_get_verify_result(ssl));
  return -1;
}

static int tls_open(void *ctx, int server, intptr_t fd, const char *host) {
  tls *t = (tls *)ctx;
  SSL *ssl = t->ssl[server] = SSL_new(t->context);
  t->error[server] = "no memory for TLS";
  if (!ssl) return -1;
  SSL_set_bio(ssl, BIO_new_socket((int)fd, BIO_NOCLOSE), BIO_new(BIO_s_mem()));
  if (t->session[server]) (void)SSL_set_session(ssl, t->session[server]);
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

static int tls_recv(void *ctx, int server, void *data, size_t size) {
  ERR_clear_error();
  return tls_result((tls *)ctx, server, SSL_read(((tls *)ctx)->ssl[server], data, (int)size));
}

static void tls_close(void *ctx, int server) {
  tls *t = (tls *)ctx;
  if (!t->ssl[server]) return;
  SSL_SESSION_free(t->session[server]);
  t->session[server] = t->error[server] ? NULL : SSL_get1_session(t->ssl[server]);
  SSL_set_shutdown(t->ssl[server], SSL_SENT_SHUTDOWN); /* sends nothing; keeps the session */
  SSL_free(t->ssl[server]);
}

/* During a handshake the socket may have room, but OpenSSL has nothing to send. */
static unsigned tls_want(void *ctx, int server, unsigned events) {
  SSL *ssl = ((tls *)ctx)->ssl[server];
  if (!SSL_is_init_finished(ssl)) events = REDLOCK_READ;
  return BIO_pending(SSL_get_wbio(ssl)) ? events | REDLOCK_WRITE : events;
}

static const char *tls_error(void *ctx, int server) {
  const tls *t = (const tls *)ctx;
  if (t->error[server] || SSL_is_init_finished(t->ssl[server])) return t->error[server];
  return BIO_pending(SSL_get_wbio(t->ssl[server])) ? NULL : "no TLS handshake: is it redis://?";
}

/* Next, say whom to trust, as with SSL_CTX_load_verify_file(t->context, "ca.crt"), and set
   options.tls to &t->layer. Returns 0, or -1 if OpenSSL failed. */
static int tls_begin(tls *t) {
  const redlock_layer calls = {tls_open, tls_send, tls_recv, tls_close, tls_want, tls_error, t};
  memset(t, 0, sizeof *t);
  t->layer = calls;
  t->context = SSL_CTX_new(TLS_client_method());
  if (t->context) SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
  return t->context && SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION) ? 0 : -1;
}

/* After redlock_close. */
static inline void tls_end(tls *t) {
  int i;
  for (i = 0; i < REDLOCK_MAX_SERVERS; i++) SSL_SESSION_free(t->session[i]);
  SSL_CTX_free(t->context);
}
