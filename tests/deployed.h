/* deployed.h: servers as examples/deploy/redis.conf has them, with two passwords for tests and the
 * demo, which run in the top folder. */
#ifndef DEPLOYED_H
#define DEPLOYED_H

#include "tests/servers.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPLOYED_CONF "tests/deployed-conf" /* prints it */
#define DEPLOYED_LOCKS "deployed-locks"
#define DEPLOYED_OPERATOR "deployed-operator"

/* The SHA-256 of each, which stands for a password in the lines of users. */
#define DEPLOYED_FILL_IN \
  "sed '/^user /{" \
  "s/@LOCKS@/f6d0138a13395fd247e35df2324747790f45664bd073697698fe228186dd0560/;" \
  "s/@OPERATOR@/d63d520c9bdd7984231393adc9d241f5e1088529d522f77be8d532d50f7aae5a/;}'"

/* NULL when the server can be deployed so, else why not. */
static inline const char *deployed_missing(void) {
  if (servers_missing()) return servers_missing();
  return system(DEPLOYED_CONF " >/dev/null 2>&1") ? "it knows no users: Redis 6 and later do"
                                                  : NULL;
}

/* The last argument for servers_start. */
static inline const char *deployed_args(void) {
  static char path[SERVERS_PATH];
  char line[1024];
  snprintf(path, sizeof path, "%s/redis.conf", servers_folder());
  snprintf(line, sizeof line, DEPLOYED_CONF " >'%s.empty' && " DEPLOYED_FILL_IN " '%s.empty' >'%s'",
           path, path, path);
  if (system(line)) {
    fprintf(stderr, "%s failed\n", DEPLOYED_CONF);
    exit(1);
  }
  return path;
}

/* From now on server_command asks as the operator. */
static inline void deployed_login(struct servers *set) {
  int i;
  for (i = 0; i < set->count; i++)
    snprintf(set->at[i].login, sizeof set->at[i].login, "AUTH operator %s", DEPLOYED_OPERATOR);
}

#endif
