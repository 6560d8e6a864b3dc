#!/usr/bin/env python3
"""Wake-ups (R26): at one server no alarm is missed, whatever the rest of the world does.
Exhaustive, with at most DEEP messages on their way in each direction.

A waiter tries, is refused, and backs off until it has news of a quorum of servers: each may be
free. A refused SET reads the key in the same script, so the server tells, once, when that changes.
What holds: in back-off, when nothing is on its way any more and the key is gone, there is news of this
server. So a quorum that is free is always noticed, for any number of servers and waiters.

A state holds, of the server:
  up       the connection stands
  key      'free', 'taken' by others, or 'ours'
  tracked  the server will tell
  to, fro  what is on its way: S a SET, R its roll-back, Y N answers to a SET, ! a push, r any other
           answer; in small letters: of an attempt that is over
and of the waiter:
  voting   else it backs off
  vote     None, 'yes', 'taken', or 'absent': no connection, or no answer in time
  stalled  nothing is sent until it has caught up (R13)
  news     it may be free here"""
import explore

DEEP = 5
FREE, TAKEN, OURS = 'free', 'taken', 'ours'


class Waiter:
    def __init__(self, tracks='refusal', hears_while_voting=True, unanswered_is_news=True,
                 yes_is_news=True, connecting_is_news=True, catching_up_is_news=True):
        self.tracks = tracks            # at the 'refusal', by a read behind the 'roll-back', or None
        self.hears_while_voting = hears_while_voting
        self.unanswered_is_news = unanswered_is_news
        self.yes_is_news = yes_is_news
        self.connecting_is_news = connecting_is_news
        self.catching_up_is_news = catching_up_is_news
        # up, key, tracked, to, fro, voting, vote, stalled, news: the first attempt is to come
        self.start = True, FREE, False, '', '', False, None, False, True

    def attempt(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        if voting:
            return
        to, fro = to.lower(), fro.lower()
        if not up or stalled:
            yield 'attempt without it', (up, key, tracked, to, fro, True, 'absent', stalled, False)
            return
        yield 'attempt', (up, key, tracked, to + 'S', fro, True, None, stalled, False)
        yield 'attempt, nothing leaves', (up, key, tracked, to, fro, True, None, stalled, False)

    def failure(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        """The other servers have decided it."""
        if not voting:
            return
        if vote is None and self.unanswered_is_news or vote == 'yes' and self.yes_is_news:
            news = True
        if vote == 'yes' or 'S' in to or 'Y' in fro or 'N' in fro:
            to += 'R'
        elif vote == 'taken' and self.tracks == 'roll-back':
            to += 'G'
        yield 'failure', (up, key, tracked, to, fro, False, vote, stalled, news)

    def time_out(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        if up and voting and not stalled and ('S' in to or 'Y' in fro or 'N' in fro):
            yield 'time-out', (up, key, tracked, to, fro, voting, 'absent', True, news)

    def catch_up(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        if stalled and not to and not fro.replace('!', ''):
            yield 'caught up', (up, key, tracked, to, fro, voting, vote, False,
                                news or self.catching_up_is_news)

    def changed(self, tracked, fro):
        """Whoever changes a key, who reads it is told once."""
        return False, fro + '!' if tracked else fro

    def serve(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        if not up or not to:
            return
        what, to = to[0], to[1:]
        answer = 'r'
        if what in 'Ss' and key == FREE:
            tracked, fro = self.changed(tracked, fro)
            key, answer = OURS, 'Y' if what == 'S' else 'r'
        elif what in 'Ss':
            tracked = tracked or self.tracks == 'refusal'
            answer = 'N' if what == 'S' else 'r'
        elif what in 'Rr' and key == OURS:
            tracked, fro = self.changed(tracked, fro)
            key = FREE
        elif self.tracks == 'roll-back':
            tracked = True
        fro += answer
        yield 'the server takes ' + what, (up, key, tracked, to, fro, voting, vote, stalled, news)

    def hear(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        if not fro:
            return
        what, fro = fro[0], fro[1:]
        if what in 'YN' and voting and vote is None:
            vote, news = ('yes' if what == 'Y' else 'taken'), False
        if what == '!' and (not voting or self.hears_while_voting):
            news = True
        yield 'the waiter hears ' + what, (up, key, tracked, to, fro, voting, vote, stalled, news)

    def world(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        after_tracked, after_fro = self.changed(tracked, fro)
        rest = to, after_fro, voting, vote, stalled, news
        if key == FREE:
            yield 'another takes it', (up, TAKEN, after_tracked) + rest
        else:
            yield 'it is released, or expires', (up, FREE, after_tracked) + rest
            yield 'it is extended', (up, key, after_tracked) + rest

    def connection(self, up, key, tracked, to, fro, voting, vote, stalled, news):
        if up:
            lost = 'absent' if vote != 'taken' else vote
            key = TAKEN if key == OURS else key         # until its ttl: nobody releases it
            for left in {key, FREE}:                    # it may have been a restart
                yield ('loss, it is ' + left,
                       (False, left, False, '', '', voting, lost, False, news))
        else:
            yield 'connected', (True, key, False, '', '', voting, vote, False,
                                news or self.connecting_is_news)

    def steps(self, state):
        up, key, tracked, to, fro, voting, vote, stalled, news = state
        if up and key == FREE and not (to or fro or voting or stalled or news):
            yield 'it is free, and the waiter sleeps', None
        for event in (self.attempt, self.failure, self.time_out, self.catch_up, self.serve,
                      self.hear, self.world, self.connection):
            for name, after in event(*state):
                if len(after[3]) <= DEEP and len(after[4]) <= DEEP:
                    yield name, after


def check(label, expected, **rules):
    waiter = Waiter(**rules)
    explore.check(label, expected, waiter.start, waiter.steps)


print('the design')
check('a refused SET reads the key', 'holds')

print('a rule taken away')
check('nothing reads the key', 'broken', tracks=None)
check('it is read behind the roll-back', 'broken', tracks='roll-back')
check('a push during the vote is not heard', 'broken', hears_while_voting=False)
check('a server that has not answered yet is no news', 'broken', unanswered_is_news=False)
check('a server that said yes is no news', 'broken', yes_is_news=False)
check('a server that is connected again is no news', 'broken', connecting_is_news=False)
check('a server that has caught up is no news', 'broken', catching_up_is_news=False)
explore.end()
