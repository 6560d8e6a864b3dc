#!/bin/sh
# fakes.sh: shows that the tests on fakes can fail. Each patch of this folder with a line "# fakes:"
# is put into a copy of redlock.h, and the tests named there must fail on it; a crash or a hang is a
# failure too. So is a patch that does not apply, and a test that fails on the header as it is.
#   ONLY=part of a name
set -u
cd "$(dirname "$0")/../.."
. tests/planted/lib.sh

work=build/planted
flags="-std=c99 -D_POSIX_C_SOURCE=200809L -O0 -g -w"

# $1 = folder of the header, $2 = program: builds $1/$2
build() {
  # shellcheck disable=SC2086
  ${CC:-cc} $flags -I"$1" "tests/fake/$2.c" -o "$1/$2"
}

runs() { timeout 60 "$@" >/dev/null 2>&1; }

# $1 = program, $2 = test: it fails on the copy alone
catches() {
  [ -x "$work/clean/$1" ] || build "$work/clean" "$1" || return 1
  runs "$work/clean/$1" "$2" || { echo "$2 fails without the bug too"; return 1; }
  build "$work/bug" "$1" || return 1
  if runs "$work/bug/$1" "$2"; then echo "$2 passes"; return 1; fi
}

try() {
  $planted/plant "$1" <"$work/clean/redlock.h" >"$work/bug/redlock.h" || return 1
  field "$1" fakes | while read -r program test; do catches "$program" "$test" || exit 1; done
}

rm -rf "$work"
mkdir -p "$work/clean" "$work/bug"
cp redlock.h "$work/clean/redlock.h"
each_patch fakes try
