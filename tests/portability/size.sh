#!/bin/sh
# size.sh : what the header takes at -Os, for each target, with and without the POSIX back end, in
# the default and the small configuration, and reduced: without texts, quarantine and URLs. A row
# "linked" is a whole program that takes and frees one lock, less the same without (linked.c): with
# libgcc's share, and without what is never called. "unfenced" and "linked" are built without
# fencing tokens, which have a limit of their own. In bytes:
#
#   text    code and constants           data, bss  what is writable (there should be none)
#   client  sizeof(redlock)              lock       sizeof(redlock_lock)
#   stack   of redlock_acquire, _release, _step and _init at its deepest, without hooks and libc
#           (stack.awk, which fails if the calls come back to where they came from)
#
# A limit that is set stands behind its row, with the part that is missed. Then where the bytes are,
# by the sections of the header. Exit: 0 unless a build fails, for a miss is told and not hidden;
# with --strict (make size STRICT=1) a miss is an error too. With --sections: only where the bytes
# are.
set -u
cd "$(dirname "$0")/../.."

work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-size-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

small="-DREDLOCK_MAX_SERVERS=3 -DREDLOCK_MAX_RESOURCE=16 -DREDLOCK_MAX_COMMANDS=4
       -DREDLOCK_MAX_ERROR=16 -DREDLOCK_NO_DNS -DREDLOCK_NO_FENCING"
# Nothing that others slip in, and no table of pointers that counts as data until it is relocated.
plain="-fno-pic -fno-stack-protector -U_FORTIFY_SOURCE -fno-asynchronous-unwind-tables"
strict=$([ "${1:-}" = --strict ] && echo yes)
met=0 missed=0 broken=0

# target | compiler and flags | with a POSIX back end?
targets="\
Cortex-M0   | arm-none-eabi-gcc --specs=picolibc.specs -mthumb -mcpu=cortex-m0 | no
Cortex-M4   | arm-none-eabi-gcc --specs=picolibc.specs -mthumb -mcpu=cortex-m4 | no
riscv32     | riscv64-unknown-elf-gcc --specs=picolibc.specs -march=rv32imac -mabi=ilp32 | no
i386        | gcc -m32 -isystem /usr/include/x86_64-linux-gnu | yes
x86-64      | gcc | yes
x86-64 musl | musl-gcc | yes"

# target, back end, configuration | what | at most | why
limits="\
Cortex-M4 none unfenced | text | 14259 | measured, and 12 to spare (14 259 in 1.2.0): INVALID's texts are 570 of it, hand-over 300, the line 300, native releases 670
Cortex-M4 none default | text | 15702 | measured, and 45 to spare (15 702 in 1.2.0)
Cortex-M4 none default | fencing | 1450 | tokens, for those who have them: the name of the counter is 100 of it (more where what is shared shrinks more)
Cortex-M4 none reduced | text | 11740 | measured, and 22 to spare; that releases stay until their answers come is 60 of it, and that a lock is 8 bytes smaller 30: without texts, quarantine and URLs
Cortex-M4 none linked | text | 13326 | measured, and 14 to spare: what a program pays that locks and releases; that init is told its caller's sizes is 24 of it
Cortex-M4 none small | client+lock | 1072 | about 1 KB together
Cortex-M4 none small | stack | 850 | less than client and lock
Cortex-M4 none default | stack | 1300 | a third of a common task's 4 KB
x86-64 POSIX unfenced | text | 21855 | measured, and 39 to spare: addresses, names and TLS are what a board leaves out
x86-64 POSIX reduced | text | 18090 | measured, and 6 to spare
x86-64 POSIX unfenced | client | 8896 | two pages, a server's error text or three, and what each command notes for its lock
x86-64 POSIX default | stack | 2700 | a piece of output of 2 048, and 650 around it
header all code | lines | 2662 | as many as in 1.2.0, and 3 to spare: what comes in must let something go
header all code | functions | 265 | measured (267 in 1.2.0)"
unfenced=-DREDLOCK_NO_FENCING
reduced="-DREDLOCK_NO_TEXTS -DREDLOCK_NO_QUARANTINE -DREDLOCK_NO_URL"

