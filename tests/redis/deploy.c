/* deploy.c: servers as examples/deploy/redis.conf has them: its user can do all that a lock needs
 * and nothing else, and a lock does not vanish. */
#include "tests/redis/fixture.h"

#include "tests/deployed.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { SERVERS = 3, SHORT_MS = 1200, NEVER_S = 5 };

static void heal_as_operator(void) {
  deployed_login(&real);
  heal();
}

static redlock_options as_locks(uint32_t server_timeout_ms) {
  redlock_options options = real_options(server_timeout_ms);
  options.username = "locks";
  options.password = DEPLOYED_LOCKS;
  return options;
}

TEST(the_user_of_locks_takes_extends_and_releases_locks) {
  real_open_with(&rl, SERVERS, as_locks(REAL_PATIENT_MS));
  real_open_with(&rival, SERVERS, as_locks(REAL_PATIENT_MS));
  CHECK_EQ(redlock_acquire(&rl, &lock, "deploy", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rival, &other, "deploy", REAL_TTL_MS, 0), REDLOCK_TAKEN);
  CHECK_EQ(redlock_extend(&rl, &lock, 2 * REAL_TTL_MS), REDLOCK_OK);
  CHECK(real_votes(&lock, SERVERS, REDLOCK_VOTE_YES) >= real_quorum(SERVERS));
  real_release(&rl, &lock, SERVERS, "deploy");
}

/* The quarantine asks with INFO, fencing takes the lock by a script. */
TEST(the_user_of_locks_gets_fencing_tokens) {
  redlock_options options = as_locks(SHORT_MS / 4);
  uint64_t last = 0;
  int i;
  options.max_ttl_ms = SHORT_MS;
  options.fencing = 1;
  real_open_with(&rl, SERVERS, options);
  for (i = 0; i < 10; i++) {
    CHECK_EQ(redlock_acquire(&rl, &lock, "deploy", SHORT_MS, REAL_WAIT_MS), REDLOCK_OK);
    CHECK(lock.token > last);
    last = lock.token;
    redlock_release(&rl, &lock);
  }
}

/* What the server says to the clients' user. */
static const char *told(const char *command) {
  struct server as = real.at[0];
  snprintf(as.login, sizeof as.login, "AUTH locks %s", DEPLOYED_LOCKS);
  return server_command(&as, "%s", command);
}

/* The commands of fencing tokens and of wake-ups, in scripts and by themselves. */
TEST(the_user_of_locks_may_send_all_that_a_client_can) {
  static const char *const allowed[] = {
    "EVAL \"redis.call('time') redis.call('get',KEYS[1]) "
    "return redis.call('set',KEYS[1]..':fence','7','px','100')\" 1 deploy",
    "EVAL \"redis.call('pttl',KEYS[1]) redis.call('pexpire',KEYS[1],9) redis.call('del',KEYS[1]) "
    "return redis.call('info')\" 1 deploy",
    "SET deploy:fence 7 PX 60000", "GET deploy:fence", "TIME", "HELLO 3 SETNAME redlock",
    "CLIENT TRACKING ON",
    "INFO", "GETEX deploy:fence"
  };
  size_t i, count = sizeof allowed / sizeof *allowed;
  /* Redis before 6.2 does not know the last one, and goes without +getex */
  count -= strncmp(server_command(&real.at[0], "GETEX none"), "-ERR unknown", 12) == 0;
  for (i = 0; i < count; i++) {
    const char *reply = told(allowed[i]);
    if (!CHECK(*reply != '-' && *reply != '(')) printf("    %s: %s\n", allowed[i], reply);
    if (strncmp(allowed[i], "GET", 3) == 0) CHECK(strcmp(reply, "7") == 0);
  }
}

TEST(the_user_of_locks_may_do_nothing_else) {
  static const char *const denied[] = {
    "FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "CONFIG GET *", "CONFIG SET maxmemory 0",
    "SHUTDOWN NOSAVE", "RENAME a b", "EXPIRE a 1", "PERSIST a", "INCR a",
    "REPLICAOF NO ONE", "CLIENT KILL TYPE normal", "CLIENT LIST", "CLIENT PAUSE 1", "ACL LIST",
    "SCRIPT FLUSH", "SUBSCRIBE a", "MONITOR", "PING", "SWAPDB 0 0", "COPY a b", "BGREWRITEAOF"
  };
  size_t i;
  for (i = 0; i < sizeof denied / sizeof *denied; i++) {
    const char *reply = told(denied[i]);
    /* a server that is too old to know one knows no right to it either */
    if (!CHECK(strncmp(reply, "-NOPERM", 7) == 0 || strncmp(reply, "-ERR unknown", 12) == 0))
      printf("    %s: %s\n", denied[i], reply);
  }
}

