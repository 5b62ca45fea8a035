#!/usr/bin/python3
"""How long after its start perf report shows the first rows on a terminal, and after which time those of all samples.

    bench/screen.py FILE [--runs 5] [--cold] [OPTIONS OF perf report …]

The terminal is a pty of 200 columns and 60 lines that is read at once. Told are the seconds until the first row has been painted, the CPU seconds that perf has
taken until then, and the seconds until the status line says no longer that the recording is being read; then the key q ends it.

--cold: the file's pages are dropped from the page cache before each run."""
import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import statistics
import struct
import sys
import termios
import time

PERF = os.environ.get("PERF", str(pathlib.Path(__file__).resolve().parent.parent / "build/perf"))
ROW = re.compile(rb"\d\.\d\d%")
QUIET_SECONDS = 1  # without output and without work all has been painted
GIVE_UP_SECONDS = 300


def cpu_seconds(pid):
    """Of a process and those that it has started."""
    process = pathlib.Path(f"/proc/{pid}")
    fields = (process / "stat").read_text(encoding="utf8").rpartition(")")[2].split()
    children = (process / f"task/{pid}/children").read_text(encoding="utf8").split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(int(child)) for child in children)


def start(words):
    pid, terminal = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm-256color"
        os.execv(PERF, [PERF, *words])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    return pid, terminal


def run(words):
    """Seconds and CPU seconds until the first row, seconds until all is read (those of the first row where nothing is said of reading)."""
    begin = time.monotonic()
    pid, terminal = start(words)
    seen, first, cpu, last_reading, cpu_then = b"", None, 0, None, 0
    while time.monotonic() - begin < GIVE_UP_SECONDS:
        if not select.select([terminal], [], [], QUIET_SECONDS)[0]:
            busy, cpu_then = cpu_seconds(pid) - cpu_then, cpu_seconds(pid)
            if first and busy < 0.1:
                break
            continue
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            raise SystemExit(f"perf has ended:\n{seen.decode(errors='replace')}") from None
        now = time.monotonic() - begin
        seen = (seen + chunk)[-(1 << 20):]
        if first is None and ROW.search(seen):
            first, cpu, last_reading = now, cpu_seconds(pid), now
        elif first is not None:
            last_reading = now
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return first, cpu, last_reading


def drop(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    options, words = parser.parse_known_args()
    results = []
    for _ in range(options.runs):
        if options.cold:
            drop(options.file)
        results.append(run(["report", "-i", options.file, *words]))
        print("first row after {:.2f} s (CPU {:.2f} s), all after {:.2f} s".format(*results[-1]), flush=True)
    print("median: first row after {:.2f} s (CPU {:.2f} s), all after {:.2f} s".format(*map(statistics.median, zip(*results))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
