#!/usr/bin/env python3
"""Is a holder told that its keys are gone (R19 R29)? Every state of one holder and its servers.

A key may go from any server at any time, servers restart, and messages take any time. What holds:
an extension is not won if, when it is asked for, more than N - quorum of those servers have lost
the key that the holder takes to have it. `restores` says where an extension sets the key again:

  'never'   nowhere
  'heard'   where the holder knows that it is not there: the server has said so in an earlier
            round, or has restarted. That counts as YES, if the server votes (R24)
  'at once' where it is missing

A state is the servers, in any order, and whether an extension is asked for: None, or if so whether
the lock was lost then. A server is (has the key, is taken to have it, votes, its vote)."""
import explore

UNASKED, ASKED, UNCOUNTED, YES, TAKEN = range(5)


class Holder:
    def __init__(self, servers, restores):
        self.quorum, self.restores = servers // 2 + 1, restores
        self.start = ((True, True, True, UNASKED),) * servers, None

    def of_server(self, key, taken_to, votes, vote):
        yield 'restart', (False, False, False, UNCOUNTED if vote == ASKED else vote)
        if key:
            yield 'the key goes', (False, taken_to, votes, vote)
        if not votes:
            yield 'it is old enough', (key, taken_to, True, vote)
        if vote in (ASKED, UNCOUNTED):
            sets = {'never': False, 'heard': not taken_to, 'at once': True}[self.restores]
            said = UNCOUNTED if vote == UNCOUNTED else YES if key or sets else TAKEN
            yield 'it answers', (key or sets, key or sets, votes, said)

    def steps(self, state):
        servers, asked = state
        for i, s in enumerate(servers):
            for name, after in self.of_server(*s):
                yield name, (tuple(sorted(servers[:i] + (after,) + servers[i + 1:])), asked)
        if asked is None:
            begun = [s[:3] + (ASKED if s[2] else UNCOUNTED,) for s in servers]
            lost = sum(taken_to and not key for key, taken_to, _, _ in servers)
            yield 'asks for more', (tuple(sorted(begun)), lost > len(servers) - self.quorum)
        else:
            over = tuple(sorted(s[:3] + (UNASKED,) for s in servers))
            yield 'gives up', (over, None)
            if sum(s[3] == YES for s in servers) >= self.quorum:
                yield 'is extended', None if asked else (over, None)


for n in 2, 3, 5:
    print('%d servers' % n)
    for how, expected in (('never', 'holds'), ('heard', 'holds'), ('at once', 'broken')):
        holder = Holder(n, how)
        explore.check('an extension sets the key ' + how, expected, holder.start, holder.steps)
explore.end()
