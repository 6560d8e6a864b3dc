# lib.sh: what the runners of planted bugs share: they set $work, and call each_patch with what to
# do with one, whose head says that it is theirs.

planted=tests/planted
caught=0 missed=0

# field PATCH NAME : the values of this line of its head
field() { sed -n "s/^# $2: *//p" "$1"; }

# each_patch NAME COMMAND ARGUMENTS... : for the patches with such a line, COMMAND PATCH ARGUMENTS...
# says what it found, and fails if the bug was not caught.
each_patch() {
  name=$1 command=$2
  shift 2
  for patch in "$planted"/*.patch; do
    case $patch in *"${ONLY:-}"*) ;; *) continue ;; esac
    grep -q "^# $name:" "$patch" || continue
    bug=$(basename "$patch" .patch)
    if said=$("$command" "$patch" "$@" 2>&1); then
      caught=$((caught + 1))
      printf '  caught      %s%s\n' "$bug" "${said:+: $said}"
    else
      missed=$((missed + 1))
      printf '  NOT CAUGHT  %s: %s\n' "$bug" "$said"
    fi
  done
  echo "$caught passed, $missed failed"
  [ "$missed" -eq 0 ] && [ "$caught" -gt 0 ]
}
