#!/usr/bin/env python3
"""Handing a held lock over (R28): why an adoption replaces the value and a failed one deletes it,
and how a hand-over may leave a gap. Every state of three servers, a giver whose old commands are
still under way, adopters B and C who have the same value, and a stranger X who acquires. That the
design keeps exclusion, and a value is adopted once, is proved in tests/induct.

The design is 'replace': adopting replaces the giver's value by a fresh one, and what a failed
attempt has replaced is undone by `undo`: 'delete', as any attempt rolls back. Rejected: 'back' (the
old value again), 'never', and 'extend', where adopting is an extension of the old value.

Time is what each client may rely on and no more: a command that a server executes gives the key an
expiry after the deadline of the attempt that sent it. So a key may expire at any moment at which
none of the attempts that it was given time by still stands; any attempt may lapse at any moment.
A command may stay under way for ever, which is as if it were lost; a lost reply is as if the client
had given up just before. Where `loss` is set, connections are cut too. Any client may stop at any
moment for ever."""
import explore

N, QUORUM = 3, 2
FREE = '-'
UNHEARD = (None,) * N
IDLE = 'idle', UNHEARD


class World:
    """A state: servers, each (value, the clients that gave it time); commands under way, in their
    order, for each pair of client and server; clients, each (phase, votes); those that have lapsed;
    whether the giver 'holds' or 'gave'; whether X was granted."""

    def __init__(self, design, ask, undo='never', adopters='B', late=False, moved=True,
                 undo_overtakes=False, stranger=True, wakes=False, expiry=True, loss=False):
        self.__dict__.update(locals())
        self.clients = adopters + ('X' if stranger else '')
        self.undone_by = design == 'replace' and {'delete': ('delete',), 'back': ('back', 'o')}.get(
            undo)
        servers, queues = [('o', ('G',))] * N, {}
        if late:                    # the last server's SET is still under way, and an extension
            servers[N - 1] = FREE, ()
            queues = {('G', N - 1): (('set', 'o'),), ('G', 0): (('extend', 'o'),)}
        self.start = (tuple(servers), tuple(sorted(queues.items())),
                      tuple((c, IDLE) for c in self.clients), frozenset(), 'holds', False)

    def execute(self, key, client, command):
        """The key after it, and whether it worked."""
        (value, time), (kind, old, *new) = key, command
        given = tuple(sorted(set(time) | {client}))
        if kind == 'set':
            return ((old, (client,)), True) if value == FREE else (key, False)
        if value != old:
            return key, False
        return {'extend': (value, given), 'replace': (*new, given), 'back': (*new, time),
                'delete': (FREE, ())}[kind], True

    def asks(self, name):
        if name == 'X':
            return 'set', 'X'
        return ('extend', 'o') if self.design == 'extend' else ('replace', 'o', name)

    def to_all(self, queues, name, command, first=False):
        more = {(name, s): queues.get((name, s), ()) for s in range(N)}
        return {**queues, **{at: (command,) + line if first else line + (command,)
                             for at, line in more.items()}}

    def harm(self, name, holders, giver, stranger_had):
        """Of a grant."""
        if self.ask == 'exclusion':
            return bool(holders) or giver == 'holds'
        if self.ask == 'adopters':      # and strangers; not what the giver believes
            return any((h == 'X') != (name == 'X') for h in holders)
        return self.ask == 'continuity' and name != 'X' and stranger_had

    def steps(self, state):
        servers, queues, people, lapsed, giver, stranger_had = state
        queues, people = dict(queues), dict(people)

        def then(label, queues=queues, servers=servers, person=None, lapsed=lapsed, giver=giver,
                 had=stranger_had):
            after = {**people, **(person or {})}
            return label, (tuple(servers), tuple(sorted((k, v) for k, v in queues.items() if v)),
                           tuple((c, after[c]) for c in self.clients), lapsed, giver, had)

        if giver == 'holds':
            yield then('G hands over', giver='gave')
        if 'G' not in lapsed:
            q = self.to_all(queues, 'G', ('delete', 'o')) if (
                self.wakes and giver == 'holds') else queues        # it releases (R19)
            yield then('G lapses', q, lapsed=lapsed | {'G'}, giver='gave')
        for name in self.clients:
            yield from self.of_client(name, queues, people, lapsed, giver, stranger_had, then)
        for at, line in queues.items():
            yield from self.of_network(at, line, servers, queues, people, then)
        for s, (value, time) in enumerate(servers) if self.expiry else ():
            if value != FREE and set(time) <= lapsed:
                yield then('%s expires at %d' % (value, s), servers=put(servers, s, (FREE, ())))
        phases = {phase for phase, _ in people.values()}
        if (self.ask == 'lost' and giver == 'gave' and not queues and 'failed' in phases and
                phases <= {'failed', 'idle'} and sum(v == 'o' for v, _ in servers) < QUORUM):
            yield 'the value is void, and nobody holds', None

    def of_client(self, name, queues, people, lapsed, giver, stranger_had, then):
        phase, votes = people[name]
        become = lambda phase: {name: (phase, UNHEARD)}
        holders = [c for c in self.clients if c != name and people[c][0] == 'held']
        if phase == 'idle' and (name == 'X' or giver == 'gave' or not self.moved):
            yield then(name + ' asks', self.to_all(queues, name, self.asks(name)),
                       person=become('asks'))
        if phase == 'asks' and votes.count(True) >= QUORUM and name not in lapsed:
            if self.harm(name, holders, giver, stranger_had):
                yield name + ' is granted', None
            else:
                yield then(name + ' is granted', person=become('held'),
                           had=stranger_had or name == 'X')
        elif phase == 'asks' and name != 'X':   # gives up; that X does is that it never goes on
            q = queues
            if self.undone_by:
                kind, *old = self.undone_by
                q = self.to_all(queues, name, (kind, name, *old), self.undo_overtakes)
            yield then(name + ' fails', q, person=become('failed'))
        if phase == 'held':
            mine = 'o' if self.design == 'extend' and name != 'X' else name
            yield then(name + ' releases', self.to_all(queues, name, ('delete', mine)),
                       person=become('done'))
        if phase in ('asks', 'held') and name not in lapsed:
            yield then(name + ' lapses', lapsed=lapsed | {name},
                       person=become('done') if phase == 'held' else None)

    def of_network(self, at, line, servers, queues, people, then):
        (name, s), command = at, line[0]
        key, worked = self.execute(servers[s], name, command)
        label = '%s: %s at %d' % (name, ' '.join(command), s)
        counts = name in people and people[name][0] == 'asks' and command == self.asks(name)
        voted = {name: ('asks', put(people[name][1], s, worked))} if counts else None
        after = put(servers, s, key)
        yield then(label, {**queues, at: line[1:]}, after, voted)
        if self.loss and counts:
            yield then(label + ', the rest lost', {**queues, at: ()}, after)
        if self.loss and name != 'X':
            yield then('%s: all lost on the way to %d' % (name, s), {**queues, at: ()})


