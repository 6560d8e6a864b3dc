#!/bin/sh
# readme.sh [TEST...] : what the README shows works as it stands there: its programs and fragments
# compile, its commands run from top to bottom, its links lead somewhere. TESTS below lists the
# tests.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS README_IS_READ # those of `make test` are not the reader's

documents="README.md examples/README.md examples/operations.md examples/safety.md tests/README.md
           tests/sim/README.md tests/bench/README.md"
posix=-D_POSIX_C_SOURCE=200809L
flags="-Wall -Wextra -Wpedantic -Werror -I$root"

# blocks LANGUAGE [FILE] : README's blocks of code, or another file's, into $work/LANGUAGE-1 and so
# on, and how many
blocks() {
  awk -v to="$work/$1-" -v open="^ *\`\`\`$1\$" '
    !inside && $0 ~ open { inside = 1; count++; printf "" >(to count); next }
    inside && /^ *```$/ { inside = 0; next }
    inside { print >(to count) }
    END { print count + 0 }' "$root/${2:-README.md}"
}

# ---- C -------------------------------------------------------------------------------------------

# What a fragment of the README may take for granted.
around_fragment() {
  cat <<'C'
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#ifdef WITH_TLS
#include "examples/tls_openssl.h"
#endif
#include <stdio.h>
#include <string.h>
static redlock rl;
static redlock_lock lock;
static redlock_status status;
static redlock_options options;
static int pending;
static void on_decided(redlock_lock *decided) { (void)decided; }
static void store(uint64_t token) { (void)token; }
static int work(void) { return 0; }
static void fragment(void) {
C
  cat "$1"
  echo '}'
  echo 'int main(void) { (void)rl; (void)lock; (void)status; (void)options;'
  echo '  (void)pending; (void)on_decided; (void)store; (void)work; fragment(); return 0; }'
}

has_openssl() {
  echo '#include <openssl/ssl.h>' | cc -E -x c - >/dev/null 2>&1 ||
    { echo 'note: no OpenSSL'; false; }
}

compile_each() {
  count=$(blocks c)
  [ "$count" -ge 2 ] || { echo "only $count blocks of C"; return 1; }
  for number in $(seq "$count"); do
    if grep -q 'int main' "$work/c-$number"; then cp "$work/c-$number" "$work/block.c"
    else around_fragment "$work/c-$number" >"$work/block.c"
    fi
    libraries=
    if grep -q tls_begin "$work/block.c"; then
      has_openssl || continue
      libraries='-DWITH_TLS -lssl -lcrypto'
    fi
    cc "$@" $flags "$work/block.c" $libraries -o "$work/block" || return
  done
}

c_compiles() {
  need cc && compile_each && compile_each -std=gnu99 -fsyntax-only &&
    compile_each -std=c99 $posix -fsyntax-only
}

# In a network of its own nobody listens.
hello_says_why() {
  need cc && blocks c >/dev/null && cc $posix $flags -x c "$work/c-1" -o "$work/hello" || return
  can_be_apart && apart "$work/hello" >"$work/said" && cat "$work/said" && grep -qx 'no quorum' "$work/said"
}

# One hello: in the header, and in the README.
hello_is_the_headers() {
  blocks c >/dev/null
  awk '/^   HELLO$/ { inside = 1; next } /^   [A-Z]/ { inside = 0 } inside { sub(/^     /, ""); print }' \
    "$root/redlock.h" | sed '$d' | diff - "$work/c-1"
}

# What is copied from one example is what stands in the next.
explain_is_one_text() {
  for each in $(grep -l '^static [a-z]* explain(' "$root"/examples/*.c "$root"/examples/fencing/*.c); do
    sed -n '/^static [a-z]* explain(/,/^}/p' "$each" >"$work/explain"
    [ -e "$work/one" ] || cp "$work/explain" "$work/one"
    cmp "$work/explain" "$work/one" >&2 || return
    echo "$each"
  done >"$work/said"
  [ "$(wc -l <"$work/said")" -ge 7 ] || { cat "$work/said"; return 1; }
}

# Behind it only what the glue says that is the reader's.
loop_can_be_copied() {
  { echo '#define REDLOCK_IMPLEMENTATION'; echo '#include "redlock.h"'
    sed -n '/^\/\* ---- from here/,/^\/\* ---- to here/p' "$root/examples/loops/$1.c"
    echo 'static void on_decided(redlock_lock *l) { (void)l; }'
    echo "int main(void) { redlock_options options = {0}; options.closing = on_closing;"
    echo "  return redlock_init(&client, \"127.0.0.1:1\", &options) || ($3, 0); }"; } \
    >"$work/$1.c"
  # shellcheck disable=SC2046 # a list of flags
  cc -std=c99 $posix $flags "$work/$1.c" $(pkg-config --cflags --libs "$2") -o "$work/$1" &&
    "$work/$1"
}

loops_can_be_copied() {
  need cc && need pkg-config || return
  for each in 'libuv libuv join_loop()' 'libevent libevent_core join_loop(event_base_new())' \
    'glib glib-2.0 join_loop(NULL)'; do
    set -- $each
    pkg-config --exists "$2" || { echo "note: no $2"; continue; }
    loop_can_be_copied "$@" || return
  done
}

# cmake_builds [LINES] : README's first program, with the lines of examples/README.md in $work/lines
cmake_builds() {
  rm -rf "$work/cmake"
  mkdir -p "$work/cmake/redlock"
  cp "$root/redlock.h" "$work/cmake/redlock"
  cp "$work/c-1" "$work/cmake/hello.c"
  { echo 'cmake_minimum_required(VERSION 3.10)'; echo 'project(hello C)'; echo "${1:-}"
    cat "$work/lines"; echo 'add_executable(hello hello.c)'
    echo 'target_link_libraries(hello redlock)'; } >"$work/cmake/CMakeLists.txt"
  cmake -S "$work/cmake" -B "$work/cmake/build" && cmake --build "$work/cmake/build"
}

# The second block is for strict standards, and those do not build without it.
cmake_lines_work() {
  need cc && need cmake && blocks c >/dev/null || return
  strict='set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)'
  [ "$(blocks cmake examples/README.md)" = 2 ] && [ "$(wc -l <"$work/cmake-1")" = 3 ] &&
    cp "$work/cmake-1" "$work/lines" && cmake_builds && ! cmake_builds "$strict" &&
    cat "$work/cmake-1" "$work/cmake-2" >"$work/lines" && cmake_builds "$strict"
}

# ---- Commands ------------------------------------------------------------------------------------

# A network and processes of its own: every port is free there, and nothing is left when it ends.
apart() { unshare --user --map-root-user --net --pid --fork --kill-child "$@"; }

can_be_apart() {
  need unshare && need ip || return
  apart ip link set lo up 2>/dev/null || skip 'no network of its own can be had here'
}

# $work/bin: the server under the name that the README calls it by, and its client
find_server() {
  server=${REDIS_SERVER:-$(command -v redis-server)}
  [ -x "$server" ] || skip 'no redis-server' || return
  client=$(ls "$(dirname "$server")"/*-cli 2>/dev/null | sed q)
  client=${client:-$(command -v redis-cli)}
  [ -x "$client" ] || skip 'no redis-cli' || return
  mkdir -p "$work/bin"
  ln -sf "$server" "$work/bin/redis-server"
  ln -sf "$client" "$work/bin/redis-cli"
}

# The commands, in the order of the README, where a reader would give them. Of `make` only `redlock`
# is made; `make readme` makes the others.
commands() {
  for number in $(seq "$(blocks sh)"); do
    sed '/^make redlock$/!s/^make .*/:/' "$work/sh-$number"
  done
}

copy_of_the_repository() {
  rm -rf "$work/repository"
  mkdir "$work/repository"
  (cd "$root" && cp -R LICENSE Makefile README.md redlock.h tests examples "$work/repository")
  cp "$work/c-1" "$work/repository/hello.c"
  "$root/tests/deployed-conf" >"$work/repository/examples/deploy/redis.conf"
}

commands_once() {
  copy_of_the_repository
  { echo 'ip link set lo up'; commands; } >"$work/commands"
  (cd "$work/repository" && PATH="$work/bin:$PATH" apart sh -e "$work/commands") \
    >"$work/said" 2>&1 &&
    grep -q '^locked for [0-9]* ms$' "$work/said" &&
    grep -q '^nobody else runs this now$' "$work/said"
}

# Some of them give up soon, as they would for a reader: a busy machine has a second chance.
commands_run() {
  need cc && need make && can_be_apart && find_server && blocks c >/dev/null || return
  commands_once || { sleep 2; commands_once; } || { tail -n 20 "$work/said"; return 1; }
}

# Its options are taken, though nobody listens there: "no quorum", and not "wrong usage".
the_cron_line_is_understood() {
  [ -x "$root/build/redlock" ] || skip 'make redlock first' || return
  [ "$(blocks crontab)" = 1 ] && [ "$(wc -l <"$work/crontab-1")" = 2 ] || return
  sed -n "s|^0 3 \* \* \* *[^ ]*/redlock |$root/build/redlock |p" "$work/crontab-1" >"$work/job"
  grep -q -e --min-hold "$work/job" && cat "$work/job" || return
  REDLOCK_SERVERS=127.0.0.1:1 sh "$work/job"
  [ $? = 121 ]
}

# watch NUMBER : one of operations.md's ways to watch the servers, where nobody listens
watch() { (cd "$work" && PATH="$root/build:$PATH" REDLOCK_SERVERS=127.0.0.1:1 sh "sh-$1"); }

servers_are_watched() {
  [ -x "$root/build/redlock" ] || skip 'make redlock first' || return
  need jq && [ "$(blocks sh examples/operations.md)" = 2 ] || return
  watch 1
  [ $? = 2 ] && watch 2 && grep -v '^#' "$work/redlock.prom" >"$work/numbers" &&
    printf 'redlock_%s\n' 'check_exit_status 121' 'servers_voting 0' 'servers_needed 1' \
      'servers_with_errors 1' | diff - "$work/numbers"
}

# What `redlock --status` says of a restart, as examples/operations.md quotes it.
status_is_quoted_as_it_is() {
  tr '\n' ' ' <"$root/examples/operations.md" | grep -o '`[a-z ]*all vote: [^`]*`' |
    tr '`' '"' >"$work/quoted"
  [ "$(wc -l <"$work/quoted")" = 2 ] || { cat "$work/quoted"; return 1; }
  while IFS= read -r quoted; do
    grep -qF -- "$quoted" "$root/examples/redlock/status.c" || { echo "$quoted"; return 1; }
  done <"$work/quoted"
}

# What the map says to hold, the tests check, by its number.
each_invariant_is_checked() {
  sed -n 's/^     \(I[0-9]*\) .*/\1/p' "$root/redlock.h" >"$work/said"
  [ -s "$work/said" ] || return 1
  while read -r number; do
    range=${number#I}
    awk -v n="$range" '/^\/\* I[0-9]/ { line = $0; sub(/[.:].*/, "", line); gsub(/[^0-9to ]/, " ", line)
      k = split(line, part, " ")
      for (i = 1; i <= k; i++) {
        if (part[i] == n) found = 1
        if (part[i] == "to" && part[i - 1] <= n + 0 && n + 0 <= part[i + 1]) found = 1
      } }
      END { exit !found }' "$root/tests/invariants.h" || { echo "$number"; return 1; }
  done <"$work/said"
}

# ---- SQL -----------------------------------------------------------------------------------------

# query NAME : runs $work/NAME.sql; what it says of each statement stands in $work/NAME.out
query() { psql -XAt "$(cat "$work/where")" -f "$work/$1.sql" >"$work/$1.out" 2>&1; }

# transaction TOKEN TOTAL : README's, as a holder runs it
transaction() { sed "1d; s/\$1/$1/g; s/\$2/$2/g" "$work/sql-1"; }

until_there() {
  for try in $(seq 200); do [ -s "$work/$1" ] && return; sleep 0.1; done
  echo "no $1" && false
}

# The later holder (token 2) is within its transaction when the older one comes, which waits, and is
# refused. The later one comes again.
late_write_is_refused() {
  { echo 'CREATE TABLE invoice(id bigint, total bigint); INSERT INTO invoice VALUES (42, 0);'
    sed 1q "$work/sql-1"; } >"$work/once.sql"
  { echo "SET statement_timeout = '20s';"
    transaction 2 200 | sed 's/COMMIT;//'
    echo "\\! echo yes >$work/locked"
    echo 'DO $$BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = $_$Lock$_$)
      LOOP PERFORM pg_sleep(.01), pg_stat_clear_snapshot(); END LOOP; END$$; COMMIT;'; } >"$work/later.sql"
  { transaction 1 100 | sed 2q; echo 'ROLLBACK;'; } >"$work/older.sql"
  transaction 2 300 >"$work/again.sql"
  query once || { cat "$work/once.out"; return 1; }
  query later &
  until_there locked || { cat "$work/later.out"; return 1; }
  query older; wait $!; query again
  cat "$work/later.out" "$work/older.out" "$work/again.out"
  grep -qx 'UPDATE 0' "$work/older.out" && ! grep -q ERROR "$work"/*.out &&
    [ "$(sed -n '/^UPDATE 1$/=' "$work/later.out" "$work/again.out" | wc -l)" = 4 ] &&
    grep -qx 200 "$work/again.out"
}

sql_refuses_a_late_write() {
  need psql && [ "$(blocks sql)" = 1 ] || return
  rm -f "$work/until"
  mkfifo "$work/until"
  "$root/tests/postgres-server" <"$work/until" >"$work/where" &
  postgres=$!
  exec 8>"$work/until"
  if ! until_there where || ! grep -q ^host= "$work/where"; then
    exec 8>&-
    skip "$(cat "$work/where")" || return
  fi
  late_write_is_refused
  refused=$?
  exec 8>&-
  wait $postgres
  return $refused
}

# ---- What is mentioned ---------------------------------------------------------------------------

# `make readme` runs them; this only looks for each.
make_targets_exist() {
  sed -n 's/^\([a-z-]*\):.*## .*/\1/p' "$root"/Makefile $(find "$root/tests" "$root/examples" \
    -name '*.mk') | sort -u >"$work/targets"
  { "$root/tests/run-readme" list; sed -n 's/^ *make /make /p' "$root/tests/sim/README.md"; } |
    sed -n 's/^make \([a-z-]*\)\( .*\)*$/\1/p' | sort -u >"$work/mentioned"
  [ "$(wc -l <"$work/mentioned")" -ge 20 ] || { echo "few targets are mentioned"; return 1; }
  comm -13 "$work/targets" "$work/mentioned" >"$work/unknown"
  ! grep . "$work/unknown"
}

# reads TEXT : what `make readme` says of that README alone
reads() {
  printf '%s\n' "$1" >"$work/repository/README.md"
  for document in $documents; do
    [ "$document" = README.md ] || : >"$work/repository/$document"
  done
  (cd "$work/repository" && tests/run-readme >"$work/said" 2>&1)
}

what_fails_is_told() {
  need make || return
  copy_of_the_repository
  reads 'Say `make help`.' && grep -q '^  ok    make help, ' "$work/said" &&
    ! reads 'Say `make help`, and `make
no-such-target`.' && grep -q '^  FAIL  make no-such-target, ' "$work/said" &&
    [ "$(tail -n 1 "$work/said")" = '1 passed, 1 failed, 0 skipped' ] &&
    ! README_LIMIT_S=0 reads 'Say `make help`.' &&
    [ "$(tail -n 1 "$work/said")" = '0 passed, 0 failed, 1 skipped' ]
}

# links FILE : what it links to in the repository
links() {
  grep -oE '\]\([^)#]+' "$root/$1" | sed 's/^](//' | grep -v '^https\{0,1\}:'
}

links_lead_somewhere() {
  for document in $documents; do
    for link in $(links "$document"); do
      [ -e "$root/$(dirname "$document")/$link" ] || { echo "$document: $link"; return 1; }
    done
  done
}

# has_anchor FILE ANCHOR : a heading, in small letters, with - for spaces and no other signs
has_anchor() {
  grep '^##* ' "$1" | sed 's/^#* //' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' | grep -qx -- "$2"
}

# In the same file, or in another.
anchors_exist() {
  for document in $documents; do
    for link in $(grep -oE '\]\([^):]*#[^)]+' "$root/$document" | sed 's/^](//'); do
      file=${link%%#*}
      file=${file:+$(dirname "$root/$document")/$file}
      has_anchor "${file:-$root/$document}" "${link#*#}" || { echo "$document: $link"; return 1; }
    done
  done
}

# Who reads it has five minutes.
readme_is_short() {
  [ "$(wc -l <"$root/README.md")" -le 230 ] && [ "$(wc -w <"$root/README.md")" -le 2300 ]
}

# Each folder of tests says what it is for.
folders_are_listed() {
  for folder in "$root"/tests/*/; do
    name=$(basename "$folder")
    grep -q "^| \[$name\]($name) " "$root/tests/README.md" || { echo "$name"; return 1; }
  done
}

# ---- TESTS ---------------------------------------------------------------------------------------

run c_compiles c_compiles
run hello_says_why hello_says_why
run hello_is_the_headers hello_is_the_headers
run explain_is_one_text explain_is_one_text
run loops_can_be_copied loops_can_be_copied
run cmake_lines_work cmake_lines_work
run commands_run commands_run
run sql_refuses_a_late_write sql_refuses_a_late_write
run the_cron_line_is_understood the_cron_line_is_understood
run servers_are_watched servers_are_watched
run status_is_quoted_as_it_is status_is_quoted_as_it_is
run each_invariant_is_checked each_invariant_is_checked
run make_targets_exist make_targets_exist
run what_fails_is_told what_fails_is_told
run links_lead_somewhere links_lead_somewhere
run anchors_exist anchors_exist
run readme_is_short readme_is_short
run folders_are_listed folders_are_listed

check_end
