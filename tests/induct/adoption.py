#!/usr/bin/python3
"""A value is adopted at most once (R28 R29 R12 R8), for any number of clients, servers, restarts,
chains of adoptions and restored keys. No time: a key may go at any moment, and votes of young
servers count. Both allow more than there is.

  client   what it knows of a value u at a server x, as in the header. maybe_set: x gets no further
           SET of u. answered_by: x has answered the last one. knows: its connection is to the life
           that x leads now
             send     where maybe_set is clear, and the giver has not stopped: a SET, of an attempt
                      or to restore the value. It sets maybe_set and clears answered_by
             process  replies come in their order, each at any time or never (R8 R12). One to a
                      SET, or YES to an extension, sets answered_by; a SET's no may clear maybe_set;
                      TAKEN to an extension does, if answered_by is set
             notice   a connection to a new life clears maybe_set, and ends the old one's replies
  network  a message is executed at any time or never, and once at most. A restart ends those that
           are on their way, and the server comes back empty
  giver    has stopped before anybody adopts its value, and sends no SET of it any more. Those on
           their way may still come

The invariants, of each value and server that its client knows:
  At most one SET is on its way. Then the value is not there, maybe_set is set, answered_by is not,
    and all that can still be heard is that it is not there.
  Where maybe_set is clear, the value is not there, and no YES will be heard.
  answered_by, or a YES, shows that the last SET has run; what was missing after it is missing now.
  A value that was replaced is spent: its giver has stopped, it is not there, and no SET of it is on
    its way. So no second adoption finds it where the first did; and two quorums share a server."""
import z3
from z3 import And, BoolSort, DeclareSort, Function, If, Implies, Not, Or, RealSort

import induct
from induct import forall

# Att: an attempt, its holder and its value. Msg: a SET of a value to one life of a server, NX or
# over the value that is adopted. Rpl: a reply of a server about a value, to a SET or an extension.
Att, Srv, Msg, Rpl = [DeclareSort(n) for n in 'Att Srv Msg Rpl'.split()]
Bool, Real = BoolSort(), RealSort()
sets, to = Function('sets', Msg, Att), Function('to', Msg, Srv)
swaps = Function('swaps', Msg, Bool)
about, by = Function('about', Rpl, Att), Function('by', Rpl, Srv)
to_set, yes = Function('to_set', Rpl, Bool), Function('yes', Rpl, Bool)
adopts, giver = Function('adopts', Att, Bool), Function('giver', Att, Att)
quorums = induct.Quorums(Srv)
Quo, of = quorums.sort, quorums.of


