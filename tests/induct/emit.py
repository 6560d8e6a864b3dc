#!/usr/bin/python3
"""Writes the models that are proved here as C, so that a run of the header can be held to them:
each action is a function that returns the first guard that does not hold, as text, or takes the
step and returns NULL. Whoever changes a guard of a model changes the check.

  emit.py                                  looks whether emitted/ is what the models say
  emit.py --write[=DIR] [MODEL.RULE=VALUE...]  writes it there, or with a rule dropped elsewhere

What a header asks of who includes it, here with the prefix X and the model exclusion:
  exclusion_rnd, exclusion_att...   types of the sorts. Srv is an int, Real a double, Bool an int
  X_begun(r), X_SET_begun(r, v)     the state: each member is read and set
  X_QA, X_attempt(r)...             what never changes
  X_EACH_Srv(x)                     a loop over a sort. X_EACH_Rnd_with_attempt(q, a): over those
                                    whose attempt is a
  X_TAKEN(i)                        the step of that number was taken; exclusion_steps[i] names it
What no guard and no claim reads is left out.

A claim, that is an invariant or a property, is a function too, if it is said of each round, server
and so on: of one of them, NULL or what it says. So is an axiom. Where all of a member is new, as
the clocks are by a tick, its guards are a function of one place: tick_server_clock, and tick is
what is left. Sums of numbers are doubles."""
import importlib
import pathlib
import sys
import textwrap

import z3

import induct

HERE = pathlib.Path(__file__).resolve().parent
WIDTH = 100
# Class, rules, prefix, and a claim that needs more of the state than the guards do.
MODELS = {'exclusion': ('Redlock', {}, 'X', 'a quorum has the value, or cannot vote'),
          'tokens': ('Tokens', {'quarantine': 'uptime'}, 'T', 'tokens are in order'),
          'adoption': ('Adoption', {}, 'A', 'a value is adopted once')}
BINARY = {z3.Z3_OP_LE: '<=', z3.Z3_OP_GE: '>=', z3.Z3_OP_LT: '<', z3.Z3_OP_GT: '>',
          z3.Z3_OP_EQ: '==', z3.Z3_OP_ADD: '+', z3.Z3_OP_SUB: '-', z3.Z3_OP_MUL: '*',
          z3.Z3_OP_AND: '&&', z3.Z3_OP_OR: '||', z3.Z3_OP_DISTINCT: '!='}
C_TYPES = {'Bool': 'int', 'Real': 'double', 'Srv': 'int'}


# ---- Expressions ---------------------------------------------------------------------------------

def as_z3(e):
    return z3.BoolVal(e) if isinstance(e, bool) else e


def conjuncts(e):
    return [c for child in e.children() for c in conjuncts(child)] if z3.is_and(e) else [e]


def plain(e):
    """Without True and False, which are how a model has a rule in place, or not."""
    e = as_z3(e)
    if not (z3.is_and(e) or z3.is_or(e)):
        return e
    empty, full = (z3.is_true, z3.is_false) if z3.is_and(e) else (z3.is_false, z3.is_true)
    rest = [c for c in map(plain, e.children()) if not empty(c)]
    if any(full(c) for c in rest) or not rest:
        return z3.BoolVal(z3.is_or(e) if rest else z3.is_and(e))
    return rest[0] if len(rest) == 1 else (z3.And if z3.is_and(e) else z3.Or)(rest)


def negated(e):
    """The conjuncts of its negation."""
    if z3.is_not(e):
        return conjuncts(e.arg(0))
    if z3.is_distinct(e):
        return [e.arg(0) == e.arg(1)]
    if e.decl().kind() == z3.Z3_OP_IMPLIES:
        return conjuncts(e.arg(0)) + negated(e.arg(1))
    return [z3.Not(e)]


def members(e):
    """The names of the state that it reads."""
    if z3.is_quantifier(e):
        return members(e.body())
    if not z3.is_app(e):
        return set()
    own = {e.decl().name()[:-2]} if e.decl().name().endswith('@s') else set()
    return own.union(*map(members, e.children()))


def variables(sorts):
    """One of each: rnd1, rnd2, srv3..."""
    return [z3.Const('%s%d' % (str(s).lower(), i), s) for i, s in enumerate(sorts, 1)]


