#!/usr/bin/env python3
"""What a fleet's database costs: bytes for a sample on disk, rows and windows a second, and how long questions take.

usage: bench/fleet.py FOLDER [--hosts N] [--hours N] [--per-minute N] [--cluster MINUTES]

Starts a clickhouse-server of its own in FOLDER, fills it with what N hosts would have sent (bench/fleet_rows.c), and asks it with build/perf. The default,
1,000 hosts, 24 hours and 70 samples a minute, is 10^8 samples of one service. Times are CPU time of the server, and in brackets what went by.

With --cluster it is two shards of two servers, and ZooKeeper, into which so many minutes of all hosts come window by window, as from agents, and the hours
behind them in bulk; then a shard goes away.
"""
import argparse
import gzip
import http.client
import os
import pathlib
import struct
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
    """CPU time of servers, and what goes by, while a block runs."""
    def __init__(self, *servers):
        self.pids = [server.process.pid for server in servers]

    def __enter__(self):
        self.wall, self.cpu = time.monotonic(), sum(map(cpu_of, self.pids))
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.monotonic() - self.wall, sum(map(cpu_of, self.pids)) - self.cpu

    def __str__(self):
        return f"{self.cpu:.2f} s ({self.wall:.2f} s)"


def load(server, table, words, settings=""):
    """Rows of the program, as fast as the server takes them."""
    with subprocess.Popen(words, stdout=subprocess.PIPE) as rows:
        subprocess.run(["curl", "-sSf", "-T", "-", "-H", "Expect:", f"http://127.0.0.1:{server.http}/?database=perf{settings}&query=INSERT+INTO+{table}+FORMAT+RowBinary"],
                       stdin=rows.stdout, check=True)


def add_windows(server, since=0):
    """What hosts say of the samples that were loaded in bulk."""
    server.ask("INSERT INTO perf.windows (id, host, host_id, begin, begin_ns, end_ns, rows, taken, stored, lost, dropped) SELECT "
               "toFixedString(substring(hex(MD5(concat(host, toString(time)))), 1, 16), 16), host, 'host', time, toUInt64(toUInt32(time)) * 1000000000, "
               "toUInt64(toUInt32(time)) * 1000000000 + 60000000000, toUInt32(count()), sum(count), sum(count), 0, 0 FROM perf.samples "
               f"WHERE time >= toDateTime({since}) GROUP BY host, time", "insert_distributed_sync=1")


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


