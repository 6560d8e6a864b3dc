/* command.c: the whole command, with arguments, environment, files and servers that are the input,
 * in a system of its own: see system.h. Its variables are put back as they were for each run.
 *
 * It must end if it may not wait, with a status that is documented; say nothing that a terminal
 * obeys; show no password; print JSON that is whole; and keep a ticket that it has not released. */
#include "examples/redlock/command.h"

#ifndef REDLOCK_COMMAND_FOLDER
#define REDLOCK_COMMAND_FOLDER "/etc/redlock"
#endif

#include "../json.h"
#include "system.h"

enum { WORDS_MOST = 40, INPUT_MOST = 4000, PRINTED = 1 << 16, SHORT_MS = 5000 };

int redlock_main(int argc, char **argv); /* main, renamed */

static const char *ticket_path(void) { return set.ticket_file; }

static int may_wait(void) {
  return set.server_timeout_ms > SHORT_MS ||
         (!set.status && set.step <= TAKE && (set.wait_ms > SHORT_MS || set.min_hold_ms));
}

/* ---- The command's variables ----------------------------------------------------------------- */

extern long long begin_data[2], end_data[2], begin_bss[2], end_bss[2];

/* Over what the sanitizer has put between them. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address"), no_sanitize("undefined"), noinline))
#endif
static void copy(volatile char *to, const volatile char *from, size_t size) {
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
    *(volatile uint64_t *)(volatile void *)to =
      from ? *(const volatile uint64_t *)(const volatile void *)from : 0;
    to += sizeof(uint64_t);
    if (from) from += sizeof(uint64_t);
  }
}

static void put_back(void) {
  static char *data;
  size_t size = (size_t)((char *)end_data - (char *)begin_data);
  if (!data) {
    data = malloc(size);
    if (!data) abort();
    copy(data, (char *)begin_data, size);
    FUZZ_CHECK((char *)&set > (char *)begin_bss && (char *)&set < (char *)end_bss);
  }
  copy((char *)begin_data, data, size);
  copy((char *)begin_bss, NULL, (size_t)((char *)end_bss - (char *)begin_bss));
}

/* ---- What it prints -------------------------------------------------------------------------- */

static char printed[PRINTED];

static void run(int argc, char **argv) {
  static int own = -1, there;
  static FILE *file;
  size_t size;
  if (own < 0) {
    file = tmpfile();
    own = dup(STDOUT_FILENO);
    if (own < 0 || !file) abort();
    there = fileno(file);
  }
  (void)fflush(stdout);
  (void)dup2(there, STDOUT_FILENO);
  if (setjmp(sys.out) == 0) end(redlock_main(argc, argv));
  (void)fflush(stdout);
  (void)dup2(own, STDOUT_FILENO);
  rewind(file);
  size = fread(printed, 1, sizeof printed - 1, file);
  printed[size] = 0;
  rewind(file);
  if (ftruncate(there, 0) != 0) abort();
}

/* ---- What must hold -------------------------------------------------------------------------- */

