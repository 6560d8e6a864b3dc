# plot.awk: draws what `make bench` prints as SVG.
#
#   awk -f plot.awk bench.txt >bench.html        one page with every plot
#   awk -v only=faults -f plot.awk bench.txt     that plot alone, as an SVG file
#
# A row of the bench is "  name  median  (least - most)  note"; any other line that begins at the
# margin is the title of the rows below it. Bars and points are medians, thin lines on bars reach
# from the least to the most. The pictures are narrow: they can be read on a telephone. It runs in
# any awk, and fails if a plot lacks a row or the bench did not reach its end.

function fail(what) {
  print "plot.awk: " what >"/dev/stderr"
  failed = 1
  exit 1
}

# ---- Reading -------------------------------------------------------------------------------------

function note_row(line, at, name) {
  match(line, /  +[0-9.]+ +\([0-9.]+ - [0-9.]+\)/)
  name = substr(line, 3, RSTART - 3)
  split(substr(line, RSTART, RLENGTH), at, /[ ()-]+/)
  name = section "|" name
  median[name] = at[2]
  least[name] = at[3]
  most[name] = at[4]
}

# "  woken  1.0 locks/s  2.0 commands a lock  3.0 a second ...", with the load, its rounds and
# seconds in the line above; a load that grants nothing has no commands a lock
function note_wait() {
  wait_key = section "|" $1 "|"
  sub(/, [0-9]+ x [0-9]+ s[|]/, "|", wait_key)
  if ($2 == 0) return
  set_figure(wait_key "commands a lock", $4)
  set_figure(wait_key "locks a second", $2)
  if (wait_key ~ /^a crowd of [0-9]+[|]/) most["crowd"] = greater(most["crowd"], $4)
  if (wait_key !~ /^a crowd/ && $1 == "woken") wait_name[++waits] = substr(wait_key, 1, index(wait_key, "|") - 1)
}

# "          hand-over p50  4.00 p99  5.00 ms (6)  ...  7 got none", behind that
function note_hand_over() {
  if (!/ \(0\)/) set_figure(wait_key "hand-over", $3)
  set_figure(wait_key "waiters without a lock", $(NF - 2))
}

function set_figure(key, value) { median[key] = least[key] = most[key] = value }

{ text = text escaped($0) "\n" }
/^Measured / { machine = $0; sub(/[.]$/, "", machine); next }
/^All of the bench/ { complete = 1; next }
/^  .*  +[0-9.]+ +\([0-9.]+ - [0-9.]+\)/ { note_row($0); next }
/^bytes, functions and section/ { target = $0; sub(/.*: /, "", target); reading = 1; next }
reading && /^ +[0-9]+ / {
  bytes[++sections] = $1
  sub(/^ +[0-9]+ +([0-9]+  )?/, "")
  section_name[sections] = $0
  next
}
/^[^ ]/ { section = $0; sub(/[:.] .*/, "", section); sub(/ +[.]*$/, "", section) }
/^  (woken|polling) .*commands a lock/ { note_wait(); next }
/^ +hand-over p50 +[0-9]/ { note_hand_over(); next }
/^  [^ ]/ { section = substr($0, 3) }

# ---- Drawing -------------------------------------------------------------------------------------

function escaped(t) {
  gsub(/&/, "\\&amp;", t)
  gsub(/</, "\\&lt;", t)
  return t
}

function put(t) { svg = svg t "\n" }

function label(x, y, class, t) {
  put(sprintf("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>", x, y, class, escaped(t)))
}

function rule(x1, y1, x2, y2, class) {
  put(sprintf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>",
              x1, y1, x2, y2, class))
}

function box(x, y, w, h, class) {
  put(sprintf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>",
              x, y, w, h, class))
}

# Words at the left margin, in lines that fit; the y of the next line.
function paragraph(y, class, text, words, n, i, line) {
  n = split(text, words, " ")
  for (i = 1; i <= n; i++) {
    if (line != "" && length(line " " words[i]) > CHARACTERS) {
      label(MARGIN, y, class, line)
      y += 19
      line = ""
    }
    line = line (line == "" ? "" : " ") words[i]
  }
  label(MARGIN, y, class, line)
  return y + 19
}

