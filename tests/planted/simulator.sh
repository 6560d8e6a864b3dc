#!/bin/sh
# simulator.sh SIM-OBJECTS BUILD CC FLAGS... : puts each patch of this folder with a line
# "# simulator:" into a copy of redlock.h, and lets the simulator look for the bug from several
# starts, with the options of that line. Fails when it is not caught from every start within the
# bound, and when a patch does not apply.
# Five minutes of processor time are the bound too: what else this machine does decides nothing.
#   STARTS=5  BOUND=4000 seeds from each  ONLY=part of a name  SIM_OPTIONS=...
set -eu
. tests/planted/lib.sh

main=$1 build=$2
shift 2
starts=${STARTS:-5} bound=${BOUND:-4000}
fenced=1099511627776 # the bit of a seed that makes a world of tokens
original=$build/planted/redlock.h

# The copy must be found before the header itself.
build_sim() {
  dir=$1 cc=$2
  shift 2
  "$cc" -I"$dir" "$@" -w -DLIB=lib_default -c tests/sim/lib.c -o "$dir/lib_default.o" &&
    "$cc" -I"$dir" "$@" -DLIB=lib_small $SMALL -w -c tests/sim/lib.c -o "$dir/lib_small.o" &&
    "$cc" "$@" "$main" "$dir/lib_default.o" "$dir/lib_small.o" -o "$dir/sim"
}

simulate() { (ulimit -t 300 && exec "$@" --silent) 2>/dev/null; }

# Prints how many seeds it took, and the message; nothing when it was not caught.
hunt() {
  first=$2
  simulate "$1" --seed="$first" --runs="$bound" $3 ${SIM_OPTIONS:-} |
    sed -n 's/^seed \([0-9]*\): \(.*\)/\1 \2/p;s/^FAILED: seed \([0-9]*\) \(.*\)/\1 \2/p' |
    head -1 |
    while read -r seed message; do echo "$((seed % fenced - first + 1)) $message"; done
}

# The first of the kept seeds that catches it: "none" when what is kept needs a new one.
kept() {
  seed=$(simulate "$1" --kept $2 | sed -n 's/^seed \([0-9]*\): .*/\1/p')
  echo "${seed:-none}"
}

try() {
  patch=$1 dir=$build/planted/$(basename "$1" .patch) options=$(field "$1" simulator)
  shift
  mkdir -p "$dir"
  "$planted/plant" "$patch" <"$original" >"$dir/redlock.h" || return 1
  build_sim "$dir" "$@" || return 1
  : >"$dir/caught"
  i=0
  while [ "$i" -lt "$starts" ]; do
    hunt "$dir/sim" $((1000000 * (i + 1))) "$options" >>"$dir/caught"
    i=$((i + 1))
  done
  caught=$(wc -l <"$dir/caught")
  if [ "$caught" -lt "$starts" ]; then
    echo "caught from $caught of $starts starts within $bound seeds"
    return 1
  fi
  median=$(sort -n "$dir/caught" | sed -n "$(((starts + 1) / 2))p" | cut -d' ' -f1)
  by=$(cut -d' ' -f2- "$dir/caught" | sed 's/:.*//' | sort | uniq -c | sort -rn | head -3 |
    sed 's/^ *\([0-9]*\) \(.*\)/\2 (\1)/' | paste -sd, - | sed 's/,/, /g')
  printf 'median %s seeds, by %s; kept seed: %s\n' "$median" "$by" "$(kept "$dir/sim" "$options")"
}

mkdir -p "$build/planted"
cp redlock.h "$original" # it may be edited meanwhile
echo "planted bugs: caught in how many seeds (median of $starts starts), and by what"
each_patch simulator try "$@"
