#!/usr/bin/env python3
"""Does exclusion, or the report of a loss, suffer if a holder sends its value again to servers that
have restarted (R29)? Every state of two clients and their servers; a shortened exclusion.py with
one more step.

restores   'never'; 'held': whoever believes that it holds the lock may put its value on any server
           that has no key, at ANY moment while it believes so. That is more than any rule of when
           to send it and any delay of the message allow: what comes after the belief has ended is
           a key of nobody's, which only refuses others.
orphans    such keys too: a server without a key may have one of nobody's at any time
over       it is put over another's value (no NX)
same_round an extension that finds no key sets it and says yes
spacing    a restart comes only so many ticks after the last restart of any server
looks      a restart comes only when all servers have the same owner's key, or no client holds
flush      an operator deletes a key of any server at any time. Exclusion cannot hold then; asked is
           whether a LOSS IS REPORTED: an extension that is asked for when fewer than a quorum have
           the key is never won; exclusion is not looked at

Time, drift, quarantine and votes are as in exclusion.py. That a SET is not sent to a server without
a vote needs no step: a server need never do what it was asked. LONG=1 adds the largest checks."""
import explore
from two_clients import mirrored, ticked, with_key, with_part

IDLE, ASKS, HOLDS, EXTENDS = range(4)
NOTHING, ASKED, UNCOUNTED, YES, DONE = range(5)
NOBODY, LEFT = 2, 3
RESTS = IDLE, 0, 0, 0

DESIGN = dict(servers=3, ttl=3, drift=2, slow=1, fast=1, quorum=None, quarantine=None,
              restores='held', orphans=False, over=False, same_round=False, spacing=0, looks=False,
              flush=False, early=True, one_client=False)


