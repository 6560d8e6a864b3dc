/* mutate: all single faults that can be put into the functions of a header, in an order drawn at
 * random.
 *
 *   mutate HEADER SEED <GROUPS     one candidate a line, fields separated by tabs:
 *     OFFSET SIZE REPLACEMENT LINE FUNCTION TEXT MUTATION
 *
 * Bytes OFFSET to OFFSET + SIZE of the header become REPLACEMENT. FUNCTION, TEXT (of the line, its
 * spaces made one) and MUTATION name the mutant whatever is added above it. GROUPS are the numbers
 * of the lines with a conditional directive whose group this platform compiles: what stands in
 * others is left alone, and so are comments, directives, declarations and assertions. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, MAX_TOKENS = 1 << 18, MAX_MUTANTS = 1 << 16, MAX_WORDS = 400 };

enum kind { WORD, NUMBER, CHARACTER, STRING, SIGN };

struct token {
  enum kind kind;
  size_t at, size;
  int line, active;
};

struct mutant {
  size_t at, size;
  int line, first; /* the function's first token: its name */
  char replacement[MAX_WORDS];
};

static char text[MAX_TEXT];
static size_t text_size;
static char compiled[MAX_TEXT]; /* by the line of the directive */
static struct token tokens[MAX_TOKENS];
static int count;
static struct mutant mutants[MAX_MUTANTS];
static int found;
static int function; /* the token of its name */

static void fail(const char *why) {
  fprintf(stderr, "mutate: %s\n", why);
  exit(2);
}

/* ---- Tokens ---- */

static size_t skip_comment(size_t at) {
  const char *end = strstr(text + at + 2, "*/");
  return end ? (size_t)(end - text) + 2 : text_size;
}

