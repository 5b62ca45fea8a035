"""The database of many machines, with a real ClickHouse: what is pushed is there once, whatever is lost or killed meanwhile, and comes back as it was."""
import collections
import csv
import io
import os
import pathlib
import re
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "lib")]
import clickhouse  # noqa: E402
import recording  # noqa: E402

KERNEL = 0xffffffff81000000
NAMES = ["_text", "start", "parse", "read", "write", "_etext"]
HEAD = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
        "event page-faults type=1 config=2 ids=2 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all\n"
        "feature hostname web1\n"
        f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
        "comm pid=1 tid=1 name=prog\ncomm pid=1 tid=5 name=helper\ncomm pid=2 tid=2 name=other\n")
STACKS = ["start parse read", "start parse", "start write", "start", "start parse parse", "write"]
END, MINUTE = 1795808006, 60000000000  # 2026-11-27 19:33:26 UTC
SPAN = f"@{END - 600},@{END + 600}"


def write(folder, name="perf.data", minutes=3, count=40, head=HEAD, seed=1):
    """A recording over some minutes, that ended at END; returns its path and {event: (samples, period)}."""
    text, totals = head, collections.defaultdict(lambda: [0, 0])
    for number in range(count):
        event, (pid, tid), period = number % 7 == 0, [(1, 1), (1, 5), (2, 2)][number % 3], 1000000 + number * seed
        places = [KERNEL + 0x1000 * NAMES.index(word) + 0x10 for word in reversed(STACKS[number * seed % len(STACKS)].split())]
        text += (f"sample event={int(event)} id={event + 1} ip={places[0]:#x} pid={pid} tid={tid} time={1000 + number * minutes * MINUTE // count} cpu=0 period={period} "
                 f"misc=1 chain=kernel,{','.join(map(hex, places))}\n")
        totals["page-faults" if event else "cpu-clock"][0] += 1
        totals["page-faults" if event else "cpu-clock"][1] += period
    (folder / "kallsyms").write_bytes(b"".join(f"{KERNEL + 0x1000 * i:016x} T {name}\n".encode() for i, name in enumerate(NAMES)))
    path = folder / name
    path.write_bytes(recording.make(text))
    os.utime(path, (END, END))
    return path, {event: tuple(total) for event, total in totals.items()}


def push(perf, url, path, *words, **arguments):
    return perf("agent", "push", "--sink", url, path, "--kallsyms", path.parent / "kallsyms", "--label", "service=shop", *words, **arguments)


def stored(server, database="perf"):
    """The same of what the database has."""
    rows = server.ask(f"SELECT event, sum(count), sum(value) FROM {database}.samples GROUP BY event")
    return {event.partition(":")[0]: (int(count), int(value)) for event, count, value in (row.split("\t") for row in rows.splitlines())}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not clickhouse.SERVER:
        pytest.skip("clickhouse-server is not installed")
    one = clickhouse.Server(tmp_path_factory.mktemp("clickhouse")).start().wait()
    yield one
    one.kill()


def create(perf, server, name):
    """A database of the test's own; its URL."""
    server.ask(f"DROP DATABASE IF EXISTS {name}")
    made = perf("agent", "schema", "clickhouse", "--create", server.url(name))
    assert made.returncode == 0, made.stderr
    return server.url(name)


def report(perf, *words, **arguments):
    """Of each event rows by their keys."""
    answer = perf("report", "--format", "csv", "--no-children", "-s", "comm,dso,sym", "-F", "+period,sample", *words, **arguments)
    assert answer.returncode == 0, answer.stderr
    return {(row["event"].partition(":")[0], row["comm"], row["dso"], row["symbol"]): (int(row["period"]), int(row["sample"]))
            for row in csv.DictReader(io.StringIO(answer.stdout)) if row["event"] != "event"}


def test_what_is_pushed_is_there_once(perf, server, tmp_path):
    url = create(perf, server, "once")
    path, totals = write(tmp_path)
    for _ in range(2):
        assert push(perf, url, path).returncode == 0
    assert stored(server, "once") == totals
    assert server.numbers("SELECT count(), sum(taken), sum(stored) FROM once.windows FINAL")[1:] == (40, 40)
    other, others = write(tmp_path, "other.data", seed=5)
    assert push(perf, url, other).returncode == 0
    assert stored(server, "once") == {event: tuple(map(sum, zip(totals[event], others[event]))) for event in totals}


