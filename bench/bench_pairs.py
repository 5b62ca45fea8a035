#!/usr/bin/env python3
"""perf bench beside the kernel's tool: each case is run by both in turn (A B, B A, A B …): medians of what they tell, and of the pairs' ratios.

    bench/bench_pairs.py                   all cases, 15 pairs each: half an hour
    bench/bench_pairs.py -n 15 futex numa  cases with these words in their names
    bench/bench_pairs.py --list

PERF is our program, KERNEL_PERF the kernel's (/usr/bin/perf), KERNEL_PERF_NEWER another one, for cases that the first doesn't have. `ratio` is
ours / theirs: runs are short, so that both of a pair meet the same neighbours, and there are many pairs. Where the figure is about perf itself, or depends on how large its process is, the last column says so: there the ratio is no bar.
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = os.environ.get('PERF', os.path.join(ROOT, 'build', 'perf'))
THEIRS = [os.environ.get('KERNEL_PERF', '/usr/bin/perf'), os.environ.get('KERNEL_PERF_NEWER', '')]

TOTAL = r'Total time: +([\d.]+)'
OPERATIONS = r'Averaged +(\d+) '
BANDWIDTH = r'([\d.]+) ([KMG]B)/sec'
UNITS = {'': 1, 'KB': 1e-6, 'MB': 1e-3, 'GB': 1}
ITSELF = 'measures perf itself'
LONG = {'syscall fork', 'syscall execve'}  # the kernel's tool takes no -l here: a fifth of the pairs
SIZE = 'a smaller process is copied and ends sooner'
CPU = None  # CPU time of the whole run

# name: (arguments, what the figure looks like: each match is one, note)
CASES = {
    'sched messaging': ('sched messaging -l 300', TOTAL, ''),
    'sched messaging, default': ('sched messaging', TOTAL, SIZE),
    'sched messaging, threads': ('sched messaging -t -l 300', TOTAL, ''),
    'sched messaging, pipes': ('sched messaging -p -l 300', TOTAL, ''),
    'sched messaging, threads, pipes': ('sched messaging -t -p -l 300', TOTAL, ''),
    'sched pipe': ('sched pipe -l 50000', TOTAL, ''),
    'sched pipe, threads': ('sched pipe -T -l 50000', TOTAL, ''),
    'sched seccomp-notify': ('sched seccomp-notify -l 50000', TOTAL, ''),
    'syscall basic': ('syscall basic -l 2000000', TOTAL, ''),
    'syscall getpgid': ('syscall getpgid -l 2000000', TOTAL, ''),
    'syscall fork': ('syscall fork', TOTAL, SIZE),
    'syscall execve': ('syscall execve', TOTAL, SIZE),
    'mem memcpy': ('mem memcpy -s 32MB -l 20', BANDWIDTH, ''),
    'mem memset': ('mem memset -s 32MB -l 20', BANDWIDTH, ''),
    'mem find_bit': ('mem find_bit -i 2 -j 5000', CPU, 'the next set bit by one instruction, not by halving'),
    'numa mem': ('numa mem -s 1', r'([\d.]+), nsecs', ''),
    'numa mem, 2 processes': ('numa mem -p 2 -s 1', r'([\d.]+), nsecs', ''),
    'numa mem, 2 threads': ('numa mem -t 2 -s 1', r'([\d.]+), nsecs', ''),
    'numa mem, own memory': ('numa mem -p 2 -G 0 -P 16 -s 1', r'([\d.]+), nsecs', ''),
    'futex hash': ('futex hash -r 1', OPERATIONS, ''),
    'futex hash, shared': ('futex hash -S -r 1', OPERATIONS, ''),
    'futex wake': ('-r 20 futex wake -t 64', r'in ([\d.]+) ms \(', ''),
    'futex wake-parallel': ('-r 20 futex wake-parallel -t 64 -w 2', r'Avg per-thread latency.* ([\d.]+) ms', ''),
    'futex requeue': ('-r 20 futex requeue -t 64', r'in ([\d.]+) ms \(', ''),
    'futex lock-pi': ('futex lock-pi -r 1', OPERATIONS, ''),
    'futex lock-pi, multi': ('futex lock-pi -M -r 1', OPERATIONS, ''),
    'epoll wait': ('epoll wait -r 1', OPERATIONS, ''),
    'epoll ctl': ('epoll ctl -r 1', r'Averaged +(\d+) (?:ADD|MOD|DEL)', ''),
    'internals synthesize': ('internals synthesize -i 200', r'took: ([\d.]+) usec', ITSELF),
    'internals kallsyms-parse': ('internals kallsyms-parse -i 3', r'took: ([\d.]+) ms', ITSELF),
    'internals inject-build-id': ('internals inject-build-id -i 10', r'injection took: ([\d.]+) msec', ITSELF),
    'internals evlist-open-close': ('internals evlist-open-close -i 100', r'took: ([\d.]+) usec', ITSELF),
    'internals pmu-scan': ('internals pmu-scan -i 20', r'took: ([\d.]+) usec', ITSELF),
    'breakpoint thread': ('-r 1000 breakpoint thread', TOTAL, ''),
    'breakpoint thread, 4 by 4': ('-r 300 breakpoint thread -p 4 -t 4', TOTAL, ''),
    'breakpoint enable': ('-r 50000 breakpoint enable', TOTAL, ''),
    'breakpoint enable, 1 active': ('-r 30000 breakpoint enable -a 1', TOTAL, ''),
}


def figures(program, arguments, pattern):
    """What the benchmark tells, or [] where the program doesn't have it or it can't run here."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, 'bench', *arguments.split()], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or 'Unknown' in done.stdout + done.stderr:
        return []
    if pattern is CPU:
        return [after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime]
    values = [match.groups() for match in re.finditer(pattern, done.stdout)]
    return [float(value[0]) * UNITS[''.join(value[1:])] for value in values]


