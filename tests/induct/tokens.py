#!/usr/bin/python3
"""Fencing tokens (R25 R24 R5), for any number of clients, servers, rounds and restarts, in real
time: any two grants of a resource have different tokens, and one that was asked for after another
was returned has the greater.

The lock is left out: it may be free at any moment, so nothing hangs on exclusion. Clients propose
any number. A message may be executed at any time after T1, any number of times or never, by any
life of a server. A restart leaves no counter or any counter; so a FLUSHALL after which the server
is silent as if it had restarted is covered, too.

  wall(x, t)  the clock of server x at true time t: any function, but for F2
  A           max_ttl_ms: how long a counter lives, by the server's clock
  W           how far ahead of the clock a token may be: A / 2
  B           what a clock may lose (F2): in any 2 A of true time it goes on by that time less B
  Q           the quarantine in true time: max_ttl_ms / (1 + rho), where a client's clock that runs
              fast by rho measures it
Asked is only  W + B <= Q, and so  W + B <= A: a clock may lose A * (1 / (1 + rho) - 1 / 2).

The invariants: a token that was accepted is guarded, until the server can accept no smaller one in
a vote that counts: by the counter, which is at least it and lives until the clock has passed it by
A - W; or the clock has passed it for good; or the server has restarted since. So at each server the
tokens that count rise, and two quorums share a server."""
import z3
from z3 import And, BoolSort, DeclareSort, Function, If, Implies, Not, Or, RealSort

import induct
from induct import decimal, forall

Rnd, Srv = [DeclareSort(n) for n in 'Rnd Srv'.split()]
Bool, Real = BoolSort(), RealSort()
token, wall = Function('token', Rnd, Real), Function('wall', Srv, Real, Real)
A, W, B, Q = z3.Reals('A W B Q')
quorums = induct.Quorums(Srv)
Quo, of = quorums.sort, quorums.of


