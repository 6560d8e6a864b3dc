#!/usr/bin/env python3
"""Exclusion itself (R1 R3 R5 R7 R12 R18 R21 R24): every state of two clients and their servers.

What holds: at no time do both clients believe that they hold the lock. A client believes it from
the moment it counts a quorum of yes until its deadline, or until it calls release. An extension, by
hand or of a kept lock, is the same thing again.

Time is in ticks of true time. `ttl` is also max_ttl_ms, and `drift` is what R1 subtracts. Clocks
are off: in one ttl a server's gains up to `fast` ticks, so that its keys go early and it seems
older; a client's loses up to `slow`, so that it believes for longer. R1 wants slow + fast <= drift,
and here that is exactly so.

A message takes any time, also for ever: a server does what it was asked at some time after T1, and
the client counts the answer at some time after that. So a lost command, answer or connection needs
no step of its own; nor does a no, since a client may give up at any time.

What only blocks others is left out: the key of a lock that was given up goes at once, unless
`rolls_back` is False; and a SET or release that comes late is a step only where it is told
(`late`), or where a broken rule makes it harmful.

A state is the servers, in any order, and the two clients, in any order:

  server  (owner, ticks to the key's end, ticks since the last restart, one part for each client)
  part    (vote, late). The vote of the round under way: ASKED; UNCOUNTED, where R24 will count
          none; YES; DONE, with no vote to count. Late: which of LATE_SET, a SET of this lock,
          OLD_SET and OLD_RELEASE, those of an earlier one, are still on their way
  client  (phase, ticks since T1, ticks to the deadline, the ttl that is asked for)"""
import explore
from two_clients import mirrored, ticked, with_key, with_part

IDLE, ASKS, HOLDS, EXTENDS = range(4)
NOTHING, ASKED, UNCOUNTED, YES, DONE = range(5)
LATE_SET, OLD_SET, OLD_RELEASE = 1, 2, 4
NOBODY, LEFT_BEHIND = 2, 3          # whose key it is, if neither client's
RESTS = IDLE, 0, 0, 0
UNASKED = NOTHING, 0

DESIGN = {
    'servers': 3, 'ttl': 3, 'drift': 2, 'slow': 1, 'fast': 1,
    'quorum': None,                 # more than half
    'quarantine': None,             # of a server that has restarted: one ttl
    'judged': 'T1',                 # or 'answer': where R24 looks at a server's age
    'since': 'T1',                  # or 'answer': what the validity counts from
    'nil_is_yes': False, 'missing_is_yes': False, 'stale_counts': False,
    'ttls': (None,),                # that extensions ask for
    'extension_quorum': None, 'shortens': False,
    'late': False,                  # SETs may come after the decision
    'fresh_values': True, 'compares': True, 'believes_on': False, 'rolls_back': True,
    'sent_twice': False,            # a SET
}