class Adoption(induct.Model):
    quorums_meet = True         # R5
    giver_stops = True          # R28
    compares = True             # R28: only over the given value
    one_set = True              # R29: only where maybe_set is clear
    executed_once = True        # R12
    dies_with_life = True       # a restart ends what is on its way
    in_order = True             # R8
    clears_answered = True      # R29: a new SET is not answered yet
    needs_answer = True         # R29: TAKEN clears maybe_set only if the last SET was answered
    restarts_empty = True
    asks_first = False          # not the header's rule: a server that has restarted is sent the
                                # value once it has said to an extension that it is not there

    def signature(self):
        return {'time': (Real,),        # counts executions
                'present': (Srv, Bool), 'value': (Srv, Att),
                'sent': (Msg, Bool), 'under_way': (Msg, Bool),
                'made': (Rpl, Bool), 'waits': (Rpl, Bool), 'made_at': (Rpl, Real),
                'maybe_set': (Att, Srv, Bool), 'answered_by': (Att, Srv, Bool),
                'knows': (Att, Srv, Bool),
                'heard': (Att, Srv, Real),      # when the last reply that was processed was made
                'ran': (Att, Srv, Real),        # when the last SET was executed
                'stopped': (Att, Bool), 'replaced': (Att, Srv, Bool),   # its giver's value, by it
                'granted': (Att, Bool), 'quorum': (Att, Quo)}

    def axioms(self):
        facts = [forall(Att, lambda v: Implies(adopts(v), giver(v) != v))]       # R3
        if self.quorums_meet:
            facts.append(quorums.share())
        return facts

    def initial(self, s):
        return And(forall(Srv, lambda x: Not(s.present(x))),
                   forall(Msg, lambda m: Not(Or(s.sent(m), s.under_way(m)))),
                   forall(Rpl, lambda y: Not(Or(s.made(y), s.waits(y)))),
                   forall(Att, Srv, lambda u, x: And(
                       s.knows(u, x), s.heard(u, x) <= s.time, s.ran(u, x) <= s.time,
                       Not(Or(s.maybe_set(u, x), s.answered_by(u, x), s.replaced(u, x))))),
                   forall(Att, lambda u: Not(Or(s.stopped(u), s.granted(u)))))

    def there(self, s, u, x):
        return And(s.present(x), s.value(x) == u)

    def to_come(self, s, y):
        """It may still be processed."""
        return And(s.waits(y), s.made_at(y) > s.heard(about(y), by(y)))

    def invariants(self):
        message = lambda f: lambda s: forall(Msg, lambda m: Implies(
            s.under_way(m), f(s, m, sets(m), to(m))))
        reply = lambda f: lambda s: forall(Rpl, lambda y: Implies(
            self.to_come(s, y), f(s, y, about(y), by(y))))
        pair = lambda f: lambda s: forall(Att, Srv, lambda u, x: f(s, u, x))
        empty = [('a restart loses all', pair(lambda s, u, x: Implies(
            Not(s.knows(u, x)), Not(self.there(s, u, x)))))]
        return (empty if self.restarts_empty else []) + [
            ('messages', message(lambda s, m, u, x: s.sent(m))),
            ('replies', lambda s: forall(Rpl, lambda y: Implies(
                s.waits(y), And(s.made(y), s.made_at(y) <= s.time)))),
            ('times', pair(lambda s, u, x: And(s.heard(u, x) <= s.time, s.ran(u, x) <= s.time))),
            ('one SET under way', lambda s: forall(Msg, Msg, lambda m, k: Implies(
                And(s.under_way(m), s.under_way(k), sets(m) == sets(k), to(m) == to(k)), m == k))),
            ('then the value is not there', message(lambda s, m, u, x: Not(self.there(s, u, x)))),
            ('and the client knows', message(lambda s, m, u, x: And(
                s.knows(u, x), s.maybe_set(u, x), Not(s.answered_by(u, x))))),
            ('and hears only that it is not there', lambda s: forall(Msg, Rpl, lambda m, y: Implies(
                And(s.under_way(m), self.to_come(s, y), about(y) == sets(m), by(y) == to(m)),
                Not(Or(to_set(y), yes(y)))))),
            ('where it may send', pair(lambda s, u, x: Implies(
                And(s.knows(u, x), Not(s.maybe_set(u, x))), Not(self.there(s, u, x))))),
            ('there it hears only that', reply(lambda s, y, u, x: Implies(
                And(s.knows(u, x), Not(s.maybe_set(u, x))), Not(Or(to_set(y), yes(y)))))),
            ('a reply shows that the last SET has run', reply(lambda s, y, u, x: Implies(
                And(s.knows(u, x), Or(to_set(y), yes(y))), s.ran(u, x) <= s.made_at(y)))),
            ('so does answered_by', pair(lambda s, u, x: Implies(
                And(s.knows(u, x), s.answered_by(u, x), s.maybe_set(u, x)),
                s.ran(u, x) <= s.heard(u, x)))),
            ('the reply to a SET is made with it', reply(lambda s, y, u, x: Implies(
                to_set(y), s.made_at(y) <= s.ran(u, x)))),
            ('what was missing since the last SET is missing', reply(lambda s, y, u, x: Implies(
                And(s.knows(u, x), Not(yes(y)), s.ran(u, x) <= s.made_at(y)),
                Not(self.there(s, u, x))))),
            ('and in each later reply', lambda s: forall(Rpl, Rpl, lambda y, z: Implies(
                And(self.to_come(s, y), s.waits(z), about(y) == about(z), by(y) == by(z),
                    s.knows(about(y), by(y)), s.made_at(z) > s.made_at(y), Not(yes(y)),
                    s.ran(about(y), by(y)) <= s.made_at(y)), Not(yes(z))))),
            ('a giver has stopped', message(lambda s, m, u, x: Implies(
                swaps(m), And(adopts(u), s.stopped(giver(u)))))),
            ('what was replaced is spent', pair(lambda s, v, x: Implies(
                s.replaced(v, x), And(s.stopped(giver(v)), Not(self.there(s, giver(v), x)))))),
            ('no SET of it is under way', lambda s: forall(Att, Msg, lambda v, m: Implies(
                And(s.under_way(m), sets(m) == giver(v)), Not(s.replaced(v, to(m)))))),
            ('it is replaced once', lambda s: forall(Att, Att, Srv, lambda v, z, x: Implies(
                And(s.replaced(v, x), s.replaced(z, x), giver(v) == giver(z)), v == z))),
            ('a grant has its quorum', pair(lambda s, v, x: Implies(
                And(s.granted(v), of(s.quorum(v), x)), s.replaced(v, x))))]

    def properties(self):
        return [('a value is adopted once', lambda s: forall(Att, Att, lambda v, z: Implies(
            And(s.granted(v), s.granted(z), giver(v) == giver(z)), v == z)))]

    def actions(self):
        return ['send', 'execute', 'refuse', 'extend', 'process', 'notice', 'vanish', 'restart',
                'stop', 'grant']

    def send(self, s):
        m = self.any('m', Msg)
        u, x = sets(m), to(m)
        needs = [Not(s.sent(m)), Not(s.stopped(u)), s.knows(u, x), Implies(swaps(m), adopts(u)),
                 Or(Not(s.maybe_set(u, x)), not self.one_set)]
        if self.giver_stops:
            needs.append(Implies(swaps(m), s.stopped(giver(u))))
        after = s.but(sent=(m, True), under_way=(m, True), maybe_set=(u, x, True))
        return needs, after.but(answered_by=(u, x, False)) if self.clears_answered else after

    def replies(self, s, u, x, is_set, says):
        y, now = self.any('y', Rpl), s.time + 1
        return [Not(s.made(y)), about(y) == u, by(y) == x, to_set(y) == is_set, yes(y) == says], (
            s.but(time=now, made=(y, True), waits=(y, True), made_at=(y, now)))

    def execute(self, s):
        m = self.any('m', Msg)
        u, x = sets(m), to(m)
        given = self.there(s, giver(u), x) if self.compares else s.present(x)
        works = If(swaps(m), given, Not(s.present(x)))
        needs, after = self.replies(s, u, x, True, works)
        after = after.but(present=(x, Or(works, s.present(x))), value=(x, If(works, u, s.value(x))),
                          replaced=(u, x, Or(s.replaced(u, x), And(works, swaps(m)))),
                          ran=(u, x, s.time + 1))
        return needs + [s.under_way(m)], (
            after.but(under_way=(m, False)) if self.executed_once else after)

    def refuse(self, s):
        """An error, or a token that is too small: the message does nothing, for whatever reason."""
        m = self.any('m', Msg)
        needs, after = self.replies(s, sets(m), to(m), True, z3.BoolVal(False))
        return needs + [s.under_way(m)], after.but(under_way=(m, False),
                                                   ran=(sets(m), to(m), s.time + 1))

    def extend(self, s):
        u, x = self.any('u', Att), self.any('x', Srv)
        needs, after = self.replies(s, u, x, False, self.there(s, u, x))
        return needs + [s.knows(u, x)], after

    def process(self, s):
        y = self.any('y', Rpl)
        u, x = about(y), by(y)
        needs = [s.waits(y), s.knows(u, x)]
        if self.in_order:
            needs.append(self.to_come(s, y))
        heard = If(s.made_at(y) > s.heard(u, x), s.made_at(y), s.heard(u, x))
        answered = s.answered_by(u, x) if self.needs_answer else True
        missing = And(Not(yes(y)), If(to_set(y), self.any('clears', Bool), answered))
        return needs, s.but(waits=(y, False), heard=(u, x, heard),
                            answered_by=(u, x, Or(s.answered_by(u, x), to_set(y), yes(y))),
                            maybe_set=(u, x, And(s.maybe_set(u, x), Not(missing))))

    def notice(self, s):
        u, x = self.any('u', Att), self.any('x', Srv)
        after = s.but(knows=(u, x, True), maybe_set=(u, x, self.asks_first), heard=(u, x, s.time),
                      waits=lambda y: And(s.waits(y), Not(And(about(y) == u, by(y) == x))))
        return [Not(s.knows(u, x))], (
            after.but(answered_by=(u, x, True)) if self.asks_first else after)

    def vanish(self, s):
        """Its end, a release, an operator."""
        return [], s.but(present=(self.any('x', Srv), False))

    def restart(self, s):
        x = self.any('x', Srv)
        kept = False if self.restarts_empty else And(s.present(x), self.any('kept', Bool))
        after = s.but(present=(x, kept), knows=lambda u, y: And(s.knows(u, y), y != x))
        return [], after.but(under_way=lambda m: And(s.under_way(m), to(m) != x)) if (
            self.dies_with_life) else after

    def stop(self, s):
        return [], s.but(stopped=(self.any('u', Att), True))

    def grant(self, s):
        v, q = self.any('u', Att), self.any('q', Quo)
        return [adopts(v), quorums.all_of(q, lambda x: s.replaced(v, x))], s.but(
            granted=(v, True), quorum=(v, q))