cat >"$work/alone.c" <<'END'
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
__attribute__((section("measured"))) char measured_client[sizeof(redlock)];
__attribute__((section("measured"))) char measured_lock[sizeof(redlock_lock)];
END

# section NAMES : the sum of the sections that the expression fits
section() {
  size -A "$work/alone.o" |
    awk -v names="^\\\\.($1)" '$1 ~ names { n += $2 } END { print n + 0 }'
}

struct() { nm -S -t d "$work/alone.o" | awk -v name="measured_$1" '$4 == name { print $2 + 0 }'; }

package_of() { awk -v c="$1" '$1 == c { $1 = ""; print }' tests/portability/packages.txt; }

# judge ROW WHAT VALUE : a word on each limit that is set
judge() {
  most=$(echo "$limits" |
    awk -F ' [|] ?' -v row="$1" -v what="$2" '$1 == row && $2 == what { print $3 }')
  [ -n "$most" ] || return
  if [ "$3" -le "$most" ]; then
    met=$((met + 1)) && verdict="$verdict  $2 $3: within $most"
  else
    missed=$((missed + 1)) && verdict="$verdict  $2 $3: MISSED, $(($3 - most)) over $most"
  fi
}

# measure TARGET BACK-END CONFIGURATION COMPILER FLAG...
measure() {
  target=$1 back=$2 configuration=$3 verdict=
  shift 3
  if ! "$@" -Os -std=c99 -D_POSIX_C_SOURCE=200809L $plain -fcallgraph-info=su -I. \
    -c "$work/alone.c" -o "$work/alone.o" 2>"$work/errors"; then
    broken=$((broken + 1))
    printf '%-12s %-6s %-8s FAIL  %s\n' "$target" "$back" "$configuration" \
      "$(grep -m 1 error "$work/errors")"
    return
  fi
  stack=$(awk -f tests/portability/stack.awk "$work/alone.ci") || broken=$((broken + 1))
  client=$(struct client) lock=$(struct lock) text=$(section 'text|rodata|srodata')
  [ "$configuration" != unfenced ] || without_fencing=$text
  judge "$target $back $configuration" text "$text"
  [ "$configuration" != default ] || judge "$target $back default" fencing $((text - without_fencing))
  judge "$target $back $configuration" client "$client"
  judge "$target $back $configuration" client+lock $((client + lock))
  judge "$target $back $configuration" stack "$(echo "$stack" | awk '{ print $1 + 0 }')"
  printf '%-12s %-6s %-8s %6d %5d %5d %7d %5d  %-26s%s\n' "$target" "$back" "$configuration" \
    "$text" "$(section 'data|sdata')" "$(section 'bss|sbss')" \
    "$client" "$lock" "$stack" "$verdict"
}

# linked_text FLAG... : code and constants of a whole program
linked_text() {
  "$@" -Os -std=c99 $plain -no-pie -ffunction-sections -fdata-sections -Wl,--gc-sections -I. \
    tests/portability/linked.c -o "$work/linked" 2>"$work/errors" &&
    size -A "$work/linked" | awk '$1 ~ /^\.(text|rodata)/ { n += $2 } END { print n + 0 }'
}

# measure_linked TARGET COMPILER FLAG...
measure_linked() {
  target=$1 verdict=
  shift
  with=$(linked_text "$@" $unfenced) && without=$(linked_text "$@" $unfenced -DWITHOUT) || {
    printf '%-12s %-6s %-8s SKIP  it does not link: %s\n' "$target" none linked \
      "$(grep -m 1 . "$work/errors")"
    return
  }
  judge "$target none linked" text $((with - without))
  printf '%-12s %-6s %-8s %6d %53s%s\n' "$target" none linked $((with - without)) '' "$verdict"
}

