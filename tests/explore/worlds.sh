#!/bin/sh
# worlds.sh [PART...] : explores the worlds of worlds.txt whose part is given ("test" if none is):
# each must be complete, without a violation, and have the states that stand there; and each step of
# the proved models must be taken in one of them, unless MINUTES= bounds it.
#   COUNT=1    prints worlds.txt anew, with the states that were found
#   MINUTES=N  bounds all of it: a world that is cut short then says how far it came
#   AUDIT=1    looks too whether the form of states leaves out too much
#   BUILD=...  where the programs are
set -u
cd "$(dirname "$0")/../.." || exit 1

build=${BUILD:-build}/tests/explore
parts=" ${*:-test} "
longest=1200 # seconds of processor time for one world
end=$(($(date +%s) + ${MINUTES:-600} * 60))
passed=0 failed=0
said=$(mktemp) steps=$(mktemp)
trap 'rm -f "$said" "$steps"' EXIT
trap 'exit 1' INT TERM HUP

# explore RING OPTIONS... : one world, within the time that is left
explore() {
  ring=$1 left=$((end - $(date +%s)))
  shift
  [ $left -lt $longest ] || left=$longest
  "$build/explore-$ring" "$@" seconds=$left ${AUDIT:+audit=1}
}

states_of() { sed -n 's/^complete: \([0-9]*\) states.*/\1/p' "$1"; }

# judge STATUS STATES : what is wrong with what a world said; nothing if all is well
judge() {
  states=$(states_of "$said")
  if [ "$1" != 0 ]; then echo "it ended with $1"
  elif [ ! "$states" ]; then [ "${MINUTES:-}" ] || echo "it was cut short"
  elif [ "$2" != - ] && [ "$2" != "$states" ]; then echo "it had $2 states before"
  fi
}

# try RING STATES OPTIONS...
try() {
  ring=$1 wanted=$2
  shift 2
  if [ "$(date +%s)" -ge $end ]; then echo "  (no time is left for $*)" && return; fi
  explore "$ring" "$@" >"$said" 2>&1
  wrong=$(judge $? "$wanted")
  if [ "$wrong" ]; then
    failed=$((failed + 1))
    sed 's/^/    /' "$said"
    echo "  FAIL  explore-$ring $*: $wrong"
  else
    passed=$((passed + 1))
    echo "  ok    $*"
    grep '^steps:' "$said" >>"$steps"
    grep -E '^(complete|cut short|audit|  no memory)' "$said" | sed 's/^ */          /'
  fi
}

# count RING STATES OPTIONS... : its states now; what stood there if there is no end of them
count() {
  ring=$1 before=$2
  shift 2
  explore "$ring" "$@" >"$said"
  states=$(states_of "$said")
  [ "$states" ] || { echo "  not complete: $*" && tail -n 1 "$said"; } >&2
  echo "${states:-$before}"
}

# Prints how often each step of the models was taken, and each claim asked for: 0 = all were.
count_steps() {
  awk '{ for (i = 2; i < NF; i += 2) { if (!($i in n)) name[++names] = $i; n[$i] += $(i + 1) } }
       END { for (i = 1; i <= names; i++) { printf "    %-25s %9d\n", name[i], n[name[i]]
             if (!n[name[i]]) never = 1 } exit !names || never }' "$steps"
}

while IFS= read -r line; do
  # shellcheck disable=SC2086 # words
  set -- $line
  case $parts in
    *" ${1:-none} "*) part=$1 ring=$2 states=$3 ;;
    *) [ ! "${COUNT:-}" ] || echo "$line"; continue ;;
  esac
  shift 3
  if [ "${COUNT:-}" ]; then echo "$part $ring $(count "$ring" "$states" "$@") $*"
  else try "$ring" "$states" "$@"; fi
done <tests/explore/worlds.txt
if [ ! "${COUNT:-}" ] && [ ! "${MINUTES:-}" ]; then
  echo '  steps of the proved models that were taken:'
  if count_steps; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi
[ "${COUNT:-}" ] || echo "$passed passed, $failed failed"
[ $failed = 0 ]
