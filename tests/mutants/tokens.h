/* tokens.h: the tokens of the header, and of whatever text is put behind it. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, MAX_TOKENS = 1 << 18, MAX_SCOPES = 1 << 11, MAX_STRING = 4000 };

enum kind { WORD, NUMBER, CHARACTER, STRING, SIGN };

struct token {
  enum kind kind;
  size_t at, size;
  int line, active;
  int local; /* a name of the function's own */
};

struct range {
  int first, end;
};

static char text[MAX_TEXT];
static size_t text_size;
static char compiled[MAX_TEXT]; /* by the line of the directive */
static struct token tokens[MAX_TOKENS];
static int count;
static struct range scopes[MAX_SCOPES]; /* functions, then macros; the first token is the name */
static int functions, scope_count;
static size_t macros[MAX_SCOPES]; /* where their names stand */
static int macro_count;

static void fail(const char *why) {
  fprintf(stderr, "mutate: %s\n", why);
  exit(2);
}

/* ---- One by one ---- */

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

static int is_space(size_t at) {
  return isspace((unsigned char)text[at]) || (text[at] == '\\' && text[at + 1] == '\n');
}

static int is_gap(size_t at, size_t end) {
  while (at < end && is_space(at)) at++;
  return at == end;
}

static void add_token(enum kind kind, size_t at, size_t end, int line, int active) {
  struct token *t = &tokens[count], *before = t - 1;
  if (kind == STRING && count && before->kind == STRING && is_gap(before->at + before->size, at)) {
    before->size = end - before->at; /* a string that is cut is one */
    return;
  }
  if (++count == MAX_TOKENS) fail("too many tokens");
  t->kind = kind;
  t->at = at;
  t->size = end - at;
  t->line = line;
  t->active = active;
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

static int begins_with(int i, const char *what) {
  return strncmp(text + tokens[i].at, what, strlen(what)) == 0;
}

static int is_all_capitals(int i) {
  size_t k;
  for (k = 0; k < tokens[i].size; k++)
    if (islower((unsigned char)text[tokens[i].at + k])) return 0;
  return 1;
}

/* Neither called, a member, the library's own, a constant, a type nor a word of the language. */
static int is_local(int i) {
  static const char *const words[] = {
    "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return",
    "sizeof", "static", "const", "inline", "struct", "enum", "typedef", "void", "char", "int",
    "long", "unsigned", NULL};
  if (tokens[i].kind != WORD || is_all_capitals(i) || is_one_of(i, words)) return 0;
  if (is(i + 1, "(") || is(i - 1, ".") || is(i - 1, "->")) return 0;
  if (memcmp(text + tokens[i].at + tokens[i].size - 2, "_t", 2) == 0) return 0;
  return !begins_with(i, "rl_") && !begins_with(i, "redlock_") && !is(i, "redlock");
}

/* ---- All of a text ---- */

/* A directive, with its continued lines and any comment that begins on them. */
static size_t skip_directive(size_t at) {
  while (at < text_size && text[at] != '\n') {
    if (text[at] == '\\') at++;
    else if (strncmp(text + at, "/*", 2) == 0) at = skip_comment(at) - 1;
    at++;
  }
  return at;
}

static int is_directive(size_t at) {
  if (text[at] != '#') return 0;
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
  return at == 0 || text[at - 1] == '\n';
}

static int is_conditional(size_t at) {
  at += strspn(text + at + 1, " \t") + 1;
  return strncmp(text + at, "if", 2) == 0 || strncmp(text + at, "el", 2) == 0 ||
         strncmp(text + at, "endif", 5) == 0;
}

/* The tokens from at to the end, and one more of no size. */
static struct range read_tokens(size_t at, size_t last) {
  struct range range = {count, 0};
  size_t end, i;
  int line = 1, active = 1;
  for (; at < last; at = end) {
    unsigned char c = (unsigned char)text[at];
    end = at + 1;
    if (is_directive(at)) {
      if (is_conditional(at)) active = compiled[line];
      end = skip_directive(at);
      if (strncmp(text + at, "#define ", 8) == 0 && macro_count < MAX_SCOPES)
        macros[macro_count++] = at + 8;
    } else if (strncmp(text + at, "/*", 2) == 0) {
      end = skip_comment(at);
    } else if (c == '"' || c == '\'') {
      end = skip_quoted(at);
      add_token(c == '"' ? STRING : CHARACTER, at, end, line, active);
    } else if (isalnum(c) || c == '_') {
      end = skip_word(at);
      add_token(isdigit(c) ? NUMBER : WORD, at, end, line, active);
    } else if (!is_space(at)) {
      end = at + sign_size(at);
      add_token(SIGN, at, end, line, active);
    }
    for (i = at; i < end; i++) line += text[i] == '\n';
  }
  range.end = count;
  add_token(SIGN, last, last, line, 0);
  for (i = (size_t)range.first; i < (size_t)range.end; i++) tokens[i].local = is_local((int)i);
  return range;
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

static void add_scope(struct range range) {
  if (scope_count == MAX_SCOPES) fail("too many functions");
  scopes[scope_count++] = range;
}

/* The tokens of the code; behind them, those of the macros. */
static struct range read_header(const char *name) {
  FILE *f = fopen(name, "rb");
  struct range code, function;
  int i;
  if (!f) fail("no such header");
  text_size = fread(text, 1, sizeof text - 8, f);
  fclose(f);
  code = read_tokens(0, text_size);
  for (i = 0; i < code.end; i++) {
    if (!is(i, "{")) continue;
    if (is(i - 1, ")")) {
      function.first = match(i - 1) - 1;
      function.end = match(i) + 1;
      add_scope(function);
    }
    i = match(i);
  }
  functions = scope_count;
  for (i = 0; i < macro_count; i++) add_scope(read_tokens(macros[i], skip_directive(macros[i])));
  return code;
}

/* ---- To be read ---- */

struct string {
  size_t size;
  char bytes[MAX_STRING];
  size_t at[MAX_STRING]; /* where each stands, and its end */
};

/* What stands between the quotes of all its parts. */
static const struct string *read_string(int i) {
  static struct string s;
  size_t at = tokens[i].at, end = at + tokens[i].size;
  int inside = 0;
  s.size = 0;
  for (; at < end; at++) {
    if (text[at] == '"') {
      if (inside) s.at[s.size] = at;
      inside = !inside;
    } else if (inside) {
      int escaped = text[at] == '\\';
      s.at[s.size] = at;
      s.bytes[s.size++] = text[at];
      if (escaped) s.bytes[s.size++] = text[++at];
    }
    if (s.size > MAX_STRING - 4) fail("a string is too long");
  }
  s.bytes[s.size] = '\0';
  return &s;
}

static int has_gap(int i) { return tokens[i - 1].at + tokens[i - 1].size < tokens[i].at; }

static void print_token(FILE *f, int i) {
  if (tokens[i].kind == STRING) fprintf(f, "\"%s\"", read_string(i)->bytes);
  else fwrite(text + tokens[i].at, 1, tokens[i].size, f);
}

/* One line, without comments. */
static void print_tokens(FILE *f, int first, int end) {
  int i;
  for (i = first; i < end; i++) {
    if (i > first && has_gap(i)) fputc(' ', f);
    print_token(f, i);
  }
}
