#!/bin/sh
# fencing_quorum.sh : fencing_quorum.pml, exhaustively, by Spin: what must hold, and each rule or
# assumption taken away, which must be broken. About two minutes and 2 GB of memory, a bound of
# LIMIT_S for each check. LONG=1 adds the largest.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
limit_s=${LIMIT_S:-300} passed=0 failed=0

for program in spin cc; do
  command -v "$program" >/dev/null && continue
  echo "  skip  fencing_quorum: $program is not installed"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/redlock-spin-XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
cd "$dir"

limited() { if command -v timeout >/dev/null; then timeout "$limit_s" "$@"; else "$@"; fi; }

# explore FLAGS... : prints holds, broken, or unfinished.
explore() {
  spin -a "$@" "$here/fencing_quorum.pml" >log 2>&1 || { cat log >&2; exit 1; }
  cc -O2 -DSAFETY -DNOREDUCE -DMEMLIM=6000 -o pan pan.c 2>log || { cat log >&2; exit 1; }
  limited ./pan -m1000000 -w25 >log 2>&1 || true
  if grep -q 'assertion violated' log; then echo broken
  elif grep -q 'max search depth too small' log; then echo unfinished
  elif grep -q 'errors: 0' log; then echo holds
  else echo unfinished
  fi
}

# check EXPECTED LABEL FLAGS...
check() {
  expected=$1 label=$2
  shift 2
  began=$(date +%s)
  verdict=$(explore "$@")
  states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' log)
  if [ "$verdict" = "$expected" ]; then
    good='ok  ' passed=$((passed + 1))
  else
    good=FAIL failed=$((failed + 1))
  fi
  printf '  %s  %-6s  %-54s %9s states %3d s  %s\n' "$good" "$verdict" "$label" "${states:-no}" \
    $(($(date +%s) - began)) "$*"
}

# holds RETURNS LABEL FLAGS... : and the model gets as far as so many grants.
holds() {
  returns=$1 label=$2
  shift 2
  check holds "$label" "$@"
  check broken "  fewer than $returns grants" -DMOST_RETURN=$((returns - 1)) "$@"
}

echo "the design"
holds 3 "counters that only rise, N = 5, 3 attempts" \
  -DN=5 -DK=3 -DTOP=0 -DNO_WINDOW -DNO_CLOCK -DNO_CRASH -DLIFE=1
holds 2 "N = 3, 2 attempts"                            -DTOP=2 -DA=2 -DB=0
holds 2 "N = 3, 2 attempts, and any number of others"  -DTOP=1 -DA=1 -DB=0 -DNOISE
holds 2 "N = 3, 2 attempts, clocks lose A/2"           -DTOP=1 -DA=2 -DB=1
holds 2 "N = 3, 3 attempts"                            -DTOP=1 -DA=1 -DB=0 -DK=3
holds 2 "N = 5, 2 attempts, 2 servers crash"           -DN=5 -DTOP=1 -DA=1 -DB=0 -DCRASHERS=2
[ -z "${LONG:-}" ] ||
  holds 2 "N = 5, 2 attempts, 3 servers crash"         -DN=5 -DTOP=1 -DA=1 -DB=0 -DCRASHERS=3

echo "a rule or an assumption taken away"
check broken "a quorum of N/2"                             -DTOP=2 -DA=2 -DB=0 -DQ=1
check broken "a quorum of N/2, N = 5"                     -DN=5 -DTOP=1 -DA=1 -DB=0 -DQ=2 -DNO_CRASH
check broken "no quarantine"                               -DTOP=2 -DA=2 -DB=0 -DNO_QUARANTINE
check broken "FLUSHALL"                                    -DTOP=2 -DA=2 -DB=0 -DFLUSHALL
check broken "a token may be far ahead of the clock"       -DTOP=1 -DA=1 -DB=0 -DNO_WINDOW
check broken "counters without the clock"                  -DTOP=2 -DA=1 -DB=0 -DNO_CLOCK
check broken "the clock without counters"                  -DTOP=2 -DA=2 -DB=0 -DNO_COUNTER
check broken "a token may equal the counter"               -DTOP=2 -DA=2 -DB=0 -DNOT_STRICT
check broken "the counter expires at once"                 -DTOP=2 -DA=2 -DB=0 -DLIFE=0
check broken "clocks lose more than A - W"                 -DTOP=3 -DA=1 -DB=1

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
