#!/usr/bin/env python3
"""Fencing (R25) over a quorum, exhaustive: N servers, and K attempts that are watched.

Each server is what fencing_server.py shows it to be, whatever its clock and its memory do: the
acceptances that are counted there carry rising tokens. So here it is the last of them alone.

The lock is left out: it may be free at any moment, so nothing hangs on exclusion, and a refusal by
the lock, or an acceptance that is not counted, is a message that never arrives. Messages take any
time, come in any order, late ones after their attempt has returned; each comes to a server once at
most (R12). Others propose what they like.

When an attempt returns, its token is no other's, and greater than that of every attempt that had
returned before it was invoked.

A state is the servers, each (last token, attempts that it has accepted as bits), in any order, for
they are alike; and the attempts, each (phase, token, attempts that had returned before it)."""
import explore

NOT_YET, INVOKED, RETURNED = range(3)


class Quorum:
    def __init__(self, N=3, K=2, top=3, quorum=None, strict=True, others=True, forgets=False,
                 most_return=None):
        self.K, self.top, self.strict, self.others, self.forgets = K, top, strict, others, forgets
        self.quorum = N // 2 + 1 if quorum is None else quorum
        self.most_return = K if most_return is None else most_return    # one more is a violation
        self.start = ((0, 0),) * N, ((NOT_YET, 0, 0),) * K

    def steps(self, state):
        servers, attempts = state
        returned = sum(1 << k for k in range(self.K) if attempts[k][0] == RETURNED)
        for k, (phase, token, before) in enumerate(attempts):
            if phase == NOT_YET:
                for token in range(1, self.top + 1):
                    yield ('%d is invoked with %d' % (k, token),
                           (servers, changed(attempts, k, (INVOKED, token, returned))))
                break                        # attempts are alike, and invoked in their order
            yield from self.arrivals(servers, attempts, k, token)
            if phase == INVOKED and sum(got >> k & 1 for _, got in servers) >= self.quorum:
                wrong = (any(self.wrong(attempts, k, j) for j in range(self.K) if returned >> j & 1)
                         or bin(returned).count('1') == self.most_return)
                after = changed(attempts, k, (RETURNED, token, before))
                yield '%d returns with %d' % (k, token), None if wrong else (servers, after)
        for i, (last, got) in enumerate(servers):
            for token in range(last + 1, self.top + 1) if self.others else ():
                yield 'another, %d' % token, (put(servers, i, (token, got)), attempts)
            if self.forgets:
                yield 'a server forgets', (put(servers, i, (0, got)), attempts)

    def arrivals(self, servers, attempts, k, token):
        for i, (last, got) in enumerate(servers):
            if not got >> k & 1 and (token > last or token == last and not self.strict):
                yield ('%d is accepted' % k,
                       (put(servers, i, (token, got | 1 << k)), attempts))

    def wrong(self, attempts, k, j):
        """j has returned; k does so now."""
        (_, mine, before), (_, its, its_before) = attempts[k], attempts[j]
        return (mine == its or before >> j & 1 and its > mine or its_before >> k & 1 and mine > its)


def changed(places, i, new):
    return places[:i] + (new,) + places[i + 1:]


def put(servers, i, new):
    return tuple(sorted(changed(servers, i, new)))


def check(label, expected, **rules):
    model = Quorum(**rules)
    explore.check(label, expected, model.start, model.steps)


def holds(label, **rules):
    """And the model gets as far as a grant of each attempt."""
    check(label, 'holds', **rules)
    check('  fewer grants', 'broken', most_return=rules.get('K', 2) - 1, **rules)


print('the design')
holds('N = 3, 2 attempts, and any number of others')
holds('N = 3, 3 attempts, and any number of others', K=3, top=4)
holds('N = 5, 2 attempts, and any number of others', N=5)
holds('N = 5, 3 attempts', N=5, K=3, others=False)
if explore.LONG:
    holds('N = 5, 3 attempts, and any number of others', N=5, K=3, top=4)

print('a rule or an assumption taken away')
check('a quorum of N/2, N = 3', 'broken', quorum=1)
check('a quorum of N/2, N = 4', 'broken', N=4, quorum=2)
check('a quorum of N/2, N = 5', 'broken', N=5, quorum=2)
check('a token may equal the counter', 'broken', strict=False)
check('a server whose counted tokens do not rise', 'broken', forgets=True)
explore.end()