def put(places, i, new):
    return tuple(places[:i]) + (new,) + tuple(places[i + 1:])


def run(label, expected, **how):
    w = World(**how)
    explore.check(label, expected, w.start, w.steps)


print('Is the lock held without a gap?')
for design in 'replace', 'extend':
    how = dict(design=design, undo='delete', ask='continuity')
    run(design + ': no', 'broken', late=True, **how)
    run(design + ': yes, if no old SET is under way', 'holds', **how)

DESIGNS = ('replace', 'delete'), ('replace', 'never'), ('replace', 'back'), ('extend', 'never')

print('Can the lock be lost though no key expired, nobody stopped and nobody took it?')
how = dict(ask='lost', expiry=False, stranger=False)
for design, undo in DESIGNS:
    name = design if design == 'extend' else 'replace, undo: ' + undo
    never = undo == 'back' or design == 'extend'
    run(name + ', no connection lost', 'holds' if never else 'broken', design=design, undo=undo,
        **how)
    run(name + ', lost connections', 'holds' if design == 'extend' else 'broken', design=design,
        undo=undo, loss=True, **how)
run('replace: the undoing overtakes its adoption', 'broken', design='replace', undo='back',
    undo_overtakes=True, **how)

print('Why not extend')
run('a giver that was paused wakes past its deadline, and releases', 'broken', design='extend',
    ask='adopters', moved=False, wakes=True)
run('a value adopted twice: two holders', 'broken', design='extend', ask='exclusion', adopters='BC',
    stranger=False, late=True)
explore.end()