/* UTF-8, and nothing that moves a cursor or turns the direction of writing. */
static int is_harmless(const char *text) {
  static const char *const obeyed[] = {
    "\x7f", "\xc0", "\xc1", "\xe0\x80", "\xe0\x81", "\xe0\x82", "\xe0\x90", "\xf0\x80", "\xd8\x9c",
    "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad",
    "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9"
  };
  size_t i;
  int more = 0;
  for (i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
    if (strstr(text, obeyed[i])) return 0;
  for (; *text; text++) {
    unsigned c = (unsigned char)*text;
    if (more ? (c & 0xC0) != 0x80 : (c & 0xC0) == 0x80) return 0;
    if (c < 0x20 && c != '\n') return 0;
    if (c == 0xC2 && ((unsigned char)text[1] & 0xE0) == 0x80) return 0;
    more = more ? more - 1 : c < 0xC0 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF5 ? 3 : 9;
  }
  return more == 0;
}

static int is_each_line_ours(const char *text) {
  for (; *text; text = strchr(text, '\n') + 1)
    if (strncmp(text, "redlock: ", 9) != 0 || !strchr(text, '\n')) return 0;
  return 1;
}

static int is_documented(int status) {
  return status == 0 || (status >= EXIT_MINORITY && status <= EXIT_NOT_FOUND) ||
         status == set.taken_status;
}

static void check_run(const char *secret, int had_ticket) {
  FUZZ_CHECK(sys.is_endless || is_documented(sys.status));
  FUZZ_CHECK(is_harmless(sys.text) && is_each_line_ours(sys.text) && is_harmless(printed));
  if (*secret) FUZZ_CHECK(!strstr(sys.text, secret) && !strstr(printed, secret));
  if (set.status && set.json && sys.status <= EXIT_NO_QUORUM)
    FUZZ_CHECK(is_report_of(printed, count_servers()));
  if (set.step == RELEASE && had_ticket)
    FUZZ_CHECK(sys.file[TICKET_FILE].is_there == (sys.status != 0));
}

/* ---- The input ------------------------------------------------------------------------------- */

static char *take_text(struct fuzz_input *in, char **room) {
  char *text = *room;
  uint8_t byte;
  while (in->at < in->end && (byte = fuzz_byte(in)) != 0) *(*room)++ = (char)byte;
  *(*room)++ = 0;
  return text;
}

static void set_variable(int i, const char *name, char *text) {
  sys.name[i] = name;
  sys.variable[i] = text;
}

/* A length, and so many bytes. */
static void put_file(enum file which, struct fuzz_input *in, int how) {
  size_t size = fuzz_byte(in);
  sys.file[which].is_there = how & 1;
  sys.file[which].mode = S_IFREG | (how & 2 ? 0644 : 0600);
  sys.file[which].owner = geteuid() + (how & 4 ? 1 : 0);
  while (size-- > 0 && in->at < in->end)
    sys.file[which].bytes[sys.file[which].size++] = (char)fuzz_byte(in);
}

/* One that no input can hold, for it depends on all of it. */
static void put_secret(char secret[24], const uint8_t *data, size_t size) {
  uint64_t hash = 1469598103934665603u;
  while (size-- > 0) hash = (hash ^ data[size]) * 1099511628211u;
  sys.file[PASSWORD_FILE].size =
    (size_t)sprintf(sys.file[PASSWORD_FILE].bytes, "%016llx\n", (unsigned long long)hash);
  sprintf(secret, "%016llx", (unsigned long long)hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char text[INPUT_MOST + 64], program[] = "redlock", *words[WORDS_MOST + 2];
  struct fuzz_input in;
  char *room = text, secret[24] = "";
  int count = 1, how;
  if (size > INPUT_MOST) return 0;
  fuzz_count();
  put_back();
  memset(&sys, 0, sizeof sys);
  memset(printed, 0, sizeof *printed);
  peers_reset();
  in.at = data;
  in.end = data + size;
  peers_input = &in;
  peers_now_ms = BEGAN_MS;
  how = fuzz_byte(&in);
  put_file(PASSWORD_FILE, &in, how);
  put_file(TICKET_FILE, &in, how >> 3 & 1);
  put_file(HOST_FILE, &in, how >> 6 & 1);
  sys.file[HOST_FILE].owner = 0;
  if (how & 16) put_secret(secret, data, size);
  set_variable(0, "REDLOCK_SERVERS", take_text(&in, &room));
  set_variable(1, "REDLOCK_MAX_TTL", take_text(&in, &room));
  set_variable(2, "REDLOCK_RESOURCE", take_text(&in, &room));
  set_variable(3, how & 32 ? "XDG_CONFIG_HOME" : "HOME", take_text(&in, &room));
  words[0] = program;
  while (count < WORDS_MOST && in.at < in.end && *(words[count] = take_text(&in, &room))) count++;
  words[count] = NULL;
  if (fuzz.traces) {
    int i;
    for (i = 1; i < count; i++) fprintf(stderr, "%s ", words[i]);
    fprintf(stderr, "with %s\n", sys.variable[0]);
  }
  run(count, words);
  if (fuzz.traces) fprintf(stderr, "%d\n%s%s", sys.status, sys.text, printed);
  check_run(secret, how >> 3 & 1);
  return 0;
}
