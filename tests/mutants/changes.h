/* changes.h: changes of the header, as files of this folder note them:
 *
 *   NAME: REASON
 *     WHO: ...; WHO: ...          who must catch it: fakes, simulator, explorer ("not the
 *                                 explorer": why it cannot), proof. What follows, run says
 *     FUNCTION: OLD => NEW        continued on lines that begin with more than two spaces
 *
 * A line that begins with "#" is a comment. FUNCTION may be a macro, or redlock.h: anywhere in its
 * code. OLD is found by its tokens, and must stand once in all functions of that name: spaces,
 * lines, comments and where a string is cut do not matter. Names that are neither called, members,
 * the library's own, constants nor types are local ones: they stand for whatever name is there, and
 * in NEW for the same. FUNCTION(MORE) has a text that stands there too, such as a parameter, for
 * the names in NEW that are not in OLD. An OLD that is nothing but a string is a part of one.
 *
 * A good bug is one that somebody may write, and that few tests notice but the one it names. */
#include "tokens.h"

enum { MAX_CHANGES = 1 << 10, MAX_LOCALS = 32, MAX_PATTERN = 300 };

struct change {
  size_t head, scope, scope_size; /* NAME: REASON; FUNCTION */
  struct range more, old, new;    /* tokens */
};

struct place { /* where it is to be made */
  struct range range;
  size_t at, end;
  int locals, theirs[MAX_LOCALS], ours[MAX_LOCALS]; /* names in the change, and in the header */
};

static struct change changes[MAX_CHANGES];
static int change_count;
static struct range code;

/* ---- Reading them ---- */

static size_t line_end(size_t at) { return at + strcspn(text + at, "\n"); }

static void complain(const struct change *c, const char *what) {
  fprintf(stderr, "%.*s: %.*s %s", (int)strcspn(text + c->head, ":\n"), text + c->head,
          (int)c->scope_size, text + c->scope, what);
}

static int is_part_of_string(struct range old) {
  return old.end == old.first + 1 && tokens[old.first].kind == STRING;
}

static void read_change(struct change *c, size_t at, size_t end) {
  size_t arrow = at, old = at + strcspn(text + at, ":(");
  c->scope = at;
  c->scope_size = old - at;
  while (arrow < end && strncmp(text + arrow, "=>", 2) != 0) arrow++;
  if (text[old] == '(') {
    size_t more = old + 1;
    while (old < end && text[old] != ':') old++;
    c->more = read_tokens(more, old - 1);
  }
  if (arrow >= end) {
    complain(c, "=> is missing\n");
    exit(2);
  }
  c->old = read_tokens(old + 1, arrow);
  c->new = read_tokens(arrow + 2, end);
  if (is_part_of_string(c->old) && c->new.first < c->new.end && !is_part_of_string(c->new)) {
    complain(c, "puts code into a string\n");
    exit(2);
  }
}

/* Lines of one word and a colon, or of a few words, say who must catch it. */
static int is_change(size_t at) {
  return strncmp(text + at, "rl_", 3) == 0 || strncmp(text + at, "RL_", 3) == 0 ||
         strncmp(text + at, "redlock", 7) == 0;
}

static void read_changes(const char *name) {
  FILE *f = fopen(name, "rb");
  size_t at = text_size, head = 0, end;
  if (!f) fail("no such file of changes");
  text_size += fread(text + text_size, 1, sizeof text - text_size - 8, f);
  fclose(f);
  for (; at < text_size; at = end + 1) {
    end = line_end(at);
    if (!isspace((unsigned char)text[at])) head = at;
    if (strncmp(text + at, "  ", 2) != 0 || !is_change(at + 2)) continue;
    while (strncmp(text + end, "\n   ", 4) == 0) end = line_end(end + 1);
    if (change_count == MAX_CHANGES) fail("too many changes");
    changes[change_count].head = head;
    read_change(&changes[change_count++], at + 2, end);
  }
}

/* ---- Where they belong ---- */

static int is_same_text(int i, int j) {
  if (tokens[i].kind == STRING && tokens[j].kind == STRING) {
    static char bytes[MAX_STRING];
    strcpy(bytes, read_string(i)->bytes);
    return strcmp(bytes, read_string(j)->bytes) == 0;
  }
  return tokens[i].size == tokens[j].size &&
         memcmp(text + tokens[i].at, text + tokens[j].at, tokens[i].size) == 0;
}

