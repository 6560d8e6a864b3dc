/* begin.h: how TLS servers are started, and what it takes. */
#ifndef BEGIN_H
#define BEGIN_H

#include "tests/servers.h"

#include <stdio.h>
#include <stdlib.h>

#define TLS_SERVER \
  "--port 0 --tls-port $port --tls-cert-file ../server.crt --tls-key-file ../server.key " \
  "--tls-ca-cert-file ../ca.crt --tls-auth-clients no"

/* Makes the certificates in the servers' folder. Returns why that cannot be, or the servers not be
   started; NULL = all is there. A server with TLS misses its certificate, and says so. */
static inline const char *tls_missing(void) {
  char line[512];
  snprintf(line, sizeof line,
           "printf 'port 0\\ntls-port 1\\n' | %s - 2>&1 | grep -q 'configure TLS'",
           getenv("REDIS_SERVER"));
  if (system(line)) return "the server was built without TLS";
  snprintf(line, sizeof line, "tests/tls/certificates %s", servers_folder());
  return system(line) ? "no certificates: is the program openssl installed?" : NULL;
}

#endif