class Redlock:
    def __init__(self, rules):
        assert set(rules) <= set(DESIGN)
        self.__dict__.update(DESIGN, **rules)
        self.quorum = self.quorum or self.servers // 2 + 1
        self.extension_quorum = self.extension_quorum or self.quorum
        quarantine = self.ttl if self.quarantine is None else self.quarantine
        self.old = max(0, quarantine - self.fast)     # from then on it seems old enough
        self.ttls = tuple(t or self.ttl for t in self.ttls)
        self.longest = self.ttl - self.drift + self.slow
        self.matters = ((LATE_SET if self.late else 0) |
                        (0 if self.fresh_values else OLD_SET) |
                        (0 if self.fresh_values and self.compares else OLD_RELEASE))
        server = NOBODY, 0, self.old, UNASKED, UNASKED
        self.start = (server,) * self.servers, RESTS, RESTS

    # What the clients do.

    def begins(self, servers, c, late):
        """T1: nobody has answered, and R24 says now whose answer will count."""
        after = []
        for s in servers:
            vote, on_the_way = s[3 + c]
            if vote in (ASKED, UNCOUNTED):
                on_the_way |= late & self.matters
            counts = s[2] >= self.old or self.judged == 'answer'
            if not (self.stale_counts and late == OLD_SET and vote == YES):
                vote = ASKED if counts else UNCOUNTED
            after.append(with_part(s, c, (vote, on_the_way)))
        return after

    def gives_up(self, servers, c):
        """Releases, or rolls back: what is on its way is an earlier lock's from now on."""
        after = []
        for s in servers:
            vote, late = s[3 + c]
            comes = vote in (ASKED, UNCOUNTED) or late & LATE_SET
            late = (late & ~LATE_SET | OLD_RELEASE | (OLD_SET if comes else 0)) & self.matters
            if s[0] == c:
                s = ((NOBODY, 0) if self.rolls_back else (LEFT_BEHIND, s[1])) + s[2:]
            if not self.stale_counts or vote != YES:
                vote = NOTHING
            after.append(with_part(s, c, (vote, late)))
        return after

    def has_quorum(self, servers, c, quorum):
        return quorum <= sum(s[3 + c][0] == YES and (self.judged == 'T1' or s[2] >= self.old)
                             for s in servers)

    def grant(self, servers, c, client):
        phase, age, left, ttl = client
        valid = self.longest - self.ttl + (ttl or self.ttl) - (age if self.since == 'T1' else 0)
        if phase == ASKS and valid > 0 and self.has_quorum(servers, c, self.quorum):
            yield 'holds', self.counted(servers, c), (HOLDS, 0, valid, 0)
        if phase == EXTENDS and self.has_quorum(servers, c, self.extension_quorum):
            yield 'is extended', servers, (HOLDS, 0, max(left, valid), 0)       # R18, R19

    def of_client(self, servers, c, client):
        """What a client may do by itself: the name, the servers and the client after it."""
        phase, _, left, _ = client
        if phase == IDLE:
            yield 'asks', self.begins(servers, c, OLD_SET), (ASKS, 0, 0, 0)
            return
        yield 'gives up', self.gives_up(servers, c), RESTS
        yield from self.grant(servers, c, client)
        if phase == HOLDS and self.believes_on:
            yield 'releases', [(NOBODY, 0) + s[2:] if s[0] == c else s for s in servers], client
        if phase == HOLDS:
            for ttl in self.ttls:
                yield 'asks for %d more' % ttl, self.begins(servers, c, LATE_SET), (
                    EXTENDS, 0, left, ttl)
        if phase == EXTENDS:
            yield 'gives the extension up', servers, (HOLDS, 0, left, 0)

    # What a server does.

    def asked(self, s, c, client):
        """The command of the round under way is executed."""
        phase, ttl = client[0], client[3]
        (vote, late), counts = s[3 + c], s[3 + c][0] == ASKED
        waits = vote in (ASKED, UNCOUNTED)
        if waits and phase in (ASKS, HOLDS):
            part = YES if counts and phase == ASKS else DONE, late
            if s[0] == NOBODY:
                yield 'SET', with_key(s, c, self.ttl, c, part)
            elif self.nil_is_yes and phase == ASKS:
                yield 'nil', with_part(s, c, part)
        if waits and phase == EXTENDS:
            part = YES if counts else DONE, late
            if s[0] == c:
                yield 'extended', with_key(s, c, ttl if self.shortens else max(s[1], ttl),
                                                c, part)
            elif self.missing_is_yes:
                yield 'missing', with_part(s, c, part)
        if self.sent_twice and vote == YES and phase == ASKS and s[0] == NOBODY:
            yield 'SET again', with_key(s, c, self.ttl, c, (vote, late))

    def late_comers(self, s, c, client):
        vote, late = s[3 + c]
        if late & LATE_SET and s[0] == NOBODY:
            yield 'late SET', with_key(s, c, self.ttl, c, (vote, late & ~LATE_SET))
        if late & OLD_SET and s[0] == NOBODY and client[0] != IDLE:
            yield 'old SET', with_key(s, c, self.ttl, c, (vote, late & ~OLD_SET))
        if late & OLD_RELEASE and s[0] != NOBODY and (not self.compares or s[0] == c):
            yield 'old release', with_key(s, NOBODY, 0, c, (vote, late & ~OLD_RELEASE))

    def restarted(self, s):
        """It has forgotten everything, and what it still answers to is judged anew."""
        parts = [(UNCOUNTED, late) if vote == ASKED and self.judged == 'T1' else (vote, late)
                 for vote, late in s[3:]]
        return (NOBODY, 0, 0, *parts)

    def of_server(self, s, clients):
        if s[0] != NOBODY and s[1] <= self.fast:
            yield 'the key goes early', (NOBODY, 0) + s[2:]
        yield 'restart', self.restarted(s)
        for c in (0, 1):
            for name, after in self.asked(s, c, clients[c]):
                yield 'client %d: %s' % (c, name), after
            for name, after in self.late_comers(s, c, clients[c]):
                yield 'client %d: %s' % (c, name), after

    # States.

    def counted(self, servers, c):
        """Whoever holds the lock waits for no vote; what was sent may still come, if it is told."""
        after = []
        for s in servers:
            vote, late = s[3 + c]
            waits = self.late and vote in (ASKED, UNCOUNTED)
            after.append(with_part(s, c, (UNCOUNTED if waits else NOTHING, late)))
        return after

    def settled(self, servers, c, client):
        """Whoever can hold it no more has given up."""
        phase, age, left, _ = client
        if phase == IDLE:
            return servers, RESTS
        if phase == ASKS and (age < self.longest or self.since != 'T1' and age <= self.ttl):
            return servers, client
        if phase == ASKS or not left:
            return self.gives_up(servers, c), RESTS
        return (self.counted(servers, c) if phase == HOLDS else servers), client

    def state(self, servers, a, b):
        """One of all states that differ only in the order of servers and clients."""
        servers, a = self.settled(servers, 0, a)
        servers, b = self.settled(servers, 1, b)
        return min((tuple(sorted(servers)), a, b), (mirrored(servers), b, a))

    def tick(self, servers, clients):
        after = ticked(servers, NOBODY, self.old)
        aged = [(phase, min(age + 1, self.ttl + 1) if phase in (ASKS, EXTENDS) else 0,
                 max(0, left - 1), ttl) for phase, age, left, ttl in clients]
        return self.state(after, *aged)

    def steps(self, state):
        servers, clients = state[0], state[1:]
        yield 'tick', self.tick(servers, clients)
        for i, s in enumerate(servers):
            if i and s == servers[i - 1]:
                continue
            for name, after in self.of_server(s, clients):
                yield name, self.state(servers[:i] + (after,) + servers[i + 1:], *clients)
        for c in (0, 1):
            for name, after, client in self.of_client(servers, c, clients[c]):
                both = (client, clients[1]) if c == 0 else (clients[0], client)
                believe = both[0][2] and both[1][2]
                yield 'client %d %s' % (c, name), None if believe else self.state(after, *both)


