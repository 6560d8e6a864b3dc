/* liar.h: servers that pass the handshake and then answer one question with any bytes. One process
 * has up to LIARS of them, each on a port of its own. */
#ifndef COMMAND_LIAR_H
#define COMMAND_LIAR_H

#include "tests/command/command.h"

#include <sys/socket.h>

enum { LIARS = 12, TALKS = 64, WORDS = 10, ASKED = 16384 };

/* What the command asks: --status the first six, on each connection in this order. */
enum question { TRY_SET, TRY_HELLO, TRY_TRACKING, TRY_DELEX, TRY_DELIFEQ, SCRIPT, RELEASE, LOGIN };

struct bytes {
  const char *at;
  size_t size;
};

/* A literal, which may have zeros. */
#define BYTES(literal) {literal, sizeof(literal) - 1}

struct liar {
  enum question question;
  struct bytes answer; /* "" = none at all */
  int hangs_up;        /* behind it */
};

struct talk {
  int fd, size; /* 0 = free */
  const struct liar *liar;
  char asked[ASKED];
};

/* What a server of the tests says of itself: as the script of --status has it. */
#define TOLD(version, role, uptime, clock, rest) \
  "\n\n" version "\n" role "\n0123456789012345678901234567890123456789\n" uptime "\n" clock \
  "\nstandalone\n0\nnoeviction" rest

static inline int is_word(struct bytes word, const char *text) {
  return word.size == strlen(text) && memcmp(word.at, text, word.size) == 0;
}

static inline int begins(struct bytes word, const char *text) {
  return word.size > strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

/* One command at the beginning of the text; how long it is, 0 = more is to come. */
static inline size_t split(const char *text, size_t size, struct bytes words[WORDS], int *count) {
  const char *at = text, *end = text + size;
  int i;
  *count = (int)strtol(at + 1, NULL, 10);
  for (i = 0; i < *count && i < WORDS; i++) {
    at = memchr(at, '$', (size_t)(end - at));
    if (!at || !memchr(at, '\n', (size_t)(end - at))) return 0;
    words[i].size = strtoul(at + 1, NULL, 10);
    words[i].at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    if (words[i].size + 2 > (size_t)(end - words[i].at)) return 0;
    at = words[i].at + words[i].size + 2;
  }
  return *count ? (size_t)(at - text) : 0;
}

/* -1 = another one, whose honest answer is in `answer`. */
static inline int question_of(const struct bytes *words, int count, const char **answer) {
  int is_script = is_word(words[0], "EVAL"), has_key = is_script && is_word(words[2], "1");
  *answer = "+OK\r\n";
  if (is_word(words[0], "AUTH")) return LOGIN;
  if (is_word(words[0], "DELEX")) return TRY_DELEX;
  if (is_word(words[0], "DELIFEQ")) return TRY_DELIFEQ;
  if (is_word(words[0], "HELLO") && count == 1) return TRY_HELLO;
  if (is_word(words[0], "SET") && is_word(words[count - 1], "XX")) return TRY_SET;
  if (is_word(words[0], "CLIENT") && is_word(words[count - 1], "x")) return TRY_TRACKING;
  if (is_script && !has_key && count > 3) return SCRIPT;
  if (has_key && begins(words[1], "local v=redis.call('get',KEYS[1])return v and")) return RELEASE;
  if (is_script) *answer = has_key ? "$-1\r\n" : "+redlock\r\n";
  if (is_word(words[0], "HELLO")) *answer = "-ERR unknown command\r\n";
  return -1;
}

static inline void put_bulk(char *to, const char *text) {
  sprintf(to, "$%d\r\n%s\r\n", (int)strlen(text), text);
}

static inline const char *honest_answer(int question) {
  static char text[512];
  if (question == SCRIPT) put_bulk(text, TOLD("7.0.15", "master", "9999", "1700000000000000", ""));
  else if (question == RELEASE) return ":1\r\n";
  else if (question == LOGIN) return "+OK\r\n";
  else strcpy(text, question == TRY_SET ? "-ERR syntax error\r\n" : "-ERR unknown command\r\n");
  return text;
}

/* A line of `asked` for each question that is lied to. */
static inline void note_question(int question) {
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
    const char *answer;
    int question = question_of(words, count, &answer);
    struct bytes reply = {answer, strlen(answer)};
    int lies = question == (int)t->liar->question;
    if (question >= 0) reply.at = honest_answer(question), reply.size = strlen(reply.at);
    if (lies) reply = t->liar->answer;
    if (lies) note_question(question);
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
static inline pid_t start_liars(const struct liar *liars, int count, char *list) {
  int listeners[LIARS], i, port;
  pid_t pid;
  for (i = 0; i < count; i++) {
    listeners[i] = servers_listener(&port);
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