def test_a_report_of_the_database_is_that_of_the_recording(perf, server, tmp_path):
    url = create(perf, server, "same")
    path, _ = write(tmp_path)
    assert push(perf, url, path).returncode == 0
    assert report(perf, "--from", url, "--time", SPAN) == report(perf, "-i", path, "--kallsyms", tmp_path / "kallsyms")
    folded = [perf("export", "folded", "--show-event", "cpu-clock:HG", *words).stdout for words in (
        ("--from", url, "--time", SPAN), ("-i", path, "--kallsyms", tmp_path / "kallsyms"))]
    assert sorted(folded[0].splitlines()) == sorted(folded[1].splitlines()) != []
    assert re.search(r"parse", perf("flamegraph", "--from", url, "--time", SPAN, "-o", "-", "--folded").stdout)
    script = perf("script", "--from", url, "--time", SPAN, "-F", "comm,event,ip,sym")
    assert script.stdout.count("cpu-clock") == 34
    counted = perf("sql", "--from", url, "--time", SPAN, "--csv", "select count(*) from samples")
    assert counted.stdout.splitlines()[-1] == "40", counted.stderr


def test_nothing_of_another_time_or_machine(perf, server, tmp_path):
    url = create(perf, server, "chosen")
    path, totals = write(tmp_path)
    assert push(perf, url, path, "--label", "region=north").returncode == 0
    other, _ = write(tmp_path, "other.data", seed=5)
    assert push(perf, url, other, "--label", "region=south", "--host", "db1").returncode == 0

    def samples(*words, time=SPAN):
        answer = perf("fleet", "top", "--from", url, "--time", time, "--show-event", "cpu-clock:HG", "--format", "csv", "-n", "0", *words)
        found = perf("sql", "--from", url, "--time", time, "--csv", *words, "select count(*) from samples where event like 'cpu-clock%'")
        assert (answer.returncode, found.returncode) in ((0, 0), (255, 255)), answer.stderr + found.stderr
        return int(found.stdout.splitlines()[-1]) if found.returncode == 0 else 0

    mine, both = totals["cpu-clock"][0], 2 * totals["cpu-clock"][0]
    assert samples() == both
    for condition in ("host = 'web1'", 'host like "web%"', "region = 'north'", "label.region='north'", "not region = 'south'", "region in ('north', 'east')",
                      "host not in ('db1')", "(host = 'db1' or region = 'north') and service = 'shop' and not host != 'web1'", "host >= 'w'"):
        assert samples("--where", condition) == mine, condition
    assert samples("--label", "region=south", "--label", "service=shop") == mine
    assert samples("--where", "comm = 'prog'") + samples("--where", "comm != 'prog'") == both
    assert samples("--where", "service = 'none'") == 0
    assert samples(time=f"@{END - 3600},@{END - 1200}") == 0
    parts = [samples("--where", "host='web1'", time=f"@{minute},@{minute + 60}") for minute in range(END - END % 60 - 300, END + 60, 60)]
    assert sum(parts) == mine and max(parts) < mine


@pytest.mark.parametrize("condition, error", [
    ("host = web1", "a text in quotes"), ("host", "one of = !="), ("host = 'a", "no closing '"), ("host = 'a' or", "expected a name"), ("(host = 'a'", r"and, or, or \)"),
    ("host = 'a') or (1 = '1'", "and, or, or the end"), ("host = 'a'; drop table samples", "and, or, or the end"), ("host in 'a'", r"\( behind in"), ("", "expected a name"),
    ("(" * 200 + "host='a'", "100 brackets")])
def test_conditions_that_are_none(perf, condition, error):
    answer = perf("report", "--from", "clickhouse://127.0.0.1:1/x", "--where", condition)
    assert answer.returncode == 129 and re.search(error, answer.stderr), answer.stderr


HOSTILE = [b"it's", b'"quoted"', b"back\\slash", b"new\\nline", b"\xff\xfe bytes", b"\xe2\x82\xac", b"');DROP TABLE samples;--", b"\x1b[31mred", b"tab\there"]


