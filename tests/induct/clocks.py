#!/usr/bin/python3
"""What exclusion.py and tokens.py take for granted of clocks: from R1, R2 and R24 as the header
computes them, for every rate, ttl, drift_ppm and max_ttl_ms.

Each clock's rate is between lo = 1 - rho and hi = 1 + rho. Scaled: an interval of a server's clock,
divided by hi, is no longer than the true time; one of a client's, divided by lo, no shorter.

  L   a key that is set with a ttl lives for at least ttl / hi of true time
  V   a client reads whole milliseconds, each reading up to a step behind (R2). It believes while
      reading < T1's reading + validity, so its clock has gone on by less than validity + a step, or
      ttl - drift - 2: in true time, by at most (ttl - drift - 2) / lo
  QA  R24 counts a vote if votes_from_ms <= T1's reading: the server's life is then at least
      max_ttl_ms / hi old, in true time"""
import z3
from z3 import And, Ints, Real, Reals

import induct
from induct import lemma

rho, lo, hi, ppm = Reals('rho lo hi ppm')
ttl, drift, max_ttl = Reals('ttl drift max_ttl')
V, L, QA = Reals('V L QA')
rates = [rho >= 0, rho < 1, lo == 1 - rho, hi == 1 + rho]
r1 = [ppm * hi >= 2 * rho * 1000000]                # R1: at least 2 rho / (1 + rho)
margin = [drift * 1000000 >= ttl * ppm, drift >= 0]
lives = [ttl > 0, L * hi == ttl]
believes = [V * lo == ttl - drift - 2]
quarantine = [max_ttl > 0, QA * hi == max_ttl]
half_percent = [rho * 1000 == 5]

print('R1, for every rho < 1, ttl and drift_ppm')
lemma('V <= L: no client believes for longer than its key lives',
      rates + r1 + margin + lives + believes, V <= L)
lemma('V <= QA: nor for longer than a quarantine',
      rates + r1 + margin + believes + quarantine + [ttl <= max_ttl], V <= QA)
lemma('the same, for a ttl above max_ttl_ms',
      rates + r1 + margin + believes + quarantine + [ttl > max_ttl], V <= QA, 'refuted')
lemma('drift_ppm = 10 000 is enough for 0.5 %', rates + half_percent,
      10000 * hi >= 2 * rho * 1000000)
lemma('drift_ppm = 153 900 is enough for 8.33 %', rates + [rho * 10000 == 833],
      153900 * hi >= 2 * rho * 1000000)
lemma('half of what R1 asks for is enough', rates + [ppm * hi * 2 == 2 * rho * 1000000] +
      [drift * 1000000 == ttl * ppm] + lives + believes, V <= L, 'refuted')
lemma('the 2 ms and the step are for rounding alone', rates + r1 + margin + lives +
      [V * lo == ttl - drift], V <= L)

print('R1, the integer arithmetic of rl_validity_ms, for every ttl')
t, d = Ints('t d')
for value in (0, 1, 999, 10000, 153900, 999999):
    inner = (t % 1000000 % 1000 * value + 999) / 1000
    code = t / 1000000 * value + (t % 1000000 / 1000 * value + inner + 999) / 1000
    lemma('drift = ceil(ttl * ppm / 1e6), ppm = %d' % value, [t >= 0, t < 2 ** 32, d == code],
          And(d * 1000000 >= t * value, (d - 1) * 1000000 < t * value))

print('R24, rl_take_identity and rl_is_quarantined: a vote that counts is from a life of QA at T1')
# age: of the server, at T1. counted: what its clock has counted of its life as it runs INFO. uptime
# is the difference of two whole seconds of the wall clock: less than a second more. span: from the
# receipt of the reply to T1. start: when the client takes it to have started.
age, uptime, counted, now_read, t1_read, start, span = Reals(
    'age uptime counted now_read t1_read start span')
votes = rates + quarantine + [counted >= 0, uptime >= 0, uptime * 1000 < counted + 1000,
                              t1_read >= start + max_ttl + 1]
unknown = [start == now_read - uptime * 1000 + 2000]
seen = [start == now_read]
aged = [age * hi >= counted + hi * span]
later = aged + [span >= 0, t1_read - now_read < hi * span + 1]
earlier = aged + [span < 0, t1_read - now_read < lo * span + 1]
lemma('its run_id was not known; T1 after the reply', votes + unknown + later, age >= QA)
lemma('T1 before the reply: if 2 rho of the time between is at most 1 s',
      votes + unknown + earlier + [(hi - lo) * -span <= 1000], age >= QA)
lemma('T1 before the reply: at any time', votes + unknown + earlier + half_percent, age >= QA,
      'refuted')
lemma('it was seen to restart; T1 after the reply', votes + seen + later, age >= QA)
lemma('it was seen to restart; T1 before the reply: it never votes',
      votes + seen + earlier + [t1_read <= now_read], z3.BoolVal(False))
lemma('without the 2 s: uptime as it is told',
      votes + [start == now_read - uptime * 1000] + later, age >= QA, 'refuted')

print('An older state comes back with a server: has what it held run out when it votes again?')
by_its_clock = Real('by_its_clock')     # from the restart to T1
lemma('if its own clock has counted max_ttl_ms', [by_its_clock >= max_ttl, ttl <= max_ttl],
      by_its_clock >= ttl)
lemma("by another's clock, if they drift", rates + quarantine + half_percent + [
    by_its_clock >= lo * QA, by_its_clock <= hi * QA, ttl <= max_ttl], by_its_clock >= ttl,
      'refuted')

print('What a clock may lose for the sake of tokens (F2), with the quarantine by a fast clock')
half, loss = Reals('half loss')
lemma('max_ttl_ms * (1 / 2 - rho / (1 + rho)): then W + B <= Q', rates + quarantine + [
    half * 2 == max_ttl, (half - loss) * hi == rho * max_ttl], half + loss <= QA)
lemma('within a tenth of max_ttl_ms, by uptime, at 8.33 %: W + 2 B <= Q', rates + quarantine + [
    rho * 10000 == 833, half * 2 == max_ttl, loss * 10 == 2 * max_ttl], half + 2 * loss <= QA)
lemma('half of max_ttl_ms', rates + quarantine + half_percent + [
    half * 2 == max_ttl, loss == half], half + loss <= QA, 'refuted')
induct.end()
