#!/usr/bin/env python3
"""Measures our perf against the kernel's, in one run, as ratios.

    bench/bench.py data            make the recordings (about 10 minutes and 8 GB; BENCH_DIR, default /var/tmp/perf-bench)
    bench/bench.py data tracked    only those for reports on the scheduler, locks and memory
    bench/bench.py run [CASE …]    all cases, or those named
    bench/bench.py list

Each case is a pair of commands that do the same. They run in turn (A B A B …), after one warm-up of each. Wall time, CPU time and the peak of anonymous
memory (RssAnon, read every 2 ms) and of all memory (VmHWM) are taken of the whole process tree's main process; the table shows medians and ratios theirs / ours: above 1 we win.
"""
import os
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = os.environ.get('PERF', os.path.join(ROOT, 'build', 'perf'))
THEIRS = os.environ.get('KERNEL_PERF', '/usr/bin/perf')
DIR = os.environ.get('BENCH_DIR', '/var/tmp/perf-bench')
COMPILE = f'rm -rf {DIR}/build && meson setup {DIR}/build {ROOT} >/dev/null && CCACHE_DISABLE=1 ninja -C {DIR}/build >/dev/null'
FLAMEGRAPH = os.environ.get('FLAMEGRAPH_DIR', os.path.join(DIR, 'FlameGraph'))


def file(name):
    return os.path.join(DIR, name)


# The kernel's perf shows no inlined functions in the chains of compile.data: so that both do the same, ours are left out, too.
SAME_FRAMES = '--inline=unwound'

# name: (arguments for either perf, input, runs of theirs, bar)
FILE_CASES = {
    'report-children': ('report --stdio', 'compile.data', 1, 25),
    'report-flat': ('report --stdio --no-children -g none', 'compile.data', 1, 10),
    'script': ('script', 'compile.data', 1, 10),
    'report-tracepoints': ('report --stdio', 'tracepoints.data', 2, 5),
    'script-tracepoints': ('script', 'tracepoints.data', 2, 5),
    'evlist': ('evlist', 'compile.data', 10, 1),
    'script-dwarf': ('script --no-inline', 'deep.data', 1, 8),
    'report-small': ('report --stdio', 'small.data', 10, 1),
    'stacks-report': ('report --stdio', 'stacks-small.data', 1, 40),
    'stacks-flat': ('report --stdio --no-children -g none', 'stacks-large.data', 1, 15),
    'stacks-script': ('script --no-inline', 'stacks-small.data', 1, 12),
    'stacks-script-inline': ('script', 'stacks-small.data', 1, 10),
    'stacks-stats': ('report --stats', 'stacks-large.data', 3, 2),
    'processes-report': ('report --stdio', 'processes.data', 1, 10),
    'tracepoints-report': ('report --stdio', 'tracepoints-large.data', 2, 8),
    'sched-latency': ('sched latency', 'sched.data', 1, 10),
    'sched-timehist': ('sched timehist', 'sched.data', 1, 10),
    'sched-map': ('sched map', 'sched.data', 1, 10),
    'sched-script': ('sched script', 'sched.data', 1, 10),
    'lock-contention': ('lock contention', 'lock.data', 1, 10),
    'lock-report': ('lock report', 'lock.data', 1, 10),
    'kmem-slab': ('kmem -i INPUT --slab --caller --alloc stat', 'slab.data', 1, 10),
    'kmem-page': ('kmem -i INPUT --page --caller --alloc stat', 'pages.data', 1, 10),
    'kwork-latency': ('kwork latency', 'kwork.data', 1, 10),
    'kwork-report': ('kwork report', 'kwork.data', 1, 10),
    'timechart': ('timechart -o /dev/null', 'timechart.data', 1, 10),
}
# Reports on the scheduler, locks and memory: a short recording of theirs, which repeats itself until it has 5,000,000 samples.
MESSAGES = f'{THEIRS} bench sched messaging'
TRACKED = {
    'sched.data': f'sched record OUTPUT {MESSAGES} -p -g 2 -l 300',
    'lock.data': f'lock record OUTPUT {MESSAGES} -g 8 -l 300',
    'slab.data': f'kmem --slab record OUTPUT {MESSAGES} -g 1 -l 100',
    'pages.data': f'kmem --page record OUTPUT sh -c "for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/share/doc >/dev/null; done"',
    'kwork.data': 'kwork record OUTPUT sh -c "for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/share/doc >/dev/null; sync; done"',
    'timechart.data': f'timechart record {MESSAGES} -p -g 2 -l 300',
}
TRACKED_SAMPLES = 5000000


