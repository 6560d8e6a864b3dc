/* proxy.h: a process that forwards each of its ports to a server, requests late by a fixed time and
 * replies at once: every round trip takes that much longer. It ends with the process that started
 * it, whose end of a pipe it watches. */
#ifndef PROXY_H
#define PROXY_H

#include "tests/bench/floor.h"

#include <sys/select.h>
#include <sys/wait.h>

enum { PROXY_PAIRS = 16, PROXY_CHUNKS = 64, PROXY_CHUNK = 1024 };

struct chunk {
  int64_t due_ns;
  ssize_t size;
  char bytes[PROXY_CHUNK];
};

/* One connection: the client's side, the server's side, and what waits between them. */
struct pair {
  int client, server;
  unsigned first, count;
  struct chunk chunks[PROXY_CHUNKS];
};

struct proxy {
  pid_t pid;
  int lifeline;
  int64_t delay_ns;
  int listeners[BENCH_SERVERS];
  int ports[BENCH_SERVERS];  /* for the client */
  int targets[BENCH_SERVERS];
  struct pair *pairs;
  int count;
};

static inline void proxy_accept(struct proxy *p, int i) {
  struct pair *pair = &p->pairs[p->count];
  int one = 1;
  if (p->count == PROXY_PAIRS) bench_die("proxy: too many connections");
  p->count++;
  memset(pair, 0, sizeof *pair);
  pair->client = accept(p->listeners[i], NULL, NULL);
  pair->server = floor_connect(p->targets[i]);
  setsockopt(pair->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static inline void proxy_end_pair(struct pair *pair) {
  close(pair->client);
  close(pair->server);
  pair->client = pair->server = -1;
}

static inline void proxy_take_request(const struct proxy *p, struct pair *pair) {
  struct chunk *c = &pair->chunks[(pair->first + pair->count) % PROXY_CHUNKS];
  if (pair->count == PROXY_CHUNKS) return; /* later: select tells again */
  c->size = recv(pair->client, c->bytes, sizeof c->bytes, 0);
  c->due_ns = bench_ns() + p->delay_ns;
  if (c->size > 0) pair->count++;
  else proxy_end_pair(pair);
}

static inline void proxy_give_reply(struct pair *pair) {
  char bytes[PROXY_CHUNK];
  ssize_t size = recv(pair->server, bytes, sizeof bytes, 0);
  if (size <= 0 || send(pair->client, bytes, (size_t)size, MSG_NOSIGNAL) != size)
    proxy_end_pair(pair);
}

/* Forwards what is due; when the next chunk will be, or `earliest` if that is sooner. */
static inline int64_t proxy_forward(struct pair *pair, int64_t earliest) {
  while (pair->server >= 0 && pair->count > 0) {
    const struct chunk *c = &pair->chunks[pair->first % PROXY_CHUNKS];
    if (c->due_ns > bench_ns()) return c->due_ns < earliest ? c->due_ns : earliest;
    (void)send(pair->server, c->bytes, (size_t)c->size, MSG_NOSIGNAL);
    pair->first++;
    pair->count--;
  }
  return earliest;
}

static inline void proxy_watch(fd_set *set, int fd, int *most) {
  if (fd < 0) return;
  FD_SET(fd, set);
  if (fd > *most) *most = fd;
}

/* Waits for any of the sockets, or for the next chunk's time. */
static inline void proxy_wait(struct proxy *p, fd_set *set, int64_t due_ns) {
  struct timespec left;
  int64_t ns = due_ns - bench_ns();
  int i, most = p->lifeline;
  FD_ZERO(set);
  FD_SET(p->lifeline, set);
  for (i = 0; i < BENCH_SERVERS; i++) proxy_watch(set, p->listeners[i], &most);
  for (i = 0; i < p->count; i++) {
    proxy_watch(set, p->pairs[i].client, &most);
    proxy_watch(set, p->pairs[i].server, &most);
  }
  if (ns < 0) ns = 0;
  left.tv_sec = (time_t)(ns / 1000000000);
  left.tv_nsec = (long)(ns % 1000000000);
  if (pselect(most + 1, set, NULL, NULL, &left, NULL) < 0) FD_ZERO(set);
}

static inline void proxy_turn(struct proxy *p, fd_set *set) {
  int i;
  for (i = 0; i < p->count; i++) {
    struct pair *pair = &p->pairs[i];
    if (pair->client >= 0 && FD_ISSET(pair->client, set)) proxy_take_request(p, pair);
    if (pair->server >= 0 && FD_ISSET(pair->server, set)) proxy_give_reply(pair);
  }
  for (i = 0; i < BENCH_SERVERS; i++)
    if (FD_ISSET(p->listeners[i], set)) proxy_accept(p, i);
}

static inline void proxy_serve(struct proxy *p) {
  int64_t due_ns;
  fd_set set;
  int i;
  p->pairs = (struct pair *)calloc(PROXY_PAIRS, sizeof *p->pairs);
  if (!p->pairs) _exit(1);
  do {
    due_ns = bench_ns() + 1000000000;
    for (i = 0; i < p->count; i++) due_ns = proxy_forward(&p->pairs[i], due_ns);
    proxy_wait(p, &set, due_ns);
    proxy_turn(p, &set);
  } while (!FD_ISSET(p->lifeline, &set));
  _exit(0);
}

static inline void proxy_start(struct proxy *p, const struct servers *set, int delay_ms) {
  int ends[2], i;
  memset(p, 0, sizeof *p);
  p->delay_ns = (int64_t)delay_ms * 1000000;
  for (i = 0; i < BENCH_SERVERS; i++) {
    p->targets[i] = set->at[i].port;
    p->listeners[i] = servers_listener(&p->ports[i]);
  }
  if (pipe(ends)) bench_die("proxy: no pipe");
  p->pid = fork();
  if (p->pid < 0) bench_die("proxy: no process");
  p->lifeline = ends[p->pid ? 1 : 0];
  close(ends[p->pid ? 0 : 1]);
  if (p->pid == 0) proxy_serve(p);
  for (i = 0; i < BENCH_SERVERS; i++) close(p->listeners[i]);
}

static inline void proxy_stop(struct proxy *p) {
  close(p->lifeline);
  waitpid(p->pid, NULL, 0);
}

#endif
