"""Explores every state that a model can reach, breadth first, and compares the verdict with what is
expected of it. -v on the command line prints the shortest way to each violation."""
import sys
import time

LIMIT = 8000000      # states of one check
passed = failed = 0


def explore(start, steps):
    """steps(state) gives pairs of a name and the next state; None for a state is a violation.
    Returns how many states there are, and the names on the way to a violation, or None."""
    seen, front = {start: None}, [start]
    while front:
        following = []
        for state in front:
            for name, after in steps(state):
                if after is None:
                    return len(seen), way_to(seen, state) + [name]
                if after not in seen:
                    seen[after] = (state, name)
                    following.append(after)
        if len(seen) > LIMIT:
            raise SystemExit('more than %d states: this model is too large' % LIMIT)
        front = following
    return len(seen), None


def way_to(seen, state):
    way = []
    while seen[state]:
        state, name = seen[state]
        way.append(name)
    return way[::-1]


def check(label, expected, start, steps):
    """Prints one line, and counts it; expected is 'holds' or 'broken'."""
    global passed, failed
    began = time.time()
    states, way = explore(start, steps)
    verdict = 'broken' if way else 'holds'
    good = verdict == expected
    passed += good
    failed += not good
    print('  %s  %-6s  %-66s %8d states %5.1f s' %
          ('ok  ' if good else 'FAIL', verdict, label, states, time.time() - began), flush=True)
    if way and ('-v' in sys.argv or not good):
        print('          ' + ' | '.join(way))


def end():
    print('%d passed, %d failed' % (passed, failed))
    sys.exit(failed > 0)
