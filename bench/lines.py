#!/usr/bin/env python3
"""Inlined functions and source lines of many addresses, against llvm-symbolizer: are they the same, and which is faster?

    bench/lines.py PROGRAM [COUNT]

Makes a recording whose samples are at COUNT (100000) random addresses of the program's code, and asks both. Names are compared as the linker has them,
made readable by the same demangler (c++filt).
"""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = os.environ.get('PERF', os.path.join(ROOT, 'build', 'perf'))
BASE, PID = 0x7F0000000000, 100


def text_section(path):
    lines = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True, check=True).stdout.splitlines()
    words = next(line.split(']')[1].split() for line in lines if '] .text ' in line)
    return int(words[2], 16), int(words[3], 16), int(words[4], 16)  # address, offset, size


def record(kind, misc, body):
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def padded(text):
    data = text.encode() + b'\0'
    return data + b'\0' * (-len(data) % 8)


def write_recording(path, program, addresses, offset, chains=True):
    """One mapping of the whole file, and a sample with a stack of one frame for each address."""
    sample_type = 1 | 2 | 4 | (1 << 5 if chains else 0)
    attr = struct.pack('<IIQQQQQIIQQQ', 1, 112, 0, 1, sample_type, 0, 1 << 8 | 1 << 18 | 1 << 23, 0, 0, 0, 0, 0) + bytes(112 - 80) + bytes(16)
    size = (os.path.getsize(program) + 4095) & ~4095
    data = [record(10, 2, struct.pack('<IIQQQIIQQII', PID, PID, BASE, size, 0, 8, 1, 5, 0, 5, 2) + padded(program) + struct.pack('<IIQ', PID, PID, 1))]
    for i, address in enumerate(addresses):
        ip = BASE + address - offset
        body = struct.pack('<QIIQ', ip, PID, PID, 1000 + i) + (struct.pack('<QQQ', 2, 2**64 - 512, ip) if chains else b'')
        data.append(record(9, 2, body))
    data = b''.join(data)
    with open(path, 'wb') as out:
        out.write(struct.pack('<8s8Q', b'PERFILE2', 104, len(attr), 104, len(attr), 104 + len(attr), len(data), 0, 0) + bytes(32) + attr + data)


def timed(command, **options):
    started = time.monotonic()
    text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, **options).stdout
    return time.monotonic() - started, text


def our_frames(text):
    """[(name, file:line) …] for each sample."""
    result, frames = [], None
    for line in text.splitlines():
        if not line:
            continue
        if line.startswith('\t'):
            frames.append([re.sub(r'^\t\s*[0-9a-f]+ (\[unknown\])?', '', line) or '??', '??:0'])
        elif re.match(r'\s+\d+\.\d+: $', line):
            frames = []
            result.append(frames)
        elif frames:
            frames[-1][1] = re.sub(r'^\S+\[[0-9a-f]+\]$', '??:0', line.strip().removesuffix(' (inlined)'))
    return result


def their_frames(text):
    result = []
    for block in text.split('\n\n'):
        lines = block.splitlines()
        if lines:
            result.append([[lines[i], re.sub(r':\d+$', '', lines[i + 1])] for i in range(0, len(lines) - 1, 2)])
    return result


def readable(frames):
    """Names as the demangler without parameters has them."""
    names = sorted({frame[0] for stack in frames for frame in stack})
    text = subprocess.run(['c++filt', '-p', '-i'], input='\n'.join(names), capture_output=True, text=True, check=True).stdout.split('\n')
    known = dict(zip(names, text))
    for stack in frames:
        for frame in stack:
            frame[0] = known[frame[0]]


def main():
    program, count = os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    start, offset, size = text_section(program)
    generator = random.Random(1)
    addresses = [start + generator.randrange(size) for _ in range(count)]
    with tempfile.TemporaryDirectory(dir=os.environ.get('BENCH_DIR')) as directory:
        data = os.path.join(directory, 'perf.data')
        write_recording(data, program, addresses, start - offset)
        command = [OURS, 'script', '-i', data, '-F', 'time,ip,sym,srcline', '--full-source-path', '--ns']
        ours = [timed(command) for _ in range(3)]
        words = '\n'.join(hex(a) for a in addresses)
        quick, _ = timed(['llvm-symbolizer', '-i', '-f', '-e', program], input=words)
        _, text = timed(['llvm-symbolizer', '-i', '-f', '--no-demangle', '-e', program], input=words)
    mine, other = our_frames(ours[0][1]), their_frames(text)
    readable(other)
    assert len(mine) == len(other) == count, (len(mine), len(other))
    normal = [[[name, os.path.normpath(place)] for name, place in stack] for stack in mine]
    other = [[[name, os.path.normpath(place)] for name, place in stack] for stack in other]
    different = [i for i in range(count) if normal[i] != other[i]]
    best = min(t for t, _ in ours)
    print(f'{count} addresses, {sum(map(len, other))} frames: {100 * (1 - len(different) / count):.3f} % the same; '
          f'ours {best:.2f} s, llvm-symbolizer {quick:.2f} s: {quick / best:.1f} times as fast')
    for i in different[:int(os.environ.get('SHOW', '3'))]:
        print(hex(addresses[i]), '\n  ours  ', mine[i], '\n  theirs', other[i])


if __name__ == '__main__':
    main()
