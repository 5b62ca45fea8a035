#!/usr/bin/python3
"""What perf agent stores in a ClickHouse server and report --from reads again, against perf record beside it: totals of functions, and is each sample accounted for?

    bench/agent_totals.py [--minutes 60] [--functions 60] [--folder FOLDER]

Both sample at 19 Hz, at moments of their own. Of a function with n and m samples the difference has a variance of n + m, if samples are independent: those of one program that works without a pause
are less different than that. Needs clickhouse-server."""
import argparse
import csv
import io
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/fleet"), str(ROOT / "tests/lib")]
import clickhouse  # noqa: E402

PERF = os.environ.get("PERF", str(ROOT / "build/perf"))


def functions(*words):
    """Samples of each."""
    answer = subprocess.run([PERF, "report", "--format", "csv", "--no-children", "-s", "dso,sym", "-F", "+sample", "--no-inline", *words], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {(row["dso"], row["symbol"]): int(row["sample"]) for row in csv.DictReader(io.StringIO(answer)) if row["event"] != "event"}


def status(folder):
    return json.loads(subprocess.run([PERF, "agent", "status", "--json", "--socket", folder / "socket"], stdout=subprocess.PIPE, check=True).stdout)


def measure(folder, server, minutes):
    """The time span, and what the agent says that it has taken, stored, lost and dropped."""
    sink = server.url()
    subprocess.run([PERF, "agent", "schema", "clickhouse", "--create", sink], check=True)
    with open(folder / "messages", "wb") as messages, subprocess.Popen([PERF, "agent", "run", "-v", "--budget", "100%", "--socket", folder / "socket", "--spool", folder / "spool", "--sink", sink],
                                                                       stdin=subprocess.DEVNULL, stderr=messages) as agent:
        try:
            begin = time.time()
            while not (folder / "socket").exists():
                assert agent.poll() is None, (folder / "messages").read_text(errors="replace")
                time.sleep(0.1)
            while not status(folder)["rate_wanted_hertz"]:  # it has not begun
                time.sleep(0.1)
            with subprocess.Popen([PERF, "record", "-q", "-a", "-e", "cpu-clock:I", "-F", "19", "-g", "-o", folder / "data"], stdin=subprocess.DEVNULL) as record:
                time.sleep(minutes * 60)
                record.send_signal(signal.SIGINT)
                agent.send_signal(signal.SIGTERM)
        except BaseException:
            agent.send_signal(signal.SIGTERM)  # it is waited for
            raise
    return begin - 10, time.time() + 10, (folder / "messages").read_text(errors="replace").splitlines()[-1]


def compare(stored, recorded, count):
    # Files that have gone since have names in the database, addresses in the recording.
    nameless = {file for names in (stored, recorded) for file, function in names if function[4:].startswith("0x")}
    both = sorted((name for name in set(stored) | set(recorded) if name[0] not in nameless), key=lambda name: -stored.get(name, 0) - recorded.get(name, 0))[:count]
    squares, outside = 0, []
    for name in both:
        n, m = stored.get(name, 0), recorded.get(name, 0)
        deviation = (n - m) / math.sqrt(n + m)
        squares += deviation ** 2
        if abs(deviation) > 3:
            outside.append((name, n, m))
    total, other = sum(stored.values()), sum(recorded.values())
    print(f"{total} samples are stored, {other} recorded: {100 * (total / other - 1):+.2f} %")
    print(f"of the {count} most frequent functions {len(outside)} differ by more than three standard deviations; the sum of their squares is {squares:.0f}, where {count} is expected at most")
    for (file, function), n, m in outside:
        print(f"  {file} {function}: {n} stored, {m} recorded")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="agent-totals-"))
    folder.mkdir(parents=True, exist_ok=True)
    server = clickhouse.Server(folder / "server").start().wait()
    try:
        begin, end, said = measure(folder, server, options.minutes)
        there = server.ask("SELECT sum(taken), sum(stored), sum(lost), sum(dropped) FROM perf.windows FINAL").split("\t")
        samples = server.ask("SELECT sum(count) FROM perf.samples")
        print(f"the agent: {said}")
        print(f"the database: {there[0]} taken = {there[1]} stored + {there[2]} lost + {there[3]} dropped; it has {samples}")
        stored = functions("--from", server.url(), "--time", f"@{int(begin)},@{int(end)}")
        compare(stored, functions("-i", folder / "data"), options.functions)
    finally:
        server.kill()
    if not options.folder:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