# The y of what comes below.
function open_picture(title, what) {
  svg = ""
  label(MARGIN, 34, "title", title)
  return paragraph(58, "faint", what)
}

# What it was measured on, and by what, stands in the picture itself. A panel of its own colour is
# behind everything, so that it can be read on any page.
function close_picture(y, title) {
  y = paragraph(y, "faint small", machine)
  y = paragraph(y, "faint small", "Again: " command)
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" " \
         "height=\"%d\" role=\"img\" aria-label=\"%s\">\n", WIDTH, y, WIDTH, y, title
  print style
  printf "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\" class=\"paper\"/>\n", \
         WIDTH - 1, y - 1
  printf "%s</svg>\n", svg
  drawn++
}

# 1, 2 or 5 times a power of ten, so that at most six steps reach the greatest value.
function step_for(top, step) {
  step = 1
  while (step * 6 < top) step *= 10
  if (step / 5 * 6 >= top) return step / 5
  if (step / 2 * 6 >= top) return step / 2
  return step
}

function up_to(top, step) {
  step = step_for(top)
  return step * int(top / step + 0.999)
}

# 12345 as 12 345
function spaced(n) {
  n = sprintf("%.0f", n)
  return length(n) > 4 ? substr(n, 1, length(n) - 3) " " substr(n, length(n) - 2) : n
}

function figure(n) { return n < 10 && n != int(n) ? sprintf("%.2f", n) : spaced(n) }

function with_range(key) {
  if (least[key] == most[key]) return figure(median[key])
  return figure(median[key]) " (" figure(least[key]) " to " figure(most[key]) ")"
}

# ---- Bars ----------------------------------------------------------------------------------------

# bar_key[1..bars], bar_name, bar_class: filled by add_bar; a name that is empty goes on with the
# group above.
function add_bar(name, key, class) {
  if (!(key in median)) fail("no row: " key)
  bar_key[++bars] = key
  bar_name[bars] = name
  bar_class[bars] = class
}

function bar_axis(width, top, height, limit, unit, step, v, x) {
  step = step_for(limit)
  for (v = 0; v <= limit; v += step) {
    x = MARGIN + v / limit * width
    rule(x, top, x, top + height, v ? "grid" : "axis")
    label(x, top + height + 17, v ? "tick middle" : "tick", figure_of_tick(v, step))
  }
  label(MARGIN, top + height + 36, "faint", unit)
}

function figure_of_tick(v, step) { return step < 1 ? sprintf("%.1f", v) : spaced(v) }

# Draws what add_bar has noted and forgets it; the y below. A line that goes far beyond all medians
# is cut at the edge: one bad round must not make every bar short, and the range stands beside it.
function draw_bars(top, unit, i, key, y, limit, height, width, x, widest) {
  width = 300
  limit = widest = height = 0
  for (i = 1; i <= bars; i++) {
    if (median[bar_key[i]] * 1.5 > limit) limit = median[bar_key[i]] * 1.5
    height += bar_name[i] == "" ? 19 : 44
  }
  for (i = 1; i <= bars; i++)
    if (most[bar_key[i]] > widest) widest = most[bar_key[i]]
  limit = up_to(widest < limit ? widest : limit)
  bar_axis(width, top, height, limit, unit)
  y = top
  for (i = 1; i <= bars; i++) {
    key = bar_key[i]
    y += bar_name[i] == "" ? 19 : 44
    if (bar_name[i] != "") label(MARGIN + 4, y - 23, "", bar_name[i])
    box(MARGIN, y - 17, median[key] / limit * width, 13, bar_class[i])
    x = MARGIN + (most[key] < limit ? most[key] / limit : 1) * width
    rule(MARGIN + least[key] / limit * width, y - 10, x, y - 10, "range")
    label(x + 6, y - 6, "number", with_range(key))
  }
  bars = 0
  return top + height + 62
}

