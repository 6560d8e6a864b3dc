# manual.awk: makes redlock(3) of redlock.h: its first comment, whose headings are in capitals, and
# then each declaration of the public part with its comment. What is private does not appear, nor
# do the numbers of rules, such as (R7): what explains them is no part of the manual. Lines of code are
# broken where a page of 80 columns ends.
#
#   awk -v date=2026-11-22 -f manual.awk redlock.h >redlock.3

function roff(text) {
  gsub(/\001/, " ", text)
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text ~ /^[.\047]/ ? "\\&" text : text
}

# ---- Lines of code, 73 columns wide ---------------------------------------------------------------

function spaces(count) { return sprintf("%" count "s", "") }

# Where `what` stands last, so that what is before it fits; 0 = nowhere behind the indent.
function last(text, what, indent, room, at) {
  for (at = room + 1; at > indent + 1; at--)
    if (substr(text, at - length(what) + 1, length(what)) == what) return at
  return 0
}

# What does not fit stands below `indent`, behind `more`; in front of a break stands `tail`. Code
# breaks behind a comma, if there is one.
function broken(text, indent, more, tail, is_code, at) {
  while (length(text) > 73) {
    at = is_code ? last(text, ", ", indent, 73 - length(tail)) : 0
    if (!at) at = last(text, " ", indent, 73 - length(tail))
    if (!at) break
    print roff(substr(text, 1, at - 1) tail)
    text = spaces(indent) more substr(text, at + 1)
  }
  print roff(text)
}

