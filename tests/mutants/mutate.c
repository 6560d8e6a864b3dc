/* mutate: single faults in the functions of a header, drawn at random or written down.
 *
 *   mutate list HEADER SEED JUDGED <GROUPS    all there are, in a random order; one a line,
 *                                             fields separated by tabs:
 *     OFFSET SIZE REPLACEMENT LINE REASON CHANGE
 *   mutate plant HEADER NAME FILE...          the header with the changes of that name
 *   mutate fits HEADER FILE...                whether each change of these files can be made
 *
 * Bytes OFFSET to OFFSET + SIZE of the header become REPLACEMENT; CHANGE says that as changes.h has
 * it. GROUPS are the numbers of the lines with a conditional directive whose group this platform
 * compiles: what stands in others is left alone, and so are comments, directives, declarations and
 * assertions. REASON is the first line of the entry of JUDGED with that change; a change there that
 * is none of the faults is an error. */
#include "changes.h"

enum { MAX_MUTANTS = 1 << 16, MAX_WORDS = 400, MAX_STATEMENTS = 4000 };

struct mutant {
  struct range range;
  int scope;
  char replacement[MAX_WORDS];
};

static struct mutant mutants[MAX_MUTANTS];
static int found;
static int function; /* its scope */

/* ---- Mutants ---- */

/* Tokens from to last become the replacement. */
static void add(int from, int last, const char *before, int kept_from, int kept_last,
                const char *after) {
  struct mutant *m = &mutants[found++];
  size_t kept = kept_from <= kept_last
                  ? tokens[kept_last].at + tokens[kept_last].size - tokens[kept_from].at : 0;
  size_t i, used;
  if (found == MAX_MUTANTS) fail("too many mutants");
  m->range.first = from;
  m->range.end = last + 1;
  m->scope = function;
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
  if ((!begins_with(i, "RL_") && !begins_with(i, "REDLOCK_")) || !is_all_capitals(i)) return;
  if (is(i + 1, "(")) return;
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
  for (function = 0; function < functions; function++) {
    int end = scopes[function].end - 1;
    mutate_body(match(end) + 1, end);
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

/* ---- The judged ones, and the list ---- */

/* Writes the tokens one by one, local names of a change as the header has them. */
static char *put_tokens(char *out, struct range range, const struct place *p) {
  *out = '\0';
  for (; range.first < range.end; range.first++) {
    int ours = p && tokens[range.first].local ? local_of(p, range.first) : range.first;
    out += sprintf(out, "%.*s ", (int)tokens[ours].size, text + tokens[ours].at);
  }
  return out;
}

/* What the mutant makes of the tokens of the place. */
static void put_mutant(char *out, const struct mutant *m, struct range place) {
  struct range before = {place.first, m->range.first}, after = {m->range.end, place.end};
  size_t size = text_size;
  int tokens_before = count;
  strcpy(text + text_size, m->replacement);
  text_size += strlen(m->replacement);
  out = put_tokens(out, before, NULL);
  out = put_tokens(out, read_tokens(size, text_size), NULL);
  put_tokens(out, after, NULL);
  text_size = size;
  count = tokens_before;
}

static int is_judged(const struct mutant *m, const struct change *c, const struct place *p) {
  static char ours[MAX_STATEMENTS], theirs[MAX_STATEMENTS];
  if (m->range.first < p->range.first || m->range.end > p->range.end) return 0;
  put_tokens(theirs, c->new, p);
  put_mutant(ours, m, p->range);
  return strcmp(ours, theirs) == 0;
}

/* The reason in judged.txt for each mutant, or 0. */
static int judge(const char *name, size_t *reasons) {
  int i, k, all_fit = 1;
  read_changes(name);
  for (i = 0; i < change_count; i++) {
    struct place p;
    int fits = 0;
    if (!locate(&changes[i], &p)) {
      all_fit = 0;
      continue;
    }
    for (k = 0; k < found; k++) {
      if (!is_judged(&mutants[k], &changes[i], &p)) continue;
      reasons[k] = changes[i].head;
      fits = 1;
    }
    if (!fits) complain(&changes[i], "changes that as no mutant does: ");
    if (!fits) print_tokens(stderr, changes[i].old.first, changes[i].old.end), fputc('\n', stderr);
    all_fit &= fits;
  }
  return all_fit;
}

/* Whether the tokens stand once in the mutant's function. */
static int is_unique(const struct mutant *m, struct range range) {
  struct place p;
  int i, times = 0;
  for (i = 0; i < functions; i++) {
    memset(&p, 0, sizeof p);
    if (is_same_text(scopes[i].first, scopes[m->scope].first))
      times += find_in(range, scopes[i], &p);
  }
  return times == 1;
}

/* The statement that it changes, and as many more as tell it from others. */
static struct range statement_of(const struct mutant *m) {
  struct range range = {match(scopes[m->scope].end - 1) + 1, 0};
  int end = scopes[m->scope].end;
  range.end = range.first;
  for (; range.end < m->range.end; range.end = next_statement(range.end, end))
    if (range.end <= m->range.first) range.first = range.end;
  while (range.end < end && !is_unique(m, range)) range.end = next_statement(range.end, end);
  return range;
}

static void print_mutant(const struct mutant *m, size_t reason) {
  struct range statement = statement_of(m);
  size_t at = tokens[m->range.first].at;
  const struct token *last = &tokens[m->range.end - 1];
  printf("%zu\t%zu\t%s\t%d\t", at, last->at + last->size - at, m->replacement,
         tokens[m->range.first].line);
  printf("%.*s\t", reason ? (int)strcspn(text + reason, "\n") : 0, text + reason);
  print_tokens(stdout, scopes[m->scope].first, scopes[m->scope].first + 1);
  fputs(": ", stdout);
  print_tokens(stdout, statement.first, statement.end);
  fputs(" => ", stdout);
  print_tokens(stdout, statement.first, m->range.first);
  printf(" %s ", m->replacement);
  print_tokens(stdout, m->range.end, statement.end);
  puts("");
}

static int list(const char *seed, const char *judged) {
  static size_t reasons[MAX_MUTANTS];
  int i, fits;
  state = strtoull(seed, NULL, 10);
  mutate_all();
  shuffle();
  fits = judge(judged, reasons);
  for (i = 0; i < found; i++) print_mutant(&mutants[i], reasons[i]);
  return fits;
}

static void read_groups(void) {
  long line;
  while (scanf("%ld", &line) == 1)
    if (line > 0 && line < MAX_TEXT) compiled[line] = 1;
}

int main(int argc, char **argv) {
  int lists = argc == 5 && strcmp(argv[1], "list") == 0;
  int plants = argc > 4 && strcmp(argv[1], "plant") == 0, i;
  size_t size;
  if (!lists && !plants && (argc < 4 || strcmp(argv[1], "fits") != 0))
    fail("list HEADER SEED JUDGED | plant HEADER NAME FILE... | fits HEADER FILE...");
  if (lists) read_groups();
  code = read_header(argv[2]);
  size = text_size;
  if (lists) return !list(argv[3], argv[4]);
  for (i = plants ? 4 : 3; i < argc; i++) read_changes(argv[i]);
  return plants ? !plant(argv[3], size) : !all_fit();
}
