#!/usr/bin/env python3
"""Fencing (R25), exhaustive: at one server, over a quorum, and why clients propose the tokens.

The lock is left out of the first two. It may be free at any moment, so nothing hangs on exclusion;
and a refusal by the lock is the same as a message that never arrives. Clients propose any number at
any time."""
import explore


def check(model, label, expected, **rules):
    model = model(**rules)
    explore.check(label, expected, model.start, model.steps)


# ---- One server ----------------------------------------------------------------------------------


class Server:
    """With everything else against it, and for all time: at one server, for one resource, the
    acceptances that a client ever counts carry rising tokens.

    Time is in ticks. A stands for max_ttl_ms: it is the quarantine and the counter's life. W is how
    far ahead of the clock a token may be, B what the clock may lose (F2). A state holds differences
    to the server's clock, and so there are finitely many of them however long a run is:

      counter  (token, expiry), or None
      quiet    time until the last restart is A ago: no acceptance before that is counted (R24);
               and the same as the server's own clock has it
      last     the greatest token that was accepted and counted
      losses   the n-th: how long ago the clock was n ticks further ahead of true time than it is

    F2 is exact: in any 2 A the clock loses at most B, by steps back or by running slow. It may lose
    more in a longer time, and it may be stepped forward at any time."""

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


print('one server; the design: W and B are A/2')
check(Server, 'A = 4', 'holds')
check(Server, 'A = 6', 'holds', A=6)
check(Server, 'A = 4, W = 1, B = 3: it is A - W that counts', 'holds', W=1, B=3)
check(Server, 'R24 judged at the receipt, one tick late, B = A/2 - 1', 'holds', B=1, judged_late=1)
check(Server, 'R24 by the uptime that the server tells, B = A/4', 'holds', B=1, quarantine='uptime')
check(Server, 'the same, A = 6, W = 2, B = 2', 'holds', A=6, W=2, B=2, quarantine='uptime')


print('one server; a rule or an assumption taken away')
check(Server, 'the clock loses A/2 + 1', 'broken', B=3)
check(Server, 'the clock loses A/2 + 1, A = 6', 'broken', A=6, B=4)
check(Server, 'R24 judged at the receipt, one tick late', 'broken', judged_late=1)
check(Server, 'R24 by the uptime that the server tells', 'broken', quarantine='uptime')
check(Server, 'no quarantine', 'broken', quarantine=None)
check(Server, 'the quarantine is shorter than W (a smaller max_ttl_ms)', 'broken', A=1, W=2, B=0,
      life=4)
check(Server, 'FLUSHALL, eviction, or a promoted replica', 'broken', silent_after_flush=0)
check(Server, 'a token may be far ahead of the clock', 'broken', window=False)
check(Server, 'counters without the clock', 'broken', floor='counter')
check(Server, 'the clock only where there is no counter', 'broken', floor='either', life=12)
check(Server, 'the clock without counters', 'broken', counter=False)
check(Server, 'a token may equal the counter', 'broken', strict=False)
check(Server, 'the counter expires before the clock has passed it', 'broken', life=1, B=0)

print('how long a FLUSHALL does harm: for W, and what the clock loses')
check(Server, 'silent for W + B after it', 'holds', A=6, B=1, silent_after_flush=4)
check(Server, 'silent for one tick less', 'broken', A=6, B=1, silent_after_flush=3)


# ---- A quorum ------------------------------------------------------------------------------------

NOT_YET, INVOKED, RETURNED = range(3)


class Quorum:
    """N servers, and K attempts that are watched. Each server is what Server is shown to be,
    whatever its clock and its memory do: the acceptances that are counted there carry rising
    tokens. So here it is the last of them alone.

    An acceptance that is not counted is a message that never arrives. Messages take any time, come
    in any order, late ones after their attempt has returned; each comes to a server once at most
    (R12). Others propose what they like.

    When an attempt returns, its token is no other's, and greater than that of every attempt that
    had returned before it was invoked.

    A state is the servers, each (last token, attempts that it has accepted as bits), in any order,
    for they are alike; and the attempts, each (phase, token, attempts that had returned before)."""

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


def holds(label, **rules):
    """And the model gets as far as a grant of each attempt."""
    check(Quorum, label, 'holds', **rules)
    check(Quorum, '  fewer grants', 'broken', most_return=rules.get('K', 2) - 1, **rules)


print('a quorum; the design')
holds('N = 3, 2 attempts, and any number of others')
holds('N = 3, 3 attempts, and any number of others', K=3, top=4)
holds('N = 5, 2 attempts, and any number of others', N=5)
holds('N = 5, 3 attempts', N=5, K=3, others=False)
if explore.LONG:
    holds('N = 5, 3 attempts, and any number of others', N=5, K=3, top=4)

print('a quorum; a rule or an assumption taken away')
check(Quorum, 'a quorum of N/2, N = 3', 'broken', quorum=1)
check(Quorum, 'a quorum of N/2, N = 4', 'broken', N=4, quorum=2)
check(Quorum, 'a quorum of N/2, N = 5', 'broken', N=5, quorum=2)
check(Quorum, 'a token may equal the counter', 'broken', strict=False)
check(Quorum, 'a server whose counted tokens do not rise', 'broken', forgets=True)


# ---- Servers that propose ------------------------------------------------------------------------

N = 3
SETS = [[i for i in range(N) if bits >> i & 1] for bits in range(1 << N)]
QUORUMS = [some for some in SETS if len(some) > N // 2]


class Proposers:
    """What was rejected: each server answers with its own candidate, the greater of its counter + 1
    and its clock, and stores it; the token is the greatest candidate of a quorum; one round. Here
    the lock works perfectly: each grant has ended before the next begins. An attempt reaches any
    servers, the votes of any quorum of them count, and attempts without a quorum leave traces.

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


print('servers propose')
check(Proposers, 'servers propose, by counters', 'broken')
check(Proposers, 'the release writes the token back, but a paused client does not', 'broken',
      back='sometimes')
check(Proposers, 'the token is written to a quorum before it is used: two rounds', 'holds',
      back='always')
check(Proposers, 'by clocks without skew, no tick between grants', 'broken', skews=(0, 0, 0))
check(Proposers, 'by clocks with skew 1, a tick between grants', 'broken', skews=(0, 0, 1), gap=1)
check(Proposers, 'by clocks with skew 1, two ticks between grants', 'broken', skews=(0, 0, 1),
      gap=2, top=7)
explore.end()
