"""Recordings with very many events: what a report of them costs grows with their samples."""
import resource
import struct
import subprocess

import pytest

IP, TID, TIME, ID, CALLCHAIN, PERIOD, IDENTIFIER = 1, 2, 4, 64, 32, 256, 1 << 16
SAMPLE_ID_ALL = 1 << 18


def make(path, events):
    """Each event has one sample of 12 frames, all different from most others."""
    records, chain_words = [], 13
    for i in range(events):
        chain = [2**64 - 512, *(0x400000 + 16 * ((i * 7919 + at * 104729) % 5000) for at in range(chain_words - 1))]
        body = struct.pack(f'<QQIIQQQ{chain_words}Q', i + 1, chain[1], 100, 100, 10 + i, 1000 + i % 7, chain_words, *chain)
        records.append(struct.pack('<IHH', 9, 2, 8 + len(body)) + body)
    kinds = IP | TID | TIME | CALLCHAIN | PERIOD | IDENTIFIER
    attr = struct.pack('<IIQQQQQ', 1, 128, 0, 1000, kinds, 4, SAMPLE_ID_ALL).ljust(128, b'\0')
    ids = b''.join(struct.pack('<Q', i + 1) for i in range(events))
    attrs = b''.join(attr + struct.pack('<QQ', 104 + 8 * i, 8) for i in range(events))
    data, attrs_at = b''.join(records), 104 + len(ids)
    header = struct.pack('<8sQQQQQQQQQ24x', b'PERFILE2', 104, 144, attrs_at, len(attrs), attrs_at + len(attrs), len(data), 0, 0, 0)
    path.write_bytes(header + ids + attrs + data)
    return path


# A command for a recording, and what each of its tables has once.
COMMANDS = {'report': (lambda path: ['report', '--stdio', '-i', path], b'# Samples: 1 '), 'diff': (lambda path: ['diff', path, path], b'# Baseline ')}


def cpu_seconds(perf, name, path):
    """CPU time of a command, user and system: the kernel measures their sum, and how it is shared by the two at ticks only. And how many tables it shows."""
    words, title = COMMANDS[name]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([perf, *words(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.count(title)


@pytest.mark.parametrize('name', COMMANDS)
def test_tables_grow_with_the_samples(perf, tmp_path, name):
    """Eight times as many events with a sample each: eight times the work. When each event looked at all samples it was thirty times as much. Whatever slows the
    machine down slows both: they take turns."""
    few, many = (make(tmp_path / f'{count}.data', count) for count in (2000, 16000))
    times = {few: [], many: []}
    for _ in range(3):
        for path, tables in ((few, 2000), (many, 16000)):
            seconds, found = cpu_seconds(perf, name, path)
            assert found == tables
            times[path].append(seconds)
    assert min(times[many]) < 16 * min(times[few]), times
