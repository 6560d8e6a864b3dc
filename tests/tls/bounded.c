/* bounded.c: examples/tls_openssl.h beside peers that have no end of what is no answer (flood.h):
 * by itself, on a pair of sockets, and in a client whose other servers are well. With
 * FLOODS=seconds in the environment it prints how long a step takes beside each instead. */
#if defined(__has_include)
#if __has_include(<openssl/opensslv.h>)
#include <openssl/opensslv.h>
#endif
#endif

#include "tests/redis/real.h"

#if defined(OPENSSL_VERSION_MAJOR) && OPENSSL_VERSION_MAJOR >= 3

#include "examples/tls_openssl.h"
#include "begin.h"
#include "flood.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

enum {
  N = 2,               /* servers that are well */
  FEW = 4096,          /* bytes: the most that a call may take */
  IN_VAIN = 262144,    /* the most that a connection may bring without a byte for the client */
  UNSENT = 131072,     /* the most that may wait for a server that reads nothing */
  HEAP = 1048576,      /* the most that OpenSSL may have of us, for one connection */
  CALLS = 2000,
  CONNECTIONS = 2,     /* that are flooded */
  STEP_MS = 250,       /* of the processor's time */
  CYCLES = 20
};

static const char *self;
static tls t;

/* ---- what OpenSSL has of the heap ---- */

static struct {
  size_t now, most;
} heap;

static void *heap_resize(void *old, size_t size, const char *file, int line) {
  size_t *block = (size_t *)old, before = 0;
  (void)file, (void)line;
  if (block) before = *(block -= 2);
  block = (size_t *)realloc(block, size + 2 * sizeof *block);
  if (!block) return NULL;
  *block = size;
  heap.now += size - before;
  if (heap.now > heap.most) heap.most = heap.now;
  return block + 2;
}

static void *heap_get(size_t size, const char *file, int line) {
  return heap_resize(NULL, size, file, line);
}

static void heap_free(void *old, const char *file, int line) {
  size_t *block = (size_t *)old;
  (void)file, (void)line;
  if (!block) return;
  heap.now -= *(block -= 2);
  free(block);
}

/* ---- the layer by itself ---- */

static struct {
  int kind, near, far; /* the ends of the connection */
  SSL_CTX *context;
  SSL *ssl;            /* of the peer, behind the handshake; it works in memory */
  unsigned char *made; /* what it has to send */
  size_t size, sent;
} peer;

static const char *in_folder(const char *name) {
  static char path[2][SERVERS_PATH];
  static unsigned next;
  char *to = path[next++ % 2];
  snprintf(to, sizeof path[0], "%s/%s", servers_folder(), name);
  return to;
}

static void begin_tls(void) {
  CHECK_EQ(tls_begin(&t), 0);
  CHECK_EQ(SSL_CTX_load_verify_file(t.context, in_folder("ca.crt")), 1);
}

/* What the peer's OpenSSL has written goes out, and it is given what has come. */
static void exchange(void) {
  char *data, bytes[4096];
  long size = BIO_get_mem_data(SSL_get_wbio(peer.ssl), &data);
  ssize_t got;
  if (size) CHECK_EQ(write(peer.far, data, (size_t)size), size);
  (void)BIO_reset(SSL_get_wbio(peer.ssl));
  while ((got = read(peer.far, bytes, sizeof bytes)) > 0)
    CHECK_EQ(BIO_write(SSL_get_rbio(peer.ssl), bytes, (int)got), got);
}