def opened(e):
    """The variables of a "for all", and what is said of them."""
    xs = variables([e.var_sort(i) for i in range(e.num_vars())])
    return xs, z3.substitute_vars(e.body(), *reversed(xs))


def reads(e, x):
    return z3.eq(e, x) or any(reads(child, x) for child in e.children())


def path_to(e, x):
    """The functions between an expression and x, such as value_of_attempt; '' = x; None = no."""
    if z3.eq(e, x):
        return ''
    if z3.is_app(e) and e.num_args() == 1 and not e.decl().name().endswith('@s'):
        rest = path_to(e.arg(0), x)
        return None if rest is None else e.decl().name() + ('_' + rest if rest else '')
    return None


def known(x, conditions):
    """(path, value): one of the conditions is  path(x) == value,  and the value is without x."""
    found = [(path_to(e.arg(i), x), e.arg(1 - i)) for e in conditions if z3.is_eq(e)
             for i in (0, 1) if not reads(e.arg(1 - i), x)]
    return next(((p, v) for p, v in sorted(found, key=lambda f: len(f[0] or ''))
                 if p is not None), None)


def wrapped(line):
    indent = ' ' * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent + '    ', break_long_words=False)


# ---- One model -----------------------------------------------------------------------------------

class Emitter:
    def __init__(self, name, rules):
        cls, own, self.prefix, self.claimed = MODELS[name]
        self.name, self.lines, self.fresh = name, [], {}
        model = getattr(importlib.import_module(name), cls)

        class Given(model):
            """Its parameters are called as the actions call them."""
            def any(self, what, sort):
                self.parameters[what] = sort
                return z3.Const(what, sort)
        self.model = Given(**dict(own, **rules))
        self.model.parameters = {}
        self.state = induct.State(self.model.signature(), 's')
        self.sorts = self.model.signature()
        self.local = set()

    def act(self, action):
        """Its guards, the state after it and its parameters."""
        self.model.parameters = {}
        needs, after = getattr(self.model, action)(self.state)
        guards = {str(c): c for n in needs for c in conjuncts(plain(n)) if not z3.is_true(c)}
        return list(guards.values()), after, dict(self.model.parameters)

    def member_at(self, s, name):
        """A member, at any place, and that place."""
        xs = variables(self.sorts[name][:-1])
        at = getattr(s, name)
        return as_z3(at(*xs) if xs else at), xs

    # C

    def c_type(self, sort):
        return C_TYPES.get(str(sort)) or '%s_%s' % (self.name, str(sort).lower())

    def c(self, e):
        if z3.is_true(e) or z3.is_false(e):
            return '1' if z3.is_true(e) else '0'
        if z3.is_rational_value(e):
            return repr(float(e.as_fraction()))
        kind, args = e.decl().kind(), [self.c(a) for a in e.children()]
        if kind in BINARY:
            return '(%s)' % (' %s ' % BINARY[kind]).join(args)
        if kind == z3.Z3_OP_NOT:
            return '!' + args[0]
        if kind == z3.Z3_OP_IMPLIES:
            return '(!%s || %s)' % tuple(args)
        if kind == z3.Z3_OP_ITE:
            return '(%s ? %s : %s)' % tuple(args)
        if kind != z3.Z3_OP_UNINTERPRETED:
            raise ValueError('no C for %s' % e)
        name = e.decl().name()
        if name in self.fresh or name in self.local and not args:
            return self.fresh.get(name, name)
        return '%s_%s%s' % (self.prefix, name.replace('@s', ''),
                            '(%s)' % ', '.join(args) if args else '')

    def refusal(self, e, words):
        """The lines that return what does not hold."""
        words = words or self.c(e).replace(self.prefix + '_', '')
        lines = ['if (!%s)' % self.c(e), 'return "%s";' % words]
        if len(' '.join(lines)) < WIDTH - 4:
            return [' '.join(lines)]
        return [lines[0]] + ['  ' + line for line in '"\n"'.join(
            textwrap.wrap(lines[1], WIDTH - 8, drop_whitespace=False)).split('\n')]

    def loop(self, x, conditions, inside):
        """Over all x, or those of which a condition says more."""
        path, value = known(x, conditions) or ('', None)
        with_path = '_with_' + path if path else ''
        args = x.decl().name() + (', ' + self.c(value) if path else '')
        return ['%s_EACH_%s%s(%s) {' % (self.prefix, x.sort(), with_path, args)] + [
            '  ' + line for line in inside] + ['}']

    def test(self, e, words=None):
        if not z3.is_quantifier(e):
            return self.refusal(e, words)
        xs, body = opened(e)
        self.local |= {x.decl().name() for x in xs}
        lines = self.refusal(body, words)
        for x in reversed(xs):
            lines = self.loop(x, negated(body), lines)
        return lines

    def function(self, name, parameters, body):
        takes = ', '.join('%s %s' % (self.c_type(sort), what) for what, sort in parameters)
        self.lines += wrapped('static inline const char *%s_%s(%s) {' % (
            self.name, name, takes or 'void'))
        for line in body + ['return NULL;']:
            self.lines += ['  ' + line] if '"' in line else wrapped('  ' + line)
        self.lines += ['}', '']

    # Actions

    def changes(self, name, after):
        """[(conditions, value)]: where a member changes; elsewhere it stays as it was."""
        e, xs = self.member_at(after, name)
        old, _ = self.member_at(self.state, name)
        found = []
        while not z3.eq(e, old):
            if e.decl().kind() == z3.Z3_OP_ITE:
                found.append((conjuncts(plain(e.arg(0))), e.arg(1)))
                e = e.arg(2)
            elif z3.is_or(e) and z3.eq(e.arg(0), old):
                found.append((conjuncts(e.arg(1)), z3.BoolVal(True)))
                e = old
            elif z3.is_and(e) and z3.eq(e.arg(0), old):
                found.append((negated(e.arg(1)), z3.BoolVal(False)))
                e = old
            else:
                found.append(([], e))
                e = old
        return xs, found[::-1]

    def update(self, name, after):
        """(values, lines): the values by the state before; the lines that set them."""
        values, lines = [], []
        xs, found = self.changes(name, after)
        for conditions, value in found:
            at, free = [], []
            for x in xs:
                path, there = known(x, conditions) or (None, None)
                at.append(there if path == '' else x)
                if path == '':
                    there_now = [(x, there)]
                    conditions = [z3.substitute(c, *there_now) for c in conditions
                                  if not (z3.is_eq(c) and reads(c, x) and reads(c, there))]
                    value = z3.substitute(value, *there_now)
                else:
                    free.append(x)
            self.local |= {x.decl().name() for x in free}
            takes = ', '.join(map(self.c, at))
            set_it = '%s_SET_%s(%s%%s);' % (self.prefix, name, takes + ', ' if at else '')
            if not free and not conditions:
                new = self.c(plain(value))
                if members(value):      # which may have changed until it is set
                    new = 'new_' + name
                    values.append('%s %s = %s;' % (self.c_type(self.sorts[name][-1]), new,
                                                   self.c(plain(value))))
                lines.append(set_it % new)
                continue
            inside = [set_it % self.c(value)]
            if conditions:
                inside[0] = 'if (%s) %s' % (' && '.join(map(self.c, conditions)), inside[0])
            for x in reversed(free):
                inside = self.loop(x, conditions, inside)
            read = members(value).union(*map(members, conditions))
            self.loops.append((name, read, inside))
        return values, lines

    def takes_clocks(self, action, guards, after, parameters):
        """A member that is all new: what is asked of it at one place, and its new value there."""
        for name in [n for n in self.sorts if n in self.needed]:
            new, old = getattr(after, name), getattr(self.state, name)
            if not isinstance(new, z3.FuncDeclRef) or new.eq(old):
                continue
            xs = variables(self.sorts[name][:-1])
            self.fresh[new.name()] = name
            self.local = {x.decl().name() for x in xs} | set(parameters)
            own = [g for g in guards if new.name() in str(g)]
            guards = [g for g in guards if not any(z3.eq(g, o) for o in own)]
            places = [(x.decl().name(), x.sort()) for x in xs]
            self.function('%s_%s' % (action, name),
                          places + [(name, self.sorts[name][-1])] + list(parameters.items()),
                          [line for g in own for line in self.test(opened(g)[1])] +
                          ['%s_SET_%s(%s, %s);' % (self.prefix, name, places[0][0], name)])
        return guards

    def action(self, action):
        guards, after, parameters = self.act(action)
        guards = self.takes_clocks(action, guards, after, parameters)
        self.local, self.loops = set(parameters), []
        body = [line for g in guards for line in self.test(g)]
        values, singles = [], []
        for name in self.sorts:
            new = getattr(after, name)
            if name in self.needed and not isinstance(new, z3.FuncDeclRef):
                more = self.update(name, after)
                values += more[0]
                singles += more[1]
        done = set()
        for name, read, _ in self.loops:        # each reads the state before
            assert not (read - {name}) & done, (action, name)
            done.add(name)
        body += values + [line for _, _, lines in self.loops for line in lines] + singles
        taken = '%s_TAKEN(%s_step_%s);' % (self.prefix, self.name, action)
        self.function(action, parameters.items(), body + [taken])

    # Claims

    def claim(self, words, e):
        """What is said of each..., of one."""
        xs, body = opened(e) if z3.is_quantifier(e) else ([], e)
        if any(z3.is_quantifier(c) for c in conjuncts(body)):
            return
        self.local = {x.decl().name() for x in xs}
        name = ''.join(c if c.isalnum() else '_' for c in words.replace(',', ''))
        self.function('says_' + name, [(x.decl().name(), x.sort()) for x in xs],
                      [line for c in conjuncts(plain(body)) for line in self.test(c, words)])

    def claims(self):
        """Those that read nothing but what guards do, or that were asked for."""
        for words, f in self.model.invariants() + self.model.properties():
            e = as_z3(f(self.state))
            if members(e) <= self.needed:
                self.claim(words, e)
        for i, e in enumerate(self.model.axioms(), 1):
            if z3.is_quantifier(e) and str(e.var_sort(0)) not in ('Quo', 'Srv'):
                self.claim('axiom %d' % i, e)

    def find_needed(self):
        """What guards and claims read, and what that depends on."""
        self.needed, size = set(), -1
        claims = dict(self.model.invariants() + self.model.properties())
        self.needed |= members(claims[self.claimed](self.state))
        while size != len(self.needed):
            size = len(self.needed)
            for action in self.model.actions():
                guards, after, _ = self.act(action)
                for g in guards:
                    self.needed |= members(g)
                for name in list(self.needed):
                    self.needed |= members(self.member_at(after, name)[0])

    def emit(self):
        self.find_needed()
        self.needed = [n for n in self.sorts if n in self.needed]
        actions = self.model.actions()
        names = [self.name + '_step_' + a for a in actions]
        self.lines = [
            '/* Written by emit.py from the class %s of %s.py, which is proved there: change that,'
            % (MODELS[self.name][0], self.name),
            ' * and write this again with `make induct-emit`.']
        for line in (' * Members of the state: %s. */' % ', '.join(self.needed), '',
                     'enum { %s };' % ', '.join(names),
                     'static const char *const %s_steps[] = {"%s", NULL};' % (
                         self.name, '", "'.join(actions)), ''):
            self.lines += wrapped(line) or ['']
        self.needed = set(self.needed)
        for action in actions:
            self.action(action)
        self.claims()
        return '\n'.join(self.lines)


def emitted(name, rules=()):
    return Emitter(name, dict(rules)).emit()


def rules_of(words):
    """MODEL.RULE=VALUE, by model."""
    rules = {name: {} for name in MODELS}
    for word in words:
        where, value = word.split('=')
        name, rule = where.split('.')
        rules[name][rule] = {'True': True, 'False': False, 'None': None}.get(value, value)
    return rules


def main(words):
    if words and words[0].startswith('--write'):
        folder = pathlib.Path(words[0][len('--write='):] or HERE / 'emitted')
        for name, rules in rules_of(words[1:]).items():
            (folder / (name + '.h')).write_text(emitted(name, rules))
        return 0
    wrong = [n for n in MODELS if (HERE / 'emitted' / (n + '.h')).read_text() != emitted(n)]
    for name in MODELS:
        print('  %s  emitted/%s.h is what the model says' % (
            'FAIL' if name in wrong else 'ok  ', name))
    if wrong:
        print('          make induct-emit writes it again')
    print('%d passed, %d failed' % (len(MODELS) - len(wrong), len(wrong)))
    return len(wrong) > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