class Redlock:
    def __init__(self, rules):
        assert set(rules) <= set(DESIGN), rules
        self.__dict__.update(DESIGN, **rules)
        self.quorum = self.quorum or self.servers // 2 + 1
        quarantine = self.ttl if self.quarantine is None else self.quarantine
        self.old = max(0, quarantine - self.fast)
        self.cap = max(self.old, self.spacing)
        self.longest = self.ttl - self.drift + self.slow
        server = NOBODY, 0, self.cap, NOTHING, NOTHING
        self.start = (server,) * self.servers, RESTS, RESTS

    def begins(self, servers, c):
        return [with_part(s, c, ASKED if s[2] >= self.old else UNCOUNTED) for s in servers]

    def gives_up(self, servers, c):
        return [with_part((NOBODY, 0) + s[2:] if s[0] == c else s, c, NOTHING) for s in servers]

    def of_client(self, servers, c, client):
        phase, age, left, doomed = client
        if phase == IDLE:
            if c == 0 or not self.one_client:
                yield 'asks', self.begins(servers, c), (ASKS, 0, 0, 0)
            return
        yield 'gives up', self.gives_up(servers, c), RESTS
        valid = self.longest - age
        won = self.quorum <= sum(s[3 + c] == YES for s in servers)
        if phase == ASKS and valid > 0 and won:
            yield 'holds', self.counted(servers, c), (HOLDS, 0, valid, 0)
        if phase == EXTENDS and won:
            if doomed:
                yield 'is extended, though its key was gone from a majority', None, None
            yield 'is extended', self.counted(servers, c), (HOLDS, 0, max(left, valid), 0)
        if phase == HOLDS:
            lost = self.flush and sum(s[0] == c for s in servers) < self.quorum
            yield 'asks for more', self.begins(servers, c), (EXTENDS, 0, left, int(lost))
        if phase == EXTENDS:
            yield 'gives the extension up', self.counted(servers, c), (HOLDS, 0, left, 0)

    def of_server(self, servers, i, clients):
        s = servers[i]
        if s[0] != NOBODY and s[1] <= self.fast and self.early:
            yield 'the key goes early', (NOBODY, 0) + s[2:]
        if self.flush and s[0] != NOBODY:
            yield 'an operator deletes it', (NOBODY, 0) + s[2:]
        if self.orphans and s[0] == NOBODY:
            yield 'an orphan comes', (LEFT, self.ttl) + s[2:]
        owners = {t[0] for t in servers}
        may = all(t[2] >= self.spacing for t in servers)
        if self.looks:
            may = len(owners) == 1 and NOBODY not in owners or not any(
                k[0] in (HOLDS, EXTENDS) for k in clients)
        if may:
            votes = [UNCOUNTED if v == ASKED and self.old else v for v in s[3:]]
            yield 'restart', (NOBODY, 0, 0, *votes)
        for c in (0, 1):
            name, phase, vote = 'client %d: ' % c, clients[c][0], s[3 + c]
            waits = vote in (ASKED, UNCOUNTED)
            if waits and phase == ASKS and s[0] == NOBODY:
                yield name + 'SET', with_key(s, c, self.ttl, c, YES if vote == ASKED else DONE)
            if waits and phase == EXTENDS:
                said = YES if vote == ASKED else DONE
                if s[0] == c:
                    yield name + 'extended', with_key(s, c, max(s[1], self.ttl), c, said)
                elif self.same_round and s[0] == NOBODY:
                    yield name + 'set again, and yes', with_key(s, c, self.ttl, c, said)
            if self.restores == 'held' and phase in (HOLDS, EXTENDS) and s[0] != c and (
                    s[0] == NOBODY or self.over) and (not self.flush or s[2] < self.old):
                # with flush: by the rule, to servers that have restarted
                yield name + 'restored', with_key(s, c, self.ttl, c, vote)

    def counted(self, servers, c):
        return [with_part(s, c, NOTHING) for s in servers]

    def settled(self, servers, c, client):
        phase, age, left, _ = client
        if phase == IDLE:
            return servers, RESTS
        if phase == ASKS and age < self.longest:
            return servers, client
        if phase == ASKS or not left:
            return self.gives_up(servers, c), RESTS
        return (self.counted(servers, c) if phase == HOLDS else servers), client

    def state(self, servers, a, b):
        servers, a = self.settled(servers, 0, a)
        servers, b = self.settled(servers, 1, b)
        one = tuple(sorted(servers)), a, b
        return one if self.one_client else min(one, (mirrored(servers), b, a))

    def steps(self, state):
        servers, clients = state[0], state[1:]
        after = ticked(servers, NOBODY, self.cap)
        aged = [(phase, min(age + 1, self.ttl + 1) if phase in (ASKS, EXTENDS) else 0,
                 max(0, left - 1), d) for phase, age, left, d in clients]
        yield 'tick', self.state(after, *aged)
        for i, s in enumerate(servers):
            if i and s == servers[i - 1]:
                continue
            for name, after in self.of_server(servers, i, clients):
                yield name, self.state(servers[:i] + (after,) + servers[i + 1:], *clients)
        for c in (0, 1):
            for name, after, client in self.of_client(servers, c, clients[c]):
                if after is None:
                    yield 'client %d %s' % (c, name), None
                    continue
                both = (client, clients[1]) if c == 0 else (clients[0], client)
                believe = both[0][2] and both[1][2] and not self.flush
                yield 'client %d %s' % (c, name), None if believe else self.state(after, *both)


def check(label, expected, **rules):
    model = Redlock(rules)
    explore.check(label, expected, model.start, model.steps)


two = dict(servers=2)
print('exclusion: two servers')
check('never restored', 'holds', restores='never', **two)
check('restored at any moment of the hold', 'holds', **two)
check('restored at any moment, and orphans come at any moment', 'holds', orphans=True, **two)
check('a set-again that counts in the same round', 'holds', restores='never', same_round=True,
      **two)
if explore.LONG:
    check('restored at any moment; a ttl of 4', 'holds', ttl=4, **two)

print('exclusion: three servers')
check('restored at any moment of the hold', 'holds')

print('a rule taken away')
check("restored over another's value", 'broken', over=True)
check('no quarantine', 'broken', quarantine=0)
check('no quarantine, restarts spaced by a ttl', 'broken', quarantine=0, spacing=3)
check('no quarantine, restarts spaced by two ttls', 'broken', quarantine=0, spacing=6)
check('the quarantine is one tick short', 'broken', quarantine=2)
check('nobody waits: no quarantine, but an operator who looks', 'broken', quarantine=0, looks=True)

print('an operator deletes keys: is the loss reported? (one client)')
one = dict(flush=True, one_client=True)
check('never restored', 'holds', restores='never', **one)
check('restored where it restarted', 'holds', **one)
check('a set-again that counts in the same round', 'broken', restores='never', same_round=True,
      **one)
explore.end()