# ---- Runs: three servers; G: the giver's SETs, H: those to S1 again; b and c adopt by B and C ----

(g, b, c), attempts = induct.all_different(Att, 'g', 'b', 'c')
places, servers = induct.all_different(Srv, 'S0', 'S1', 'S2')
named, messages = induct.all_different(Msg, *[n + i for n in 'GHBC' for i in '012'])
G, H, B, C = named[0:3], named[3:6], named[6:9], named[9:12]
Y, replies = induct.all_different(Rpl, *['y%d' % i for i in range(24)])
Q0, Q1 = z3.Const('Q0', Quo), z3.Const('Q1', Quo)
S1 = places[1]


def world(smallest_quorum=2):
    return attempts + servers + messages + replies + [
        quorums.of_run((Q0, Q1), places, smallest_quorum),
        adopts(b), adopts(c), Not(adopts(g)), giver(b) == g, giver(c) == g] + [
            And(sets(m) == u, swaps(m) == (u is not g), to(m) == (S1 if ms is H else x))
            for ms, u in ((G, g), (H, g), (B, b), (C, c)) for m, x in zip(ms, places)]


class Script:
    """Writes a run down; each execution makes the next reply."""

    def __init__(self):
        self.steps, self.count = [], 0

    def do(self, action, **given):
        self.steps.append((action, given))
        return self

    def makes_reply(self, action, **given):
        self.count += 1
        return self.do(action, y=Y[self.count - 1], **given)

    def send(self, *messages):
        for m in messages:
            self.do('send', m=m)
        return self

    def execute(self, *messages):
        for m in messages:
            self.makes_reply('execute', m=m)
        return self

    def hear(self, reply=None):
        return self.do('process', y=Y[self.count - 1 if reply is None else reply],
                       clears=z3.BoolVal(True))

    def extend(self):
        return self.makes_reply('extend', u=g, x=S1)

    def notice(self, *whose):
        for u in whose:
            self.do('notice', u=u, x=S1)
        return self

    def restart(self, kept=False):
        return self.do('restart', x=S1, kept=z3.BoolVal(kept))

    def stop(self):
        return self.do('stop', u=g)

    def adopt(self, who, ms, q, *at):
        return self.send(*[ms[i] for i in at]).execute(*[ms[i] for i in at]).do('grant', u=who, q=q)

    def adopt_twice(self, late):
        """And between the two the giver's SET is executed."""
        self.stop().adopt(b, B, Q0, 0, 1).do('vanish', x=S1)
        return self.execute(late).adopt(c, C, Q1, 1, 2)


