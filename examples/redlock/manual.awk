# manual.awk: makes redlock(3) of redlock.h: its first comment, whose headings are in capitals, and
# then each declaration of the public part with its comment. What is private does not appear, nor
# do the numbers of rules, such as (R7): what explains them is no part of the manual.
#
#   awk -v date=2026-11-22 -f manual.awk redlock.h >redlock.3

function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text ~ /^[.\047]/ ? "\\&" text : text
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
  print (is_literal ? substr("                    ", 1, indent - 5) : "") roff(text)
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
    if (up_to && line !~ (" " up_to ";") && line !~ ("[*]" up_to ";")) continue
    up_to = ""
    if (match(line, /private, up to [a-z]+/)) {
      up_to = substr(line, RSTART + 15, RLENGTH - 15)
      print "  /* ... */"
      continue
    }
    if (shift) sub(/^            /, "", line) # what was aligned with REDLOCK_API stays aligned
    if (sub(/^REDLOCK_API /, "", line)) shift = 1
    if (line ~ /;$/) shift = 0
    print roff(line)
  }
  literal(0)
}

function is_function(i) {
  for (i = 1; i <= count; i++) if (lines[i] ~ /^REDLOCK_API /) return 1
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
  if (/^   in front of the map, far below\.$/) next
  sub(/ Numbers such as .* name the rules that stand$/, "")
  gsub(/ \(R[0-9]+( to R[0-9]+)?\)/, "")
  gsub(/\(R[0-9]+; /, "(")
}
NR == 1 {
  split($0, title, " - ")
  print ".TH REDLOCK 3 \"" date "\" \"redlock " title[2] "\"\n.nh\n.ad l"
  print ".SH NAME\nredlock \\- " title[3] "\n.SH DESCRIPTION"
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
