/* liar.h: servers that pass the handshake and then answer one question with any bytes. One process
 * has up to LIARS of them, each on a port of its own. */
#ifndef COMMAND_LIAR_H
#define COMMAND_LIAR_H

#include "tests/asked.h"
#include "tests/command/command.h"

#include <sys/socket.h>

enum { LIARS = 12, TALKS = 64, ASKED = 16384 };

struct liar {
  enum question question;
  struct bytes answer; /* "" = none at all */
  int hangs_up;        /* behind it */
  int number;          /* start_liars sets it */
};

struct talk {
  int fd, size; /* 0 = free */
  const struct liar *liar;
  char asked[ASKED];
};

/* A line of `asked` for each question that is lied to. */
static inline void note_question(enum question question) {
  FILE *file = fopen(in_work("asked"), "a");
  if (!file) return;
  fprintf(file, "%d\n", question);
  fclose(file);
}

static inline void hang_up(struct talk *t) {
  close(t->fd);
  t->fd = 0;
}

static inline void answer_all(struct talk *t) {
  struct bytes words[WORDS];
  int count;
  size_t size;
  while (t->fd && (size = split(t->asked, (size_t)t->size, words, &count)) > 0) {
    enum question question = question_of(words, count);
    int lies = question == t->liar->question;
    struct bytes reply = t->liar->answer;
    if (lies) {
      note_question(question);
    } else {
      reply.at = honest_answer(question, t->liar->number);
      reply.size = strlen(reply.at);
    }
    t->size -= (int)size;
    if (send(t->fd, reply.at, reply.size, MSG_NOSIGNAL) < 0 || (lies && t->liar->hangs_up)) {
      shutdown(t->fd, SHUT_WR);
      hang_up(t);
      return;
    }
    memmove(t->asked, t->asked + size, (size_t)t->size);
  }
}

static inline void listen_to(struct talk *t) {
  ssize_t got = recv(t->fd, t->asked + t->size, (size_t)(ASKED - t->size), 0);
  if (got <= 0) {
    hang_up(t);
    return;
  }
  t->size += (int)got;
  answer_all(t);
}

static inline void greet(struct talk *talks, int fd, const struct liar *liar) {
  int i = 0;
  while (i < TALKS && talks[i].fd) i++;
  if (i == TALKS) {
    close(fd);
    return;
  }
  talks[i].fd = fd;
  talks[i].size = 0;
  talks[i].liar = liar;
}

static inline void lie(const int *listeners, const struct liar *liars, int count) {
  static struct talk talks[TALKS];
  for (;;) {
    struct pollfd fds[LIARS + TALKS];
    int i;
    memset(fds, 0, sizeof fds);
    for (i = 0; i < count + TALKS; i++) {
      fds[i].fd = i < count ? listeners[i] : talks[i - count].fd ? talks[i - count].fd : -1;
      fds[i].events = POLLIN;
    }
    if (poll(fds, (nfds_t)(count + TALKS), -1) < 0) _exit(1);
    for (i = 0; i < count; i++)
      if (fds[i].revents) greet(talks, accept(listeners[i], NULL, NULL), &liars[i]);
    for (; i < count + TALKS; i++)
      if (fds[i].revents && talks[i - count].fd) listen_to(&talks[i - count]);
  }
}

/* They end with the process of that number. Their addresses are put in front of the list. */
static inline pid_t start_liars(struct liar *liars, int count, char *list) {
  int listeners[LIARS], i, port;
  pid_t pid;
  for (i = 0; i < count; i++) {
    listeners[i] = servers_listener(&port);
    liars[i].number = port;
    list += sprintf(list, "127.0.0.1:%d,", port);
  }
  pid = fork();
  if (pid == 0) lie(listeners, liars, count);
  for (i = 0; i < count; i++) close(listeners[i]);
  return pid;
}

static inline void stop_liars(pid_t pid) {
  kill(pid, SIGKILL);
  CHECK_EQ(end_of(pid), 128 + SIGKILL);
}

#endif
