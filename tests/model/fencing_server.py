#!/usr/bin/env python3
"""Fencing (R25) at one server, with everything else against it; exhaustive, and for all time.

What holds: at one server, for one resource, the acceptances that a client ever counts carry rising
tokens. Over a quorum order and uniqueness follow at once, for any two quorums share a server;
fencing_quorum.py checks that part.

The lock is left out. It may be free at any moment, so nothing hangs on exclusion; and a refusal by
the lock is the same as a message that never arrives. Clients propose any number at any time.

Time is in ticks. A stands for max_ttl_ms: it is the quarantine and the counter's life. W is how far
ahead of the clock a token may be, B what the clock may lose (F2). A state holds differences to the
server's clock, and so there are finitely many of them however long a run is:

  counter  (token, expiry), or None
  quiet    time until the last restart is A ago: no acceptance before that is counted (R24); and the
           same as the server's own clock has it
  last     the greatest token that was accepted and counted
  losses   the n-th: how long ago the clock was n ticks further ahead of true time than it is now

F2 is exact: in any 2 A the clock loses at most B, by steps back or by running slow. It may lose
more in a longer time, and it may be stepped forward at any time."""
import explore


class Server:
    def __init__(self, A=4, W=None, B=None, life=None, judged_late=0, strict=True, floor='both',
                 window=True, quarantine='time', counter=True, silent_after_flush=None):
        self.A = A
        self.W = A // 2 if W is None else W
        self.B = A // 2 if B is None else B
        self.life = A if life is None else life
        self.judged_late = judged_late          # ticks from the command to where R24 is judged
        self.strict = strict                    # a token must be above the counter, not equal
        self.floor = floor            # 'both', 'counter', or 'either': the clock if no counter
        self.quarantine = quarantine            # 'time', 'uptime' by the server's clock, or None
        self.counter = counter
        self.silent_after_flush = silent_after_flush
        self.most = self.W if window else self.W + A
        # The clock never reads more than B less than it has read: what is further behind it than
        # that, and so is kept as `least`, never gets ahead of it again. Where the rule is without
        # the clock, clients propose only what is above all that may be kept so.
        self.least = -self.B if floor == 'both' else -3 * A
        self.start = None, (0, 0), self.least, ()

    def moved(self, counter, last, by):
        """The clock has moved by so much against all that is kept."""
        if counter:
            counter = (max(counter[0] - by, self.least), max(counter[1] - by, -self.B))
        return counter, max(last - by, self.least)

    def quieter(self, quiet, time, clock):
        """By uptime: somebody asks for it at each moment, and goes on by true time from there."""
        left, told = quiet[0] - time, quiet[1] - clock
        if self.quarantine == 'uptime':
            left = min(left, told)
        if left <= 0 or self.quarantine != 'uptime':
            told = 0
        return max(left, 0), told

    def tick(self, counter, quiet, last, losses):
        counter, last = self.moved(counter, last, 1)
        aged = tuple(age + 1 for age in losses if age < 2 * self.A)
        return counter, self.quieter(quiet, 1, 1), last, aged

    def forward(self, counter, quiet, last, losses):
        counter, last = self.moved(counter, last, 1)
        return counter, self.quieter(quiet, 0, 1), last, losses[1:]

    def back(self, counter, quiet, last, losses):
        counter, last = self.moved(counter, last, -1)
        return counter, self.quieter(quiet, 0, -1), last, (0,) + losses

    def crashes(self, counter, quiet, last, losses):
        """Nothing has been kept, or an older counter."""
        quiet = self.A if self.quarantine else 0, self.A if self.quarantine == 'uptime' else 0
        yield 'crash', (None, quiet, last, losses)
        if counter is None:
            return
        for token in range(self.least + 1, counter[0]):
            for expiry in range(1, counter[1] + 1):
                yield ('crash, the counter %d is back until %d' % (token, expiry),
                       ((token, expiry), quiet, last, losses))

    def accepts(self, counter, token):
        low = counter[0] if counter and self.counter else self.least
        if self.floor == 'both' or self.floor == 'either' and not counter:
            low = max(low, 0)
        return token > low or token == low > 0 and not self.strict

    def asks(self, counter, quiet, last, losses):
        for token in range(self.least + self.B + 1, self.most + 1):
            if not self.accepts(counter, token):
                continue
            name = 'token %d is accepted' % token
            counted = quiet[0] <= self.judged_late
            if counted and token <= last:
                yield name + ', %d was before' % last, None
            else:
                yield (name if counted else name + ', not counted',
                       ((token, self.life), quiet, max(last, token) if counted else last, losses))

    def steps(self, state):
        counter, quiet, last, losses = state
        yield 'tick', self.tick(*state)
        yield 'forward', self.forward(*state)
        if len(losses) < self.B:
            yield 'back', self.back(*state)
        if counter and counter[1] <= 0:       # deleted now, or later: a clock set back revives it
            yield 'expiry', (None, quiet, last, losses)
        yield from self.crashes(*state)
        if self.silent_after_flush is not None:
            yield 'FLUSHALL', (None, (self.silent_after_flush, 0), last, losses)
        yield from self.asks(*state)


def check(label, expected, **rules):
    server = Server(**rules)
    explore.check(label, expected, server.start, server.steps)


print('the design: W and B are A/2')
check('A = 4', 'holds')
check('A = 6', 'holds', A=6)
check('A = 4, W = 1, B = 3: it is A - W that counts', 'holds', W=1, B=3)
check('R24 judged at the receipt, one tick late, B = A/2 - 1', 'holds', B=1, judged_late=1)
check('R24 by the uptime that the server tells, B = A/4', 'holds', B=1, quarantine='uptime')
check('the same, A = 6, W = 2, B = 2', 'holds', A=6, W=2, B=2, quarantine='uptime')


print('a rule or an assumption taken away')
check('the clock loses A/2 + 1', 'broken', B=3)
check('the clock loses A/2 + 1, A = 6', 'broken', A=6, B=4)
check('R24 judged at the receipt, one tick late', 'broken', judged_late=1)
check('R24 by the uptime that the server tells', 'broken', quarantine='uptime')
check('no quarantine', 'broken', quarantine=None)
check('the quarantine is shorter than W (a smaller max_ttl_ms)', 'broken', A=1, W=2, B=0, life=4)
check('FLUSHALL, eviction, or a promoted replica', 'broken', silent_after_flush=0)
check('a token may be far ahead of the clock', 'broken', window=False)
check('counters without the clock', 'broken', floor='counter')
check('the clock only where there is no counter', 'broken', floor='either', life=12)
check('the clock without counters', 'broken', counter=False)
check('a token may equal the counter', 'broken', strict=False)
check('the counter expires before the clock has passed it', 'broken', life=1, B=0)

print('how long a FLUSHALL does harm: for W, and what the clock loses')
check('silent for W + B after it', 'holds', A=6, B=1, silent_after_flush=4)
check('silent for one tick less', 'broken', A=6, B=1, silent_after_flush=3)
explore.end()
