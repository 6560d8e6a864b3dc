#!/bin/sh
# versions.sh [TEST...] : clients of 0.1.0, 1.0.0, 1.1.0, 1.2.0 and this version exclude each other on
# the same servers, side by side. The older headers are in the history of git, where there is one.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
cd "$root" || exit

v0_1_0=3a0d277 v1_0_0=e1a7d05 v1_1_0=c8403e3 v1_2_0=8e06ed0
grants=${GRANTS:-200}
servers='' pids=''
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT

has_tools() {
  need git && need cc && has_server || return
  [ -e .git ] || skip "no history of git here: the older headers are in it"
}

# build COMMIT FLAG... : a peer of that version, in a folder of its own
build() {
  version=$1
  shift
  mkdir -p "$work/$version"
  [ "$version" = today ] || git show "$version:redlock.h" >"$work/$version/redlock.h" 2>/dev/null ||
    skip "this history of git has no commit $version" || return
  cc -std=c99 -D_POSIX_C_SOURCE=200809L -O1 -w "-I$work/$version" -I. "$@" \
    tests/redis/versions/peer.c -o "$work/$version/peer"
}

start_servers() {
  [ -z "$servers" ] || return 0
  for each in 1 2 3; do
    "$REDIS_SERVER" --port 0 --unixsocket "$work/$each" --save '' --dir "$work" >"$work/log-$each" &
    pids="$pids $!" servers="$servers${servers:+,}unix:$work/$each"
    until [ -S "$work/$each" ]; do
      kill -0 $! || return
      sleep 0.05
    done
  done
}

# run_peers VERSION... : one of each, at once
run_peers() {
  rm -f "$work/inside" "$work/tokens" "$work/granted" "$work"/said-*
  peers='' bad=0
  for version in "$@"; do
    "$work/$version/peer" "$servers" "$work" "$grants" >>"$work/said-$version" &
    peers="$peers $!"
  done
  for peer in $peers; do wait "$peer" || bad=1; done
  cat "$work"/said-*
  return $bad
}

all_versions_exclude_each_other() {
  has_tools && build $v0_1_0 && build $v1_0_0 && build $v1_1_0 && build $v1_2_0 &&
    build today && start_servers ||
    return
  run_peers $v0_1_0 $v1_0_0 $v1_1_0 $v1_2_0 today $v0_1_0 $v1_0_0 $v1_1_0 $v1_2_0 today
}

grants_of() { awk '{ sum += $1 } END { print sum + 0 }' "$work/said-$1"; }

# crowd_shares VERSION [FLAG] : eight old ones beside eight new ones. Each kind gets an eighth of its fair
# half at least. With tokens this waits for servers that have just started: they have no vote.
crowd_shares() {
  old=$1
  shift
  has_tools && build "$old" "$@" && build today "$@" && start_servers || return
  crowd="$old today $old today $old today $old today"
  run_peers $crowd $crowd || return
  echo "note: the old ones have had $(grants_of "$old"), the new ones $(grants_of today)"
  [ $(($(grants_of "$old") * 16)) -ge "$grants" ] && [ $(($(grants_of today) * 16)) -ge "$grants" ]
}

run all_versions_exclude_each_other all_versions_exclude_each_other # R5 R21
run old_and_new_share_a_crowd crowd_shares $v1_1_0 # R26
run the_last_and_the_new_share_a_crowd crowd_shares $v1_2_0 # R26
run tokens_rise_in_a_crowd_of_old_and_new crowd_shares $v1_0_0 -DFENCED # R25 R26

check_end