static size_t skip_quoted(size_t at) {
  char quote = text[at++];
  while (at < text_size && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

static size_t skip_word(size_t at) {
  while (isalnum((unsigned char)text[at]) || text[at] == '_') at++;
  return at;
}

static size_t sign_size(size_t at) {
  static const char *const signs[] = {"<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==",
                                      "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                      "^="};
  size_t i;
  for (i = 0; i < sizeof signs / sizeof signs[0]; i++)
    if (strncmp(text + at, signs[i], strlen(signs[i])) == 0) return strlen(signs[i]);
  return 1;
}

/* A directive, with its continued lines and any comment that begins on them. */
static size_t skip_directive(size_t at) {
  while (at < text_size && text[at] != '\n') {
    if (text[at] == '\\') at++;
    else if (strncmp(text + at, "/*", 2) == 0) at = skip_comment(at) - 1;
    at++;
  }
  return at;
}

static int is_conditional(size_t at) {
  at += strspn(text + at + 1, " \t") + 1;
  return strncmp(text + at, "if", 2) == 0 || strncmp(text + at, "el", 2) == 0 ||
         strncmp(text + at, "endif", 5) == 0;
}

static void add_token(enum kind kind, size_t at, size_t end, int line, int active) {
  struct token *t = &tokens[count++];
  if (count == MAX_TOKENS) fail("too many tokens");
  t->kind = kind;
  t->at = at;
  t->size = end - at;
  t->line = line;
  t->active = active;
}

static void read_tokens(void) {
  size_t at = 0, end, i;
  int line = 1, active = 1;
  for (; at < text_size; at = end) {
    unsigned char c = (unsigned char)text[at];
    end = at + 1;
    if (c == '#') {
      if (is_conditional(at)) active = compiled[line];
      end = skip_directive(at);
    } else if (strncmp(text + at, "/*", 2) == 0) {
      end = skip_comment(at);
    } else if (c == '"' || c == '\'') {
      end = skip_quoted(at);
      add_token(c == '"' ? STRING : CHARACTER, at, end, line, active);
    } else if (isalnum(c) || c == '_') {
      end = skip_word(at);
      add_token(isdigit(c) ? NUMBER : WORD, at, end, line, active);
    } else if (!isspace(c)) {
      end = at + sign_size(at);
      add_token(SIGN, at, end, line, active);
    }
    for (i = at; i < end; i++) line += text[i] == '\n';
  }
}

static int is(int i, const char *what) {
  return i >= 0 && i < count && strlen(what) == tokens[i].size &&
         memcmp(text + tokens[i].at, what, tokens[i].size) == 0;
}

static int is_one_of(int i, const char *const *words) {
  for (; *words; words++)
    if (is(i, *words)) return 1;
  return 0;
}

static int opens(int i) { return is(i, "(") || is(i, "[") || is(i, "{"); }
static int closes(int i) { return is(i, ")") || is(i, "]") || is(i, "}"); }

/* The bracket that belongs to the one at i. */
static int match(int i) {
  int depth = 0, step = opens(i) ? 1 : -1;
  for (; i >= 0 && i < count; i += step) {
    depth += opens(i) - closes(i);
    if (depth == 0) return i;
  }
  fail("brackets do not match");
  return 0;
}

/* ---- Mutants ---- */

/* Tokens from to last become the replacement. */
static void add(int from, int last, const char *before, int kept_from, int kept_last,
                const char *after) {
  struct mutant *m = &mutants[found++];
  size_t kept = kept_from <= kept_last
                  ? tokens[kept_last].at + tokens[kept_last].size - tokens[kept_from].at : 0;
  size_t i, used;
  if (found == MAX_MUTANTS) fail("too many mutants");
  m->at = tokens[from].at;
  m->size = tokens[last].at + tokens[last].size - m->at;
  m->line = tokens[from].line;
  m->first = function;
  if (strlen(before) + kept + strlen(after) >= sizeof m->replacement) {
    found--;
    return;
  }
  strcpy(m->replacement, before);
  used = strlen(before);
  for (i = 0; i < kept; i++) {
    char c = text[tokens[kept_from].at + i];
    m->replacement[used++] = c == '\n' || c == '\t' ? ' ' : c;
  }
  strcpy(m->replacement + used, after);
}

static void replace(int i, const char *with) { add(i, i, with, 1, 0, ""); }

/* Where the operand of a logical operator or of ?: begins, or ends. */
static int operand_begin(int i, int weak) {
  static const char *const stops[] = {"?", ":", ",", ";", "=", "return", "|=", "+=", "-=", NULL};
  for (i--; i > 0; i--) {
    if (closes(i)) {
      if (is(i, "}")) return i + 1;
      i = match(i);
      continue;
    }
    if (opens(i) || is_one_of(i, stops) || (!weak && is(i, "||"))) return i + 1;
  }
  return i;
}

static int operand_end(int i, int weak) {
  static const char *const stops[] = {"?", ":", ",", ";", "||", NULL};
  for (i++; i < count; i++) {
    if (opens(i)) i = match(i);
    else if (closes(i) || is_one_of(i, stops) || (!weak && is(i, "&&"))) return i - 1;
  }
  return i;
}

/* A and B of A && B, each alone. */
static void drop_operands(int i) {
  int or = is(i, "||"), begin = operand_begin(i, or), end = operand_end(i, or);
  add(i, end, "", 1, 0, "");
  add(begin, i, "", 1, 0, "");
}

struct swap {
  const char *sign, *with[2];
};

static void swap_sign(int i) {
  static const struct swap swaps[] = {
    {"<", {"<=", ">="}}, {"<=", {"<", ">"}}, {">", {">=", "<="}}, {">=", {">", "<"}},
    {"==", {"!=", NULL}}, {"!=", {"==", NULL}}, {"&&", {"||", NULL}}, {"||", {"&&", NULL}},
    {"+=", {"-=", "="}}, {"-=", {"+=", "="}}, {"|=", {"=", "&="}}, {"&=", {"=", "|="}},
    {"++", {"--", NULL}}, {"--", {"++", NULL}}, {"<<", {">>", NULL}}, {">>", {"<<", NULL}},
    {"/", {"*", NULL}}, {"%", {"/", NULL}}, {"|", {"&", NULL}}, {"!", {"", NULL}}};
  static const struct swap binary[] = {
    {"+", {"-", NULL}}, {"-", {"+", NULL}}, {"*", {"+", NULL}}, {"&", {"|", NULL}}};
  int operand = i > 0 && (tokens[i - 1].kind != SIGN || is(i - 1, ")") || is(i - 1, "]"));
  size_t k, j;
  for (k = 0; k < sizeof swaps / sizeof swaps[0]; k++)
    for (j = 0; j < 2 && is(i, swaps[k].sign); j++)
      if (swaps[k].with[j]) replace(i, swaps[k].with[j]);
  for (k = 0; operand && !is(i - 1, "return") && k < sizeof binary / sizeof binary[0]; k++)
    if (is(i, binary[k].sign)) replace(i, binary[k].with[0]);
  if (is(i, "&&") || is(i, "||")) drop_operands(i);
  if (is(i, "?")) {
    int begin = operand_begin(i, 1);
    if (begin < i) add(begin, i - 1, "!(", begin, i - 1, ")");
  }
}

static void change_number(int i) {
  if (is(i, "0")) replace(i, "1");
  else if (is(i, "1")) replace(i, "0"), replace(i, "2");
  else add(i, i, "(", i, i, " + 1)"), add(i, i, "(", i, i, " - 1)");
}

/* A named constant: all capitals, no macro with arguments, no type. */
static void change_name(int i) {
  static const char *const others[] = {"RL_NULL", "RL_CAST", "INT64_MAX", "UINT32_MAX", NULL};
  size_t k;
  if (strncmp(text + tokens[i].at, "RL_", 3) != 0 && strncmp(text + tokens[i].at, "REDLOCK_", 8))
    return;
  for (k = 0; k < tokens[i].size; k++)
    if (islower((unsigned char)text[tokens[i].at + k])) return;
  if (is_one_of(i, others) || is(i + 1, "(")) return;
  add(i, i, "(", i, i, " + 1)");
}

static void change_word(int i) {
  if ((is(i, "if") || is(i, "while")) && is(i + 1, "(")) {
    int end = match(i + 1);
    add(i + 1, end, "(!", i + 1, end, ")");
    if (is(i, "if")) add(i + 1, end, "(0)", 1, 0, ""), add(i + 1, end, "(1)", 1, 0, "");
  } else if (is(i, "rl_min") && is(i + 1, "(")) {
    int end = match(i + 1), comma = i + 2;
    while (comma < end && !is(comma, ",")) comma = opens(comma) ? match(comma) + 1 : comma + 1;
    add(i, end, "(", i + 2, comma - 1, ")");
    add(i, end, "(", comma + 1, end - 1, ")");
  } else {
    change_name(i);
  }
}

/* Whether a statement can begin at i. Of `)` only that of if, for and while goes before one. */
static int begins_statement(int i) {
  static const char *const heads[] = {"if", "for", "while", NULL};
  static const char *const never[] = {"if", "for", "while", "do", "else", "switch", "case",
                                      "default", "static", "const", "int", "size_t", "char", NULL};
  if (is_one_of(i, never) || tokens[i].kind == NUMBER) return 0;
  if (is(i, ";") || is(i, "{") || is(i, "}")) return 0;
  if (is(i - 1, ")")) return is_one_of(match(i - 1) - 1, heads);
  return is(i - 1, ";") || is(i - 1, "{") || is(i - 1, "}") || is(i - 1, "else") ||
         is(i - 1, "do") || (is(i - 1, ":") && !is(i - 2, ")"));
}

/* Its end, or -1 when it is none: `;` in the head of a for. */
static int statement_end(int i) {
  for (; i < count; i++) {
    if (opens(i)) i = match(i);
    else if (closes(i)) return -1;
    else if (is(i, ";")) return i;
  }
  return -1;
}

/* body_end: the function's last brace. Its last return is not deleted. */
static void delete_statement(int i, int body_end) {
  int end = statement_end(i);
  if (end < 0 || (is(i, "return") && end + 1 == body_end)) return;
  add(i, end, ";", 1, 0, "");
}

/* The size of a local array: WORD name[N] */
static int is_declared_size(int i) {
  if (!is(i - 1, "[") || !is(i + 1, "]")) return 0;
  for (i -= 2; i > 0 && is(i, "]"); i = match(i) - 1) continue;
  return tokens[i].kind == WORD && tokens[i - 1].kind == WORD && !is(i - 1, "return");
}

static int skip_assertion(int i) { return is(i, "REDLOCK_ASSERT") ? match(i + 1) + 1 : i; }

static void mutate_body(int i, int end) {
  for (; i < end; i++) {
    i = skip_assertion(i);
    if (!tokens[i].active || is_declared_size(i)) continue;
    if (begins_statement(i)) delete_statement(i, end);
    if (tokens[i].kind == SIGN) swap_sign(i);
    else if (tokens[i].kind == NUMBER) change_number(i);
    else if (tokens[i].kind == CHARACTER) add(i, i, "(", i, i, " + 1)");
    else if (tokens[i].kind == WORD) change_word(i);
  }
}

static void mutate_all(void) {
  int i;
  for (i = 0; i < count; i++) {
    if (!is(i, "{")) continue;
    if (is(i - 1, ")")) {
      function = match(i - 1) - 1;
      mutate_body(i + 1, match(i));
    }
    i = match(i);
  }
}

/* ---- The draw ---- */

static uint64_t state;

static uint64_t chance(void) { /* splitmix64: the same everywhere */
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static void shuffle(void) {
  int i;
  for (i = found - 1; i > 0; i--) {
    int j = (int)(chance() % (uint64_t)(i + 1));
    struct mutant spare = mutants[i];
    mutants[i] = mutants[j];
    mutants[j] = spare;
  }
}

static void print_spaced(const char *from, size_t size) {
  int space = 1;
  size_t i;
  for (i = 0; i < size; i++) {
    if (!isspace((unsigned char)from[i])) putchar(from[i]);
    else if (!space) putchar(' ');
    space = isspace((unsigned char)from[i]) != 0;
  }
}

static size_t line_begin(size_t at) {
  while (at > 0 && text[at - 1] != '\n') at--;
  return at;
}

/* The how-manyth of its like in the line it is: two of one kind are told apart. */
static int occurrence(const struct mutant *m) {
  size_t at = line_begin(m->at);
  int times = 1;
  for (; at < m->at; at++) times += memcmp(text + at, text + m->at, m->size) == 0;
  return times;
}

static void print_mutant(const struct mutant *m) {
  size_t begin = line_begin(m->at);
  int times = occurrence(m);
  printf("%zu\t%zu\t%s\t%d\t", m->at, m->size, m->replacement, m->line);
  print_spaced(text + tokens[m->first].at, tokens[m->first].size);
  putchar('\t');
  print_spaced(text + begin, strcspn(text + begin, "\n"));
  printf("\t`");
  print_spaced(text + m->at, m->size);
  printf("` -> `%s`", m->replacement);
  if (times > 1) printf(" #%d", times);
  puts("");
}

int main(int argc, char **argv) {
  FILE *f;
  long line;
  int i;
  if (argc != 3) fail("mutate HEADER SEED <GROUPS");
  f = fopen(argv[1], "rb");
  if (!f) fail("no such header");
  text_size = fread(text, 1, sizeof text - 8, f);
  fclose(f);
  while (scanf("%ld", &line) == 1)
    if (line > 0 && line < MAX_TEXT) compiled[line] = 1;
  state = strtoull(argv[2], NULL, 10);
  read_tokens();
  mutate_all();
  shuffle();
  for (i = 0; i < found; i++) print_mutant(&mutants[i]);
  return 0;
}