/* What the local name stands for, or -1. */
static int local_of(const struct place *p, int i) {
  int k;
  for (k = 0; k < p->locals; k++)
    if (is_same_text(p->theirs[k], i)) return p->ours[k];
  return -1;
}

static int add_local(struct place *p, int theirs, int ours) {
  int k;
  for (k = 0; k < p->locals; k++)
    if (is_same_text(p->ours[k], ours)) return 0; /* that is another one */
  if (p->locals == MAX_LOCALS) fail("too many names");
  p->theirs[p->locals] = theirs;
  p->ours[p->locals++] = ours;
  return 1;
}

static int is_same(struct place *p, int theirs, int ours) {
  int known;
  if (!tokens[theirs].local || !tokens[ours].local)
    return tokens[theirs].local == tokens[ours].local && is_same_text(theirs, ours);
  known = local_of(p, theirs);
  return known >= 0 ? is_same_text(known, ours) : add_local(p, theirs, ours);
}

/* How often it stands in that string; the last place goes into p. */
static int find_in_string(struct range old, int i, struct place *p) {
  static char what[MAX_STRING];
  const struct string *s;
  const char *at;
  int times = 0;
  strcpy(what, read_string(old.first)->bytes);
  s = read_string(i);
  for (at = s->bytes; (at = strstr(at, what)) != NULL; at++, times++) {
    p->at = s->at[at - s->bytes];
    p->end = s->at[(size_t)(at - s->bytes) + strlen(what)];
  }
  return times;
}

/* The same for the tokens of a function. */
static int find_in(struct range old, struct range in, struct place *p) {
  int i, k, times = 0, size = old.end - old.first;
  struct place before = *p;
  for (i = in.first; i < in.end; i++) {
    if (is_part_of_string(old)) {
      if (tokens[i].kind == STRING) times += find_in_string(old, i, p);
      continue;
    }
    if (i + size <= in.end) {
      struct place here = before;
      for (k = 0; k < size && is_same(&here, old.first + k, i + k); k++) continue;
      if (k < size) continue;
      *p = here;
      p->range.first = i;
      p->range.end = i + size;
      p->at = tokens[i].at;
      p->end = tokens[i + size - 1].at + tokens[i + size - 1].size;
      times++;
    }
  }
  return times;
}

static int is_in_scope(const struct change *c, struct range scope) {
  return tokens[scope.first].size == c->scope_size &&
         memcmp(text + tokens[scope.first].at, text + c->scope, c->scope_size) == 0;
}

static int find_change(const struct change *c, struct range in, struct place *p) {
  struct place here;
  int times;
  memset(&here, 0, sizeof here);
  if (c->more.end && find_in(c->more, in, &here) != 1) return 0;
  times = find_in(c->old, in, &here);
  if (times) *p = here;
  return times;
}

/* ---- Why not ---- */

/* The statements of a function: from i to the next. */
static int next_statement(int i, int end) {
  int depth = 0;
  for (; i < end; i++) {
    depth += is(i, "(") - is(i, ")");
    if (depth == 0 && (is(i, ";") || is(i, "{") || is(i, "}"))) return i + 1;
  }
  return end;
}

/* How many tokens both have, in this order. */
static int likeness(struct range a, struct range b) {
  static int row[MAX_PATTERN + 1];
  int i, k, size = a.end - a.first;
  if (size > MAX_PATTERN) size = MAX_PATTERN;
  memset(row, 0, sizeof row);
  for (i = b.first; i < b.end; i++) {
    int corner = 0;
    for (k = 0; k < size; k++) {
      int above = row[k + 1];
      int same = tokens[a.first + k].local ? tokens[i].local : is_same_text(a.first + k, i);
      if (same) row[k + 1] = corner + 1;
      else if (row[k] > above) row[k + 1] = row[k];
      corner = above;
    }
  }
  return row[size];
}