# What scripts in Python cost: the functions are called for each event, and count.
SCRIPT = '''
calls, failed = {}, {}
def raw_syscalls__sys_enter(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, args):
    calls[common_comm, id] = calls.get((common_comm, id), 0) + 1
def raw_syscalls__sys_exit(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, ret):
    if ret < 0:
        failed[id] = failed.get(id, 0) + 1
def trace_end():
    print(sorted(calls.items()), sorted(failed.items()))
'''


class Usage:
    """What one run cost."""

    def __init__(self, wall, cpu, anon, resident):
        self.wall, self.cpu, self.anon, self.resident = wall, cpu, anon, resident


def watch_memory(pid, peak, stop):
    path = f'/proc/{pid}/status'
    while not stop.is_set():
        try:
            with open(path) as status:
                for line in status:
                    if line.startswith('VmHWM'):
                        peak[1] = int(line.split()[1])
                    elif line.startswith('RssAnon'):
                        peak[0] = max(peak[0], int(line.split()[1]))
                        break
        except OSError:
            return
        stop.wait(0.002)


def measure(command, cwd=DIR):
    """Runs a shell command line, output thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(command, shell=True, executable='/bin/bash', cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL)
    peak, stop = [0, 0], threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(process.pid, peak, stop))
    watcher.start()
    process.wait()
    wall = time.monotonic() - started
    stop.set()
    watcher.join()
    if process.returncode:
        sys.exit(f'{command}: exit status {process.returncode}')
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Usage(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, *peak)


def pair(name, ours, theirs, runs, bar):
    measure(ours)
    if runs > 1:
        measure(theirs)
    mine, other = [], []
    for _ in range(runs):
        mine.append(measure(ours))
        other.append(measure(theirs))
    for _ in range(max(0, 3 - runs)):
        mine.append(measure(ours))

    def median(results, what):
        return statistics.median(getattr(r, what) for r in results)

    wall = median(other, 'wall') / median(mine, 'wall')
    anon = median(other, 'anon') / max(1, median(mine, 'anon'))
    resident = median(other, 'resident') / max(1, median(mine, 'resident'))
    cpu = median(other, 'cpu') / max(1e-4, median(mine, 'cpu'))
    print(f'{name:22} ours {median(mine, "wall"):8.3f} s {median(mine, "anon") / 1024:8.1f} MB   theirs {median(other, "wall"):8.3f} s '
          f'{median(other, "anon") / 1024:8.1f} MB   faster {wall:7.1f}x (bar {bar}x)  cpu {cpu:6.1f}x  anon {anon:6.1f}x  resident {resident:5.1f}x', flush=True)


def file_case(name):
    arguments, data, runs, bar = FILE_CASES[name]
    same = SAME_FRAMES if data == 'compile.data' and not arguments.startswith('evlist') else ''
    words = arguments.replace('INPUT', file(data)) if 'INPUT' in arguments else f'{arguments} -i {file(data)}'
    pair(name, f'exec {OURS} {words} {same}', f'exec {THEIRS} {words}', runs, bar)


def script_python_case():
    script = file('count.py')
    with open(script, 'w', encoding='ascii') as out:
        out.write(SCRIPT)
    words = f'script -i {file("tracepoints.data")} -s {script}'
    pair('script-python', f'exec {OURS} {words}', f'exec {THEIRS} {words}', 3, 3)


def flamegraph_case():
    data = file('compile.data')
    for name, data in (('flamegraph', data), ('stacks-flamegraph', file('stacks-small.data'))):
        pair(name, f'exec {OURS} flamegraph {SAME_FRAMES} -i {data} -o /dev/null',
             f'{THEIRS} script -i {data} | {FLAMEGRAPH}/stackcollapse-perf.pl | {FLAMEGRAPH}/flamegraph.pl', 1, 50)


def stacks_growth_case():
    """Time and memory of 0.49 and 5.4 million samples with as many more stacks: both must grow with the samples. The page of the large one stays below 3 MB."""
    page = file('stacks.html')
    for command, output in (('report --stdio', ''), ('flamegraph', f'-o {page}')):
        for name in ('stacks-small.data', 'stacks-large.data'):
            usage = measure(f'exec {OURS} {command} -i {file(name)} {output}')
            size = f'   page {os.path.getsize(page) / 1e6:.1f} MB' if output else ''
            print(f'{command.split()[0]:10} {name:18} {usage.wall:8.3f} s  cpu {usage.cpu:8.3f} s  anonymous {usage.anon / 1024:8.1f} MB{size}', flush=True)


def export_case():
    """A million samples of one program in formats of other tools, against `report`: at most 3 times its CPU time, and 500 MB. They run in turn."""
    data, runs = file('export.data'), 5
    formats = ('speedscope', 'firefox', 'pprof', 'sqlite')
    usages = {command: [] for command in ('report --stdio', *(f'export {name}' for name in formats))}
    for _ in range(runs):
        for command, results in usages.items():
            results.append(measure(f'exec {OURS} {command} -i {data}'))
    report = statistics.median(usage.cpu for usage in usages['report --stdio'])
    for command, results in usages.items():
        cpu = statistics.median(usage.cpu for usage in results)
        print(f'{command:20} cpu {cpu:7.3f} s  {cpu / report:5.2f} x report (bar 3)  anonymous {max(u.anon for u in results) / 1024:7.1f} MB  '
              f'resident {max(u.resident for u in results) / 1024:7.1f} MB (bar 500)', flush=True)


def unwind_case():
    """Stacks of about 75 frames from registers and stack bytes, on one core; nothing but call trees is made of them."""
    arguments = f'report --stdio --no-children -g caller --no-inline -s comm --percent-limit 99 -i {file("deep.data")}'
    pair('unwind', f'exec taskset -c 0 {OURS} {arguments}', f'exec taskset -c 0 {THEIRS} {arguments}', 1, 20)


def shadow_case():
    """10^5 stacks of a program that knows its own call path: how many of those that were copied whole are right (all must be)."""
    program, data = file('shadow'), file('shadow.data')
    source = os.path.join(ROOT, 'tests', 'oracle', 'unwind', 'shadow.c')
    subprocess.run(['gcc', '-O2', '-fomit-frame-pointer', '-o', program, source], check=True)
    subprocess.run([OURS, 'record', '-q', '-N', '-e', 'cpu-clock:u', '-c', '20000', '-m', '8192', '--call-graph', 'dwarf,8192', '-o', data, '--', program,
                    '30000'], check=True)
    for perf in (OURS, THEIRS):
        judged = subprocess.run([sys.executable, os.path.join(ROOT, 'tests', 'lib', 'shadow.py'), perf, data, program], capture_output=True, text=True, check=False)
        print(f'shadow                 {"ours" if perf == OURS else "theirs"} {judged.stdout.splitlines()[0]}', flush=True)
    os.unlink(data)


def head_case():
    data = file('compile.data')
    pair('script-head', f'{OURS} script -i {data} | head -1', f'{THEIRS} script -i {data} | head -1', 3, 1)


def until_first_row(command, limit):
    """Seconds until a report prints its first row, and whether it did: it is ended then, or after `limit` seconds."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=DIR, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    timer = threading.Timer(limit, lambda: os.killpg(process.pid, signal.SIGKILL))
    timer.start()
    found = any(line.strip() and not line.startswith(b'#') for line in iter(process.stdout.readline, b''))
    spent = time.monotonic() - started
    timer.cancel()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()
    return spent, found


