#!/usr/bin/env python3
"""Why clients propose the fencing tokens, and servers do not (R25): what was rejected. That the design
itself keeps the order is proved in tests/induct/tokens.py."""
import explore

N = 3
SETS = [[i for i in range(N) if bits >> i & 1] for bits in range(1 << N)]
QUORUMS = [some for some in SETS if len(some) > N // 2]


class Proposers:
    """Each server answers with its own candidate, the greater of its counter + 1 and its clock, and
    stores it; the token is the greatest candidate of a quorum; one round. Here the lock works
    perfectly: each grant has ended before the next begins. An attempt reaches any servers, the
    votes of any quorum of them count, and attempts without a quorum leave traces.

      back   after the grant the token is written to a quorum, in a second round or by the release:
             'never', 'sometimes' (a client that has paused does not), 'always'
      skews  how far ahead each server's clock is; None = counters alone
      gap    ticks between two grants, at least"""

    def __init__(self, skews=None, gap=0, back='never', top=5):
        self.skews, self.gap, self.top = skews, gap, top
        self.backs = {'never': [[]], 'sometimes': [[]] + QUORUMS, 'always': QUORUMS}[back]
        self.most = top + 2 + max(skews or [0])
        self.start = (0,) * N, 0, 0        # counters, the time, the last token

    def candidates(self, counters, now, reached):
        after = list(counters)
        for i in reached:
            after[i] = max(counters[i] + 1, now + self.skews[i] if self.skews else 0)
        return after

    def grants(self, counters, now, last, quorum):
        token = max(counters[i] for i in quorum)
        name = 'grant of %d by %s' % (token, quorum)
        if token <= last:
            yield name + ', %d was before' % last, None
        elif now + self.gap <= self.top:
            for written in self.backs:
                after = [max(c, token) if i in written else c for i, c in enumerate(counters)]
                yield name + ', written to %s' % written, (tuple(after), now + self.gap, token)

    def steps(self, state):
        counters, now, last = state
        if now < self.top:
            yield 'tick', (counters, now + 1, last)
        for reached in SETS[1:]:
            after = self.candidates(counters, now, reached)
            if max(after) > self.most:
                continue
            yield 'an attempt at %s fails' % reached, (tuple(after), now, last)
            for quorum in QUORUMS:
                if set(quorum) <= set(reached):
                    yield from self.grants(after, now, last, quorum)


def check(label, expected, **rules):
    model = Proposers(**rules)
    explore.check(label, expected, model.start, model.steps)


print('servers propose')
check('by counters', 'broken')
check('the release writes the token back, but a paused client does not', 'broken', back='sometimes')
check('the token is written to a quorum before it is used: two rounds', 'holds', back='always')
check('by clocks without skew, no tick between grants', 'broken', skews=(0, 0, 0))
check('by clocks with skew 1, a tick between grants', 'broken', skews=(0, 0, 1), gap=1)
check('by clocks with skew 1, two ticks between grants', 'broken', skews=(0, 0, 1), gap=2, top=7)
explore.end()
