#!/usr/bin/python3
"""Exclusion, for any number of clients, servers, values, rounds, extensions, adoptions, restored
keys and restarts, in real time (R1 R3 R4 R5 R7 R12 R18 R21 R24 R28 R29).

At no moment of true time do two attempts to acquire, each a holder of its own with its own value,
both believe that they hold the lock. One thing is excepted: a giver that has not stopped when it is
adopted believes on, by the rounds that it had won, until their deadline. A round that it wins with
votes from after that (its value was put back, the adopter has let go) excludes all others again.

This is one theorem for locks, extensions, adoptions and restored keys, for the model allows more
than any of them needs:

  commands  any may be executed at any time after its T1, by any life of a server, any number of
            times or never, also after its attempt has given up
  answers   a YES is made when the command is executed. Whether and when it is counted is free: so
            lost and late answers need no step
  servers   an absent key may appear at any time, of any value, with any end: late SETs, values put
            back in any manner, orphans, other programs. A restart leaves any content
  holders   believe in a granted round until V has passed on their clock since T1, or they stop;
            whether their key is still anywhere, or (R18) an extension is won in time, is not asked
  clocks    a server's, divided by the fastest rate, never gains on true time; a client's, divided
            by the slowest, never falls behind it. L is how long a key lives after a command, by the
            server's clock so scaled; V how long its client believes in it; QA is max_ttl_ms.
            clocks.py shows that R1 and R24 give V <= L and V <= QA. (Without restarts, QA asks for
            nothing: then each server has started long ago.)

The invariants: a round is dead when its holder has stopped, or V has passed since its T1.
  A vote lasts: the round is dead; or the server has its value, for at least as long as the round
    will live; or it has restarted, and votes again only when the round is dead.
  One vote: of two rounds of different attempts that one server voted for, one is dead.
  A grant has its quorum: each server in it has voted.
Two quorums share a server: so two holders would both have its vote."""
import z3
from z3 import And, BoolSort, DeclareSort, Function, If, Implies, Not, Or, RealSort

import induct
from induct import forall

# Att: an attempt to acquire, and the holder that it makes. Rnd: a round of it, that is its SET, its
# SET over an adopted value, or one of its extensions.
Att, Val, Rnd, Srv = [DeclareSort(n) for n in 'Att Val Rnd Srv'.split()]
Bool, Real = BoolSort(), RealSort()
attempt, value_of = Function('attempt', Rnd, Att), Function('value_of', Att, Val)
extends, adopts = Function('extends', Rnd, Bool), Function('adopts', Rnd, Bool)
replaced = Function('replaced', Rnd, Val)       # what an adoption replaces
V, L, QA = Function('V', Rnd, Real), Function('L', Rnd, Real), z3.Const('QA', Real)
quorums = induct.Quorums(Srv)
Quo, of = quorums.sort, quorums.of