static void shake_hands(void) {
  char none[1];
  int turns, done = 0;
  peer.ssl = SSL_new(peer.context);
  SSL_set_accept_state(peer.ssl);
  SSL_set_bio(peer.ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  for (turns = 0; turns < 100 && !(done && SSL_is_init_finished(t.ssl[0])); turns++) {
    CHECK_EQ(t.layer.recv(&t, 0, none, sizeof none), 0);
    exchange();
    done = SSL_do_handshake(peer.ssl) == 1;
    exchange();
  }
  while (t.layer.recv(&t, 0, none, sizeof none) == 0 && SSL_pending(t.ssl[0])) {}
  CHECK(SSL_is_init_finished(t.ssl[0]));
}

static void begin_alone(int kind) {
  int ends[2], room = 4 * FEW;
  begin_tls();
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  peer.kind = kind;
  peer.near = ends[0];
  peer.far = ends[1];
  (void)setsockopt(peer.far, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  fcntl(peer.near, F_SETFL, O_NONBLOCK);
  fcntl(peer.far, F_SETFL, O_NONBLOCK);
  peer.context = flood_context(kind, in_folder("server.crt"), in_folder("server.key"));
  peer.made = (unsigned char *)malloc(FLOOD_PORTION);
  peer.size = peer.sent = 0;
  heap.now = heap.most = 0;
  CHECK_EQ(t.layer.open(&t, 0, peer.near, "localhost"), 0);
  if (flood_kinds[kind].make) shake_hands();
}

static void end_alone(void) {
  t.layer.close(&t, 0);
  tls_end(&t);
  SSL_free(peer.ssl);
  peer.ssl = NULL;
  SSL_CTX_free(peer.context);
  free(peer.made);
  close(peer.near);
  close(peer.far);
}

static void make_more(void) {
  const struct flood_kind *kind = &flood_kinds[peer.kind];
  BIO *out = peer.ssl ? SSL_get_wbio(peer.ssl) : NULL;
  peer.sent = 0;
  if (!out) {
    peer.size = flood_fill(peer.kind, peer.made, FLOOD_PORTION);
    return;
  }
  while (BIO_pending(out) < FLOOD_RECORD) CHECK(kind->make(peer.ssl));
  peer.size = (size_t)BIO_read(out, peer.made, FLOOD_PORTION);
}

/* As much as the connection takes. It reads nothing. */
static void pour(void) {
  ssize_t sent = 1;
  while (sent > 0) {
    if (peer.sent == peer.size) make_more();
    sent = write(peer.far, peer.made + peer.sent, peer.size - peer.sent);
    if (sent > 0) peer.sent += (size_t)sent;
  }
}

static int count_in_socket(void) {
  int bytes = 0;
  CHECK_EQ(ioctl(peer.near, FIONREAD, &bytes), 0);
  return bytes;
}

/* What one call took, while nobody sends, and what it left. */
static long taken_since(int before) {
  int took = before - count_in_socket();
  CHECK(took <= FEW);
  CHECK(BIO_pending(SSL_get_wbio(t.ssl[0])) <= UNSENT);
  return took;
}

/* Returns what recv does. */
static int send_and_receive(long *taken) {
  char data[512];
  int before = count_in_socket(), got;
  (void)t.layer.send(&t, 0, "+", 1);
  *taken += taken_since(before);
  before = count_in_socket();
  got = t.layer.recv(&t, 0, data, sizeof data);
  *taken += taken_since(before);
  return got;
}

TEST(a_call_takes_a_piece_of_a_flood) {
  int kind;
  for (kind = 0; kind < FLOODS; kind++) {
    long taken = 0, calls = 0;
    int bad = check.bad, got = 0;
    begin_alone(kind);
    while (calls++ < CALLS && got >= 0 && check.bad == bad) {
      pour();
      got = send_and_receive(&taken);
    }
    if (kind == FLOOD_PUSHES) { /* the client is to judge them */
      CHECK(got > 0);
    } else {
      CHECK(got < 0 && taken <= IN_VAIN);
      CHECK(t.layer.error(&t, 0) != NULL);
    }
    CHECK(heap.most < HEAP);
    if (check.bad > bad)
      printf("    %s: %ld bytes in %ld calls, heap %ld: %s\n", flood_kinds[kind].name, taken,
             calls, (long)heap.most, t.layer.error(&t, 0) ? t.layer.error(&t, 0) : "no error");
    end_alone();
  }
}

/* ---- a client of which one server floods ---- */

static redlock rl;
static redlock_lock lock, kept;
static struct flood flood;

static struct beside {
  int64_t longest_us, longest_cpu_us; /* of a step */
  int locks, tries, lost;
} seen;

static int64_t cpu_us(void) {
  struct timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

static redlock_lock *timed_step(void) {
  int64_t cpu = cpu_us(), began = timing_us();
  redlock_lock *got = redlock_step(&rl);
  int64_t took = timing_us() - began;
  cpu = cpu_us() - cpu;
  if (took > seen.longest_us) seen.longest_us = took;
  if (cpu > seen.longest_cpu_us) seen.longest_cpu_us = cpu;
  seen.lost += got == &kept;
  return got;
}

static void wait_for_servers(void) {
  redlock_fd want[N + 1];
  struct pollfd look[N + 1];
  int i, count = redlock_fds(&rl, want, N + 1);
  int64_t timeout = redlock_timeout_ms(&rl);
  for (i = 0; i < count; i++) {
    look[i].fd = (int)want[i].fd;
    look[i].events = want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN;
  }
  poll(look, (nfds_t)count, (int)(timeout < 0 || timeout > 1000 ? 1000 : timeout));
}

static void finish_round(void) {
  while (timed_step() != &lock) wait_for_servers();
}

static void take_and_release(void) {
  seen.tries++;
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_PENDING);
  finish_round();
  if (lock.status != REDLOCK_OK) return;
  seen.locks++;
  if (redlock_start_release(&rl, &lock) == REDLOCK_PENDING) finish_round();
}

static void begin_beside(int kind, long a_second) {
  char list[SERVERS_LIST];
  redlock_options options = real_options(REAL_PATIENT_MS);
  memset(&seen, 0, sizeof seen);
  begin_tls();
  options.tls = &t.layer;
  flood_start(&flood, kind, a_second, in_folder("server.crt"), in_folder("server.key"));
  snprintf(list, sizeof list, "rediss://localhost:%d,127.0.0.1:%d,127.0.0.1:%d", flood.port,
           real.at[0].port, real.at[1].port);
  real_open_list_with(&rl, list, options);
  CHECK_EQ(redlock_acquire(&rl, &kept, "kept", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &kept, 0), REDLOCK_OK);
}

static void end_beside(void) {
  CHECK(redlock_remaining_ms(&rl, &kept) > 0);
  CHECK_EQ(redlock_release(&rl, &kept), REDLOCK_OK);
  redlock_close(&rl);
  tls_end(&t);
  flood_stop(&flood);
}

TEST(a_flood_holds_up_nobody) { /* R10 R16 */
  int kind;
  for (kind = 0; kind < FLOODS; kind++) {
    int bad = check.bad;
    begin_beside(kind, 0);
    while (seen.tries < CYCLES || *flood.connections < CONNECTIONS) {
      take_and_release();
      if (kind == FLOOD_PUSHES && seen.tries >= CYCLES) break; /* it stays */
    }
    CHECK_EQ(seen.locks, seen.tries);
    CHECK_EQ(seen.lost, 0);
    CHECK(seen.longest_cpu_us < STEP_MS * 1000L);
    if (check.bad > bad)
      printf("    %s: %d of %d locks, a step of %ld us\n", flood_kinds[kind].name, seen.locks,
             seen.tries, (long)seen.longest_cpu_us);
    end_beside();
  }
}

/* ---- how long a step takes ---- */

static long resident_kb(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

static void measure(int kind, long a_second, int64_t ms) {
  int64_t end, cpu;
  begin_beside(kind, a_second);
  end = timing_ms() + ms;
  cpu = cpu_us();
  while (timing_ms() < end) {
    take_and_release();
    toy_pause(1);
  }
  printf("%-30s %9s %9.1f %9.1f %6.1f %8d %5d %8ld\n", flood_kinds[kind].name,
         a_second ? "30 Mbit/s" : "full", (double)seen.longest_us / 1000,
         (double)seen.longest_cpu_us / 1000, (double)(cpu_us() - cpu) / (double)ms / 10,
         seen.locks, seen.tries - seen.locks, resident_kb());
  CHECK_EQ(seen.lost, 0);
  end_beside();
}

/* ---- and the command ---- */

/* It is COMMAND, and says that a signal has come to it. */
static void on_heard(int number) {
  char byte = (char)number;
  if (write(STDOUT_FILENO, &byte, 1) < 0) _exit(1);
}

static int hear(void) {
  signal(SIGUSR1, on_heard);
  on_heard(SIGUSR1);
  while (pause() < 0) continue;
  return 1;
}

static int await_byte(int fd) {
  struct pollfd look = {fd, POLLIN, 0};
  char byte;
  return poll(&look, 1, 60000) > 0 && read(fd, &byte, 1) == 1;
}

static pid_t start_command(int output) {
  char list[SERVERS_LIST];
  pid_t pid = fork();
  if (pid) return pid;
  snprintf(list, sizeof list, "rediss://localhost:%d,127.0.0.1:%d,127.0.0.1:%d", flood.port,
           real.at[0].port, real.at[1].port);
  dup2(output, STDOUT_FILENO);
  execl(getenv("REDLOCK"), "redlock", "-t", "3s", "-s", list, "--cacert", in_folder("ca.crt"),
        "kept", "--", self, "heard", (char *)NULL);
  _exit(127);
}

/* What /proc tells of it. */
static long resident_kb_of(pid_t pid) {
  char path[64], line[256];
  long kb = -1;
  FILE *file;
  snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
  file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) (void)sscanf(line, "VmHWM: %ld", &kb);
  if (file) fclose(file);
  return kb;
}

/* Its steps are seen from outside: what a signal to COMMAND takes is one at most, and the way. */
static void measure_command(int kind, long a_second, int64_t ms) {
  int64_t end, began, longest_us = 0;
  int ends[2], status;
  struct rusage used;
  pid_t pid;
  long kb;
  flood_start(&flood, kind, a_second, in_folder("server.crt"), in_folder("server.key"));
  CHECK_EQ(pipe(ends), 0);
  pid = start_command(ends[1]);
  CHECK(await_byte(ends[0]));
  for (end = timing_ms() + ms; timing_ms() < end; toy_pause(2)) {
    began = timing_us();
    kill(pid, SIGUSR1);
    if (!CHECK(await_byte(ends[0]))) break;
    if (timing_us() - began > longest_us) longest_us = timing_us() - began;
  }
  kb = resident_kb_of(pid);
  kill(pid, SIGTERM);
  CHECK_EQ(wait4(pid, &status, 0, &used), pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
  printf("%-30s %9s %9.1f %9s %6.1f %8s %5s %8ld\n", flood_kinds[kind].name,
         a_second ? "30 Mbit/s" : "full", (double)longest_us / 1000, "",
         (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e5 / (double)ms +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / (double)ms / 10,
         "command", "", kb);
  close(ends[0]);
  close(ends[1]);
  flood_stop(&flood);
}

static void how_long_a_step_takes(void) {
  int64_t ms = strtol(getenv("FLOODS"), NULL, 10) * 1000;
  int kind;
  printf("%-30s %9s %9s %9s %6s %8s %5s %8s\n", "beside", "rate", "step, ms", "its CPU", "CPU %",
         "locks", "none", "RSS, kB");
  for (kind = 0; kind < FLOODS; kind++) {
    measure(kind, 30000000 / 8, ms);
    measure(kind, 0, ms);
    if (!getenv("REDLOCK")) continue;
    measure_command(kind, 30000000 / 8, ms);
    measure_command(kind, 0, ms);
  }
}

static const char *why;

static void tls_is_missing(void) { SKIP(why); }

int main(int argc, char **argv) {
  self = argv[0];
  if (argc == 2 && strcmp(argv[1], "heard") == 0) return hear();
  if (!CRYPTO_set_mem_functions(heap_get, heap_resize, heap_free)) return 1;
  if (servers_missing()) return real_main(argc, argv, 0, NULL);
  check_start(argc, argv);
  if ((why = tls_missing()) != NULL) {
    RUN(tls_is_missing);
    return check_end();
  }
  signal(SIGPIPE, SIG_IGN);
  servers_start(&real, N, "");
  if (getenv("FLOODS")) RUN(how_long_a_step_takes);
  else check_all();
  servers_stop(&real);
  return check_end();
}

#else

#include "tests/check_main.h"

TEST(openssl_is_missing) { SKIP("OpenSSL 3 is not installed (libssl-dev)"); }

#endif