# The rows of one target.
measure_target() {
  target=$1 has_posix=$2
  shift 2
  if ! command -v "$1" >/dev/null; then
    printf '%-12s SKIP  no %s: install%s\n' "$target" "$1" "$(package_of "$1")"
    return
  fi
  if ! echo '#include <sys/types.h>' | "$@" -x c -c - -o "$work/probe" 2>/dev/null; then
    printf '%-12s SKIP  no headers of its own here\n' "$target"
    return
  fi
  # shellcheck disable=SC2086 # a list of flags
  {
    measure "$target" none unfenced "$@" -DREDLOCK_NO_POSIX $unfenced
    measure "$target" none default "$@" -DREDLOCK_NO_POSIX
    measure "$target" none small "$@" -DREDLOCK_NO_POSIX $small
    measure "$target" none reduced "$@" -DREDLOCK_NO_POSIX $reduced
    measure_linked "$target" "$@"
    [ "$has_posix" = yes ] || return 0
    measure "$target" POSIX unfenced "$@" $unfenced
    measure "$target" POSIX default "$@"
    measure "$target" POSIX small "$@" $small
    measure "$target" POSIX reduced "$@" $reduced
  }
}

# Lines of the implementation without comments and blanks, and its functions.
measure_lines() {
  awk '/^#if defined\(REDLOCK_IMPLEMENTATION\)/ { code = 1 } code' redlock.h >"$work/code.c"
  lines=$(cpp -fpreprocessed -dD -P "$work/code.c" 2>/dev/null | grep -c .)
  functions=$(awk '/^(RL_NOINLINE )?(static|REDLOCK_API) [^=]*[(]/ && !/;$/' "$work/code.c" | wc -l) verdict=
  judge 'header all code' lines "$lines"
  judge 'header all code' functions "$functions"
  printf '\ncode: %d lines, %d functions %s\n' "$lines" "$functions" "$verdict"
}

# by_section COMPILER FLAG... : code by the header's sections, with nothing inlined, so that each
# function's bytes count where it is written. Constants have no names: they are one row.
by_section() {
  "$@" -Os -fno-inline -std=c99 -D_POSIX_C_SOURCE=200809L $plain -I. -DREDLOCK_NO_POSIX \
    -c "$work/alone.c" -o "$work/alone.o" 2>/dev/null || return
  nm -S -t d "$work/alone.o" |
    awk 'NF == 4 && tolower($3) == "t" { sub(/[.].*|(_[0-9]+)+_[fn][dnp]$/, "", $4); print $4, $2 + 0 }' \
      >"$work/functions"
  awk '
    FNR == NR { bytes[$1] += $2; next }
    /^\/\* ---- / { name = $0; gsub(/^\/\* -+ | -+ \*\/$/, "", name); names[++n] = name }
    /^(RL_NOINLINE )?(static|REDLOCK_API) / && !/;$/ && name && match($0, /(rl|redlock)_[a-z0-9_]*\(/) {
      f = substr($0, RSTART, RLENGTH - 1)
      if (f in bytes) { sum[name] += bytes[f]; count[name]++; delete bytes[f] }
    }
    END {
      for (i = 1; i <= n; i++)
        if (count[names[i]]) printf "%6d  %3d  %s\n", sum[names[i]], count[names[i]], names[i]
    }' "$work/functions" redlock.h
  printf '%6d       constants: texts, scripts, tables\n' "$(section 'rodata|srodata')"
}

# Of the first compiler that there is.
sections() {
  for profiled in 'arm-none-eabi-gcc --specs=picolibc.specs -mthumb -mcpu=cortex-m4' "${CC:-cc}"; do
    command -v ${profiled%% *} >/dev/null || continue
    printf '\nbytes, functions and section, without POSIX: %s\n' "$profiled"
    by_section $profiled
    break
  done
}

[ "${1:-}" != --sections ] || { sections; exit; }

printf '%-12s %-6s %-8s %6s %5s %5s %7s %5s  %s\n' \
  target back-end config text data bss client lock 'stack of acquire, release, step, init'
while IFS='|' read -r target compiler has_posix; do
  # shellcheck disable=SC2086 # lists of words
  measure_target "$(echo $target)" $has_posix $compiler
done <<END
$targets
END
sections
measure_lines
echo "limits: $met met, $missed missed; builds that failed: $broken"
[ $broken = 0 ] && { [ -z "$strict" ] || [ $missed = 0 ]; }
