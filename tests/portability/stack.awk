# stack.awk : from gcc's -fcallgraph-info=su, in a line, the deepest stack in bytes of redlock_acquire,
# _release, _step_on and _init, or of the functions that -v of='...' names. A call through a pointer
# may lead to any of -v hooks='...'; without that the hooks come on top, as libc always does. Instead
# of it the reason, and exit 1, if a call leads back to where it came from, or a frame has no greatest
# size.
#   awk [-v of=...] [-v hooks=...] [-v way=1] -f stack.awk FILE.ci
#   way: also what the first one consists of, a frame in a line

function quoted(word, at) {
  at = index($0, word ": \"") + length(word) + 3
  return substr($0, at, index(substr($0, at), "\"") - 1)
}

/^node:/ {
  name = quoted("title")
  if (match($0, /[0-9]+ bytes \(/)) frame[name] = substr($0, RSTART) + 0
  if (/bytes \(dynamic\)/) fault = "a frame without a greatest size: " name
  plain = substr(name, match(name, /[^:]*$/))
  sub(/(_[0-9]+)+_[fn][dnp]$/, "", plain) # the version and the sizes
  place_of[plain] = name
}

/^edge:/ {
  from = quoted("sourcename")
  calls[from] = calls[from] "\n" quoted("targetname")
}

function deepest(name, list, count, i, below, depth) {
  if (name in known) return known[name]
  if (name in above) {
    fault = "the calls come back to " name
    return 0
  }
  above[name]
  count = split(substr(calls[name], 2), list, "\n")
  for (i = 1; i <= count; i++)
    if ((depth = deepest(list[i])) > below) {
      below = depth
      next_of[name] = list[i]
    }
  delete above[name]
  return known[name] = frame[name] + below
}

END {
  count = split(hooks, entries, " ")
  for (i = 1; i <= count; i++) {
    if (!(entries[i] in place_of)) fault = "no " entries[i]
    calls["__indirect_call"] = calls["__indirect_call"] "\n" place_of[entries[i]]
  }
  if (!of) of = "redlock_acquire redlock_release redlock_step_on redlock_init_sized"
  count = split(of, entries, " ")
  for (i = 1; i <= count; i++) {
    if (!(entries[i] in place_of)) fault = "no " entries[i]
    line = line sprintf("%6d", deepest(place_of[entries[i]]))
  }
  print fault ? fault : line
  for (name = place_of[entries[1]]; way && name; name = next_of[name])
    printf "%6d %s\n", frame[name], name
  exit fault != ""
}