def test_hostile_names(perf, server, tmp_path):
    url = create(perf, server, "hostile")
    stacks = b"".join(b"prog;main;%s %d\n" % (name, 3 + number) for number, name in enumerate(HOSTILE))
    (tmp_path / "stacks").write_bytes(stacks)
    assert perf("import", "folded", "--comm", tmp_path / "stacks", "-o", tmp_path / "perf.data").returncode == 0
    os.utime(tmp_path / "perf.data", (END, END))
    (tmp_path / "kallsyms").touch()
    for host in ("it's \\ \"x\"\n", "plain"):
        answer = push(perf, url, tmp_path / "perf.data", "--host", host, "--label", "name=va\\l'ue\n")
        assert answer.returncode == 0, answer.stderr
        assert push(perf, url, tmp_path / "perf.data", "--host", host, "--label", "name=va\\l'ue\n").returncode == 0
        server.ask("TRUNCATE TABLE hostile.windows")  # so that samples are asked for, by these names
    for host in ("it's \\ \"x\"\n", "plain"):
        assert push(perf, url, tmp_path / "perf.data", "--host", host, "--label", "name=va\\l'ue\n").returncode == 0
    own = perf("report", "-i", tmp_path / "perf.data", "--format", "csv", "--no-children", "-s", "comm,dso,sym", text=False)
    for words in (("--where", "host = 'it''s \\ \"x\"\n'"), ("--where", "host='plain'"), ("--label", "name=va\\l'ue\n")):
        answer = perf("report", "--from", url, "--time", SPAN, *words, "--format", "csv", "--no-children", "-s", "comm,dso,sym", text=False)
        assert answer.stdout == own.stdout, answer.stderr
    listed = perf("fleet", "ls", "hosts", "--from", url, "--time", SPAN)
    assert "it's \\ " in listed.stdout and "plain" in listed.stdout and listed.stdout.count("\n") == 5, listed.stdout


def requests_of(perf, server, path, url):
    """How many requests a push that asks makes."""
    proxy = clickhouse.Losing(server.http, -1, "answer")
    assert push(perf, re.sub(r":\d+/", f":{proxy.port}/", url), path).returncode == 0
    proxy.close()
    return proxy.count


@pytest.mark.parametrize("how", ["answer", "request"])
def test_a_lost_answer_at_each_moment(perf, server, tmp_path, how):
    path, totals = write(tmp_path, minutes=1, count=20)
    count = requests_of(perf, server, path, create(perf, server, "lost"))
    assert count >= 8
    for at in range(count):
        url = create(perf, server, "lost")
        proxy = clickhouse.Losing(server.http, at, how)
        answer = push(perf, re.sub(r":\d+/", f":{proxy.port}/", url), path)
        proxy.close()
        assert answer.returncode != 0, at
        assert push(perf, url, path).returncode == 0
        assert stored(server, "lost") == totals, at
        assert server.numbers("SELECT count(), sum(stored) FROM lost.windows FINAL")[1] == 20, at


def test_the_server_is_killed_at_each_moment(perf, tmp_path):
    if not clickhouse.SERVER:
        pytest.skip("clickhouse-server is not installed")
    path, totals = write(tmp_path, minutes=2, count=30)
    server = clickhouse.Server(tmp_path / "server").start().wait()
    try:
        url = create(perf, server, "perf")
        at, killed = 2, 0
        while True:
            proxy = clickhouse.Losing(server.http, at, server.kill)
            answer = push(perf, re.sub(r":\d+/", f":{proxy.port}/", url), path, "--label", f"round={at}")
            proxy.close()
            if answer.returncode == 0:
                break
            server.start().wait()
            killed += 1
            assert push(perf, url, path, "--label", f"round={at}").returncode == 0
            at += 2
        assert killed >= 5
        assert stored(server) == {event: tuple((killed + 1) * number for number in total) for event, total in totals.items()}
    finally:
        server.kill()


def test_samples_without_their_window(perf, server, tmp_path):
    """Somebody was killed between the two; and a machine has two windows that begin at the same time."""
    url = create(perf, server, "half")
    path, totals = write(tmp_path, minutes=1, count=20)
    other, others = write(tmp_path, "other.data", minutes=1, count=20, seed=5)
    both = {event: tuple(map(sum, zip(totals[event], others[event]))) for event in totals}
    assert push(perf, url, path).returncode == 0
    server.ask("TRUNCATE TABLE half.windows")
    assert push(perf, url, path).returncode == 0
    assert stored(server, "half") == totals
    assert push(perf, url, other).returncode == 0
    assert stored(server, "half") == both
    for one in (path, other):
        assert push(perf, url, one).returncode == 0
    assert stored(server, "half") == both


