#!/usr/bin/env python3
"""Handing a held lock over (R28): every state of three servers, a giver whose old commands are
still under way, adopters B and C who have the same value, and a stranger X who acquires.

The design is 'replace': adopting replaces the giver's value by a fresh one, and what a failed
attempt has replaced is undone by `undo`: 'delete', as any attempt rolls back. Rejected: 'back' (the
old value again), 'never', and 'extend', where adopting is an extension of the old value. LONG=1
adds those that take minutes.

Time is what each client may rely on and no more: a command that a server executes gives the key an
expiry after the deadline of the attempt that sent it. So a key may expire at any moment at which
none of the attempts that it was given time by still stands; any attempt may lapse at any moment.
A command may stay under way for ever, which is as if it were lost; a lost reply is as if the client
had given up just before. Where `loss` is set, connections are cut too. Any client may stop at any
moment for ever."""
import os

import explore

N, QUORUM = 3, 2
FREE = '-'


class World:
    def __init__(self, design, undo='never', same=True, use='twice', late=True, moved=True,
                 ask='continuity', fail_release=False, undo_overtakes=False, stranger=True,
                 retries=0, in_turn=False, wakes=False, deadline=True, expiry=True, loss=False,
                 releases=True):
        self.__dict__.update(locals())
        self.adopters = ['B', 'C'] if use == 'twice' else ['B']
        self.clients = self.adopters + (['X'] if stranger else [])
        # state: servers ((value, givers of time),) | queues {(client, server): commands} |
        # clients {name: (phase, votes, tries)} | lapsed attempts | giver holds | X was granted
        queues = {}
        servers = [('o', ('g',))] * N
        if late:                    # the last server's SET is still under way, and an extension
            servers[N - 1] = (FREE, ())
            queues['G', N - 1] = (('set', 'o', 'g'),)
            queues['G', 0] = (('extend', 'o', 'g'),)
        self.start = (tuple(servers), tuple(sorted(queues.items())),
                      tuple((c, ('idle', (None,) * N, 0)) for c in self.clients),
                      frozenset(), 'holds', False)

    def attempt(self, name, tries):
        return name + str(tries)

    def execute(self, key, command):
        """The key after it, and the vote that it is."""
        value, time = key
        kind, a, by = command[:3]
        given = tuple(sorted(set(time) | {by}))
        if kind == 'set':
            return ((a, (by,)), 'y') if value == FREE else (key, 'n')
        if kind == 'extend':
            return ((value, given), 'y') if value == a else (key, 'n')
        if kind == 'replace':
            return ((command[3], given), 'y') if value == a else (key, 'n')
        if kind == 'back':
            return ((command[3], time), 'y') if value == a else (key, 'n')
        return ((FREE, ()), 'y') if value == a else (key, 'n')     # delete

    def value(self, name, tries):
        if name != 'X' and self.design == 'extend':
            return 'o'
        return self.attempt(name, tries)

    def steps(self, state):
        servers, queues, clients, lapsed, giver, stranger_had = state
        queues, people = dict(queues), dict(clients)
        out = []

        def then(label, servers=servers, queues=queues, people=people, lapsed=lapsed, giver=giver,
                 had=stranger_had):
            if servers is None:
                out.append((label, None))
                return
            lines = tuple(sorted((k, v) for k, v in queues.items() if v))
            out.append((label, (tuple(servers), lines, tuple((c, people[c]) for c in self.clients),
                                lapsed, giver, had)))

        holders = [c for c in self.clients if people[c][0] == 'held']
        # the giver: hands over (or, where the value is a copy, lapses while it holds)
        if giver == 'holds':
            then('G exports', giver='gave')
        if 'g' not in lapsed:
            q = dict(queues)
            for s in range(N) if self.wakes and giver == 'holds' else ():  # it releases (R19)
                q['G', s] = q.get(('G', s), ()) + (('delete', 'o', 'g'),)
            then('g lapses', queues=q, lapsed=lapsed | {'g'},
                 giver='gave' if giver == 'holds' else giver)
        may_adopt = giver == 'gave' or not self.moved
        for name in self.clients:
            phase, votes, tries = people[name]
            me = self.attempt(name, tries)
            mine = self.value(name, tries)
            if name == 'C' and self.in_turn and people['B'][0] != 'left':
                continue            # the value goes from B to C, who never has it with B
            if phase == 'idle' and (name == 'X' or may_adopt):
                q = dict(queues)
                command = (('set', mine, me) if name == 'X' else
                           ('extend', 'o', me) if self.design == 'extend' else
                           ('replace', 'o', me, mine))
                for s in range(N):
                    q[name, s] = q.get((name, s), ()) + (command,)
                then(name + ' asks', queues=q,
                     people={**people, name: ('asks', (None,) * N, tries)})
            if phase == 'asks':
                yes, no = votes.count('y'), votes.count('n')
                if yes >= QUORUM and (me not in lapsed or not self.deadline):
                    bad = False
                    others = [h for h in holders if h != name]
                    if self.ask == 'exclusion':
                        bad = bool(others) or (giver == 'holds')
                    elif self.ask == 'strangers':
                        bad = any((h == 'X') != (name == 'X') for h in others) or \
                              (giver == 'holds' and name == 'X')
                    elif self.ask == 'adopters':    # and strangers; not what the giver believes
                        bad = any((h == 'X') != (name == 'X') for h in others)
                    elif self.ask == 'continuity':
                        bad = name != 'X' and stranger_had
                    if bad:
                        then(name + ' is granted', servers=None)
                    else:
                        then(name + ' is granted',
                             people={**people, name: ('held', (None,) * N, tries)},
                             had=stranger_had or name == 'X')
                elif name != 'X':        # (that X gives up is that it never goes on)
                    q = dict(queues)     # gives up: at any time, or as all have answered
                    for s in range(N):
                        undone = None
                        if self.design == 'extend' and self.fail_release:
                            undone = ('delete', mine, me)
                        elif self.design == 'replace' and self.undo == 'delete':
                            undone = ('delete', mine, me)
                        elif self.design == 'replace' and self.undo == 'back':
                            undone = ('back', mine, me, 'o')
                        if undone and self.undo_overtakes:
                            q[name, s] = (undone,) + q.get((name, s), ())
                        elif undone:
                            q[name, s] = q.get((name, s), ()) + (undone,)
                    again = name != 'X' and tries < self.retries
                    after = ('idle' if again else 'failed', (None,) * N, tries + again)
                    then(name + ' fails', queues=q, people={**people, name: after})
            if phase == 'held' and self.in_turn and name == 'B':
                then('B lets go', people={**people, name: ('left', (None,) * N, tries)})
            if phase == 'held':
                q = dict(queues)
                if self.releases:
                    for s in range(N):
                        q[name, s] = q.get((name, s), ()) + (('delete', mine, me),)
                    then(name + ' releases', queues=q,
                         people={**people, name: ('done', (None,) * N, tries)})
            if phase in ('asks', 'held') and me not in lapsed:
                done = ('done', (None,) * N, tries) if phase == 'held' else people[name]
                then(me + ' lapses', lapsed=lapsed | {me}, people={**people, name: done})
        # the network
        for (name, s), line in queues.items():
            if not line:
                continue
            key, vote = self.execute(servers[s], line[0])
            after = list(servers)
            after[s] = key
            rest = {**queues, (name, s): line[1:]}
            heard = people
            counts = False
            if name in people and people[name][0] == 'asks' and \
                    line[0][2] == self.attempt(name, people[name][2]) and line[0][0] != 'delete' \
                    and line[0][0] != 'back':
                votes = list(people[name][1])
                votes[s] = vote
                heard = {**people, name: ('asks', tuple(votes), people[name][2])}
                counts = True
            then('%s: %s %s at %d' % (name, line[0][0], line[0][1], s), servers=after, queues=rest,
                 people=heard)
            if self.loss and counts:
                then('%s: %s %s at %d, the rest lost' % (name, line[0][0], line[0][1], s),
                     servers=after, queues={**queues, (name, s): ()}, people=people)
            if self.loss and name != 'X':
                then('%s: all lost on the way to %d' % (name, s), queues={**queues, (name, s): ()})
        # keys expire when nobody who gave them time can rely on it
        if self.expiry:
            for s in range(N):
                value, time = servers[s]
                if value != FREE and all(t in lapsed for t in time):
                    after = list(servers)
                    after[s] = (FREE, ())
                    then('%s expires at %d' % (value, s), servers=after)
        # a violation between a holder and one who holds already is seen at the grant; who relies on
        # what others delete is seen here
        if self.ask == 'lost' and giver == 'gave' and not any(queues.values()):
            old = sum(v == 'o' for v, t in servers)
            phases = {p[0] for p in people.values()}
            if old < QUORUM and not holders and 'failed' in phases <= {'failed', 'idle'}:
                then('the value is void, and nobody holds', servers=None)
        return out


