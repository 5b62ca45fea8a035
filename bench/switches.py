#!/usr/bin/env python3
"""What measuring adds to a switch between threads: switches.py [--rounds N] [--runs N] [CASE …]

Two processes send a byte to and fro over pipes (pingpong.c), so many times, alone and while each tool measures: `perf record --off-cpu`, `where` and `sched runqlat`,
and bcc's offcputime and runqlat, and a script for bpftrace, where these run. The cases run in turn. Of each the least CPU time of the two processes counts, and what it says of losses
is printed. Needs root; a CPU that nobody else uses gives the quietest figures (--cpu)."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
PERF = os.environ.get('PERF', os.path.join(os.path.dirname(BENCH), 'build', 'perf'))
NOISE = re.compile(r'.*(?:\blost\b|missing|not counted).*')


def cpu_time(text):
    return float(re.search(r'^pingpong: (\S+)', text, re.M)[1])


def alone(load, _folder):
    return cpu_time(subprocess.run(load, capture_output=True, text=True, check=True).stderr), []


def under(*words):
    def run(load, folder):
        done = subprocess.run([PERF, *words, '--', *load], capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            sys.exit(f'perf {" ".join(words)}: {done.stderr}')
        return cpu_time(done.stderr), NOISE.findall(done.stderr)
    return run


def beside(name, command):
    """A tool that is ended by Ctrl-C. It measures when it has loaded its program, which takes a second or two."""
    def run(load, _folder):
        path = shutil.which(command[0]) or shutil.which(f'{command[0]}-bpfcc')
        if not path:
            return None, [f'{command[0]} is not installed']
        before = loaded_programs()
        with tempfile.TemporaryFile('w+') as errors:
            tool = subprocess.Popen([path, *command[1:]], stdout=subprocess.DEVNULL, stderr=errors)
            for _ in range(300):
                if tool.poll() is not None:
                    errors.seek(0)
                    return None, [f'{name} does not run here: {(errors.read().splitlines() or ["it says nothing"])[-1]}']
                if loaded_programs() - before:
                    break
                time.sleep(0.1)
            time.sleep(1)
            taken = alone(load, None) if tool.poll() is None else (None, [f'{name} ended by itself'])
            tool.send_signal(signal.SIGINT)
            tool.wait()
        return taken
    return run


def loaded_programs():
    """Numbers of BPF programs at the scheduler's events."""
    text = subprocess.run(['bpftool', 'prog', 'show'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^(\d+): (?:tracing|tracepoint|raw_tracepoint|kprobe) +name \S*(?:sched|switch|oncpu)', text, re.M))


# What bcc's offcputime does, for kernels whose headers, which that needs, aren't there.
OFF_CPU = '''
tracepoint:sched:sched_switch
{
	if (@since[args->next_pid]) {
		@sum[args->next_pid, args->next_comm, @kernel[args->next_pid], @user[args->next_pid]] = sum(nsecs - @since[args->next_pid]);
		delete(@since[args->next_pid]);
	}
	if (args->prev_pid) {
		@kernel[args->prev_pid] = kstack;
		@user[args->prev_pid] = ustack;
		@since[args->prev_pid] = nsecs;
	}
}'''

CASES = {
    'alone': alone,
    'bcc-offcputime': beside('offcputime', ['offcputime']),
    'bpftrace-offcpu': beside('bpftrace', ['bpftrace', '-e', OFF_CPU]),
    'off-cpu': under('record', '--off-cpu', '-e', 'dummy'),
    'off-cpu-all': under('record', '--off-cpu', '-a', '-e', 'dummy'),
    'where': under('where'),
    'bcc-runqlat': beside('runqlat', ['runqlat']),
    'runqlat': under('sched', 'runqlat'),
    'runqlat-all': under('sched', 'runqlat', '-a'),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=200000)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--cpu', type=int, default=0)
    parser.add_argument('cases', nargs='*', metavar='CASE', help=', '.join(CASES))
    chosen = parser.parse_args()
    names = ['alone', *(name for name in chosen.cases or CASES if name != 'alone')]
    with tempfile.TemporaryDirectory(dir='/var/tmp') as folder:
        program = os.path.join(folder, 'pingpong')
        subprocess.run(['gcc', '-O2', '-o', program, os.path.join(BENCH, 'pingpong.c')], check=True)
        load, taken, said = [program, str(chosen.rounds), str(chosen.cpu)], {name: [] for name in names}, {name: set() for name in names}
        for _ in range(chosen.runs):
            for name in names:
                cpu, losses = CASES[name](load, folder)
                taken[name] += [] if cpu is None else [cpu]
                said[name].update(losses)
    switches = 2 * chosen.rounds
    print(f'alone            {min(taken["alone"]) / switches * 1e9:6.0f} ns a switch')
    for name in names[1:]:
        added = f'{(min(taken[name]) - min(taken["alone"])) / switches * 1e9:+6.0f} ns a switch' if taken[name] else 'not measured'
        print(f'{name:16} {added}', *sorted(said[name]), sep='   ')


main()