def test_two_times_and_two_conditions_are_compared(perf, server, tmp_path):
    url = create(perf, server, "compared")
    path, _ = write(tmp_path, count=600)
    other, _ = write(tmp_path, "other.data", count=600, seed=5)
    assert push(perf, url, path, "--label", "version=1").returncode == 0
    assert push(perf, url, other, "--label", "version=2").returncode == 0
    files = perf("diff", path, other, "--kallsyms", tmp_path / "kallsyms", "--format", "csv")
    answer = perf("diff", "--from", url, "--time", SPAN, "--where", "version='1'", "--where", "version='2'", "--format", "csv")
    assert answer.returncode == 0, answer.stderr
    assert sorted(answer.stdout.splitlines()) == sorted(files.stdout.splitlines())
    sure = perf("diff", "--from", url, "--time", SPAN, "--where", "version='1'", "--where", "version='2'", "--significance")
    assert "Significant" in sure.stdout, sure.stderr
    hours = perf("diff", "--from", url, "--time", f"@{END - 600},@{END - 120}", "--time", f"@{END - 120},@{END + 60}", "--label", "version=1", "--format", "csv")
    assert hours.returncode == 0 and "parse" in hours.stdout, hours.stderr
    one = perf("diff", "--from", url, "--time", SPAN)
    assert one.returncode == 129 and "once for each" in one.stderr


def test_lists(perf, server, tmp_path):
    url = create(perf, server, "lists")
    path, _ = write(tmp_path)
    assert push(perf, url, path, "--label", "region=north").returncode == 0

    def rows(name):
        answer = perf("fleet", "ls", name, "--from", url, "--time", SPAN, "--format", "csv")
        assert answer.returncode == 0, answer.stderr
        return list(csv.DictReader(io.StringIO(answer.stdout)))

    host, = rows("hosts")
    assert (host["host"], host["samples"], host["lost"], host["dropped"]) == ("web1", "40", "0", "0")
    assert {(row["service"], row["event"].partition(":")[0], row["hosts"], row["samples"]) for row in rows("services")} == {
        ("shop", "cpu-clock", "1", "34"), ("shop", "page-faults", "1", "6")}
    assert {(row["name"], row["value"]) for row in rows("labels")} == {("region", "north"), ("service", "shop")}
    assert [row["file"] for row in rows("builds")] == ["[kernel.kallsyms]"]
    top = perf("fleet", "top", "--from", url, "--time", SPAN, "--format", "csv", "--show-event", "cpu-clock:HG").stdout
    cost = {row["function"]: float(row["self"]) for row in csv.DictReader(io.StringIO(top))}
    own = {key[3][4:]: period for key, (period, _) in report(perf, "-i", path, "--kallsyms", tmp_path / "kallsyms").items() if key[0] == "cpu-clock"}
    sums = collections.Counter()
    for key, (period, _) in report(perf, "-i", path, "--kallsyms", tmp_path / "kallsyms").items():
        if key[0] == "cpu-clock":
            sums[key[3][4:]] += period
    assert set(own) == set(name for name, share in cost.items() if share)
    for name, share in cost.items():
        assert abs(share - 100 * sums[name] / sum(sums.values())) < 0.0001, name


def test_schema_by_version(perf):
    new = perf("agent", "schema", "clickhouse", "--ttl", "30d", "--cluster", "fleet", "--database", "prod").stdout
    assert "CODEC(" in new and "LowCardinality(String)" in new and "TTL toDate(time) + INTERVAL 30 DAY" in new
    assert len(re.findall(r"^CREATE TABLE IF NOT EXISTS prod\.\w+_local ON CLUSTER fleet", new, re.M)) == 7
    assert len(re.findall(r"ENGINE = Distributed\(fleet, prod, \w+_local", new)) == 7
    old = perf("agent", "schema", "clickhouse", "--ttl", "30d", "--server-version", "18.16").stdout
    assert "CODEC" not in old and "LowCardinality" not in old and "DROP PARTITION" in old
    for words in (["--cluster", "a b"], ["--ttl", "x"], ["--server-version", "17"], ["--database", "1;"]):
        assert perf("agent", "schema", "clickhouse", *words).returncode == 129, words


def test_mistakes_are_told(perf, server, tmp_path):
    path, _ = write(tmp_path)
    server.ask("DROP DATABASE IF EXISTS nothing")
    answer = push(perf, server.url("nothing"), path)
    assert answer.returncode == 255 and "perf agent schema clickhouse" in answer.stderr
    assert "choose one" in perf("report", "-i", path, "--from", server.url()).stderr
    assert "go with --from" in perf("report", "-i", path, "--where", "host='x'").stderr
    url = create(perf, server, "empty")
    assert "no such samples" in perf("report", "--from", url).stderr
    assert "invalid time" in perf("report", "--from", url, "--time", "yesterday").stderr
    assert "password" in perf("report", "--from", "clickhouse://user:secret@host/db").stderr
