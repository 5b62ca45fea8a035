#!/usr/bin/env python3
"""What a fleet's database costs: bytes for a sample on disk, rows and windows a second, and how long questions take.

usage: bench/fleet.py FOLDER [--hosts N] [--hours N] [--per-minute N]

Starts a clickhouse-server of its own in FOLDER, fills it with what N hosts would have sent (bench/fleet_rows.c), and asks it with build/perf. The default,
1,000 hosts, 24 hours and 70 samples a minute, is 10^8 samples of one service. Times are CPU time of the server, and in brackets what went by.
"""
import argparse
import gzip
import http.client
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/fleet"), str(ROOT / "tests/lib")]
import clickhouse  # noqa: E402

DAY = 20784  # 2026-11-27
SECOND = DAY * 86400
COLUMNS = "(time, host, service, event, unit, labels, stack, value, count)"


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Timed:
    """CPU time of the server, and what goes by, while a block runs."""
    def __init__(self, server):
        self.pid = server.process.pid

    def __enter__(self):
        self.wall, self.cpu = time.monotonic(), cpu_of(self.pid)
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.monotonic() - self.wall, cpu_of(self.pid) - self.cpu

    def __str__(self):
        return f"{self.cpu:.2f} s ({self.wall:.2f} s)"


def load(server, table, words):
    """Rows of the program, as fast as the server takes them."""
    with subprocess.Popen(words, stdout=subprocess.PIPE) as rows:
        subprocess.run(["curl", "-sSf", "-T", "-", "-H", "Expect:", f"http://127.0.0.1:{server.http}/?database=perf&query=INSERT+INTO+{table}+FORMAT+RowBinary"],
                       stdin=rows.stdout, check=True)


def windows_a_second(server, program, connections=4, windows=600):
    """Small inserts, as agents send them: one window's samples each."""
    bodies = [gzip.compress(subprocess.run([program, "samples", "1", str(number), "1", str(SECOND + 86400 + number % 60), "140"], capture_output=True, check=True).stdout, 1)
              for number in range(60)]

    def send(count):
        connection = http.client.HTTPConnection("127.0.0.1", server.http)
        for number in range(count):
            connection.request("POST", f"/?database=perf&query=INSERT+INTO+inserted{COLUMNS.replace(' ', '+')}+FORMAT+RowBinary", bodies[number % 60], {"Content-Encoding": "gzip"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()

    server.ask("CREATE TABLE perf.inserted AS perf.samples")
    threads = [threading.Thread(target=send, args=(windows // connections,)) for _ in range(connections)]
    with Timed(server) as timed:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return windows, timed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--per-minute", type=int, default=70)
    parser.add_argument("--perf", type=pathlib.Path, default=ROOT / "build/perf")
    options = parser.parse_args()
    perf = options.perf.resolve()
    options.folder.mkdir(parents=True)
    program = options.folder / "fleet_rows"
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", program, ROOT / "bench/fleet_rows.c", "-lm"], check=True)
    server = clickhouse.Server(options.folder / "server").start().wait()
    try:
        subprocess.run([perf, "agent", "schema", "clickhouse", "--create", server.url()], check=True)
        with Timed(server) as loading:
            for hour in range(options.hours):
                load(server, f"samples{COLUMNS.replace(' ', '+')}", [program, "samples", str(options.hosts), str(hour * 60), "60", str(SECOND), str(options.per_minute)])
        rows, samples = server.numbers("SELECT count(), sum(count) FROM perf.samples")
        print(f"{samples:,} samples in {rows:,} rows; loaded in {loading}: {rows / loading.cpu:,.0f} rows a second of CPU time", flush=True)
        load(server, "stacks", [program, "stacks", str(DAY)])
        load(server, "frames", [program, "frames", str(DAY)])
        count, timed = windows_a_second(server, program)
        print(f"{count} windows one by one in {timed}: {1000 * timed.cpu / count:.1f} ms of CPU time for each", flush=True)
        with Timed(server) as merging:
            server.ask("OPTIMIZE TABLE perf.samples FINAL")
        size, = server.numbers("SELECT sum(bytes_on_disk) FROM system.parts WHERE database = 'perf' AND table = 'samples' AND active")
        print(f"merged in {merging}; {size / samples:.2f} bytes a sample, {size / rows:.2f} a row, {size / 1e6:,.0f} MB")
        print(server.ask("SELECT name, round(data_compressed_bytes / %d, 3) FROM system.columns WHERE database = 'perf' AND table = 'samples'" % samples))
        times = {"all": f"@{SECOND},@{SECOND + 86400}", "1 h": f"@{SECOND + 3600},@{SECOND + 7200}"}
        for name, span, where in (("24 h of the service", times["all"], ""), ("24 h of one host", times["all"], " and host = 'web-0007.eu.example.com'"),
                                  ("1 h of the service", times["1 h"], "")):
            before = os.times()
            with Timed(server) as asked:
                subprocess.run([perf, "flamegraph", "--from", server.url(), "--time", span, "--where", "service = 'checkout'" + where, "-o", options.folder / "out.html"],
                               stderr=subprocess.DEVNULL, check=True)
            after = os.times()
            own = after.children_user + after.children_system - before.children_user - before.children_system
            print(f"flame graph, {name}: {asked}, and perf itself {own:.2f} s", flush=True)
        with Timed(server) as asked:
            server.ask(f"SELECT stack, sum(value), sum(count) FROM perf.samples WHERE service = 'checkout' GROUP BY stack FORMAT Null")
        print(f"… the sums alone, 24 h: {asked}")
    finally:
        server.kill()


main()