LIMIT = 600


def report_inline_case():
    """100,000 stacks full of inlined functions, until the first row is there. Theirs may take hours: it gets as many seconds as LIMIT says."""
    words = ['report', '--stdio', '-i', file('inline.data')]
    mine = statistics.median(until_first_row([OURS, *words], LIMIT)[0] for _ in range(3))
    other, found = until_first_row([THEIRS, *words], LIMIT)
    print(f'report-inline          ours {mine:8.3f} s   theirs {"" if found else "> "}{other:8.3f} s   faster {"" if found else "> "}{other / mine:7.1f}x (bar 20x)', flush=True)


def script_srcline_case():
    """The source line of each sample: of 10,000, since theirs manages about a hundred a second."""
    pair('script-srcline', *(f'exec {perf} script -F +srcline -i {file("lines.data")}' for perf in (OURS, THEIRS)), 1, 50)


def start_case():
    pair('version', f'exec {OURS} --version', f'exec {THEIRS} --version', 20, 1)


def record_true_case():
    pair('record-true', f'exec {OURS} record -o {file("t1")} true', f'exec {THEIRS} record -o {file("t2")} true', 5, 20)


def stat_true_case():
    pair('stat-true', f'exec {OURS} stat true', f'exec {THEIRS} stat true', 200, 1)


