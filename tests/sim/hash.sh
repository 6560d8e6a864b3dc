#!/bin/sh
# hash.sh BUILD : the event logs of the same seeds, of each sort of world, have the same hashes, run
# twice, with gcc and clang, with and without optimising.
set -eu

build=$1 passed=0 failed=0 skipped=0 first=

for cc in gcc clang; do
  if ! command -v $cc >/dev/null; then
    echo "  skip  $cc is not installed"
    skipped=$((skipped + 1))
    continue
  fi
  for level in -O0 -O2; do
    sim=$build/$cc$level/tests/sim/sim
    "${MAKE:-make}" -s BUILD="$build/$cc$level" CC=$cc CFLAGS=$level "$sim"
    for again in 1 2; do
      hash=$(for world in '' --handed --fencing --waiters --rolling; do
        "$sim" --seed=77 --runs=20 $world --silent --hash | sed -n 's/^hash //p'
      done | tr '\n' ' ')
      first=${first:-$hash}
      [ -n "$hash" ] && [ "$hash" = "$first" ] && good=1 || good=0
      passed=$((passed + good)) failed=$((failed + 1 - good))
      echo "  $cc $level, run $again: $hash"
    done
  done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
