/* deployed.h: servers as examples/deploy/redis.conf has them, with two passwords for tests and the
 * demo, which run in the top folder. */
#ifndef DEPLOYED_H
#define DEPLOYED_H

#include "tests/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPLOYED_CONF "tests/deployed-conf" /* prints it */
#define DEPLOYED_LOCKS "deployed-locks"
#define DEPLOYED_OPERATOR "deployed-operator"

/* What stands for each password in the file, and its SHA-256. */
static const char *const deployed_secrets[][2] = {
  {"@LOCKS@", "f6d0138a13395fd247e35df2324747790f45664bd073697698fe228186dd0560"},
  {"@OPERATOR@", "d63d520c9bdd7984231393adc9d241f5e1088529d522f77be8d532d50f7aae5a"},
};

/* Not in its first comment, which says how to fill them in. */
static inline void deployed_fill_in(const char *line, FILE *to) {
  size_t i;
  for (i = 0; i < 2; i++) {
    const char *at = strncmp(line, "user ", 5) == 0 ? strstr(line, deployed_secrets[i][0]) : NULL;
    if (!at) continue;
    fprintf(to, "%.*s%s%s", (int)(at - line), line, deployed_secrets[i][1],
            at + strlen(deployed_secrets[i][0]));
    return;
  }
  fputs(line, to);
}

/* The last argument for servers_start. */
static inline const char *deployed_args(void) {
  static char path[SERVERS_PATH];
  char line[1024];
  FILE *from = popen(DEPLOYED_CONF, "r"), *to;
  snprintf(path, sizeof path, "%s/redis.conf", servers_folder());
  to = fopen(path, "w");
  if (!from || !to) {
    perror(DEPLOYED_CONF);
    exit(1);
  }
  while (fgets(line, sizeof line, from)) deployed_fill_in(line, to);
  if (pclose(from) || fclose(to)) {
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