# What a colour means, in a line of its own; the y below.
function legend(y, class, name) {
  box(MARGIN, y - 10, 12, 11, class)
  label(MARGIN + 18, y, "", name)
  return y + 19
}

# ---- Curves --------------------------------------------------------------------------------------

# A panel is as wide as the picture allows, and begins right of its ticks.
function panel_x(i, n) { return 72 + (i - 1) / (n - 1) * (WIDTH - 72 - 40) }

# The curve of the rows BEFORE 8 BEHIND, over width_at[1..widths].
function curve(before, behind, top, height, limit, class, i, key, x, y, path, points) {
  for (i = 1; i <= widths; i++) {
    key = panel_key(before, width_at[i], behind)
    x = panel_x(i, widths)
    y = top + height * (1 - median[key] / limit)
    path = path sprintf("%s%.1f %.1f", i == 1 ? "M" : " L", x, y)
    points = points sprintf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\"/>\n", \
                            x, y, class)
  }
  put("<path d=\"" path "\" class=\"line " class "\"/>")
  svg = svg points
}

function panel_key(before, width, behind, key) {
  key = before width behind
  if (!(key in median)) fail("no row: " key)
  return key
}

# The grid that curves are drawn on; the y below the axis.
function panel(top, height, limit, step, v, y, i) {
  step = step_for(limit)
  for (v = 0; v < limit + step / 2; v += step) {
    y = top + height * (1 - v / limit)
    rule(64, y, WIDTH - 24, y, v ? "grid" : "axis")
    label(58, y + 4, "tick end", figure_of_tick(v, step))
  }
  for (i = 1; i <= widths; i++)
    label(panel_x(i, widths), top + height + 18, "strong middle", width_at[i])
  return top + height + 38
}

# Figures below a panel, each under its place.
function figures(before, behind, y, class, i, key) {
  box(MARGIN, y - 10, 12, 11, class)
  for (i = 1; i <= widths; i++) {
    key = panel_key(before, width_at[i], behind)
    label(panel_x(i, widths), y, "number middle", figure(median[key]))
  }
  return y + 19
}

# ---- The plots -----------------------------------------------------------------------------------

function legend_of_ranges(y) {
  return paragraph(y, "faint", "Bars are medians of all rounds; thin lines reach from the least " \
                               "round to the most, or to the edge.")
}

function plot_single(title, s, y) {
  title = "One lock at a time"
  s = "One lock at a time"
  y = open_picture(title, "Median time of an acquire, five servers on the same machine. The " \
                          "floor: ready-made commands, sockets and poll, and nothing else.")
  y = legend_of_ranges(y)
  add_bar("floor", s "|floor: lock, microseconds", "other")
  add_bar("redlock.h", s "|redlock.h: lock, microseconds", "ours")
  add_bar("redlock.h, with a fencing token", s "|with a token: lock, microseconds", "lighter")
  close_picture(draw_bars(y, "microseconds"), title)
}

function plot_faults(title, s, cases, i, n, y) {
  title = "A dead server costs nothing"
  s = "Lock, times the healthy case (below 1: fewer servers share the processors)"
  y = open_picture(title, "Time of an acquire on five servers, from the first one after the " \
                          "fault on. To wait for the lost server until server_timeout_ms would " \
                          "be 250 000 microseconds.")
  y = legend_of_ranges(y)
  n = split("healthy;one killed;one frozen;one black-holed;one killed, one frozen", cases, ";")
  for (i = 1; i <= n; i++) {
    add_bar(cases[i], s "|" cases[i] ": lock, microseconds", "ours")
    add_bar("", s "|" cases[i] ": p99, microseconds", "lighter")
  }
  y = legend(y + 4, "ours", "half of the acquires take no longer")
  y = legend(y, "lighter", "99 of 100 take no longer")
  close_picture(draw_bars(y, "microseconds"), title)
}

