/* tls.c: a lock on servers that are reached over TLS. The list says rediss:// for these, and may
 * hold others too.
 *
 *   cc -I.. tls.c -lssl -lcrypto -o tls
 *   ./tls rediss://cache-1.example,rediss://cache-2.example:6380,rediss://cache-3.example [ca.crt]
 *
 * Where the servers ask for the client's certificate, give it to the context:
 *   SSL_CTX_use_certificate_chain_file(t.context, "client.crt")
 *   SSL_CTX_use_PrivateKey_file(t.context, "client.key", SSL_FILETYPE_PEM) */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tls_openssl.h"

#include <stdio.h>

static tls t;
static redlock client;

/* Why a call failed: on this side (-1), and on each server that has something to say. */
static int explain(const redlock *rl, const char *what, redlock_status status) {
  const char *error;
  int i;
  fprintf(stderr, "%s: %s\n", what, redlock_strerror(status));
  for (i = -1; (error = redlock_server_error(rl, i)) != NULL; i++)
    if (*error) fprintf(stderr, "  server %d: %s\n", i, error);
  return 1;
}

/* authorities: a file with the certificates to trust; NULL = the system's. 0 = failed. */
static int begin_tls(const char *authorities) {
  if (tls_begin(&t)) return 0;
  return authorities ? SSL_CTX_load_verify_file(t.context, authorities)
                     : SSL_CTX_set_default_verify_paths(t.context);
}

static int run(const char *servers) {
  redlock_options options;
  redlock_lock lock;
  redlock_status status;
  memset(&options, 0, sizeof options);
  options.tls = &t.layer;
  options.server_timeout_ms = 1000; /* a handshake takes two round trips, and arithmetic */
  status = redlock_init(&client, servers, &options);
  if (status != REDLOCK_OK) return explain(&client, "init", status);
  status = redlock_acquire(&client, &lock, "invoice:42", 10000, 3000);
  if (status != REDLOCK_OK) return explain(&client, "acquire", status);
  printf("held for %d ms\n", (int)redlock_remaining_ms(&client, &lock));
  (void)redlock_release(&client, &lock);
  return 0;
}

int main(int argc, char **argv) {
  int result = 2;
  if (argc > 1 && begin_tls(argc > 2 ? argv[2] : NULL)) {
    result = run(argv[1]);
  } else {
    fprintf(stderr, "usage: tls SERVERS [AUTHORITIES]\n");
    ERR_print_errors_fp(stderr);
  }
  redlock_close(&client);
  tls_end(&t);
  return result;
}