def send_windows(cluster, program, hosts, minute, connections=4):
    """One minute of all hosts: each one's window is an INSERT into a server of its shard, and the window's own row another one, as agents do it. Returns how many
    were refused."""
    alive = [[server for server in shard if server.process] for shard in cluster.servers]
    names = [f"web-{host:04d}.eu.example.com" for host in range(hosts)]
    asked = next(server for shard in alive for server in shard)
    shards = [int(shard) for shard in asked.ask(f"SELECT cityHash64(arrayJoin({names})) % 2").split("\n")]
    rows = subprocess.run([program, "samples", str(hosts), str(minute), "1", str(SECOND), "70"], capture_output=True, check=True).stdout
    marks = [rows.index(len(name).to_bytes() + name.encode()) - 4 for name in names] + [len(rows)]
    refused = []

    def insert(connection, table, body):
        connection.request("POST", f"/?database=perf&query=INSERT+INTO+{table}+FORMAT+RowBinary", gzip.compress(body, 1), {"Content-Encoding": "gzip"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text

    def work(number):
        connections = {}
        for host in range(number, hosts, 4):
            servers = alive[shards[host]]
            if not servers:
                refused.append(host)
                continue
            server = servers[host % len(servers)]
            connection = connections.setdefault(server.http, http.client.HTTPConnection("127.0.0.1", server.http))
            body, begin = rows[marks[host]:marks[host + 1]], SECOND + 60 * minute
            name = names[host].encode()
            size = len(body) // body.count(b"checkout")  # rows of a host are alike
            count = sum(int.from_bytes(body[end - 4:end], "little") for end in range(size, len(body) + 1, size))
            insert(connection, f"samples_local{COLUMNS.replace(' ', '+')}", body)
            insert(connection, "windows_local", (host * 10000 + minute).to_bytes(16) + bytes([len(name)]) + name + b"\x04host" + struct.pack(
                "<IQQIQQQQ", begin, begin * 10**9, (begin + 60) * 10**9, count, count, count, 0, 0))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(refused)


def measure_cluster(options, perf, program):
    cluster = clickhouse.Cluster(options.folder / "cluster")
    try:
        cluster.start()
        first, servers = cluster.servers[0][0], cluster.all()
        cluster.make_tables(perf)
        for minute in range(options.cluster):
            with Timed(*servers) as timed:
                send_windows(cluster, program, options.hosts, minute)
            print(f"{options.hosts} windows: {timed}, {1000 * timed.cpu / options.hosts:.1f} ms for each on all four servers", flush=True)
        load(first, "stacks", [program, "stacks", str(DAY)])
        load(first, "frames", [program, "frames", str(DAY)])
        with Timed(*servers) as loading:
            for hour in range(1, 1 + options.hours):
                load(first, f"samples{COLUMNS.replace(' ', '+')}", [program, "samples", str(options.hosts), str(hour * 60), "60", str(SECOND), str(options.per_minute)],
                     "&insert_distributed_sync=1")
        print(f"{options.hours} hours more, in bulk: {loading}", flush=True)
        with Timed(*servers) as merging:
            for server in servers:  # others hand it on, which not all versions can
                if server.ask("SELECT is_leader FROM system.replicas WHERE table = 'samples_local'") == "1":
                    server.ask("OPTIMIZE TABLE perf.samples_local FINAL")
        samples, = first.numbers("SELECT sum(count) FROM perf.samples")
        size = sum(shard[0].numbers("SELECT sum(bytes_on_disk) FROM system.parts WHERE database = 'perf' AND table = 'samples_local' AND active")[0] for shard in cluster.servers)
        print(f"merged in {merging}; {samples:,} samples, {size / samples:.2f} bytes each on one replica")
        urls = f"clickhouse://127.0.0.1:{servers[0].http}/perf?also=" + ",".join(f"127.0.0.1:{server.http}" for server in servers[1:])
        question = [perf, "fleet", "top", "--from", urls, "--time", f"@{SECOND},@{SECOND + 86400}", "--format", "csv"]
        for what in ("of samples", "of sums"):
            with Timed(*servers) as asked:
                subprocess.run(question, stdout=subprocess.DEVNULL, check=True)
            print(f"fleet top {what}: {asked}", flush=True)
            if what == "of samples":
                add_windows(first, SECOND + 3600)
                with Timed(*servers) as adding:
                    subprocess.run([perf, "agent", "rollup", "--from", first.url(), "--time", f"@{SECOND},@{SECOND + 86400}"], stdout=subprocess.DEVNULL, check=True)
                hours, = first.numbers("SELECT count() FROM perf.hours")
                print(f"sums of {hours} hours: {adding}", flush=True)
        for server in cluster.servers[1]:
            server.kill()
        with Timed(*cluster.servers[0]) as timed:
            refused = send_windows(cluster, program, options.hosts, options.cluster)
        print(f"a shard is away: {options.hosts - refused} windows are taken in {timed}, {refused} wait", flush=True)
        subprocess.run(question, stdout=subprocess.DEVNULL, check=True)
        left, = first.numbers("SELECT sum(count) FROM perf.samples SETTINGS skip_unavailable_shards = 1")
        print(f"fleet top answers of what is left: {left:,} samples")
    finally:
        cluster.stop()


def measure_flame_graphs(options, perf, server, what):
    times = {"all": f"@{SECOND},@{SECOND + 86400}", "1 h": f"@{SECOND + 3600},@{SECOND + 7200}"}
    for name, span, where in (("24 h of the service", times["all"], ""), ("24 h of one host", times["all"], " and host = 'web-0007.eu.example.com'"),
                              ("1 h of the service", times["1 h"], "")):
        before = os.times()
        with Timed(server) as asked:
            subprocess.run([perf, "flamegraph", "--from", server.url(), "--time", span, "--where", "service = 'checkout'" + where, "-o", options.folder / "out.html"],
                           stderr=subprocess.DEVNULL, check=True)
        after = os.times()
        own = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"flame graph {what}, {name}: {asked}, and perf itself {own:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--per-minute", type=int, default=70)
    parser.add_argument("--cluster", type=int, metavar="MINUTES")
    parser.add_argument("--perf", type=pathlib.Path, default=ROOT / "build/perf")
    options = parser.parse_args()
    perf = options.perf.resolve()
    options.folder.mkdir(parents=True)
    program = options.folder / "fleet_rows"
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", program, ROOT / "bench/fleet_rows.c", "-lm"], check=True)
    if options.cluster:
        measure_cluster(options, perf, program)
        return
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
        measure_flame_graphs(options, perf, server, "of samples")
        add_windows(server)
        with Timed(server) as adding:
            subprocess.run([perf, "agent", "rollup", "--from", server.url(), "--time", f"@{SECOND},@{SECOND + 86400}"], stdout=subprocess.DEVNULL, check=True)
        server.ask("OPTIMIZE TABLE perf.sums FINAL")
        size, = server.numbers("SELECT sum(bytes_on_disk) FROM system.parts WHERE database = 'perf' AND table = 'sums' AND active")
        print(f"sums of hours: {adding}; {size / samples:.3f} bytes a sample", flush=True)
        measure_flame_graphs(options, perf, server, "of sums")
    finally:
        server.kill()


main()