TEST(nobody_without_a_password_gets_in) {
  struct server as = real.at[0];
  as.login[0] = '\0';
  CHECK(strncmp(server_command(&as, "GET deploy"), "-NOAUTH", 7) == 0);
  snprintf(as.login, sizeof as.login, "AUTH locks @LOCKS@");
  CHECK(strncmp(server_command(&as, "GET deploy"), "-NOAUTH", 7) == 0);
}

/* While the disk is slow the server puts writing off, for two seconds at most. */
static int is_written(const struct server *s) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS && server_info(s, "aof_buffer_length:") != 0; looks++)
    poll(NULL, 0, REAL_LOOK_MS);
  return looks < REAL_LOOKS;
}

TEST(a_lock_outlives_a_crash_of_all_servers) {
  int i;
  real_open_with(&rl, SERVERS, as_locks(REAL_PATIENT_MS));
  real_hold(&rl, &lock, SERVERS, "deploy", 10 * REAL_TTL_MS);
  for (i = 0; i < SERVERS; i++) {
    CHECK(is_written(&real.at[i]));
    server_restart(&real.at[i]);
  }
  CHECK_EQ(real_keys(SERVERS, "deploy"), SERVERS);
  redlock_wait(&rl, REAL_LOOK_MS); /* the old connections are found closed */
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* Which of them says so, the clock decides. */
TEST(a_full_server_refuses_and_throws_nothing_out) {
  int i, full = 0;
  long room = server_info(&real.at[0], "maxmemory:");
  real_open_with(&rl, SERVERS, as_locks(REAL_PATIENT_MS));
  real_hold(&rl, &lock, SERVERS, "deploy", REAL_TTL_MS);
  servers_command(&real, SERVERS, "CONFIG SET maxmemory 1");
  CHECK_EQ(redlock_acquire(&rl, &other, "another", REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  for (i = 0; i < SERVERS; i++) full += strncmp(redlock_server_error(&rl, i), "OOM", 3) == 0;
  CHECK(full >= real_quorum(SERVERS));
  CHECK_EQ(real_keys(SERVERS, "deploy"), SERVERS);
  servers_command(&real, SERVERS, "CONFIG SET maxmemory %ld", room);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* Whether the client of this connection gets a lock. */
static int gets_a_lock(int fd, int number) {
  char text[128], *at = text;
  int size = snprintf(text, sizeof text, "AUTH locks %s\r\nSET lock:%d x NX PX 60000\r\n",
                      DEPLOYED_LOCKS, number);
  size_t got = 0, wanted = strlen("+OK\r\n+OK\r\n");
  if (write(fd, text, (size_t)size) != size) return 0;
  while (got < wanted) {
    ssize_t more = read(fd, at + got, wanted - got);
    if (more <= 0) return 0;
    got += (size_t)more;
  }
  return memcmp(text, "+OK\r\n+OK\r\n", wanted) == 0;
}

/* So many as redis.conf says, side by side: connections take far more memory than locks. */
TEST(five_thousand_clients_find_room) {
  enum { CLIENTS = 5000, OTHERS = 200 };
  static int fds[CLIENTS];
  struct rlimit files;
  int i, granted = 0;
  if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_max < CLIENTS + OTHERS)
    SKIP("too few descriptors");
  files.rlim_cur = CLIENTS + OTHERS;
  if (setrlimit(RLIMIT_NOFILE, &files)) SKIP("too few descriptors");
  if (strtol(server_command(&real.at[0], "CONFIG GET maxclients") + strlen("maxclients "), NULL, 10)
      < CLIENTS + OTHERS) SKIP("the server may open too few");
  for (i = 0; i < CLIENTS; i++) {
    fds[i] = servers_dial(real.at[0].port);
    granted += fds[i] >= 0 && gets_a_lock(fds[i], i);
  }
  CHECK_EQ(granted, CLIENTS);
  for (i = 0; i < CLIENTS; i++) close(fds[i]);
}

/* As it stands in the folder nobody knows the passwords, not even the server. */
TEST(a_server_does_not_start_before_its_passwords_are_filled_in) {
  int fd;
  pid_t pid = fork();
  if (pid == 0) {
    fd = open("/dev/null", O_WRONLY);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    alarm(NEVER_S); /* it would serve for ever */
    execl(getenv("REDIS_SERVER"), "redis-server", "examples/deploy/redis.conf", "--port", "0",
          "--dir", servers_folder(), (char *)NULL);
    _exit(127);
  }
  CHECK_EQ(real_end_of(pid), 1);
}

static void deployed_servers_are_missing(void) { SKIP(deployed_missing()); }

int main(int argc, char **argv) {
  if (!servers_missing() && deployed_missing()) {
    check_start(argc, argv);
    RUN(deployed_servers_are_missing);
    return check_end();
  }
  check.before = heal_as_operator;
  check.after = close_both;
  return real_main_with(argc, argv, SERVERS, deployed_args, check_all);
}