# Two builds, each beside a floor of its own run: their shares of it can be compared, and their
# rates cannot.
function plot_in_flight(title, small, big, share, i, limit, top, y) {
  title = "Many locks in flight on one thread"
  widths = split("1 8 64 256", width_at, " ")
  small = "Many locks in flight, with a ring of 32 commands|W = "
  big = "Many locks in flight, with a ring of 1024 commands|W = "
  share = ": of the floor"
  y = open_picture(title, "Locks taken and released per second, over locks in flight: the share " \
                          "of what the floor reaches in the same run, which is 1. The floor: " \
                          "ready-made commands, sockets and poll, and nothing else. Medians of " \
                          "all rounds, in which the two take turns; five servers on the same " \
                          "machine.")
  y = legend(y + 4, "ours", "REDLOCK_MAX_COMMANDS=32, the default")
  y = legend(y, "lighter", "REDLOCK_MAX_COMMANDS=1024")
  limit = 1
  for (i = 1; i <= widths; i++) {
    limit = greater(limit, median[panel_key(small, width_at[i], share)])
    limit = greater(limit, median[panel_key(big, width_at[i], share)])
  }
  limit = up_to(limit)
  top = y + 16
  y = panel(top, 190, limit) + 8
  curve(big, share, top, 190, limit, "lighter")
  curve(small, share, top, 190, limit, "ours")
  y = figures(small, share, y, "ours")
  close_picture(figures(big, share, y, "lighter") + 6, title)
}

function greater(a, b) { return a > b ? a : b }

function plot_crowd(title, what, i, n, limit, top, y) {
  title = "A crowd waits for one lock"
  widths = split("2 8 32 128 256", width_at, " ")
  n = split("commands a lock;locks a second;waiters without a lock", what, ";")
  y = open_picture(title, "Commands to five servers for each lock, 10 is the least, over the " \
                          "number of processes that want it. Each holds it for 20 ms and wants " \
                          "it again at once; one run of 4 s each, on one machine.")
  y = paragraph(y + 6, "faint", among(32) among(256))
  y = legend(y + 4, "ours", "redlock.h: woken when it may be free, in a queue")
  y = legend(y, "other", "polling, every 50 to 250 ms")
  limit = up_to(most["crowd"])
  top = y + 16
  y = panel(top, 190, limit) + 8
  curve("a crowd of ", "|polling|" what[1], top, 190, limit, "other")
  curve("a crowd of ", "|woken|" what[1], top, 190, limit, "ours")
  for (i = 1; i <= n; i++) {
    label(MARGIN, y, "strong", what[i] (i == n ? " in all that time" : ""))
    y = figures("a crowd of ", "|woken|" what[i], y + 20, "ours")
    y = figures("a crowd of ", "|polling|" what[i], y, "other") + 6
  }
  close_picture(y + 6, title)
}

# What the picture shows of so many, said.
function among(count) {
  return "Of " count ", redlock.h leaves " of_crowd(count, "woken", "waiters without a lock") \
         " without a lock and grants " of_crowd(count, "woken", "locks a second") \
         " a second; polling leaves " of_crowd(count, "polling", "waiters without a lock") \
         " and grants " of_crowd(count, "polling", "locks a second") ". "
}

function of_crowd(count, how, what) {
  return figure(median[panel_key("a crowd of ", count, "|" how "|" what)])
}

# Short holds are hardly waited for.
function add_waits(what, i) {
  for (i = 1; i <= waits; i++) {
    if (!((wait_name[i] "|woken|" what) in median) || wait_name[i] ~ /no hold| 5 ms hold/) continue
    add_bar(wait_name[i], wait_name[i] "|woken|" what, "ours")
    add_bar("", wait_name[i] "|polling|" what, "other")
  }
}

function plot_waiting(title, y) {
  title = "Waiting for a lock, woken and polling"
  y = open_picture(title, "Servers that wake waiters when a lock is free (Redis 6 and later), " \
                          "and that do not. Medians of all rounds, and of all hand-overs.")
  y = legend(y + 4, "ours", "woken")
  y = legend(y, "other", "polling")
  label(MARGIN, y + 10, "strong", "commands a lock")
  add_waits("commands a lock")
  y = draw_bars(y + 20, "commands to all servers, 10 is the least")
  label(MARGIN, y + 10, "strong", "median hand-over")
  add_waits("hand-over")
  y = draw_bars(y + 20, "milliseconds from the call of the release to the next grant")
  close_picture(y, title)
}

