"""Cycles per instruction, for each interval and each CPU or thread that was counted apart: perf script report stat-cpi"""
from collections import defaultdict
import os
import sys

sys.path.append(os.environ['PERF_EXEC_PATH'] + '/scripts/python')
from ready import arguments

arguments('stat-cpi', 0, 0)
counts = defaultdict(dict)  # of the interval: (cpu, thread) -> {event: count}


def counter(event):
    def take(cpu, thread, time, val, ena, run):
        place = counts[cpu, thread]
        place[event] = place.get(event, 0) + val
    return take


# "cycles:u" and "cycles:k" beside each other are added up.
stat__cycles = stat__cycles_u = stat__cycles_k = counter('cycles')
stat__instructions = stat__instructions_u = stat__instructions_k = counter('instructions')


def stat__interval(time):
    for (cpu, thread), place in counts.items():
        cycles, instructions = place.get('cycles', 0), place.get('instructions', 0)
        ratio = cycles / instructions if instructions else 0
        print('%15f: cpu %d, thread %d -> cpi %f (%d/%d)' % (time / 1e9, cpu, thread, ratio, cycles, instructions))
    counts.clear()