# Below the first parameter, or a little further in.
function code(text, tail, at) {
  at = index(text, "(")
  if (text ~ /^ *[a-z_ ]*[(][*]/) at = index(text, ")(") + 1
  if (text ~ /^ *if /) at = index(text, "redlock_acquire(") + 15
  if (at < 5 || at > 45) at = match(text, /[^ ]/) + 3
  broken(text, at, "", tail, 1)
}

# CODE, then what a comment says: beside the code, or below where that leaves no room.
function commented(before, text, column) {
  column = length(before)
  if (column > 36) {
    print roff(substr(before, 1, match(before, / *$/) - 1))
    before = "    "
    column = 4
  }
  broken(before "/* " text "\001*/", column, "   ", "", 0) # that blank is no place to break at
}

function literal(on) {
  if (on != is_literal) print on ? ".nf" : ".fi"
  is_literal = on
}

# ---- The first comment ---------------------------------------------------------------------------

function section(text) {
  literal(0)
  heading = text
  sub(/:.*/, "", heading)
  print ".SH \"" toupper(heading) "\""
  if (!sub(/^[^:]*: */, "", text)) return
  print roff(capital(text) ":")
}

# But not a name such as max_ttl_ms.
function capital(text) {
  return text ~ /^[a-z]+_/ ? text : toupper(substr(text, 1, 1)) substr(text, 2)
}

# TEXTS MEANING, in two columns of which the second begins at 45
function error(text) {
  sub(/ +$/, "", text)
  if (substr(text, 1, 44) ~ /^ *$/) { print roff(substr(text, 45)); return }
  name = substr(text, 6, 39)
  sub(/ +$/, "", name)
  print ".TP\n.B \"" roff(name) "\"\n" roff(capital(substr(text, 45)))
}

# NAME [DEFAULT] MEANING, in columns
function option(text, name, value) {
  name = text
  sub(/ .*/, "", name)
  sub(/^[^ ]+ +/, "", text)
  if (text ~ /^[0-9]+ /) value = " (default " (text + 0) ")"
  sub(/^[0-9]+ +/, "", text)
  print ".TP\n.BR \"" roff(name) "\" \"" value "\"\n" roff(capital(text))
  in_option = 1
}

function head(text, indent) {
  indent = match(text, /[^ ]/) - 1
  if (indent < 0) { literal(0); print ".PP"; return }
  if (text ~ /^   [A-Z][A-Z]/) { section(substr(text, 4)); return }
  if (heading == "ERRORS" && substr(text, 44) ~ /^ [^ ]/ && in_table) { error(text); return }
  in_table = text ~ /begins:$/
  text = substr(text, indent + 1)
  if (text ~ /^REDLOCK_/ && heading ~ /^OPTIONS/) { option(text); return }
  if (in_option && indent < 10) { in_option = 0; print ".PP" }
  literal(heading ~ /^(HELLO|WHAT TO DO)/)
  if (!is_literal) print roff(text)
  else if (text ~ /^\/\//) broken(spaces(indent - 5) text, indent - 5, "// ", "", 0)
  else if (heading ~ /^WHAT TO DO/) broken(spaces(indent - 5) text, indent - 5, "  ", "", 0)
  else code(spaces(indent - 5) text, "")
}

# ---- The declarations ----------------------------------------------------------------------------

# The comment in front of a declaration; returns where that begins.
function comment(print_it, i, line) {
  if (lines[1] !~ /^\/\*/) return 1
  for (i = 1; i <= count; i++) {
    line = lines[i]
    sub(/^(\/\*)? */, "", line)
    sub(/ *\*\/$/, "", line)
    if (print_it) print roff(line)
    if (lines[i] ~ /\*\/$/) return i + 1
  }
}

# Without what is private: a whole struct, or members up to one that is named.
function declaration(from, i, line, up_to, shift) {
  literal(1)
  for (i = from; i <= count; i++) {
    line = lines[i]
    if (up_to && line !~ ("[ *]" up_to "[;[]")) continue
    up_to = ""
    if (match(line, /private, up to [a-z]+/)) {
      up_to = substr(line, RSTART + 15, RLENGTH - 15)
      print "  /* ... */"
      continue
    }
    sub(/ RL_WIDTH/, "", line)
    if (sub(/^(REDLOCK_API|static RL_INLINE) /, "", line)) shift = 1
    if (shift) { # a prototype, which may be cut anew
      sub(/^ +/, "", line)
      joined = joined (joined == "" ? "" : " ") line
      if (line !~ /;$/) continue
      line = joined
      joined = ""
      shift = 0
    }
    if (line ~ /\/[*]/) i = with_comment(line, i)
    else code(line, line ~ /sizeof/ ? " \\" : "")
  }
  literal(0)
}

# Returns the number of its last line.
function with_comment(line, i, before, text) {
  before = substr(line, 1, index(line, "/*") - 1)
  text = substr(line, length(before) + 3)
  while (text !~ /[*]\/ *$/ && i < count) {
    line = lines[++i]
    sub(/^ */, "", line)
    text = text " " line
  }
  sub(/^ */, "", text)
  sub(/ *[*]\/ *$/, "", text)
  if (match(text, /^[0-9]+( [0-9]+)?; /)) text = "default " substr(text, 1, RLENGTH - 2) ":" substr(text, RLENGTH)
  commented(before, text)
  return i
}

# Every function, as it is called.
function synopsis(line, text) {
  print ".SH SYNOPSIS\n.nf\n#define REDLOCK_IMPLEMENTATION /* in one file of the program */"
  print "#include \"redlock.h\"\n"
  while ((getline line <ARGV[1]) > 0 && line !~ /^\/[*] ---- Private/) {
    if (!sub(/^(REDLOCK_API|static RL_INLINE) /, "", line) && text == "") continue
    sub(/^ +/, "", line)
    text = text (text == "" ? "" : " ") line
    if (line !~ /;$/) continue
    code(text, "")
    text = ""
  }
  close(ARGV[1])
  print ".fi"
}

function is_function(i) {
  for (i = 1; i <= count; i++) if (lines[i] ~ /^(REDLOCK_API|static RL_INLINE) /) return 1
  return 0
}

# Of a function the declaration stands first; of a type, what it is for.
function block(from) {
  if (lines[1] ~ /^[^*]*\/\* private/) return
  print ".PP"
  if (is_function()) {
    declaration(comment(0))
    print ".RS"
    comment(1)
    print ".RE"
    return
  }
  from = comment(1)
  if (from > 1) print ".PP"
  declaration(from)
}

{
  sub(/ Numbers such as .* name the rules.*$/, "")
  gsub(/ \(R[0-9]+((,| to) R[0-9]+)?\)/, "")
  gsub(/\(R[0-9]+; /, "(")
}
NR == 1 {
  split($0, title, " - ")
  print ".TH REDLOCK 3 \"" date "\" \"redlock " title[2] "\"\n.nh\n.ad l"
  print ".SH NAME\nredlock \\- " title[3]
  synopsis()
  print ".SH DESCRIPTION"
  part = "head"
  next
}
part == "head" {
  if (/\*\/$/) part = ""
  sub(/ *\*\/$/, "")
  head($0)
  next
}
/^#define REDLOCK_FOREVER/ { literal(0); part = "interface"; print ".SH INTERFACE" }
/^\/\* ---- Private/ { exit }
part == "interface" && (NF || in_comment) {
  lines[++count] = $0
  if (/^\/\*/) in_comment = 1
  if (/\*\/$/) in_comment = 0
}
part == "interface" && !NF && !in_comment { if (count) block(); count = 0 }
END { print ".SH SEE ALSO\n.BR redlock (1)" }
