#!/bin/sh
# planted.sh [NAME] : shows that the tests can fail. Each line of planted.txt is one bug; it is put
# into a copy of redlock.h by sed, and the test named there must fail on the copy (a crash or a hang
# is a failure too). An expression that changes nothing is an error, and so is a test that fails on
# the header as it is. Prints caught or NOT CAUGHT for each; last line: N passed, N failed.
set -u
cd "$(dirname "$0")/../.."

work=build/planted
flags="-std=c99 -D_POSIX_C_SOURCE=200809L -O0 -g -w"
caught=0 missed=0

# $1 = folder of the header, $2 = program: builds $1/$2
build() {
  # shellcheck disable=SC2086
  ${CC:-cc} $flags -I"$1" "tests/fake/$2.c" -o "$1/$2"
}

runs() { timeout 60 "$@" >/dev/null 2>&1; }

# Says why this one cannot be trusted, or nothing.
complaint() {
  mkdir -p "$work/bug"
  sed -e "$1" redlock.h >"$work/bug/redlock.h" || { echo "sed fails"; return; }
  if cmp -s redlock.h "$work/bug/redlock.h"; then echo "it changes nothing"; return; fi
  [ -x "$work/clean/$2" ] || build "$work/clean" "$2" || { echo "$2.c does not build"; return; }
  runs "$work/clean/$2" "$3" || { echo "$3 fails without the bug too"; return; }
  build "$work/bug" "$2" || { echo "the copy does not build"; return; }
  if runs "$work/bug/$2" "$3"; then echo "$3 passes"; fi
}

tell() {
  if [ -z "$2" ]; then
    caught=$((caught + 1))
    echo "  caught      $1"
  else
    missed=$((missed + 1))
    echo "  NOT CAUGHT  $1: $2"
  fi
}

rm -rf "$work"
mkdir -p "$work/clean"
cp redlock.h "$work/clean/redlock.h"
grep -v '^#' tests/fake/planted.txt >"$work/table"
while IFS= read -r line; do
  name=${line%% | *}
  rest=${line#* | }
  test=${rest##* | }
  [ $# -eq 0 ] || [ "$name" = "$1" ] || continue
  tell "$name" "$(complaint "${rest% | *}" "${test% *}" "${test#* }")"
done <"$work/table"
echo "$caught passed, $missed failed"
[ "$missed" -eq 0 ] && [ "$caught" -gt 0 ]