class Tokens(induct.Model):
    quorums_meet = True         # R5
    quarantine = 'time'         # R24; 'uptime': by what the server's own clock tells; None
    window = True               # a token is at most W above the clock
    clock = True                # a token is above the clock
    counter = True              # and above the counter
    strict = True               # above, not equal
    counter_lives = True        # for A; False: it goes at any time
    covers = True               # W + B <= Q; by uptime, W + 2 B <= Q
    flushes = False             # FLUSHALL, eviction, a promoted replica
    clocks = True               # F2
    running = False             # F2 is said of the times of a run alone

    def __init__(self, **rules):
        super().__init__(**rules)
        self.times = []

    def signature(self):
        return {'now': (Real,), 'started': (Srv, Real), 'begun': (Rnd, Bool), 't1': (Rnd, Real),
                'has': (Srv, Bool), 'count': (Srv, Real), 'expiry': (Srv, Real),    # the counter
                'accepted': (Rnd, Srv, Bool), 'at': (Rnd, Srv, Real), 'counted': (Rnd, Srv, Bool),
                'before': (Rnd, Rnd, Srv, Bool), 'passed': (Rnd, Srv, Bool),
                'granted': (Rnd, Bool), 'quorum': (Rnd, Quo), 'after': (Rnd, Rnd, Bool)}

    def axioms(self):
        facts = [W >= 0, B >= 0, A > 0, Q >= 0, Q <= A]
        if self.covers:
            facts.append(W + (2 * B if self.quarantine == 'uptime' else B) <= Q)
        if self.quorums_meet:
            facts.append(quorums.share())
        if self.clocks and not self.running:
            x, t, u = z3.Const('x', Srv), z3.Real('t'), z3.Real('u')
            facts += [z3.ForAll([x, t, u], fact, patterns=[z3.MultiPattern(wall(x, t), wall(x, u))])
                      for fact in self.f2(x, t, u)]
        return facts

    def of_run(self):
        return [fact for x in (S0, S1, S2) for t in self.times for u in self.times
                for fact in self.f2(x, t, u)] if self.clocks else []

    @staticmethod
    def f2(x, t, u):
        """F2, and what follows from it for any two times."""
        return [Implies(And(t <= u, u <= t + 2 * A), wall(x, u) >= wall(x, t) + u - t - B),
                Implies(t <= u, wall(x, u) >= wall(x, t) - B),
                Implies(t + Q <= u, wall(x, u) >= wall(x, t) + Q - B)]

    def initial(self, s):
        return And(forall(Rnd, lambda r: Not(Or(s.begun(r), s.granted(r)))),
                   forall(Rnd, Rnd, lambda r, q: Not(s.after(r, q))),
                   forall(Rnd, Rnd, Srv, lambda r, q, x: Not(s.before(r, q, x))),
                   forall(Rnd, Srv, lambda r, x: Not(Or(
                       s.accepted(r, x), s.counted(r, x), s.passed(r, x)))),
                   forall(Srv, lambda x: s.started(x) <= s.now))

    def guarded(self, s, r, x):
        """Why no token that is not greater will be accepted there, and counted."""
        return Or(And(s.has(x), s.count(x) >= token(r), s.expiry(x) >= s.count(x) - W + A),
                  s.passed(r, x), s.at(r, x) <= s.started(x))

    def invariants(self):
        return [
            ('times', lambda s: And(
                forall(Srv, lambda x: s.started(x) <= s.now),
                forall(Rnd, lambda r: Implies(s.begun(r), s.t1(r) <= s.now)))),
            ('only what has begun', lambda s: forall(Rnd, Srv, lambda r, x: And(
                Implies(s.accepted(r, x), s.begun(r)),
                Implies(s.counted(r, x), s.accepted(r, x))))),
            ('the window', lambda s: forall(Rnd, Srv, lambda r, x: Implies(s.accepted(r, x), And(
                s.at(r, x) <= s.now, token(r) <= wall(x, s.at(r, x)) + W)))),
            ('a token is guarded', lambda s: forall(Rnd, Srv, lambda r, x: Implies(
                s.accepted(r, x), self.guarded(s, r, x)))),
            ('the clock has passed it for good', lambda s: forall(Rnd, Srv, Real, lambda r, x, t:
                Implies(And(s.passed(r, x), s.now <= t), wall(x, t) >= token(r)))),
            ('at a server tokens rise', lambda s: forall(Rnd, Rnd, Srv, lambda r, q, x: Implies(
                s.before(r, q, x), token(r) < token(q)))),
            ('one was before the other', lambda s: forall(Rnd, Rnd, Srv, lambda r, q, x: Implies(
                And(s.counted(r, x), s.counted(q, x), r != q),
                Or(s.before(r, q, x), s.before(q, r, x))))),
            ('a grant has its quorum', lambda s: forall(Rnd, Srv, lambda r, x: Implies(
                And(s.granted(r), of(s.quorum(r), x)), s.counted(r, x)))),
            ('asked for after a return', lambda s: forall(Rnd, Rnd, lambda r, q: Implies(
                s.after(r, q), And(s.granted(r), s.begun(q))))),
            ('then accepted after it', lambda s: forall(Rnd, Rnd, Srv, lambda r, q, x: Implies(
                And(s.after(r, q), of(s.quorum(r), x), s.counted(q, x)), s.before(r, q, x))))]

    def properties(self):
        return [('tokens are unique', lambda s: forall(Rnd, Rnd, lambda r, q: Implies(
                    And(s.granted(r), s.granted(q), r != q), token(r) != token(q)))),
                ('tokens are in order', lambda s: forall(Rnd, Rnd, lambda r, q: Implies(
                    And(s.granted(r), s.granted(q), s.after(r, q)), token(r) < token(q))))]

    def actions(self):
        return ['begin', 'accept', 'expire', 'restart', 'grant', 'tick'] + (
            ['flush'] if self.flushes else [])

    def begin(self, s):
        r = self.any('r', Rnd)
        return [Not(s.begun(r))], s.but(
            begun=(r, True), t1=(r, s.now),
            after=lambda p, q: Or(s.after(p, q), And(q == r, s.granted(p))))

    def counts(self, s, r, x):
        """R24, and what it needs."""
        if self.quarantine != 'uptime':
            return s.t1(r) >= s.started(x) + Q if self.quarantine else True, []
        # Its uptime is asked for then, before T1 or behind it: a server whose connection comes up
        # while a round is open is asked first. By true time from there to T1, or back.
        ask = self.any('ask', Real)
        self.times += [ask, s.started(x)]
        uptime = wall(x, ask) - wall(x, s.started(x))
        return uptime + s.t1(r) - ask >= Q, [s.started(x) <= ask, ask <= s.now]

    def accept(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        clock = wall(x, s.now)
        above = s.count(x) < token(r) if self.strict else s.count(x) <= token(r)
        counts, more = self.counts(s, r, x)
        needs = [s.begun(r), Or(clock < token(r), not self.clock),
                 Or(token(r) <= clock + W, not self.window),
                 Or(Not(s.has(x)), above, not self.counter)]
        return needs + more, s.but(
            has=(x, True), count=(x, token(r)), expiry=(x, clock + A), accepted=(r, x, True),
            at=(r, x, If(s.accepted(r, x), s.at(r, x), s.now)),
            counted=(r, x, Or(s.counted(r, x), counts)),
            before=lambda p, q, y: Or(s.before(p, q, y),
                                      And(q == r, y == x, s.accepted(p, x), counts)))

    def expire(self, s):
        x = self.any('x', Srv)
        whole_life = s.expiry(x) >= s.count(x) - W + A
        return [s.has(x), Or(wall(x, s.now) >= s.expiry(x), not self.counter_lives)], s.but(
            has=(x, False), passed=lambda r, y: Or(
                s.passed(r, y), And(y == x, whole_life, s.count(x) >= token(r))))

    def flush(self, s):
        return [], s.but(has=(self.any('x', Srv), False))

    def restart(self, s):
        x = self.any('x', Srv)
        return [], s.but(started=(x, s.now), has=(x, self.any('kept', Bool)),
                         count=(x, self.any('old', Real)), expiry=(x, self.any('until', Real)))

    def grant(self, s):
        r, q = self.any('r', Rnd), self.any('q', Quo)
        return [s.begun(r), Not(s.granted(r)), quorums.all_of(q, lambda x: s.counted(r, x))], (
            s.but(granted=(r, True), quorum=(r, q)))

    def tick(self, s):
        later = s.now + self.any('d', Real)
        self.times.append(later)
        return [later >= s.now], s.but(now=later)

    def tell(self, name, given, found, after):
        number = lambda e: ' %s' % decimal(found, e)
        return super().tell(name, given, found, after) + (
            ', token' + number(token(given['r'])) if name == 'begin' else
            ', clock' + number(wall(given['x'], after.now)) if 'x' in given else '')


def f2_holds_at_any_distance():
    """By induction on the distance: from times that are up to D apart to those up to D + 2 A."""
    x, D, t, u = z3.Const('x', Srv), z3.Real('D'), z3.Real('t'), z3.Real('u')
    f2, no_less, more = Tokens.f2(x, t, u)
    some = [A > 0, W >= 0, B >= 0, W + B <= Q, Q <= A]
    up_to_d = [Implies(u <= v + D, fact) for v in (t, t + 2 * A)
               for fact in Tokens.f2(x, v, u)[1:]]
    step = some + up_to_d + [Tokens.f2(x, t, t + 2 * A)[0], D >= 2 * A, u <= t + D + 2 * A]
    near = some + [f2, u <= t + 2 * A]
    induct.lemma('F2, up to 2 A apart: no less than B less', near, no_less)
    induct.lemma('F2, from Q to 2 A apart: Q - B more', near, more)
    induct.lemma('2 A further apart: no less than B less', step + [f2], no_less)
    induct.lemma('2 A further apart: Q - B more', step + [f2], more)


# ---- Runs: three servers, two rounds; the window is 4 and a counter lives for 8 ------------------

(S0, S1, S2), servers = induct.all_different(Srv, 'S0', 'S1', 'S2')
(X, Y), rounds = induct.all_different(Rnd, 'X', 'Y')
Q0, Q1 = z3.Const('Q0', Quo), z3.Const('Q1', Quo)
SHARE_S1 = [Not(of(Q0, S2)), Not(of(Q1, S0))]


def world(smallest_quorum=2, more=()):
    return servers + rounds + list(more) + [A == 8, Q <= 8, W == 4] + [
        quorums.of_run((Q0, Q1), (S0, S1, S2), smallest_quorum),
        forall(Rnd, lambda r: And(token(r) > 0, token(r) < 100))]


def granted(r, q, *places):
    return [('begin', {'r': r})] + [('accept', {'r': r, 'x': x}) for x in places] + [
        ('grant', {'r': r, 'q': q})]


def between(*events):
    """X is granted, something happens at S1, and Y is granted."""
    return induct.timed(granted(X, Q0, S0, S1) + [(e, {'x': S1}) for e in events] +
                        granted(Y, Q1, S1, S2))


def harm(m, s):
    out_of_order = lambda r, q: And(s.after(r, q), token(r) >= token(q))
    return And(s.granted(X), s.granted(Y), Or(token(X) == token(Y), out_of_order(X, Y),
                                              out_of_order(Y, X)))


def dropped(label, actions, wrongly=(), smallest_quorum=2, share=SHARE_S1, **rules):
    whole = Tokens(running=True, **({'quarantine': 'uptime'} if 'quarantine' in rules and
                                    rules['quarantine'] else {}))
    induct.control(label, Tokens(running=True, **rules), whole, actions, harm, world(2, share),
                   world(smallest_quorum, list(share) + list(wrongly)))


def possible(label, event):
    induct.possible(label, Tokens(running=True), between(event),
                    lambda m, s: And(s.granted(X), s.granted(Y)), world(2, SHARE_S1))


def main():
    print('any number of clients, servers, rounds and restarts')
    f2_holds_at_any_distance()
    induct.prove(Tokens(), 'tokens are unique and in order')
    induct.prove(Tokens(quarantine='uptime'), 'by uptime, with steps forward: W + 2 B <= Q')

    print('what the rules leave possible')
    possible('a counter runs out, and another is granted', 'expire')
    possible('a server restarts, and its vote is counted later', 'restart')

    print('a rule or an assumption taken away')
    dropped('R5: the quorum is N/2', induct.timed(granted(X, Q0, S0) + granted(Y, Q1, S1)),
            share=(), smallest_quorum=1, quorums_meet=False)
    dropped('R24: no quarantine', between('restart'), quarantine=None)
    dropped('R24: the quarantine is too short for W + B', between('restart'), [Q == 7, B == 4],
            covers=False)
    dropped('R24: by uptime, and only W + B <= Q', between('restart'), [W + B <= Q],
            quarantine='uptime', covers=False)
    dropped('R24: timed by a clock 0.5 % fast, though a clock loses A / 2', between('restart'),
            [Q * 1005 == 8 * 1000, B == 4], covers=False)
    dropped('F2: a clock loses more than A - W', between('expire'), [B == 5], covers=False)
    dropped('F2: a clock loses anything', between('expire'), clocks=False)
    dropped('FLUSHALL, eviction, or a promoted replica', between('flush'), flushes=True)
    dropped('a token may be far ahead of the clock', between('restart'), window=False)
    dropped('counters without the clock', between('expire'), clock=False)
    dropped('the clock without counters', between(), counter=False)
    dropped('a token may equal the counter', between(), strict=False)
    dropped('the counter goes before its life is over', between('expire'), counter_lives=False)
    induct.end()


if __name__ == '__main__':
    main()
