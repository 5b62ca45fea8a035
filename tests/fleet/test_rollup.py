"""perf agent rollup: sums of whole hours give the same answers as samples, and are not asked where windows have come or gone since."""
import csv
import io
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "lib")]
from test_clickhouse import END, create, push, report, server, write  # noqa: E402, F401

HOUR = END // 3600 * 3600
DAY = f"@{HOUR - 7200},@{HOUR + 7200}"
PARTS = [f"@{HOUR - 1800},@{HOUR + 3600}", f"@{HOUR - 3600},@{HOUR + 600}", f"@{HOUR},@{HOUR + 3600}"]
ADDED = "added up"


def rollup(perf, url, time=DAY):
    """Of each hour that had to be added up what is said of it."""
    done = perf("agent", "rollup", "--from", url, "--time", time, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return [(int(row["windows"]), int(row["stored"]), int(row["found"]), row["remark"]) for row in csv.DictReader(io.StringIO(done.stdout))]


def answers(perf, url):
    return [report(perf, "--from", url, "--time", time, *words) for time in (DAY, *PARTS) for words in ((), ("--where", "service = 'shop' and comm = 'prog'"), ("--where", "event != 'page-faults'"))]


def filled(perf, server, tmp_path, name):  # noqa: F811
    """A database with samples of an hour and a half."""
    url = create(perf, server, name)
    path, totals = write(tmp_path, minutes=90, count=200)
    assert push(perf, url, path).returncode == 0
    return url, sum(count for count, _ in totals.values())


def test_the_same_answers(perf, server, tmp_path):  # noqa: F811
    """Of the same stacks as before; and they come from the sums, as is seen when those are there twice."""
    url, count = filled(perf, server, tmp_path, "hours")
    before = answers(perf, url)
    done = rollup(perf, url)
    assert len(done) == 2 and {row[3] for row in done} == {ADDED} and sum(row[1] for row in done) == sum(row[2] for row in done) == count
    assert answers(perf, url) == before
    assert rollup(perf, url) == []
    by_host = report(perf, "--from", url, "--time", DAY, "--where", "host = 'web1'")
    server.ask("INSERT INTO hours.sums SELECT * FROM hours.sums")
    doubled = {key: (2 * period, 2 * samples) for key, (period, samples) in before[0].items()}
    assert report(perf, "--from", url, "--time", DAY) == doubled
    assert report(perf, "--from", url, "--time", DAY, "--where", "host = 'web1'") == by_host == before[0]
    assert report(perf, "--from", url, "--time", f"@{HOUR + 1},@{HOUR + 3600}") != {} and perf("fleet", "top", "--from", url, "--time", DAY).returncode == 0


def test_a_window_that_comes_late(perf, server, tmp_path):  # noqa: F811
    """It is in each answer from the moment when it is there; so after the next time."""
    url, count = filled(perf, server, tmp_path, "late")
    rollup(perf, url)
    before = report(perf, "--from", url, "--time", DAY)
    other, _ = write(tmp_path, "other.data", minutes=3, count=40, seed=5)
    assert push(perf, url, other, "--host", "db1").returncode == 0
    after = report(perf, "--from", url, "--time", DAY)
    assert sum(samples for _, samples in after.values()) == count + 40 and after != before
    assert [row[3] for row in rollup(perf, url)] == [ADDED]
    assert report(perf, "--from", url, "--time", DAY) == after


def test_samples_that_are_not_there(perf, server, tmp_path):  # noqa: F811
    """A replica may have a window before its samples: its hour is left for later."""
    url, _ = filled(perf, server, tmp_path, "missing")
    server.ask(f"INSERT INTO missing.windows (id, host, begin, stored) VALUES ('0123456789abcdef', 'web9', toDateTime({HOUR}), 7)")
    before = report(perf, "--from", url, "--time", DAY)
    done = rollup(perf, url)
    assert [remark for *_, remark in done] == [ADDED, "not all samples are there: later"] and done[1][1] == done[1][2] + 7
    assert len(rollup(perf, url)) == 1
    assert report(perf, "--from", url, "--time", DAY) == before


def test_a_database_without_them(perf, server, tmp_path):  # noqa: F811
    """Of an earlier version: it is asked for samples."""
    url, _ = filled(perf, server, tmp_path, "earlier")
    before = report(perf, "--from", url, "--time", DAY)
    server.ask("DROP TABLE earlier.hours")
    server.ask("DROP TABLE earlier.sums")
    assert report(perf, "--from", url, "--time", DAY) == before
    done = perf("agent", "rollup", "--from", url, "--time", DAY)
    assert done.returncode != 0 and "perf agent schema clickhouse" in done.stderr