def run(label, expected, long=False, **how):
    if long and not os.environ.get('LONG'):
        return
    w = World(**how)
    explore.check(label, expected, w.start, w.steps)


DESIGNS = ('replace', 'delete'), ('replace', 'never'), ('replace', 'back'), ('extend', 'never')


def used_once():
    print('One value, adopted once. G has a SET and an extension under way; X acquires.')
    for design, undo in DESIGNS:
        name = design if design == 'extend' else 'replace, undo: ' + undo
        how = dict(design=design, undo=undo, use='once', long=undo != 'delete')
        run(name + ': exclusion', 'holds', ask='exclusion', **how)
        run(name + ': held without a gap', 'broken', ask='continuity', **how)
        run(name + ': without a gap, if no old SET is under way', 'holds', ask='continuity',
            late=False, **how)


def used_in_turn():
    print('A value adopted in turn: by B again if it failed, or by C when B has let go.')
    run('replace, undo: delete: exclusion, B tries twice', 'holds', design='replace', undo='delete',
        use='once', ask='exclusion', retries=1, late=False)
    run('extend: exclusion, B tries twice', 'holds', long=True, design='extend', use='once',
        ask='exclusion', retries=1, late=False)
    run('extend: exclusion, C after B', 'holds', long=True, design='extend', ask='exclusion',
        in_turn=True, late=False)


