#!/usr/bin/env python3
"""Can a value be adopted twice if its holder sends it again to restarted servers (R28, R29)?

A count of o's, without time: keys expire by the rule 'again' alone, votes of young servers count, messages take any
time. All of that allows more than the servers do, so 'holds' is safe; 'broken' says what the rule
is for. N servers; the giver G holds o at all of them (or its SET for the last is still under way),
may hand it over at any moment, and each server may restart: its key and what its connections
carried is gone. Adopters B and C each replace o by a fresh value of their own, count a quorum of yes, and let
go (their key is deleted) or fail (the same); a late adoption, delete or SET of a lost connection may
come at any time, or never. Violation: both B and C are granted.

rule  'never'   no SET but the first
      'life'    G sends one SET of o to each life of a server (R29)
      'again'   and another once the last one has run there, and o is missing: another's key stood
                there, or o was deleted or has run out, which it may do at any time (R29)
      'unheard' the same, though the last one may still be under way
      'young'   G may send several to one life, as long as it is young
taken  where the first SET is still under way, another's key may stand, and go
stops  G sends nothing more once it has handed over; False: it goes on"""
import explore

IDLE, ASKS, HELD, OVER = range(4)


class Hand:
    def __init__(self, rule='life', stops=True, restarts=2, servers=3, late=1, taken=False,
                 wins=True):
        self.__dict__.update(locals())
        self.q = servers // 2 + 1
        # server: (value, SETs of o under way, may G send one to this life?, B's and C's adoption)
        # replace: 0 none, 1 under way, 2 yes, 3 no;  +4 = its delete is behind it
        s = ['o', 0, 0, 0, 0]
        servers_ = [tuple(s)] * (servers - late) + [('x' if taken else '-', 1, 0, 0, 0)] * late
        self.start = tuple(sorted(servers_)), True, IDLE, IDLE, restarts

    def steps(self, state):
        servers, holds, b, c, left = state
        people = [b, c]

        def at(i, t, holds=holds, people=people, left=left):
            after = list(servers)
            after[i] = tuple(t)
            return tuple(sorted(after)), holds, people[0], people[1], left

        if holds:
            yield 'G hands over', (servers, False, b, c, left)
        sends = holds or not self.stops
        for i, s in enumerate(servers):
            if i and s == servers[i - 1]:
                continue
            v, sets, may, sb, sc = s
            if left:
                # connections end: what was asked of the old life is gone; votes already cast stay
                adopts = [x if x & 3 != 1 else 3 for x in (sb, sc)]
                gone = '-', 0, 1, adopts[0] & 3, adopts[1] & 3
                yield 'restart of %d' % i, at(i, gone, left=left - 1)
            if sends and may and self.rule != 'never' and sets < 2:
                keeps = 1 if self.rule == 'young' else 0
                if not self.wins or sum(t[0] == 'o' for t in servers) >= self.q:
                    yield 'G sends o to %d' % i, at(i, (v, sets + 1, keeps, sb, sc))
            if self.rule == 'young' and may:
                yield '%d is old' % i, at(i, (v, sets, 0, sb, sc))
            if self.rule in ('again', 'unheard'):
                if v == 'o':
                    yield 'o runs out at %d' % i, at(i, ('-', sets, may, sb, sc))
                elif sends and not may and (sets == 0 or self.rule == 'unheard'):
                    yield 'G hears that o is missing at %d' % i, at(i, (v, sets, 1, sb, sc))
            if v == 'x':
                yield "another's key goes at %d" % i, at(i, ('-', sets, may, sb, sc))
            if sets:
                yield 'SET o at %d' % i, at(i, ('o' if v == '-' else v, sets - 1, may, sb, sc))
                yield 'SET o to %d is lost' % i, at(i, (v, sets - 1, may, sb, sc))
            for k, x in ((0, sb), (1, sc)):
                mine = 'bc'[k]
                put = lambda value, y: (value, sets, may) + ((y, sc) if k == 0 else (sb, y))
                if x & 3 == 1:
                    if v == 'o':
                        yield '%s adopts at %d' % (mine, i), at(i, put(mine, x & 4 | 2))
                    else:
                        yield '%s finds no o at %d' % (mine, i), at(i, put(v, x & 4 | 3))
                    yield '%s is cut off from %d' % (mine, i), at(i, put(v, 3))
                elif x & 4:
                    yield '%s deletes at %d' % (mine, i), at(i, put('-' if v == mine else v, x & 3))
                    yield "%s's delete for %d is lost" % (mine, i), at(i, put(v, x & 3))
        for k in (0, 1):
            p = people[k]
            name = 'BC'[k]
            if p == IDLE and not holds:
                after = [t[:3 + k] + (1,) + t[4 + k:] for t in servers]
                yield name + ' asks', self.new(after, holds, people, k, ASKS, left)
            if p == ASKS:
                if sum(t[3 + k] & 3 == 2 for t in servers) >= self.q:
                    if people[1 - k] in (HELD, OVER + 10):
                        yield name + ' is granted, as the other was', None
                    else:
                        yield name + ' is granted', self.new(servers, holds, people, k, HELD, left)
                yield name + ' fails', self.new(self.behind(servers, k), holds, people, k, OVER,
                                                left)
            if p == HELD:
                yield name + ' lets go', self.new(self.behind(servers, k), holds, people, k,
                                                  OVER + 10, left)

    @staticmethod
    def behind(servers, k):
        return [t[:3 + k] + (t[3 + k] | 4 if t[3 + k] & 3 in (1, 2) else t[3 + k],) + t[4 + k:]
                for t in servers]

    @staticmethod
    def new(servers, holds, people, k, phase, left):
        people = list(people)
        people[k] = phase
        return tuple(sorted(servers)), holds, people[0], people[1], left


def run(label, expected, **how):
    h = Hand(**how)
    explore.check(label, expected, h.start, h.steps)


run('no restart is made good', 'holds', rule='never', restarts=1)
run('one SET to each life, G stops; one restart', 'holds', rule='life', restarts=1, late=0)
run('one SET to each life, G stops; one restart, a SET under way', 'holds', rule='life',
    restarts=1)
run('the same without an extension that was won', 'holds', rule='life', restarts=1, wins=False)
run('another SET where o is missing, G stops; one restart', 'holds', rule='again', restarts=1,
    late=0)
run("the same, a SET under way that meets another's key", 'holds', rule='again', restarts=1,
    taken=True)
run('the same without an extension that was won', 'holds', rule='again', restarts=1, wins=False)
run('another SET where o is missing, though the last may be under way', 'broken', rule='unheard',
    restarts=1, late=0)
run('several SETs to one life, while it is young', 'broken', rule='young', restarts=1, late=0)
run('one SET to each life, G does not stop', 'broken', rule='life', stops=False, restarts=1, late=0,
    wins=False)
run('the same, after won extensions alone', 'broken', rule='life', stops=False, restarts=1,
    late=0)
if explore.LONG:
    run('one SET to each life, G stops; two restarts', 'holds', rule='life', restarts=2, late=0,
        wins=False)
    run('another SET where o is missing, G stops; two restarts', 'holds', rule='again',
        restarts=2, late=0, wins=False)
explore.end()
