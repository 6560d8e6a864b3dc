#!/bin/sh
# cost.sh SIM : processor time of the same RUNS=12 seeds with refine.h and without, for each kind of
# world. Fails if refine.h makes all of them together slower by more than a third.
set -eu

sim=$1 all_with=0 all_without=0

processor_ms() {
  "$sim" --seed=1 --runs="${RUNS:-12}" --silent --processor-time "$@" |
    sed -n 's/^processor time \([0-9]*\) ms$/\1/p'
}

for world in '' --handed --rolling --waiters --fencing --crowd; do
  with=$(processor_ms $world) without=$(processor_ms --unrefined $world)
  all_with=$((all_with + with)) all_without=$((all_without + without))
  printf '  %-10s %6d ms, without refine.h %6d ms: %3d %% more\n' "${world:---general}" "$with" \
    "$without" $(((with - without) * 100 / without))
done
printf '  %-10s %6d ms, without refine.h %6d ms: %3d %% more\n' all $all_with $all_without \
  $(((all_with - all_without) * 100 / all_without))
[ $((all_with * 3)) -le $((all_without * 4)) ]