def stat_events_case():
    """Hundreds of tracepoints, until the result is there and until the prompt is back. Theirs waits half a minute for their closing."""
    times = []
    for perf in (OURS, THEIRS):
        started = time.monotonic()
        process = subprocess.Popen([perf, 'stat', '-e', 'syscalls:*', 'true'], stderr=subprocess.PIPE, text=True)
        result = next(time.monotonic() - started for line in process.stderr if 'syscalls:' in line)
        process.stderr.read()
        process.wait()
        times.append((result, time.monotonic() - started))
        wait_for_closing()
    for name, ours, theirs in zip(('stat-events-result', 'stat-events-prompt'), *times):
        print(f'{name:22} ours {ours:8.3f} s   theirs {theirs:8.3f} s   faster {theirs / ours:7.1f}x (bar 50x)', flush=True)


def wait_for_closing():
    """Until no process holds tracepoints of a run before."""
    for _ in range(600):
        names = subprocess.run(['ps', '-eo', 'stat,comm'], capture_output=True, text=True, check=False).stdout.splitlines()
        if not any(line.split()[1:] == ['perf'] and not line.startswith('Z') for line in names if line.strip()):
            return
        time.sleep(0.1)


def recorder_cpu(perf, arguments, workload, out):
    """CPU seconds of the recorder alone, losses, and the workload's wall time."""
    process = subprocess.Popen([perf, 'record', '-o', out, *shlex.split(arguments), '--', *shlex.split(workload)], cwd=DIR, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    started = time.monotonic()
    ticks = 0
    while process.poll() is None:
        try:
            with open(f'/proc/{process.pid}/stat') as stat:
                fields = stat.read().rsplit(')', 1)[1].split()
                ticks = int(fields[11]) + int(fields[12])
        except OSError:
            pass
        time.sleep(0.01)
    wall = time.monotonic() - started
    process.stderr.read()
    lost = subprocess.run([THEIRS, 'report', '--stats', '-i', out], capture_output=True, text=True).stdout
    lost = sum(int(line.split(':')[1].split()[0]) for line in lost.splitlines() if 'LOST' in line and ':' in line)
    return ticks / os.sysconf('SC_CLK_TCK'), lost, wall


def record_cases():
    syscalls = f'dd if=/dev/zero of=/dev/null bs=1 count=500000'
    for name, arguments, workload in (
            ('record-compile', '-F 10000 -a -g', f'bash -c "{COMPILE}"'),
            ('record-syscalls', "-e 'raw_syscalls:*'", syscalls)):
        for _ in range(2):
            ours = recorder_cpu(OURS, arguments, workload, file('r1'))
            theirs = recorder_cpu(THEIRS, arguments, workload, file('r2'))
            print(f'{name:22} ours cpu {ours[0]:.2f} s lost {ours[1]} wall {ours[2]:.2f} s   theirs cpu {theirs[0]:.2f} s lost {theirs[1]} '
                  f'wall {theirs[2]:.2f} s', flush=True)


def traced_calls(prefix, runs):
    """What one of 500,000 write(2) took, in microseconds of wall and CPU time: the least of the runs."""
    found = []
    for _ in range(runs):
        done = subprocess.run([*prefix, file('calls')], capture_output=True, text=True, check=True, cwd=DIR)
        found.append([float(number) for number in done.stdout.split()[:2]])
    return [min(column) for column in zip(*found)]


def trace_cases():
    """What tracing adds to a call: lines into a file, and only sums."""
    subprocess.run(['gcc', '-O2', '-o', file('calls'), os.path.join(ROOT, 'bench', 'calls.c')], check=True)
    plain = traced_calls([], 9)
    for name, bars, commands in (
            ('trace-lines', '15x, 40x', ([OURS, 'trace', '-o', file('trace1')], [THEIRS, 'trace', '-o', file('trace2')], ['strace', '-f', '-o', file('trace3')])),
            ('trace-sums', '60x, 60x; ours 0.4 us', ([OURS, 'trace', '-s', '-o', file('trace1')], [THEIRS, 'trace', '-s', '-o', file('trace2')],
                                                     ['strace', '-c', '-f', '-o', file('trace3')]))):
        added = []
        for command in commands:
            wall, cpu = traced_calls(command, 5 if command[0] == OURS else 1)
            added.append((wall - plain[0], cpu - plain[1]))
        lines = sum('write(fd: ' in line for line in open(file('trace1'), errors='replace'))
        print(f'{name:22} adds to a call of {plain[0]:.3f} us: ours {added[0][0]:.3f} us (cpu {added[0][1]:.3f})   theirs {added[1][0]:.2f} us, '
              f'{added[1][0] / added[0][0]:.0f}x   strace {added[2][0]:.2f} us, {added[2][0] / added[0][0]:.0f}x   (bars {bars})   lines {lines}', flush=True)


def growth_case():
    """Time and memory of report over 10^5, 10^6, 10^7 samples of one program."""
    for name in ('growth-5.data', 'growth-6.data', 'growth-7.data'):
        if not os.path.exists(file(name)):
            print(f'{name}: not there (bench.py data makes it)')
            continue
        usage = measure(f'exec {OURS} report --stdio -i {file(name)}')
        print(f'growth {name:16} {usage.wall:8.3f} s {usage.anon / 1024:8.1f} MB', flush=True)


def make_tracked():
    os.makedirs(DIR, exist_ok=True)
    for name, words in TRACKED.items():
        if not os.path.exists(file(name)):
            short = file('short-' + name)
            subprocess.run([THEIRS, *shlex.split(words.replace('OUTPUT', f'-o {short} --'))], check=True, cwd=DIR, stdout=subprocess.DEVNULL)
            if not os.path.exists(short):
                os.rename(file('perf.data'), short)
            subprocess.run([os.path.join(ROOT, 'bench', 'repeat.py'), '--later', short, file(name), str(TRACKED_SAMPLES)], check=True)
            os.unlink(short)


def make_data():
    os.makedirs(DIR, exist_ok=True)

    def record(name, arguments):
        if not os.path.exists(file(name)):
            subprocess.run(f'{THEIRS} record -o {file(name)} {arguments}', shell=True, check=True, cwd=DIR, stdout=subprocess.DEVNULL)

    record('small.data', '-F 1000 -- dd if=/dev/zero of=/dev/null bs=1M count=2000')
    record('tracepoints.data', "-e 'raw_syscalls:*' -- dd if=/dev/zero of=/dev/null bs=1 count=500000")
    record('compile.data', f'-F 10000 -a -g -- timeout 100 bash -c "while {COMPILE}; do :; done" || true')
    subprocess.run(['gcc', '-O2', '-fomit-frame-pointer', '-o', file('deep'), os.path.join(ROOT, 'bench', 'deep.c')], check=True)
    record('deep.data', '-e cpu-clock:u -F 10000 -m 4096 --call-graph dwarf,16384 -- ./deep 5')
    for shape, samples, name in (('stacks', 490000, 'stacks-small.data'), ('stacks', 5400000, 'stacks-large.data'), ('processes', 95000, 'processes.data')):
        if not os.path.exists(file(name)):
            subprocess.run([os.path.join(ROOT, 'bench', 'shapes.py'), shape, str(samples), file(name)], check=True, env=os.environ | {'BENCH_DIR': DIR})
    record('growth-5.data', '-F 20000 -g -- timeout 6 sh -c "while :; do ls -lR /usr/share/doc >/dev/null; done" || true')
    if not os.path.exists(file('cpp/heavy')):
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "cpp_program.py"), file('cpp'), '5'], check=True)
    record('inline.data', '-e cpu-clock:u -F 10000 -m 4096 --call-graph dwarf,8192 -- cpp/heavy 10')
    record('lines.data', '-e cpu-clock:u -F 5000 -- cpp/heavy 2')
    make_tracked()
    if not os.path.exists(file('export.data')):
        subprocess.run([os.path.join(ROOT, 'bench', 'repeat.py'), '--later', file('growth-5.data'), file('export.data'), '1000000'], check=True)
    for source, name, times in (('growth-5.data', 'growth-6.data', 10), ('growth-5.data', 'growth-7.data', 100),
                                ('tracepoints.data', 'tracepoints-large.data', 3)):
        if not os.path.exists(file(name)):
            subprocess.run([os.path.join(ROOT, 'bench', 'repeat.py'), file(source), file(name), str(times)], check=True)


CASES = {name: (lambda name=name: file_case(name)) for name in FILE_CASES}
CASES |= {'flamegraph': flamegraph_case, 'unwind': unwind_case, 'shadow': shadow_case, 'script-head': head_case, 'version': start_case, 'record-true': record_true_case, 'stat-true': stat_true_case,
          'stat-events': stat_events_case, 'script-python': script_python_case, 'record': record_cases,
          'report-inline': report_inline_case, 'script-srcline': script_srcline_case, 'trace': trace_cases, 'growth': growth_case,
          'stacks-growth': stacks_growth_case, 'export': export_case}


def main():
    command = sys.argv[1] if len(sys.argv) > 1 else ''
    if command == 'data':
        make_tracked() if sys.argv[2:] == ['tracked'] else make_data()
    elif command == 'run':
        for name in sys.argv[2:] or CASES:
            CASES[name]()
    elif command == 'list':
        print('\n'.join(CASES))
    else:
        sys.exit(__doc__)


main()
