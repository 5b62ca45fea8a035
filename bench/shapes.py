#!/usr/bin/env python3
"""Makes recordings of shapes that a short measurement doesn't have, the same ones for the same seed: addresses are those of programs of this machine, so that
either perf finds their symbols.

    bench/shapes.py stacks SAMPLES OUTPUT       a parallel build of hundreds of short compilers beside a program that recurses 60 to 100 deep: 20 frames on
                                                average, a distinct stack for each three samples or so; the compiler has no symbols, so that rows are many
    bench/shapes.py processes SAMPLES OUTPUT    as many processes as a fifth of the samples, which start, map their files and end

BENCH_DIR/deep (bench.py makes it) is the program that recurses.
"""
import os
import platform
import random
import struct
import subprocess
import sys

DEEP = os.path.join(os.environ.get('BENCH_DIR', '/var/tmp/perf-bench'), 'deep')
MMAP, COMM, EXIT, FORK, SAMPLE, MMAP2, ROUND = 1, 3, 4, 7, 9, 10, 68
KERNEL, USER = 1, 2
CONTEXT_KERNEL, CONTEXT_USER = 2**64 - 128, 2**64 - 512
IP, TID, TIME, CALLCHAIN, CPU, PERIOD = 1, 2, 4, 32, 128, 256
FLAGS = sum(1 << bit for bit in (1, 8, 9, 10, 13, 18, 23, 24))  # inherit mmap comm freq task sample_id_all mmap2 comm_exec
PERIOD_NS = 50000
SAMPLE_HEAD = struct.Struct('<IHHQIIQIIQQ')
ROUND_SAMPLES = 4000


class Program:
    """A file: where its code is, and addresses in it, as offsets in the file for one that is loaded anywhere."""

    def __init__(self, path, addresses=None):
        self.path = os.path.realpath(path)
        with open(self.path, 'rb') as file:
            head = file.read(4096)
        self.fixed = struct.unpack_from('<H', head, 16)[0] == 2
        table, entries = struct.unpack_from('<Q', head, 32)[0], struct.unpack_from('<H', head, 56)[0]
        for i in range(entries):
            kind, flags, offset, address, _, size = struct.unpack_from('<IIQQQQ', head, table + 56 * i)
            if kind == 1 and flags & 1:
                self.offset, self.address, self.size = offset & ~4095, address & ~4095, (size + (offset & 4095) + 4095) & ~4095
        status = os.stat(self.path)
        self.inode, self.device = status.st_ino, status.st_dev
        self.sites = addresses or range(0, self.size, 16)

    def symbols(self, *options):
        lines = subprocess.run(['nm', '--defined-only', *options, self.path], capture_output=True, text=True, check=True).stdout.splitlines()
        found = {words[2].split('@')[0]: int(words[0], 16) - self.address for words in map(str.split, lines) if len(words) == 3 and words[1] in 'tTiW'}
        return {name: at for name, at in found.items() if 0 <= at < self.size}


