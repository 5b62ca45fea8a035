"""perf top --from: what a fleet does now, as text and on a screen, from a real ClickHouse."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "lib")]
import started  # noqa: E402
from screens import Screen  # noqa: E402
from test_clickhouse import create, push, server, write  # noqa: E402, F401
from test_clickhouse_answers import database  # noqa: E402, F401


def send(perf, url, folder, host, service="shop", seed=1):
    """A recording of some minutes, up to now."""
    path, _ = write(folder, name=f"{host}.data", seed=seed)
    os.utime(path)
    done = push(perf, url, path, "--host", host, "--label", f"service={service}")
    assert done.returncode == 0, done.stderr


class Text:
    """perf top that writes one table after the other into a file."""
    def __init__(self, perf, folder, *words):
        self.path = folder / "tables"
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen([perf, "top", *words], stdout=output, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def tables(self):
        """Those that are complete: header and rows by their functions."""
        found = []
        for block in self.path.read_text(encoding="utf-8").split("\n\n")[:-1]:
            head, *lines = block.splitlines()
            found.append((head, {line.split()[3]: line.split() for line in lines if not line.startswith("#")}))
        return found

    def until(self, condition, what):
        started.until(lambda: self.process.poll() is not None or any(condition(*table) for table in self.tables()), what)
        assert self.process.poll() is None, self.path.read_text(encoding="utf-8")
        return next(table for table in self.tables() if condition(*table))


def test_as_text(perf, server, tmp_path):  # noqa: F811
    """Before anything is there, with one machine, with two; the shares are those of perf fleet top."""
    url = create(perf, server, "top_text")
    with Text(perf, tmp_path, "--from", url, "--time", "-30m", "-d", "1", "--where", "service = \"shop\"") as top:
        top.until(lambda head, rows: "no agent has sent anything in the last hour" in head, "it says that there is nothing")
        send(perf, url, tmp_path, "web1")
        head, rows = top.until(lambda head, rows: ": 34 samples" in head, "all windows of one machine are there")
        assert re.search(r"hosts: 1  Event cpu-clock:HG: 34 samples  1800 s up to \d\d:\d\d:\d\d, \d+ s ago$", head)
        fleet = perf("fleet", "top", "--from", url, "--format", "csv")
        wanted = {line.split(",")[4]: line.split(",")[1:3] for line in fleet.stdout.splitlines()[1:]}
        assert {function: [float(share.rstrip("%")) for share in words[:2]] for function, words in rows.items()} == {
            function: [pytest.approx(float(share), abs=0.01) for share in shares] for function, shares in wanted.items()}
        send(perf, url, tmp_path, "web2", seed=5)
        send(perf, url, tmp_path, "db1", service="database", seed=7)
        top.until(lambda head, rows: "hosts: 2 " in head and ": 68 samples" in head, "two machines are there, and no other service")


def test_an_engine_that_goes_and_one_that_is_not_there(perf, tmp_path):
    """It says so, and asks again."""
    with Text(perf, tmp_path, "--from", "clickhouse://127.0.0.1:1/perf", "-d", "1", "--stdio") as top:
        started.until(lambda: len(top.tables()) >= 2, "it has asked twice")
        assert all("127.0.0.1" in head and not rows for head, rows in top.tables())


@pytest.mark.parametrize("time", [2 ** 64 - 1, 1])
def test_a_time_that_cannot_be(perf, database, tmp_path, time):  # noqa: F811
    """A newest window of another hour than was asked for isn't shown as one."""
    handler, url = database
    handler.parts = {"windows": (200, f"{time}\n".encode()), "samples": (200, b"1\n")}
    with Text(perf, tmp_path, "--from", url, "-d", "1") as top:
        head, rows = top.until(lambda head, rows: True, "it has asked")
    assert "(the newest window) is not as it should be" in head and not rows


def test_on_a_screen(perf, server, tmp_path):  # noqa: F811
    """The cursor stays on its function while others come; keys freeze it, ask, explain and end."""
    if perf("check", "feature", "-q", "libncurses").returncode:
        pytest.skip("this build has no screens")
    url = create(perf, server, "top_screen")
    send(perf, url, tmp_path, "web1")
    with Screen([perf, "top", "--from", url, "--time", "30m", "-d", "1"], cwd=tmp_path) as screen:
        screen.until("hosts: 1 ", "parse", "write", "? for help")
        screen.after("?", "freeze the table")
        screen.after("Escape", "hosts: 1 ")
        screen.after("f", "frozen: f goes on")
        send(perf, url, tmp_path, "web2", seed=3)
        screen.after("r", "hosts: 2 ")
        screen.after("q", "ended with 0")


@pytest.mark.parametrize("words, said", [
    (["--from", "clickhouse://x/", "-p", "1"], "with --from: unknown option -p"),
    (["--from", "clickhouse://x/", "--time", "2h"], "invalid time '2h'"),
    (["--from", "clickhouse://x/", "-d", "0"], "invalid time '0'"),
    (["--where", "a = 1"], "--where and --label go with --from"),
    (["--label", "a=1"], "--where and --label go with --from"),
    (["--from", "clickhouse://x/", "--tui"], "--tui: "),
    (["--from", "pyroscope://x/", "--stdio"], "pyroscope:// is not ClickHouse"),
])
def test_mistakes(perf, words, said):
    done = perf("top", *words, timeout=60)
    assert done.returncode == 129 and said in done.stderr
