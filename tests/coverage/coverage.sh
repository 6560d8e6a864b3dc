#!/bin/sh
# coverage.sh : which lines and branches of redlock.h no test reaches: unit, fakes, simulator (its
# hook calls, kept seeds and SIM_RUNS random worlds) and real servers together. Each must stand in
# accepted.txt, with the reason why no test here can. The last line: N passed, N failed.
set -eu
cd "$(dirname "$0")/../.."

CC=${CC:-cc} SIM_RUNS=${SIM_RUNS:-100}
here=tests/coverage
work=build/coverage
common="-std=c99 -w -I. -include $here/exit.h"
counted="-O0 --coverage"
posix="$common -D_POSIX_C_SOURCE=200809L $counted"
sim="$common -D_DEFAULT_SOURCE -Itests/sim -Itests" # itself it is not counted: it is slow enough
small="-DREDLOCK_MAX_COMMANDS=4"
failed=0

skip() {
  echo "skipped: $*"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

# shellcheck disable=SC2086 # flags
compile() { object=$1 && shift && $CC "$@" -c -o "$work/$object.o"; }

# run NAME ARGUMENT... : a program that fails reaches less, and is told
run() {
  timeout 300 "$work/$@" >"$work/output" 2>&1 </dev/null && return
  echo "  FAIL  $1"
  sed -n 's/^ *FAIL/    FAIL/p' "$work/output"
  failed=$((failed + 1))
}

link() { program=$1 && shift && $CC --coverage "$@" -o "$work/$program"; }

run_all() {
  compile servers $posix tests/servers.c
  for source in tests/unit/*.c tests/fake/*.c tests/redis/*.c; do
    ! grep -q 'define REDLOCK_NO_' "$source" || continue # another build, with other functions
    name=$(echo "${source#tests/}" | sed 's/\.c$//;s/\//_/')
    compile "$name" $posix "$source"
    link "$name" "$work/$name.o" "$work/servers.o"
    run "$name"
  done
  compile default $sim $counted -DLIB=lib_default tests/sim/lib.c
  compile small $sim $counted $small -DLIB=lib_small tests/sim/lib.c
  compile large $sim $counted -DREDLOCK_MAX_COMMANDS=256 -DLIB=lib_large tests/sim/lib.c
  compile sim_main $sim -O2 tests/sim/main.c
  link sim_main "$work/sim_main.o" "$work/default.o" "$work/small.o" "$work/large.o"
  run sim_main --kept --seed=1 "--runs=$SIM_RUNS" --silent
}

# A line for each line of the header with code: its number, how often it ran, its branches, and how
# many of them were taken.
counts() {
  awk '
    BEGIN { is_code = 1 }
    function tell() {
      if (is_code) print line, count, branches, taken
      branches = taken = 0
      is_code = 1
    }
    /"branches":/ { inside = /\[$/ }
    inside && /"count":/ { branches++; taken += !/: 0,/; next }
    /^ *\]/ { inside = 0; next }
    !inside && /"count":/ { count = $2 + 0 }
    /"gcovr.(noncode|excluded)": true/ { is_code = 0 }
    !inside && /"line_number":/ { line = $2 + 0; tell() }
  ' "$1"
}

# What is not reached, as accepted.txt has it: "line | TEXT" or "N branches | TEXT".
report() {
  awk -v failed="$failed" '
    FILENAME ~ /accepted/ { if (/ \| /) accepted[$0] = 1; next }
    FILENAME ~ /redlock.h/ { sub(/^ */, ""); text[FNR] = $0; next }
    function missed(what, number, key) {
      key = what " | " text[number]
      if (accepted[key]) { listed++; return }
      bad++
      printf "  %d: %s\n", number, key
    }
    {
      lines++
      ran += $2 > 0
      branches += $3
      taken += $4
      if ($2 == 0) missed("line", $1)
      else if ($4 < $3) missed(($3 - $4) " of " $3 " branches", $1)
    }
    END {
      printf "lines %d of %d, %.1f %%; branches %d of %d, %.1f %%\n",
        ran, lines, 100 * ran / lines, taken, branches, 100 * taken / branches
      printf "lines with something not reached: %d in %s, %d not\n", listed, "accepted.txt", bad
      printf "%d passed, %d failed\n", lines - bad, bad + failed
      exit bad + failed > 0
    }' "$here/accepted.txt" redlock.h "$work/counts"
}

command -v gcovr >/dev/null || skip "gcovr is not installed"
case $($CC --version) in *clang* | *Apple*) skip "gcovr wants gcc, and CC is another" ;; esac
rm -rf "$work"
mkdir -p "$work"
[ ! -e build/tests/redis/wall.so ] || cp build/tests/redis/wall.so "$work" # beside the tests
run_all
gcovr --root . --filter redlock.h --exclude-lines-by-pattern '.*REDLOCK_ASSERT.*' \
  --json-pretty -o "$work/all.json" "$work" >&2
counts "$work/all.json" >"$work/counts"
report