class Redlock(induct.Model):
    quorums_meet = True         # R5
    fresh_values = True         # R3
    drift = True                # R1: V <= L
    one_max_ttl = True          # R24: V <= QA
    since = 'T1'                # R1: the validity counts from there; or from the 'answer'
    looks_at_its_clock = True   # R1, R22
    quarantine = 'T1'           # R24; or None, 'acquire' (extensions are not judged), or
                                # 'earlier life' (as known at T1, though it has restarted since)
    in_time = False             # R18: an extension is won only while the lock is held
    nx = True                   # a SET only where there is no key
    restored_nx = True          # R29: the same for a value that is put back
    nil_is_no = True            # R4
    own_reply = True            # R8: a YES was said to this round
    extension_compares = True   # R18
    missing_is_no = True        # R19
    never_shortens = True       # R18
    extension_quorum = True     # R18
    release_compares = True     # R21
    stops_first = True          # R21: not held from the release on
    swap_compares = True        # R28: only over the given value
    giver_stops = False         # True: nobody adopts before the giver has stopped
    excepts_the_giver = True    # that goes on, by rounds whose votes were adopted
    server_rate, client_rate = 1, 1     # as scaled: the worst that is allowed

    def signature(self):
        return {
            'now': (Real,), 'started': (Srv, Real),
            'server_clock': (Srv, Real), 'client_clock': (Att, Real),
            'begun': (Rnd, Bool), 't1': (Rnd, Real), 'read': (Rnd, Real),   # true, and as read
            'known': (Rnd, Srv, Real),                                      # started, at T1
            'present': (Srv, Bool), 'value': (Srv, Val), 'expiry': (Srv, Real),
            'voted': (Rnd, Srv, Bool), 'granted': (Rnd, Bool), 'quorum': (Rnd, Quo),
            'stopped': (Att, Bool), 'lapsed': (Att, Bool), 'adopted': (Rnd, Bool)}

    def axioms(self):
        facts = [forall(Rnd, lambda r: And(V(r) > 0, L(r) > 0, Not(And(extends(r), adopts(r)))))]
        if self.quorums_meet:
            facts.append(quorums.share())
        if self.fresh_values:
            facts.append(forall(Att, Att, lambda a, b: Implies(value_of(a) == value_of(b), a == b)))
        if self.drift:
            facts.append(forall(Rnd, lambda r: V(r) <= L(r)))
        if self.one_max_ttl:
            facts.append(forall(Rnd, lambda r: V(r) <= QA))
        return facts

    def initial(self, s):
        return And(forall(Rnd, lambda r: Not(Or(s.begun(r), s.granted(r)))),
                   forall(Rnd, Srv, lambda r, x: Not(s.voted(r, x))),
                   forall(Rnd, lambda r: Not(s.adopted(r))),
                   forall(Att, lambda a: Not(Or(s.stopped(a), s.lapsed(a)))),
                   forall(Srv, lambda x: s.started(x) <= s.now))

    def left(self, s, r):
        """How long its client would still believe in it, by its own clock."""
        return s.read(r) + V(r) - s.client_clock(attempt(r))

    def out(self, s, r):
        """Its holder has stopped, or one of its votes was adopted."""
        return Or(s.stopped(attempt(r)), s.adopted(r) if self.excepts_the_giver else False)

    def dead(self, s, r):
        return Or(self.out(s, r), self.left(s, r) <= 0)

    def holds(self, s, r):
        return And(s.granted(r), Not(self.out(s, r)),
                   Or(self.left(s, r) > 0, not self.looks_at_its_clock))

    def has_value(self, s, r, x):
        return And(s.present(x), s.value(x) == value_of(attempt(r)))

    def lasts(self, s, r, x):
        has = And(self.has_value(s, r, x), s.expiry(x) - s.server_clock(x) >= self.left(s, r))
        return Or(self.dead(s, r), has, self.left(s, r) <= QA - (s.now - s.started(x)))

    def invariants(self):
        one_interval = [
            ('what has lapsed stays so', lambda s: forall(Rnd, lambda r: Implies(
                And(s.granted(r), s.lapsed(attempt(r))),
                Or(s.stopped(attempt(r)), self.left(s, r) <= 0)))),
            ('one SET of each attempt', lambda s: forall(Rnd, Rnd, lambda r, q: Implies(
                And(s.begun(r), s.begun(q), Not(extends(r)), Not(extends(q)),
                    attempt(r) == attempt(q)), r == q)))]
        return (one_interval if self.in_time else []) + [
            ('servers have started', lambda s: forall(Srv, lambda x: s.started(x) <= s.now)),
            ('only what has begun', lambda s: forall(Rnd, Srv, lambda r, x: Implies(
                Or(s.granted(r), s.voted(r, x)), s.begun(r)))),
            ('T1', lambda s: forall(Rnd, lambda r: Implies(s.begun(r), And(
                s.t1(r) <= s.now, self.left(s, r) <= V(r) - (s.now - s.t1(r)))))),
            ('a vote lasts', lambda s: forall(Rnd, Srv, lambda r, x: Implies(
                s.voted(r, x), self.lasts(s, r, x)))),
            ('one vote', lambda s: forall(Rnd, Rnd, Srv, lambda r, q, x: Implies(
                And(s.voted(r, x), s.voted(q, x), attempt(r) != attempt(q)),
                Or(self.dead(s, r), self.dead(s, q))))),
            ('a grant has its quorum', lambda s: forall(Rnd, Srv, lambda r, x: Implies(
                And(s.granted(r), of(s.quorum(r), x)), s.voted(r, x))))]

    def properties(self):
        one_interval = [('a hold is one interval', lambda s: forall(Rnd, lambda r: Implies(
            s.lapsed(attempt(r)), Not(self.holds(s, r)))))]
        return (one_interval if self.in_time else []) + [
            ('exclusion', lambda s: forall(Rnd, Rnd, lambda r, q: Implies(
                attempt(r) != attempt(q), Not(And(self.holds(s, r), self.holds(s, q)))))),
            ('a quorum has the value, or cannot vote', lambda s: forall(Rnd, Srv, lambda r, x:
                Implies(And(self.holds(s, r), of(s.quorum(r), x)),
                        Or(self.has_value(s, r, x), s.now < s.started(x) + QA))))]

    # What may happen.

    def actions(self):
        broken = [('nil', self.nil_is_no), ('missing', self.missing_is_no),
                  ('stale_answer', self.own_reply)]
        return ['begin_acquire', 'begin_extension', 'execute_set', 'execute_swap',
                'execute_extension', 'grant', 'stop', 'release', 'expire', 'appear', 'restart',
                'tick'] + [name for name, rule in broken if not rule]

    def begin(self, s, r):
        """T1: the reading may be behind."""
        read = self.any('read', Real)
        return [Not(s.begun(r)), read <= s.client_clock(attempt(r))], s.but(
            begun=(r, True), t1=(r, s.now), read=(r, read),
            known=lambda q, x: If(q == r, s.started(x), s.known(q, x)))

    def begin_acquire(self, s):
        r = self.any('r', Rnd)
        needs, after = self.begin(s, r)
        return needs + [Not(extends(r)), Not(s.stopped(attempt(r))),
                        forall(Rnd, lambda q: Implies(s.begun(q), attempt(q) != attempt(r)))], after

    def begin_extension(self, s):
        r = self.any('r', Rnd)
        needs, after = self.begin(s, r)
        return needs + [extends(r)], after

    def vote(self, s, r, x):
        """A YES, if R24 will count it."""
        old = s.t1(r) >= s.started(x) + QA
        counts = {'T1': old, None: True, 'acquire': Or(extends(r), old),
                  'earlier life': s.t1(r) >= s.known(r, x) + QA}[self.quarantine]
        return s.but(voted=(r, x, Or(s.voted(r, x), counts)))

    def said_yes(self, s, r, x):
        return s.voted(r, x)

    def write(self, s, r, x):
        s = s.but(present=(x, True), value=(x, value_of(attempt(r))),
                  expiry=(x, s.server_clock(x) + L(r)))
        return self.vote(s, r, x)

    def execute_set(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        return [s.begun(r), Not(extends(r)), Not(adopts(r)),
                Or(Not(s.present(x)), not self.nx)], self.write(s, r, x)

    def execute_swap(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        needs = [s.begun(r), adopts(r), s.present(x),
                 Or(s.value(x) == replaced(r), not self.swap_compares)]
        if self.giver_stops:
            needs.append(forall(Att, lambda a: Implies(
                value_of(a) == replaced(r), s.stopped(a))))
        return needs, self.write(s, r, x).but(
            adopted=lambda q: Or(s.adopted(q), And(
                self.said_yes(s, q, x), value_of(attempt(q)) == replaced(r), q != r)))

    def execute_extension(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        end = s.server_clock(x) + L(r)
        if self.never_shortens:
            end = If(s.expiry(x) >= end, s.expiry(x), end)
        return [s.begun(r), extends(r), s.present(x),
                Or(self.has_value(s, r, x), not self.extension_compares)], (
                    self.vote(s.but(expiry=(x, end)), r, x))

    def grant(self, s):
        """In time or not: the holder looks at its clock."""
        r, q = self.any('r', Rnd), self.any('q', Quo)
        all_voted = quorums.all_of(q, lambda x: s.voted(r, x))
        needs = [s.begun(r), all_voted if self.extension_quorum else Or(extends(r), all_voted)]
        if self.since == 'answer':
            s = s.but(read=(r, s.client_clock(attempt(r))))
        if self.in_time:
            former = self.any('former', Rnd)
            held = And(s.granted(former), attempt(former) == attempt(r),
                       Not(s.stopped(attempt(r))), self.left(s, former) > 0)
            needs.append(If(extends(r), held, Not(Or(s.granted(r), s.lapsed(attempt(r))))))
        return needs, s.but(granted=(r, True), quorum=(r, q))

    def stop(self, s):
        """It releases, gives up, hands over, or its attempt fails."""
        return [], s.but(stopped=(self.any('a', Att), True))

    def release(self, s):
        """Or a roll-back."""
        a, x = self.any('a', Att), self.any('x', Srv)
        return [s.present(x), Or(s.stopped(a), not self.stops_first),
                Or(s.value(x) == value_of(a), not self.release_compares)], s.but(present=(x, False))

    def expire(self, s):
        x = self.any('x', Srv)
        return [s.present(x), s.expiry(x) <= s.server_clock(x)], s.but(present=(x, False))

    def appear(self, s):
        x = self.any('x', Srv)
        return [Or(Not(s.present(x)), not self.restored_nx)], s.but(
            present=(x, True), value=(x, self.any('v', Val)), expiry=(x, self.any('end', Real)))

    def restart(self, s):
        x = self.any('x', Srv)
        return [], s.but(started=(x, s.now), present=(x, self.any('kept', Bool)),
                         value=(x, self.any('v', Val)), expiry=(x, self.any('end', Real)))

    def tick(self, s):
        d = self.any('d', Real)
        servers = induct.function('server_clock', Srv, Real)
        clients = induct.function('client_clock', Att, Real)
        after = s.but(now=s.now + d, server_clock=servers, client_clock=clients)
        needs = [d >= 0,
                 forall(Srv, lambda x: servers(x) <= s.server_clock(x) + self.server_rate * d),
                 forall(Att, lambda a: clients(a) >= s.client_clock(a) + self.client_rate * d)]
        if self.in_time:        # whose last deadline has passed
            lapsed = induct.function('lapsed', Att, Bool)
            over = lambda a: forall(Rnd, lambda r: Implies(
                And(s.granted(r), attempt(r) == a), self.left(after, r) <= 0))
            needs.append(forall(Att, lambda a: Or(lapsed(a) == s.lapsed(a),
                                                  And(lapsed(a), over(a)))))
            after = after.but(lapsed=lapsed)
        return needs, after

    # What only happens if a rule is broken.

    def nil(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        return [s.begun(r), Not(extends(r)), s.present(x)], self.vote(s, r, x)

    def missing(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        return [s.begun(r), extends(r), Not(s.present(x))], self.vote(s, r, x)

    def stale_answer(self, s):
        """What was said to another attempt's SET is counted."""
        r, earlier, x = self.any('r', Rnd), self.any('earlier', Rnd), self.any('x', Srv)
        return [s.begun(r), s.voted(earlier, x)], self.vote(s, r, x)


class JudgedAtTheAnswer(Redlock):
    """R24 looks at how old the server is, in the life that said YES, only as the client counts."""

    def signature(self):
        return dict(super().signature(), said=(Rnd, Srv, Bool), life=(Rnd, Srv, Real))

    def initial(self, s):
        return And(super().initial(s), forall(Rnd, Srv, lambda r, x: Not(s.said(r, x))))

    def vote(self, s, r, x):
        return s.but(said=(r, x, True),
                     life=(r, x, If(s.said(r, x), s.life(r, x), s.started(x))))

    def said_yes(self, s, r, x):
        return s.said(r, x)

    def count(self, s):
        r, x = self.any('r', Rnd), self.any('x', Srv)
        return [s.said(r, x), s.now >= s.life(r, x) + QA], s.but(voted=(r, x, True))

    def actions(self):
        return super().actions() + ['count']

    def invariants(self):
        return [i for i in super().invariants() if i[0] not in ('a vote lasts', 'one vote')] + [
            ('what is counted was said, and is old', lambda s: forall(Rnd, Srv, lambda r, x: And(
                Implies(s.said(r, x), And(s.begun(r), s.life(r, x) <= s.started(x))),
                Implies(s.voted(r, x), And(s.said(r, x), s.now >= s.life(r, x) + QA))))),
            ('a YES lasts', lambda s: forall(Rnd, Srv, lambda r, x: Implies(
                s.said(r, x), self.lasts(s, r, x)))),
            ('one YES, or a later life', lambda s: forall(Rnd, Rnd, Srv, lambda r, q, x: Implies(
                And(s.said(r, x), s.said(q, x), attempt(r) != attempt(q)),
                Or(self.dead(s, r), self.dead(s, q),
                   self.left(s, r) <= QA - (s.now - s.life(q, x)),
                   self.left(s, q) <= QA - (s.now - s.life(r, x))))))]


# ---- Runs: three servers, three attempts; A2 extends A's lock, D adopts --------------------------

(S0, S1, S2), servers = induct.all_different(Srv, 'S0', 'S1', 'S2')
(A, A2, C, D), rounds = induct.all_different(Rnd, 'A', 'A2', 'C', 'D')
(a, c, d), attempts = induct.all_different(Att, 'a', 'c', 'd')
Q0, Q1, Q2 = [z3.Const('Q%d' % i, Quo) for i in range(3)]
EMPTY = {'kept': z3.BoolVal(False)}


def world(smallest_quorum=2, more=()):
    return servers + rounds + attempts + list(more) + [
        quorums.of_run((Q0, Q1, Q2), (S0, S1, S2), smallest_quorum),
        attempt(A) == a, attempt(A2) == a, attempt(C) == c, attempt(D) == d, extends(A2), adopts(D),
        Not(Or(extends(A), extends(C), extends(D), adopts(A), adopts(C))), QA <= 10,
        forall(Rnd, lambda r: And(V(r) >= 4, V(r) <= 10, L(r) <= 12))]


def begins(r):
    return 'begin_extension' if r is A2 else 'begin_acquire', {'r': r}


def at(r, *places):
    action = 'extension' if r is A2 else 'swap' if r is D else 'set'
    return [('execute_' + action, {'r': r, 'x': x}) for x in places]


def grant(r, q):
    return [('grant', {'r': r, 'q': q})]


def acquires(r, q, *places):
    return [begins(r)] + at(r, *places) + grant(r, q)


def on(action, x, **more):
    return action, dict(more, x=x)


def stops(attempt):
    return 'stop', {'a': attempt}


def two_hold(m, s):
    return Or([And(m.holds(s, r), m.holds(s, q)) for r, q in (
        (A, C), (A, D), (A2, C), (A2, D), (C, D))])


def dropped(label, actions, smallest_quorum=2, more=(), **rules):
    induct.control(label, Redlock(**rules), Redlock(), induct.timed(actions), two_hold,
                   world(2, more), world(smallest_quorum, more))


def possible(label, actions, goal, more=()):
    induct.possible(label, Redlock(), induct.timed(actions), goal, world(2, more))


def main():
    print('any number of clients, servers, values, rounds and restarts')
    induct.prove(Redlock(), 'acquire, extend, release, adopt, restore, restart')
    induct.prove(Redlock(excepts_the_giver=False, giver_stops=True),
                 'nobody is excepted, if a giver stops before it is adopted')
    induct.prove(JudgedAtTheAnswer(), 'R24 judged when the answer is counted')
    induct.prove(Redlock(in_time=True),
                 'R18: a hold is one interval, if extensions are won in time')

    print('what the rules leave possible')
    a_holds, c_holds = acquires(A, Q0, S0, S1), acquires(C, Q1, S1, S2)
    possible('a lock runs out, and another has it', a_holds + [on('expire', S1)] + c_holds,
             lambda m, s: m.holds(s, C))
    possible('a lock is released, and another has it',
             a_holds + [stops(a), on('release', S1, a=a)] + c_holds,
             lambda m, s: And(m.holds(s, C), m.left(s, A) > 0))
    possible('a server restarts, is given the value, and later extends it', a_holds + [begins(A2)] +
             at(A2, S0) + [on('appear', S2, v=value_of(a)), on('restart', S1, **EMPTY),
                           on('appear', S1, v=value_of(a))] + at(A2, S2) + grant(A2, Q2),
             lambda m, s: m.holds(s, A2), [Not(of(Q2, S1))])
    possible('a lock is handed over',
             a_holds + [stops(a), begins(D)] + at(D, S0, S1) + grant(D, Q2),
             lambda m, s: And(m.holds(s, D), replaced(D) == value_of(a)))
    possible('a giver goes on, and holds it again when the adopter has let go',
             a_holds + [begins(D)] +
             at(D, S0, S1) + grant(D, Q0) + [stops(d), on('release', S0, a=d),
                                             on('release', S1, a=d),
                                             on('appear', S0, v=value_of(a)),
                                             on('appear', S1, v=value_of(a)), begins(A2)] +
             at(A2, S0, S1) + grant(A2, Q0), lambda m, s: And(m.holds(s, A2), s.adopted(A)))

    print('a rule taken away')
    runs_out = a_holds + [on('expire', S1)] + c_holds
    lost = a_holds + [begins(A2), on('expire', S0), on('expire', S1)]
    other_releases = a_holds + [begins(D), stops(d), on('release', S1, a=d)] + c_holds
    restarts = a_holds + [on('restart', S1, **EMPTY)] + c_holds
    dropped('R1: no drift: the validity exceeds what a key lives', runs_out, drift=False)
    dropped("R1: a server's clock is too fast", runs_out, server_rate=2)
    dropped("R1: a client's clock is too slow", runs_out, client_rate=z3.Q(1, 2))
    dropped('R1: the validity counts from the last answer', runs_out, since='answer')
    dropped('R1: the holder does not look at its clock', runs_out, looks_at_its_clock=False)
    dropped('R3: one value for two attempts', other_releases, fresh_values=False)
    dropped('R4: nil counts as YES', a_holds + [begins(C)] + at(C, S2) + [on('nil', S1, r=C)] +
            grant(C, Q1), nil_is_no=False)
    dropped('R5: the quorum is N/2', acquires(A, Q0, S0) + acquires(C, Q1, S1), 1,
            [Not(of(Q0, S2)), Not(of(Q1, S2))], quorums_meet=False)
    dropped("R8: an answer to another attempt's SET counts", [begins(C)] + at(C, S1) + [
        stops(c), on('release', S1, a=c)] + a_holds + [
            begins(D), on('stale_answer', S1, r=D, earlier=C), on('appear', S2, v=replaced(D))] +
            at(D, S2) + grant(D, Q1), own_reply=False)
    dropped('a SET without NX', a_holds + c_holds, nx=False)
    dropped('R18: an extension does not compare', lost + acquires(C, Q1, S0, S1) + at(A2, S0, S1) +
            grant(A2, Q0), extension_compares=False)
    dropped('R18: an extension shortens', a_holds + [begins(A2)] + at(A2, S1) + [on('expire', S1)] +
            c_holds, never_shortens=False)
    dropped('R18: an extension without a quorum', a_holds + [begins(A2)] + grant(A2, Q0) + [
        on('expire', S1)] + c_holds, extension_quorum=False)
    dropped('R19: an extension counts "missing" as YES', lost + [
        on('missing', S0, r=A2), on('missing', S1, r=A2)] + grant(A2, Q0) + c_holds,
            missing_is_no=False)
    dropped('R21: a release does not compare', other_releases, release_compares=False)
    dropped('R21: held until the release is answered', a_holds + [on('release', S1, a=a)] + c_holds,
            stops_first=False)
    dropped('R24: no quarantine', restarts, quarantine=None)
    dropped('R24: max_ttl_ms of one client is below the ttl of another', restarts,
            one_max_ttl=False)
    # won with the vote of a server that had voted for C, who is still at it, before it restarted
    dropped('R24: extensions are not judged', a_holds + [begins(C)] + at(C, S2) + [
        on('restart', S2, **EMPTY), on('appear', S2, v=value_of(a)), begins(A2)] + at(A2, S1, S2) +
            grant(A2, Q1) + [on('expire', S0)] + at(C, S0) + grant(C, Q2), quarantine='acquire')
    # a proxy keeps the connection, and S1 restarts behind it after T1
    dropped('R24: judged by a life that has ended', a_holds + [
        begins(C), on('restart', S1, **EMPTY)] + at(C, S1, S2) + grant(C, Q1),
            quarantine='earlier life')
    dropped('R28: an adoption does not compare', a_holds + at(A, S2) + [begins(D)] + at(D, S1, S2) +
            grant(D, Q1), more=[replaced(D) != value_of(a)], swap_compares=False)
    dropped('R28: the giver goes on, and is counted', a_holds + [begins(D)] + at(D, S0, S1) +
            grant(D, Q1), excepts_the_giver=False)
    dropped("R29: the value is restored over another's", lost + acquires(C, Q1, S0, S1) + [
        on('appear', S0, v=value_of(a)), on('appear', S1, v=value_of(a))] + at(A2, S0, S1) +
            grant(A2, Q0), restored_nx=False)
    induct.end()


if __name__ == '__main__':
    main()