def compare(name, pairs):
    arguments, pattern, note = CASES[name]
    ours = figures(OURS, arguments, pattern)
    theirs, program = [], None
    for program in THEIRS:
        theirs = figures(program, arguments, pattern) if program else []
        if theirs:
            break
    if not ours or len(ours) != len(theirs):
        print(f'{name:<34} {"not here" if not ours else "the kernel tool has it not":>34}', flush=True)
        return True
    runs = [([], []) for _ in ours]
    for turn in range(max(3, pairs // 5) if name in LONG else pairs):
        order = (0, OURS), (1, program)
        found = {which: figures(tool, arguments, pattern) for which, tool in (order if turn % 2 else order[::-1])}
        if len(found[0]) == len(found[1]) == len(runs):  # a run that failed has no pair
            for index, run in enumerate(runs):
                for which in (0, 1):
                    run[which].append(found[which][index])
    near = True
    if not runs[0][0]:
        print(f'{name:<34} {"no pair of runs went well":>34}', flush=True)
        return False
    for index, (mine, other) in enumerate(runs):
        a, b = statistics.median(mine), statistics.median(other)
        ratio = statistics.median(x / y if y else float('nan') for x, y in zip(mine, other))
        within = 1 / 1.1 <= ratio <= 1.1
        near &= within or bool(note)
        shown = f'{name} #{index + 1}' if len(runs) > 1 else name
        newer = '' if program == THEIRS[0] else ' (newer)'
        print(f'{shown:<34} {a:>14.6g} {b:>14.6g} {ratio:>7.2f}  {"yes" if within else "no":<4} {note if not within else ""}{newer}', flush=True)
    return near


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-n', type=int, default=15, help='pairs of each case')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('words', nargs='*')
    options = parser.parse_args()
    names = [name for name in CASES if not options.words or any(word in name for word in options.words)]
    if options.list:
        print('\n'.join(names))
        return 0
    print(f'{"case":<34} {"ours":>14} {"theirs":>14} {"ratio":>7}  within 10 %')
    return 0 if all([compare(name, options.n) for name in names]) else 1


if __name__ == '__main__':
    sys.exit(main())