def check(label, expected, **rules):
    model = Redlock(rules)
    explore.check(label, expected, model.start, model.steps)


print('the design: three servers, and one tick of drift on each side')
check('a ttl of 3', 'holds')
check('extensions ask for less than the ttl too', 'holds', ttls=(None, 2))
check('a ttl of 4', 'holds', ttl=4)
check('a ttl of 4, only the servers drift', 'holds', ttl=4, slow=0, fast=2)
check('two servers, a ttl of 3', 'holds', servers=2)
check('two servers, a ttl of 4', 'holds', servers=2, ttl=4)
check('two servers, a ttl of 4, only the clients drift', 'holds', servers=2, ttl=4, slow=2, fast=0)
check('two servers, SETs come after the decision', 'holds', servers=2, late=True)

print('what does no harm')
check('R24 judged at the answer, not at T1', 'holds', judged='answer')
check('a SET is executed twice', 'holds', sent_twice=True)
check('no roll-back: the key stays until its end', 'holds', rolls_back=False)

print('a rule taken away')
check('no quarantine', 'broken', quarantine=0)
check('no quarantine, two servers', 'broken', servers=2, quarantine=0)
check('the quarantine is one tick short: a smaller max_ttl_ms', 'broken', quarantine=2)
check('the validity counts from the last answer', 'broken', since='answer')
check('the quorum is N/2', 'broken', quorum=1)
check('the quorum is N/2, two servers', 'broken', servers=2, quorum=1)
check('drift: one tick too little', 'broken', drift=1)
check('nil counts as yes', 'broken', nil_is_yes=True)
check('an answer to an earlier SET counts', 'broken', stale_counts=True)
check('an extension counts "missing" as yes', 'broken', missing_is_yes=True)
check('an extension without a quorum', 'broken', extension_quorum=1)
check('an extension may shorten', 'broken', ttls=(2,), shortens=True)
check('one value for all attempts', 'broken', fresh_values=False, late=True)
check('a release deletes without comparing', 'broken', compares=False, late=True)
check('held until the release is answered', 'broken', believes_on=True)

print('the largest')
check('SETs come after the decision', 'holds', late=True)
if explore.LONG:
    check('a ttl of 4, only the clients drift', 'holds', ttl=4, slow=2, fast=0)
explore.end()
