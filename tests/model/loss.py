#!/usr/bin/env python3
"""Is a holder told that its keys are gone (R19 R29)? Every state of one holder and its servers.

A key may go from any server at any time, servers restart, and messages take any time. What holds: an
extension that is asked for while fewer than a quorum have the key is not won. `restores` says
what the holder does about a server without the key:

  'never'   nothing
  'young'   puts it back, at any time, where the server has restarted and does not vote yet (R24)
  'unheard' and elsewhere, where that server then has no vote in the round (R29); a value that
            comes later than its round may win the next one, and is left out
  'counted' the extension sets the key again, and that is a YES

A state is the servers, in any order, and whether an extension is asked for: None, or if so whether
the lock was lost then. A server is (has the key, votes, its vote in this round)."""
import explore

UNASKED, ASKED, UNCOUNTED, YES = range(4)


class Holder:
    def __init__(self, servers, restores):
        self.quorum, self.restores = servers // 2 + 1, restores
        self.start = ((True, True, UNASKED),) * servers, None

    def of_server(self, key, votes, vote, asked):
        yield 'restart', (False, False, UNCOUNTED if vote == ASKED else vote)
        if key:
            yield 'the key goes', (False, votes, vote)
        if not votes:
            yield 'it is old enough', (key, True, vote)
        if vote == ASKED and (key or self.restores == 'counted'):
            yield 'YES', (True, votes, YES)
        if not key and self.restores in ('young', 'unheard') and not votes:
            yield 'the key is put back', (True, votes, vote)
        if not key and self.restores == 'unheard' and vote in (ASKED, UNCOUNTED):
            yield 'the key is put back', (True, votes, UNCOUNTED)

    def steps(self, state):
        servers, asked = state
        for i, s in enumerate(servers):
            for name, after in self.of_server(*s, asked):
                yield name, (tuple(sorted(servers[:i] + (after,) + servers[i + 1:])), asked)
        if asked is None:
            begun = [(key, votes, ASKED if votes else UNCOUNTED) for key, votes, _ in servers]
            lost = sum(key for key, _, _ in servers) < self.quorum
            yield 'asks for more', (tuple(sorted(begun)), lost)
        else:
            over = tuple(sorted((key, votes, UNASKED) for key, votes, _ in servers))
            yield 'gives up', (over, None)
            if sum(vote == YES for _, _, vote in servers) >= self.quorum:
                yield 'is extended', None if asked else (over, None)


for n in 2, 3, 5:
    print('%d servers' % n)
    for how, expected in (('never', 'holds'), ('young', 'holds'), ('unheard', 'holds'),
                          ('counted', 'broken')):
        holder = Holder(n, how)
        explore.check('restores: ' + how, expected, holder.start, holder.steps)
explore.end()