def held():
    return Script().send(*G).execute(*G).hear(0).hear(1).hear(2)


def restored(kept=False):
    """S1 restarts; the SET that puts the value back stays on its way."""
    return held().restart(kept).notice(g).send(H[0])


def dropped(label, script, smallest_quorum=2, whole=None, **rules):
    induct.control(label, Adoption(**rules), whole or Adoption(), script.steps,
                   lambda m, s: And(s.granted(b), s.granted(c)), world(), world(smallest_quorum))


def main():
    print('any number of clients, servers, messages, restarts and chains of adoptions')
    induct.prove(Adoption(), 'a value is adopted once, if restarts are empty')
    induct.prove(Adoption(asks_first=True, restarts_empty=False),
                 'restarts may keep keys, if the client asks first')

    print('what the rules leave possible')
    induct.possible('what was restored is adopted', Adoption(), held().restart().notice(g, b).send(
        H[0]).execute(H[0]).stop().adopt(b, B, Q0, 0, 1).steps, lambda m, s: s.granted(b), world())

    print('a rule or an assumption taken away')
    dropped('R5: the quorum is N/2', held().stop().adopt(b, B, Q0, 0).adopt(c, C, Q1, 1), 1,
            quorums_meet=False)
    # y3: YES, late. Then the value runs out; y4: TAKEN; a new SET; and now y3 is heard
    dropped('R8: replies are processed out of order', held().extend().do('vanish', x=S1).extend()
            .hear().send(H[0]).hear(3).extend().hear().send(H[1]).execute(H[0]).adopt_twice(H[1]),
            in_order=False)
    dropped('R12: a SET is executed twice', held().adopt_twice(G[1]), executed_once=False)
    dropped('a SET outlives a restart: a proxy', restored().extend().hear().restart()
            .notice(g, b, c).send(H[1]).execute(H[1]).adopt_twice(H[0]), dies_with_life=False)
    dropped('R28: a swap does not compare', held().stop().adopt(b, B, Q0, 0, 1)
            .adopt(c, C, Q1, 1, 2), compares=False)
    dropped('R28: the giver goes on', held().adopt(b, B, Q0, 0, 1).restart().notice(g, c).send(H[0])
            .execute(H[0]).adopt(c, C, Q1, 1, 2), giver_stops=False)
    dropped('R29: another SET while the last may be under way', held().send(H[0]).adopt_twice(H[0]),
            one_set=False)
    dropped('R29: TAKEN clears maybe_set without answered_by', restored().notice(b, c).extend()
            .hear().send(H[1]).execute(H[0]).adopt_twice(H[1]), needs_answer=False)
    dropped('R29: answered_by is not cleared by the new SET', held().do('vanish', x=S1).extend()
            .hear().send(H[0]).extend().hear().send(H[1]).execute(H[0]).adopt_twice(H[1]),
            clears_answered=False)
    # the value is there, and a SET of it on its way behind it
    keeps = restored(kept=True).notice(b, c).adopt_twice(H[0])
    dropped('a server restarts with its keys', keeps, restarts_empty=False)
    dropped('the same run, where the client would ask first', keeps, restarts_empty=False,
            whole=Adoption(restarts_empty=False, asks_first=True))
    induct.end()


if __name__ == '__main__':
    main()