class Recording:
    """Records of two CPUs, written round by round."""

    def __init__(self, path):
        self.out = open(path, 'wb')
        self.out.write(bytes(104 + 144))
        self.cpus, self.time, self.held = ([], []), [10**12, 10**12], 0

    def record(self, cpu, kind, misc, body, pid, tid):
        body += bytes(-len(body) % 8) + struct.pack('<IIQII', pid, tid, self.time[cpu], cpu, 0)
        self.cpus[cpu].append(struct.pack('<IHH', kind, misc, 8 + len(body)) + body)

    def sample(self, cpu, pid, misc, ip, chain):
        """The chain's words as bytes."""
        self.time[cpu] += PERIOD_NS
        self.cpus[cpu].append(SAMPLE_HEAD.pack(SAMPLE, misc, SAMPLE_HEAD.size + len(chain), ip, pid, pid, self.time[cpu], cpu, 0, PERIOD_NS, len(chain) // 8) + chain)
        self.held += 1
        if self.held == ROUND_SAMPLES:
            self.flush()

    def flush(self):
        for records in self.cpus:
            self.out.write(b''.join(records))
            records.clear()
        self.out.write(struct.pack('<IHH', ROUND, 0, 8))
        self.time = [max(self.time)] * 2
        self.held = 0

    def comm(self, cpu, pid, name):
        self.record(cpu, COMM, 1 << 13, struct.pack('<II', pid, pid) + name.encode() + b'\0', pid, pid)

    def fork(self, cpu, pid, parent):
        self.record(cpu, FORK, 0, struct.pack('<IIIIQ', pid, parent, pid, parent, self.time[cpu]), parent, parent)

    def exit(self, cpu, pid, parent):
        self.record(cpu, EXIT, 0, struct.pack('<IIIIQ', pid, parent, pid, parent, self.time[cpu]), pid, pid)

    def map(self, cpu, pid, program, base):
        body = struct.pack('<IIQQQIIQQII', pid, pid, base, program.size, program.offset, os.major(program.device), os.minor(program.device), program.inode, 0, 5, 2)
        self.record(cpu, MMAP2, USER, body + program.path.encode() + b'\0', pid, pid)

    def map_kernel(self, start, size):
        self.record(0, MMAP, KERNEL, struct.pack('<IIQQQ', 2**32 - 1, 0, start, size, start) + b'[kernel.kallsyms]_text\0', 2**32 - 1, 0)

    def close(self):
        self.flush()
        end = self.out.tell()
        features = {4: text(platform.release()), 6: text(platform.machine()), 21: struct.pack('<QQ', 10**12 + PERIOD_NS, max(self.time))}
        at = end + 16 * len(features)
        for data in features.values():
            self.out.write(struct.pack('<QQ', at, len(data)))
            at += len(data)
        self.out.write(b''.join(features.values()))
        self.out.seek(0)
        bits = sum(1 << number for number in features)
        self.out.write(struct.pack('<8sQQQQQQQQQ24x', b'PERFILE2', 104, 144, 104, 144, 248, end - 248, 0, 0, bits))
        attr = struct.pack('<IIQQQQQ', 1, 128, 0, 10**9 // PERIOD_NS, IP | TID | TIME | CALLCHAIN | CPU | PERIOD, 0, FLAGS)
        self.out.write(attr.ljust(128, b'\0') + bytes(16))
        self.out.close()


def text(value):
    data = value.encode().ljust(64, b'\0')
    return struct.pack('<I', len(data)) + data


def words(values):
    return struct.pack(f'<{len(values)}Q', *values)


def kernel_functions():
    lines = (line.split() for line in open('/proc/kallsyms', encoding='ascii'))
    found = [(int(parts[0], 16), parts[2]) for parts in lines if len(parts) == 3 and parts[1] in 'tT']
    start = next(address for address, name in found if name == '_text' or name == '_stext')
    end = next(address for address, name in found if name == '_etext')
    return start, end, sorted(address for address, _ in found if start <= address < end)


def skewed(rng, count):
    """Small numbers are frequent."""
    return int(count * rng.random() ** 4)


def paths(rng, count, sites, least, most, spread):
    """Distinct call paths, innermost first, which share their beginnings: each leaves one that was made before at some depth."""
    made = [[sites[skewed(rng, len(sites))] for _ in range(least)]]
    while len(made) < count:
        other = made[skewed(rng, len(made))]
        kept = other[:int(len(other) * (1 - rng.random() ** 2))] or other[:1]
        depth = rng.randint(least, most)
        made.append(kept[:depth] + [sites[skewed(rng, spread)] for _ in range(depth - len(kept))])
    rng.shuffle(made)
    return [path[::-1] for path in made]


class World:
    def __init__(self, rng):
        self.rng = rng
        self.start, self.end, functions = kernel_functions()
        functions = [address + rng.randrange(8) for address in rng.sample(functions, 3000)]
        self.kernel_paths = [(path[0], words([CONTEXT_KERNEL, *path])) for path in paths(rng, 3000, functions, 4, 14, 3000)]
        self.libc = Program('/lib/x86_64-linux-gnu/libc.so.6')
        self.loader = Program('/lib64/ld-linux-x86-64.so.2')
        symbols = self.libc.symbols('-D')
        self.library_calls = [symbols[name] + 24 for name in ('malloc', 'free', 'memcpy', 'calloc', 'strlen', 'realloc', 'qsort', 'memset', 'strcmp', 'fwrite')]
        self.library_start = [symbols['__libc_start_main'] - 50, symbols['__libc_start_main'] + 133]

    def base(self):
        return self.rng.randrange(0x7f0000000, 0x7fff00000) << 12

    def sample(self, recording, cpu, pid, outer, libc):
        """`outer`: the user's frames as (innermost address, bytes), in the program; some samples are in the kernel or in the C library."""
        rng = self.rng
        kind, tail = rng.random(), outer[1] + words([libc + at for at in self.library_start])
        if kind < 0.3:
            ip, kernel = self.kernel_paths[skewed(rng, len(self.kernel_paths))]
            recording.sample(cpu, pid, KERNEL, ip, kernel + words([CONTEXT_USER]) + tail)
        elif kind < 0.5:
            ip = libc + self.library_calls[skewed(rng, len(self.library_calls))] + rng.randrange(40)
            recording.sample(cpu, pid, USER, ip, words([CONTEXT_USER, ip]) + tail)
        else:
            recording.sample(cpu, pid, USER, outer[0], words([CONTEXT_USER]) + tail)

    def start_process(self, recording, cpu, pid, name, program, files=()):
        """Returns where the C library is, and the program."""
        recording.fork(cpu, pid, 1)
        recording.comm(cpu, pid, name)
        base, libc = program.address if program.fixed else self.base(), self.base()
        recording.map(cpu, pid, program, base)
        for file in (self.loader, *files):
            recording.map(cpu, pid, file, self.base())
        recording.map(cpu, pid, self.libc, libc)
        return libc, base


class Recursion:
    """A stack that returns some way and descends again."""

    def __init__(self, rng, sites):
        self.rng, self.sites, self.path = rng, sites, []

    def next(self):
        depth = self.rng.randint(60, 100)
        del self.path[int(depth * (1 - self.rng.random() ** 2)):]
        while len(self.path) < depth:
            self.path.append(self.sites[skewed(self.rng, len(self.sites))])
        return self.path[::-1]


def make_stacks(recording, rng, samples):
    world = World(rng)
    compiler = Program(subprocess.run(['gcc', '-print-prog-name=cc1'], capture_output=True, text=True, check=True).stdout.strip())
    shell, deep = Program('/bin/dash'), Program(DEEP)
    recording.map_kernel(world.start, world.end - world.start)
    origin = compiler.address if compiler.fixed else 0
    sites = [origin + at for at in rng.sample(compiler.sites, 300000 if samples < 10**6 else 57000)]
    compiled = [(path[0], words(path)) for path in paths(rng, 100000 if samples < 10**6 else 400000, sites, 5, 18, len(sites))]
    symbols = deep.symbols()
    steps = [symbols[name] + at for at in (20, 30) for name in sorted(symbols) if name.startswith(('step', 'descend', 'spin', 'compare'))]
    deep_libc, deep_base = world.start_process(recording, 1, 2, 'deep', deep)
    recursion = Recursion(rng, [deep_base + at for at in steps])
    done, pid = 0, 10
    while done < samples:
        for cpu in (0, 1):
            pid += 1
            libc, base = world.start_process(recording, cpu, pid, 'sh', shell)
            for _ in range(20):
                place = base + shell.sites[skewed(rng, 3000)]
                world.sample(recording, cpu, pid, (place, words([place, base + 4096])), libc)
            libc, _ = world.start_process(recording, cpu, pid, rng.choice(('cc1', 'cc1', 'cc1', 'cc1', 'as', 'ld')), compiler)
            for _ in range(rng.randint(300, 1700)):
                world.sample(recording, cpu, pid, compiled[skewed(rng, len(compiled))], libc)
                if cpu and rng.random() < 0.1:
                    path = recursion.next()
                    recording.sample(cpu, 2, USER, path[0], words([CONTEXT_USER, *path, *(deep_libc + at for at in world.library_start)]))
                    done += 1
                done += 1
            recording.exit(cpu, pid, 1)


def make_processes(recording, rng, samples):
    world = World(rng)
    recording.map_kernel(world.start, world.end - world.start)
    programs = [Program(f'/usr/bin/{name}') for name in ('ls', 'cat', 'cp', 'mv', 'rm', 'sed', 'grep', 'sort', 'gawk', 'head', 'tail', 'env')
                if os.path.exists(f'/usr/bin/{name}')]
    done, pid = 0, 100
    while done < samples:
        pid += 1
        cpu, program = pid % 2, rng.choice(programs)
        libc, base = world.start_process(recording, cpu, pid, os.path.basename(program.path), program, rng.sample(programs, 3))
        for _ in range(rng.randint(1, 9)):
            path = [base + program.sites[skewed(rng, 1000)] for _ in range(rng.randint(2, 12))]
            world.sample(recording, cpu, pid, (path[0], words(path)), libc)
            done += 1
        recording.exit(cpu, pid, 1)


def main():
    shapes = {'stacks': make_stacks, 'processes': make_processes}
    if len(sys.argv) != 4 or sys.argv[1] not in shapes:
        sys.exit(__doc__)
    recording = Recording(sys.argv[3])
    shapes[sys.argv[1]](recording, random.Random(1), int(sys.argv[2]))
    recording.close()


main()
