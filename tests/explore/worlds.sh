#!/bin/sh
# worlds.sh [PART...] : explores the worlds of worlds.txt whose part is given ("test" if none is):
# each must be complete, without a violation, and have the states that stand there.
#   COUNT=1    prints worlds.txt anew, with the states that were found
#   MINUTES=N  bounds all of it: a world that is cut short then says how far it came
#   AUDIT=1    looks too whether the form of states leaves out too much
#   BUILD=...  where the programs are
set -u
cd "$(dirname "$0")/../.."

worlds=tests/explore/worlds.txt
build=${BUILD:-build}/tests/explore
parts=" ${*:-test} "
end=${MINUTES:+$(($(date +%s) + MINUTES * 60))}
passed=0 failed=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
trap 'exit 1' INT TERM HUP

# seconds: for the next world; nothing is left: 0
seconds() {
  left=$((${end:-$(date +%s)} - $(date +%s)))
  if [ ! "$end" ]; then echo 1200; elif [ $left -gt 0 ]; then echo $left; else echo 0; fi
}

# judge STATES STATUS: what is wrong with what a world said; nothing if all is well
judge() {
  states=$(sed -n 's/^complete: \([0-9]*\) states.*/\1/p' "$said")
  if [ "$2" != 0 ]; then echo "it ended with $2"
  elif [ ! "$states" ]; then [ "$end" ] || echo "it was cut short"
  elif [ "$1" != - ] && [ "$1" != "$states" ]; then echo "it had $1 states before"
  fi
}

# try RING STATES OPTIONS...
try() {
  ring=$1 wanted=$2
  shift 2
  bound=$(seconds)
  [ "$bound" = 0 ] && echo "  (no time is left for $*)" && return
  "$build/explore-$ring" "$@" seconds="$bound" ${AUDIT:+audit=1} >"$said" 2>&1
  wrong=$(judge "$wanted" $?)
  if [ ! "$wrong" ]; then
    passed=$((passed + 1))
    echo "  ok    $*"
    grep -E '^(complete|cut short|audit|  no memory)' "$said" | sed 's/^ */          /'
  else
    failed=$((failed + 1))
    sed 's/^/    /' "$said"
    echo "  FAIL  explore-$ring $*: $wrong"
  fi
}

# count PART RING STATES OPTIONS... : the line anew
count() {
  part=$1 ring=$2 states=$3
  shift 3
  new=$("$build/explore-$ring" "$@" seconds=1200 | sed -n 's/^complete: \([0-9]*\) states.*/\1/p')
  echo "$part $ring ${new:-$states} $*"
}

while read -r part ring states options; do
  case $part in '' | '#'*) [ ! "${COUNT:-}" ] || echo "$part${ring:+ $ring}${states:+ $states}${options:+ $options}"; continue ;; esac
  if [ "${COUNT:-}" ]; then
    # shellcheck disable=SC2086 # words
    case $parts in *" $part "*) count "$part" "$ring" "$states" $options ;;
      *) echo "$part $ring $states $options" ;; esac
  else
    # shellcheck disable=SC2086
    case $parts in *" $part "*) try "$ring" "$states" $options ;; esac
  fi
done <"$worlds"
[ "${COUNT:-}" ] && exit
echo "$passed passed, $failed failed"
[ $failed = 0 ]
