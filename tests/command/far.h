/* far.h: a server that is far away: a relay before it, which hands on each byte as late as if the
 * round trip took that long. The kernel here makes a connection at once: so the first bytes on it
 * come one round trip later still, as if it had taken one. */
#ifndef FAR_H
#define FAR_H

#include "tests/command/command.h"

#include <sys/mman.h>
#include <sys/socket.h>

/* How many round trips the longest connection took. All relays look at it. */
static int *far_trips;

static inline void far_share_trips(void) {
  int fd = open(in_work("trips"), O_RDWR | O_CREAT, 0600);
  void *at = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof *far_trips) == 0)
    at = mmap(NULL, sizeof *far_trips, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) exit(1);
  far_trips = (int *)at;
  close(fd);
}

enum { FAR_CHUNKS = 64, FAR_BYTES = 8192 };

/* What is on its way, to one side. */
struct far_way {
  struct {
    int64_t due_ms;
    ssize_t size; /* 0 = the end */
    char bytes[FAR_BYTES];
  } chunk[FAR_CHUNKS];
  unsigned first, next;
};

/* Hands on what is due; returns for how long nothing is, in ms, -1 = nothing is on its way. */
static inline int far_hand_on(struct far_way *way, int to) {
  while (way->first != way->next) {
    unsigned i = way->first % FAR_CHUNKS;
    int64_t left = way->chunk[i].due_ms - timing_ms();
    if (left > 0) return (int)left;
    if (way->chunk[i].size <= 0) (void)shutdown(to, SHUT_WR);
    else if (send(to, way->chunk[i].bytes, (size_t)way->chunk[i].size, MSG_NOSIGNAL) < 0) _exit(0);
    way->first++;
  }
  return -1;
}

static inline void far_take(struct far_way *way, int from, int delay_ms) {
  unsigned i = way->next++ % FAR_CHUNKS;
  way->chunk[i].size = read(from, way->chunk[i].bytes, FAR_BYTES);
  way->chunk[i].due_ms = timing_ms() + delay_ms;
}

/* One connection, until both sides have ended it. */
static inline void far_relay(int near, int far, int round_trip_ms) {
  static struct far_way ways[2]; /* to the server, and back */
  struct pollfd ends[2] = {{near, POLLIN, 0}, {far, POLLIN, 0}};
  int i, delay_ms = round_trip_ms / 2 + round_trip_ms, trips = 1, has_answered = 1;
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    int there = far_hand_on(&ways[0], far), back = far_hand_on(&ways[1], near);
    (void)poll(ends, 2, there < 0 || (back >= 0 && back < there) ? back : there);
    for (i = 0; i < 2; i++) {
      if (!ends[i].revents) continue;
      far_take(&ways[i], i ? far : near, i ? round_trip_ms / 2 : delay_ms);
      if (ways[i].chunk[(ways[i].next - 1) % FAR_CHUNKS].size <= 0) ends[i].fd = -1;
      else if (i) has_answered = 1;
      else if (has_answered) trips++, has_answered = 0;
      if (*far_trips < trips) *far_trips = trips;
      if (!i) delay_ms = round_trip_ms / 2;
    }
  }
  while (far_hand_on(&ways[0], far) >= 0 || far_hand_on(&ways[1], near) >= 0) sleep_ms(1);
}

/* Before the server at that port; ended by its process. */
static inline pid_t far_start(int *port, int server_port, int round_trip_ms) {
  int listener = servers_listener(port);
  pid_t pid = fork();
  if (pid == 0) (void)signal(SIGCHLD, SIG_IGN);
  while (pid == 0) {
    int near = accept(listener, NULL, NULL);
    if (near >= 0 && fork() == 0) {
      far_relay(near, dial(server_port), round_trip_ms);
      _exit(0);
    }
    close(near);
  }
  close(listener);
  return pid;
}

/* All of them; the list, each entry behind what `scheme` says. */
static inline void far_start_all(pid_t pids[], int count, const char *scheme, int round_trip_ms,
                                 char list[SERVERS_LIST]) {
  int i, port;
  if (!far_trips) far_share_trips();
  *far_trips = 0;
  *list = 0;
  for (i = 0; i < count; i++) {
    pids[i] = far_start(&port, real.at[i].port, round_trip_ms);
    snprintf(list + strlen(list), SERVERS_LIST - strlen(list), "%s%s127.0.0.1:%d", i ? "," : "",
             scheme, port);
  }
}

static inline void far_end_all(const pid_t pids[], int count) {
  int i;
  for (i = 0; i < count; i++) {
    kill(pids[i], SIGKILL);
    waitpid(pids[i], NULL, 0);
  }
}

/* Five that do not wait get their locks side by side, with these options, and a status agrees: each
   line that goes wrong is told. A busy machine has time for it; what the default has is counted in
   round trips: one is to connect, and one behind the lock is the trial extension. */
static inline void check_is_near_enough(const char *scheme, const char *options, int round_trip_ms,
                                        int most_trips) {
  static const char patience[] = "-t 100s --server-timeout 50s";
  char list[SERVERS_LIST];
  pid_t pids[SERVERS_MAX];
  far_start_all(pids, real.count, scheme, round_trip_ms, list);
  use_servers("%s", list);
  CHECK_PRINTS("", 0, "for i in 1 2 3 4 5; do { $redlock -n %s %s --take job$i >/dev/null || "
               "echo \"status $?\"; } & done; wait", patience, options);
  if (!CHECK(*far_trips <= most_trips + 1)) printf("    %d round trips\n", *far_trips);
  CHECK_SAYS("3 of 3 servers can vote, 2 are needed: locks can be taken", 0,
             "$redlock --status %s %s", patience, options);
  CHECK(!says("no answer"));
  far_end_all(pids, real.count);
}

#endif
