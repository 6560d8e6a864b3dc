#!/bin/sh
# planted.sh SIM-OBJECTS BUILD CC FLAGS... : plants each bug of tests/sim/planted in a copy of the
# header, and lets the simulator look for it from several starts. Fails when a bug is not caught
# from every start within the bound, or when a patch no longer applies.
#   STARTS=5  BOUND=4000 seeds from each  ONLY=part of a name  SIM_OPTIONS=...
set -eu

here=$(dirname "$0")
main=$1 build=$2
shift 2
starts=${STARTS:-5} bound=${BOUND:-4000} only=${ONLY:-}
fenced=1099511627776 # the bit of a seed that makes a world of tokens
passed=0 failed=0 original=$build/planted/redlock.h

field() { sed -n "s/^# $2: *//p" "$1"; }

# The header with the bug, or a loud end.
plant() {
  sed -f "$1" "$original" >"$2/redlock.h"
  lines=$(diff "$original" "$2/redlock.h" | grep -c '^>' || true)
  [ "$lines" = "$(field "$1" changes)" ] && return 0
  echo "  FAIL  $3: the patch no longer applies ($lines lines change, $(field "$1" changes) should)"
  return 1
}

# The copy must be found before the header itself.
build_sim() {
  dir=$1 cc=$2
  shift 2
  "$cc" -I"$dir" "$@" -DLIB=lib_default -c "$here/lib.c" -o "$dir/lib_default.o"
  "$cc" -I"$dir" "$@" -DLIB=lib_small $SMALL -c "$here/lib.c" -o "$dir/lib_small.o"
  "$cc" "$@" "$main" "$dir/lib_default.o" "$dir/lib_small.o" -o "$dir/sim"
}

# Prints how many seeds it took, and the message; nothing when it was not caught.
hunt() {
  first=$2
  timeout 300 "$1" --seed="$first" --runs="$bound" --silent $3 ${SIM_OPTIONS:-} 2>/dev/null |
    sed -n 's/^seed \([0-9]*\): \(.*\)/\1 \2/p;s/^FAILED: seed \([0-9]*\) \(.*\)/\1 \2/p' |
    head -1 |
    while read -r seed message; do echo "$((seed % fenced - first + 1)) $message"; done
}

# The first of the kept seeds that catches it: "none" when what is kept needs a new one.
kept() {
  seed=$(timeout 300 "$1" --kept --silent $2 2>/dev/null | sed -n 's/^seed \([0-9]*\): .*/\1/p')
  echo "${seed:-none}"
}

try() {
  patch=$1 name=$(basename "$1" .sed) dir=$build/planted/$(basename "$1" .sed)
  shift
  mkdir -p "$dir"
  plant "$patch" "$dir" "$name" || return 1
  build_sim "$dir" "$@" || { echo "  FAIL  $name: does not compile"; return 1; }
  : >"$dir/caught"
  i=0
  while [ "$i" -lt "$starts" ]; do
    hunt "$dir/sim" $((1000000 * (i + 1))) "$(field "$patch" options)" >>"$dir/caught"
    i=$((i + 1))
  done
  caught=$(wc -l <"$dir/caught")
  if [ "$caught" -lt "$starts" ]; then
    echo "  FAIL  $name: caught from $caught of $starts starts within $bound seeds"
    return 1
  fi
  median=$(sort -n "$dir/caught" | sed -n "$(((starts + 1) / 2))p" | cut -d' ' -f1)
  by=$(cut -d' ' -f2- "$dir/caught" | sed 's/:.*//' | sort | uniq -c | sort -rn | head -3 |
    sed 's/^ *\([0-9]*\) \(.*\)/\2 (\1)/' | paste -sd, - | sed 's/,/, /g')
  printf '  ok    %-26s median %5s seeds, by %s; kept seed: %s\n' "$name" "$median" "$by" \
    "$(kept "$dir/sim" "$(field "$patch" options)")"
}

mkdir -p "$build/planted"
cp redlock.h "$original" # it may be edited meanwhile
echo "planted bugs: caught in how many seeds (median of $starts starts), and by what"
for patch in "$here"/planted/*.sed; do
  case $patch in *"$only"*) ;; *) continue ;; esac
  if try "$patch" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
