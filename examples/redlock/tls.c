/* tls.c: rediss://, by OpenSSL where the command was built with it (make redlock TLS=1). */
#include "command.h"

#include <string.h>

static int is_wanted(void) { return strstr(set.servers, "rediss://") != NULL; }

#ifdef REDLOCK_COMMAND_TLS

#include "../tls_openssl.h"

const int has_tls = 1;

static tls state;

static void give_certificate(void) {
  const char *key = set.key ? set.key : set.cert; /* one file may hold both */
  if (!set.cert && set.key) usage("%s", "--key needs --cert: the certificate of this key");
  if (!set.cert) return;
  if (SSL_CTX_use_certificate_chain_file(state.context, set.cert) != 1)
    usage("there is no certificate in the file '%s'", set.cert);
  if (SSL_CTX_use_PrivateKey_file(state.context, key, SSL_FILETYPE_PEM) != 1)
    usage("the file '%s' does not hold the key of this certificate", key);
}

const redlock_layer *tls_layer(void) {
  if (state.context) return &state.layer;
  if (!is_wanted()) return NULL;
  if (tls_begin(&state)) usage("%s", "OpenSSL cannot be used: is the file in OPENSSL_CONF right?");
  if (set.insecure) SSL_CTX_set_verify(state.context, SSL_VERIFY_NONE, NULL);
  else if (!set.cacert) (void)SSL_CTX_set_default_verify_paths(state.context);
  else if (SSL_CTX_load_verify_file(state.context, set.cacert) != 1)
    usage("there are no certificates in the file '%s'", set.cacert);
  give_certificate();
  return &state.layer;
}

#else

const int has_tls = 0;

const redlock_layer *tls_layer(void) {
  if (set.cacert || set.cert || set.key || set.insecure)
    usage("%s", "this redlock was built without TLS: build it with 'make redlock TLS=1'");
  (void)is_wanted;
  return NULL;
}

#endif