function plot_sections(title, i, key, y) {
  title = "Where the bytes are"
  if (section_name[sections] !~ /^constants/) fail("no row of constants")
  y = open_picture(title, "Bytes of code by the sections of redlock.h: -Os, nothing inlined, " \
                          "without the system's sockets. " target)
  for (i = 1; i <= sections; i++) {
    key = "bytes|" i
    set_figure(key, bytes[i])
    add_bar(section_name[i], key, "ours")
  }
  close_picture(draw_bars(y, "bytes"), title)
}

# ---- The page ------------------------------------------------------------------------------------

function page_head() {
  print "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>redlock.h: make bench</title>\n<style>"
  print "body{font:16px/1.5 system-ui,sans-serif;max-width:800px;margin:2em auto;padding:0 1em;" \
        "background:#fff;color:#1f2328}figure{margin:0 0 2em}svg{max-width:100%;height:auto}" \
        "pre{overflow:auto;font-size:13px}" \
        "@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}"
  print "</style>\n<h1>redlock.h: make bench</h1>\n<p>" escaped(machine) ".</p>"
  print "<p>Compare within a plot: another machine has other microseconds.</p>"
}

function plot(name, how) {
  if (only && only != name) return
  command = how
  if (!only) print "<figure>"
  if (name == "single") plot_single()
  if (name == "faults") plot_faults()
  if (name == "in_flight") plot_in_flight()
  if (name == "crowd") plot_crowd()
  if (name == "waiting") plot_waiting()
  if (name == "sections") plot_sections()
  if (!only) print "</figure>"
}

BEGIN {
  WIDTH = 480
  MARGIN = 20
  CHARACTERS = 60 # in a line
  style = "<style>\n" \
    "text{font:14px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}\n" \
    ".title{font-size:19px;font-weight:600}.strong{font-weight:600}.end{text-anchor:end}\n" \
    ".middle{text-anchor:middle}.faint,.tick{fill:#59636e}.tick,.number{font-size:13px}\n" \
    ".small{font-size:13px}" \
    ".paper{fill:#fff;stroke:#d1d9e0}.grid{stroke:#e4e8ec}.axis{stroke:#818b98}\n" \
    ".ours{fill:#0969da}.lighter{fill:#80b3f0}.other{fill:#818b98}\n" \
    ".range{stroke:#1f2328;stroke-width:1.5}.line{fill:none;stroke-width:2.5}\n" \
    ".line.ours{stroke:#0969da}.line.other{stroke:#818b98}.line.lighter{stroke:#80b3f0}\n" \
    "@media (prefers-color-scheme:dark){\n" \
    "text{fill:#e6edf3}.faint,.tick{fill:#9198a1}.paper{fill:#0d1117;stroke:#3d444d}\n" \
    ".grid{stroke:#262c34}.axis{stroke:#656c76}.ours{fill:#4493f8}.lighter{fill:#2f6bbd}\n" \
    ".other{fill:#8b949e}.range{stroke:#e6edf3}.line{fill:none}.line.ours{stroke:#4493f8}\n" \
    ".line.other{stroke:#8b949e}.line.lighter{stroke:#2f6bbd}}\n</style>"
}

END {
  if (failed) exit 1
  if (!complete) fail("the bench did not reach its end")
  if (!only) page_head()
  plot("single", "make bench, or build/tests/bench/single after it")
  plot("in_flight", "make bench, or build/tests/bench/pipelined and pipelined-big after it")
  plot("faults", "make bench, or build/tests/bench/faults after it")
  plot("crowd", "make bench, or build/tests/bench/waiting 13 after it")
  if (waits) plot("waiting", "make bench, or build/tests/bench/waiting after it")
  plot("sections", "tests/portability/size.sh --sections")
  if (only && !drawn) fail("no plot is called " only)
  if (!only) print "<h2>The figures</h2>\n<pre>" text "</pre>"
}