static void print_closest(const struct change *c, int anywhere) {
  struct range best = {0, 0}, statement;
  int most = -MAX_TOKENS, scope = 0, i, likes;
  for (i = 0; i < scope_count; i++) {
    if (!anywhere && !is_in_scope(c, scopes[i])) continue;
    for (statement = scopes[i]; statement.first < scopes[i].end; statement.first = statement.end) {
      statement.end = next_statement(statement.first, scopes[i].end);
      likes = likeness(c->old, statement) * 1000 - (statement.end - statement.first);
      if (likes <= most) continue;
      most = likes;
      best = statement;
      scope = scopes[i].first;
    }
  }
  fputs("\n    the closest is: ", stderr);
  print_tokens(stderr, best.first, best.end);
  fputs(anywhere ? ", in " : "", stderr);
  print_tokens(stderr, scope, scope + anywhere);
}

static void explain(const struct change *c, int times) {
  struct place p;
  int i, is_there = 0;
  for (i = 0; i < scope_count; i++) is_there |= is_in_scope(c, scopes[i]);
  complain(c, times ? "has it more than once: " : is_there ? "lacks: " : "is not there: ");
  print_tokens(stderr, c->old.first, c->old.end);
  for (i = 0; !times && i < scope_count; i++) {
    times = find_change(c, scopes[i], &p);
    if (times) fputs("\n    it stands in ", stderr), print_token(stderr, scopes[i].first);
  }
  if (!times) print_closest(c, !is_there);
  fputc('\n', stderr);
}

/* Every local name in NEW is known. */
static int knows_locals(const struct change *c, const struct place *p) {
  int i;
  for (i = c->new.first; i < c->new.end; i++) {
    if (!tokens[i].local || local_of(p, i) >= 0) continue;
    complain(c, "does not say which is: ");
    print_tokens(stderr, i, i + 1);
    fputc('\n', stderr);
    return 0;
  }
  return 1;
}

static int count_places(const struct change *c, struct place *p) {
  int i, times = 0;
  if (c->scope_size == 9 && strncmp(text + c->scope, "redlock.h", 9) == 0)
    return find_change(c, code, p);
  for (i = 0; i < scope_count; i++)
    if (is_in_scope(c, scopes[i])) times += find_change(c, scopes[i], p);
  return times;
}

/* Finds where the change is to be made, or says why nowhere. */
static int locate(const struct change *c, struct place *p) {
  struct change more = *c;
  int times = count_places(c, p);
  if (times == 1) return knows_locals(c, p);
  more.old = c->more;
  more.more.end = 0;
  if (c->more.end && count_places(&more, p) != 1) explain(&more, count_places(&more, p));
  else explain(c, times);
  return 0;
}

/* ---- Making them ---- */

static void put_new(FILE *f, const struct change *c, const struct place *p) {
  int i;
  if (is_part_of_string(c->old)) {
    if (c->new.first < c->new.end) fputs(read_string(c->new.first)->bytes, f);
    return;
  }
  for (i = c->new.first; i < c->new.end; i++) {
    if (i > c->new.first && has_gap(i)) fputc(' ', f);
    print_token(f, tokens[i].local ? local_of(p, i) : i);
  }
}

static int is_named(const struct change *c, const char *name) {
  return strncmp(text + c->head, name, strlen(name)) == 0 && text[c->head + strlen(name)] == ':';
}

/* Prints the header with all changes of that name, from its beginning to its end. */
static int plant(const char *name, size_t size) {
  static struct place places[MAX_CHANGES];
  size_t at = 0;
  int i, next, left = 0, made = 0;
  for (i = 0; i < change_count; i++) {
    if (!is_named(&changes[i], name)) continue;
    if (!locate(&changes[i], &places[i])) return 0;
    left++;
  }
  for (;; at = places[next].end, left--, made++) {
    next = -1;
    for (i = 0; i < change_count; i++) {
      if (!is_named(&changes[i], name) || places[i].at < at || !places[i].end) continue;
      if (next < 0 || places[i].at < places[next].at) next = i;
    }
    fwrite(text + at, 1, (next < 0 ? size : places[next].at) - at, stdout);
    if (next < 0) break;
    put_new(stdout, &changes[next], &places[next]);
  }
  if (left || !made) fprintf(stderr, "%s: %s\n", name, made ? "two overlap" : "there is none");
  return made && !left;
}

static int all_fit(void) {
  struct place p;
  int i, fits = 1;
  for (i = 0; i < change_count; i++) fits &= locate(&changes[i], &p);
  return fits && change_count > 0;
}