def after_a_pause():
    print('A giver that is only paused: it wakes past its deadline, and releases.')
    run('replace, undo: delete: B and X', 'holds', design='replace', undo='delete', use='once',
        ask='adopters', moved=False, wakes=True, late=False)
    run('replace, undo: delete: X and a giver that has not stopped', 'broken', design='replace',
        undo='delete', use='once', ask='strangers', moved=False, late=False)
    run('extend: B and X', 'broken', design='extend', use='once', ask='adopters', moved=False,
        wakes=True, late=False)


def used_twice():
    print('A value adopted twice.')
    for undo in 'delete', 'never', 'back':
        run('replace, undo: %s: exclusion among B and C' % undo, 'holds', long=undo != 'delete',
            design='replace', undo=undo, ask='exclusion', stranger=False)
    for undo in 'delete', 'never': # with 'back' there are more than 5 million states
        run('replace, undo: %s: exclusion among B, C and X' % undo, 'holds', long=True,
            design='replace', undo=undo, ask='exclusion', late=False)
    run('extend: exclusion', 'broken', design='extend', ask='exclusion', stranger=False)
    run('extend: no stranger while one of them holds, if none releases', 'holds', long=True,
        design='extend', ask='strangers', releases=False)
    run('extend: the same, if each releases what it holds', 'broken', long=True, design='extend',
        ask='strangers')
    run('extend: a failed adopter releases, none else does', 'broken', long=True, design='extend',
        ask='strangers', fail_release=True, releases=False)


def lost():
    print('Can the lock be lost though no key expired, nobody stopped and nobody took it?')
    how = dict(use='once', ask='lost', expiry=False, stranger=False, late=False)
    for design, undo in DESIGNS:
        name = design if design == 'extend' else 'replace, undo: ' + undo
        never = undo == 'back' or design == 'extend'
        run(name + ': no, without loss', 'holds' if never else 'broken', design=design, undo=undo,
            **how)
        run(name + ': no, with lost connections', 'holds' if design == 'extend' else 'broken',
            design=design, undo=undo, loss=True, **how)


def planted():
    print('Planted.')
    run('extend: the value is a copy, the giver holds on', 'broken', design='extend', use='once',
        ask='exclusion', moved=False, stranger=False)
    run('extend: a late quorum counts after the deadline', 'broken', design='extend', use='once',
        ask='exclusion', deadline=False)
    run('replace: the undoing overtakes its adoption', 'broken', design='replace', undo='back',
        use='once', ask='lost', expiry=False, stranger=False, late=False, undo_overtakes=True)


for part in used_once, used_in_turn, after_a_pause, used_twice, lost, planted:
    part()
explore.end()
