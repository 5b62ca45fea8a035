"""Two shards of two ClickHouse servers each, with ZooKeeper: servers and whole shards go away, and nothing is lost or there twice."""
import os
import pathlib
import re
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "lib")]
import clickhouse  # noqa: E402
import started  # noqa: E402
from test_clickhouse import END, SPAN, push, report, stored, write  # noqa: E402

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not os.environ.get("PERF_SOAK"), reason="four servers and a ZooKeeper take a minute to start: make soak")]


@pytest.fixture(scope="module")
def cluster(perf, tmp_path_factory):
    if not clickhouse.SERVER or not clickhouse.ZOOKEEPER.exists():
        pytest.skip("clickhouse-server and zookeeper are not installed")
    one = clickhouse.Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        one.start()
        one.make_tables(perf)
        yield one
    finally:
        one.stop()


def url_of(cluster, *ways):
    """Of these servers, the first being asked first."""
    first, *others = [cluster.servers[shard][replica].http for shard, replica in ways]
    return f"clickhouse://127.0.0.1:{first}/perf?also={','.join(f'127.0.0.1:{port}' for port in others)}"


def contents(server):
    """What it has itself; None: it has just come, and can't write yet."""
    try:
        if server.ask("SELECT sum(is_readonly) FROM system.replicas WHERE database = 'perf'") == "0":
            return [server.ask(f"SELECT count() FROM perf.{table}_local FINAL" if table != "samples" else "SELECT count(), sum(count), sum(value) FROM perf.samples_local")
                    for table in ("samples", "windows", "stacks", "frames", "labels")]
    except AssertionError:
        pass
    return None


def settle(cluster):
    """Each replica has what the other one has."""
    def alike(shard):
        first, *others = [contents(server) for server in shard if server.process]
        return first and all(other == first for other in others)

    for shard in cluster.servers:
        started.until(lambda: alike(shard), "replicas are alike")  # noqa: B023


def test_servers_that_go_away(perf, cluster, tmp_path):
    all_of_them = url_of(cluster, (0, 0), (1, 0), (0, 1), (1, 1))
    totals = {}
    places = 0

    def send(url, host):
        nonlocal places
        places += 1
        path, own = write(tmp_path, f"{places}.data", minutes=2, count=30, seed=places)
        answer = push(perf, url, path, "--host", host)
        return path, own, answer

    def count(own):
        for event, (samples, period) in own.items():
            totals[event] = tuple(map(sum, zip(totals.get(event, (0, 0)), (samples, period))))

    # Hosts are spread over both shards.
    for host in range(8):
        path, own, answer = send(all_of_them, f"host{host}")
        assert answer.returncode == 0, answer.stderr
        assert push(perf, all_of_them, path, "--host", f"host{host}").returncode == 0
        count(own)
    server = cluster.servers[0][1]
    settle(cluster)
    assert stored(server) == totals
    for number, shard in enumerate(cluster.servers):
        local, strangers = shard[0].numbers(f"SELECT sum(count), countIf(cityHash64(host) % 2 != {number}) FROM perf.samples_local")
        assert 0 < local < 8 * 30 and not strangers

    # One replica of each shard is away: all goes on.
    cluster.servers[0][0].kill()
    cluster.servers[1][1].kill()
    for host in range(8):
        path, own, answer = send(all_of_them, f"host{host}")
        if answer.returncode:  # what was on its way is asked for again
            assert push(perf, all_of_them, path, "--host", f"host{host}").returncode == 0, answer.stderr
        count(own)
    assert stored(server) == totals
    assert sum(period for key, (period, _) in report(perf, "--from", all_of_them, "--time", SPAN).items() if key[0] == "cpu-clock") == totals["cpu-clock"][1]

    # The answer of a server that has taken a window is lost, and the server goes away before the other one has the window.
    cluster.servers[0][0].start().wait()
    cluster.servers[1][1].start().wait()
    settle(cluster)
    for at in range(4, 9):
        shard, replica = at % 2, at // 2 % 2
        victim = cluster.servers[shard][replica]
        proxy = clickhouse.Losing(victim.http, at, victim.kill)
        path, own, answer = send(re.sub(r":\d+/", f":{proxy.port}/", victim.url()), f"host{at}")
        proxy.close()
        others = url_of(cluster, (shard, 1 - replica), (1 - shard, 0), (1 - shard, 1))
        again = push(perf, others, path, "--host", f"host{at}")
        if again.returncode:
            again = push(perf, others, path, "--host", f"host{at}")
        assert again.returncode == 0, again.stderr
        count(own)
        if not victim.process:
            victim.start().wait()
        settle(cluster)
        assert stored(victim) == stored(server) == totals, at

    # A whole shard is away: what is on the other one can be read, and its hosts go on; the others' windows wait.
    for one in cluster.servers[1]:
        one.kill()
    half = url_of(cluster, (0, 0), (0, 1))
    went_on = 0
    waiting = []
    for host in range(8):
        path, own, answer = send(half, f"host{host}")
        went_on += not answer.returncode
        if answer.returncode:
            waiting.append((path, f"host{host}"))
        count(own)
    assert 0 < went_on < 8, answer.stderr
    assert perf("fleet", "top", "--from", half, "--time", SPAN).returncode == 0
    for one in cluster.servers[1]:
        one.start()
    for one in cluster.servers[1]:
        one.wait()
    settle(cluster)
    for path, host in waiting:
        assert push(perf, half, path, "--host", host).returncode == 0
    settle(cluster)
    assert stored(server) == totals

    # Sums of the hour, of all shards and on all replicas.
    hour = f"@{END // 3600 * 3600},@{END // 3600 * 3600 + 3600}"
    before = report(perf, "--from", all_of_them, "--time", hour)
    done = perf("agent", "rollup", "--from", half, "--time", hour, "--format", "csv")
    assert done.returncode == 0 and done.stdout.count("added up") == 1, done.stderr
    samples = sum(count for count, _ in totals.values())
    for one in cluster.all():
        started.until(lambda one=one: one.ask("SELECT sum(count) FROM perf.sums") == str(samples), "each server has the sums")
        assert report(perf, "--from", one.url(), "--time", hour) == before
