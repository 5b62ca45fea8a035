#!/usr/bin/env python3
"""Kills `perf record` at random moments and reads what is left, with the kernel's perf and ours.

usage: kill_record.py [TIMES]      (default 50; PERF=build/perf, ORACLE=/usr/bin/perf)

Each recording must be read by both without an error, with the same lines, and must not claim to be longer than it is. The last line counts."""
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERF = os.environ.get("PERF", str(ROOT / "build/perf"))
ORACLE = os.environ.get("ORACLE", "/usr/bin/perf")
WAYS = [["-a", "-g", "-F", "10000"], ["-a", "-e", "raw_syscalls:*"], ["-a", "-z", "-F", "10000"], ["-a", "-m", "4", "-F", "20000"],
        ["-a", "-z", "-m", "16", "-e", "sched:*"], ["-a", "--call-graph", "dwarf", "-F", "2000"]]


def read(program, path):
    done = subprocess.run([program, "script", "-G", "-F", "-symoff,-sym,-dso", "-i", path], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def once(folder, way):
    path = folder / "perf.data"
    path.unlink(missing_ok=True)
    with subprocess.Popen("while :; do ls -lR /usr/lib; done", shell=True, stdout=subprocess.DEVNULL, start_new_session=True) as load:
        with subprocess.Popen([PERF, "record", "-q", "-o", path, *way], stderr=subprocess.DEVNULL) as recorder:
            time.sleep(random.uniform(0.05, 1.5))
            recorder.kill()
        os.killpg(load.pid, signal.SIGKILL)
    if not path.exists() or not path.stat().st_size:
        return "nothing yet", 0
    status, theirs, message = read(ORACLE, path)
    if status:
        return f"the kernel's perf: {message}", 0
    status, ours, message = read(PERF, path)
    if status:
        return f"ours: {message}", 0
    # Killed between writing and noting the new size in the header: we read what is there, the kernel's perf what the header says.
    if not ours.startswith(theirs):
        pairs = itertools.zip_longest(theirs.splitlines(), ours.splitlines())
        number, (line, own) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
        return f"line {number} differs: theirs {line!r}, ours {own!r}", 0
    return "", theirs.count("\n")


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    bad = lines = 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(times):
            way = WAYS[i % len(WAYS)]
            problem, count = once(pathlib.Path(folder), way)
            lines += count
            if problem and problem != "nothing yet":
                bad += 1
                print(" ".join(way), "-", problem)
    print(f"{times} recordings killed, {bad} not readable, {lines} lines read alike")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
