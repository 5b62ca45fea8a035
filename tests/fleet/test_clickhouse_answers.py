"""Answers of a database that isn't one: whatever comes, it is told, or shown without harm."""
import http.server
import struct
import threading

import pytest

END = 1795808006


def text(data):
    return bytes([len(data)]) + data


SUM = struct.pack("<QQQ", 5, 1000, 2)
STACK_HEAD = struct.pack("<Q", 5) + text(b"cpu-clock") + text(b"ns") + text(b"prog")
STACK = STACK_HEAD + b"\x02" + struct.pack("<QQ", 8, 9)
FRAME = b"".join(struct.pack("<QIQ", number, 1 << 20, 0) + text(b"/usr/bin/prog") + text(name) + text(b"") + struct.pack("<IBB", 0, 0, 0)
                 for number, name in ((8, b"main"), (9, b"work")))
LONG = b"\xff" * 9 + b"\x01"  # 2^64 - 1


@pytest.fixture(scope="module")
def database():
    """Answers questions for sums, stacks and frames by `parts`; its URL."""
    class Handler(http.server.BaseHTTPRequestHandler):
        parts = {}

        def do_POST(self):
            question = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, answer = next(answer for name, answer in self.parts.items() if f"FROM {name}" in question)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Handler, f"clickhouse://127.0.0.1:{server.server_port}/perf"
    server.shutdown()
    server.server_close()


def ask(perf, database, samples=SUM, stacks=STACK, frames=FRAME, status=200):
    handler, url = database
    handler.parts = {"samples": (status, samples), "stacks": (200, stacks), "frames": (200, frames)}
    return perf("report", "--from", url, "--time", f"@{END},@{END + 60}", "--format", "csv", "--no-children", "-s", "comm,dso,sym")


def test_what_is_right_is_shown(perf, database):
    assert ask(perf, database).stdout.splitlines()[1:] == ["cpu-clock,100.0000,prog,prog,[.] work"]
    assert ask(perf, database, frames=FRAME + FRAME, stacks=STACK + STACK).stdout.splitlines()[1:] == ["cpu-clock,100.0000,prog,prog,[.] work"]
    assert "frame not stored" in ask(perf, database, frames=b"").stdout
    assert "stack not stored" in ask(perf, database, stacks=b"").stdout


def test_events_are_told_by_stacks(perf, database):
    """The sums name stacks only; those of another event are its own, and what isn't described is of none."""
    off = struct.pack("<Q", 6) + text(b"offcpu-time") + text(b"ns") + text(b"prog") + b"\x01" + struct.pack("<Q", 8)
    told = ask(perf, database, samples=SUM + struct.pack("<QQQ", 6, 500, 1) + struct.pack("<QQQ", 7, 10, 1), stacks=STACK + off)
    assert told.returncode == 0, told.stderr
    rows = [line for line in told.stdout.splitlines() if ",100.0000," in line]
    assert sorted(rows) == ["[unknown],100.0000,[unknown],imported,[.] [stack not stored]", "cpu-clock,100.0000,prog,prog,[.] work",
                            "offcpu-time,100.0000,prog,prog,[.] main"]


@pytest.mark.parametrize("command", [["report", "--from"], ["fleet", "ls", "--from"], ["agent", "schema", "clickhouse", "--create"]], ids=" ".join)
def test_only_clickhouse_is_asked(perf, database, command):
    """Nobody else speaks its language."""
    handler, url = database
    done = perf(*command, url.replace("clickhouse", "pyroscope"))
    assert done.returncode == 129 and "pyroscope:// is not ClickHouse" in done.stderr, done.stderr


def test_nothing_is_left_behind(perf, database, tmp_path, monkeypatch):
    """The recording that is made of the answer has no name."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert "work" in ask(perf, database).stdout
    assert not list(tmp_path.iterdir())


def test_a_function_that_calls_itself_counts_once(perf, database):
    handler, url = database
    twice = STACK_HEAD + b"\x03" + struct.pack("<QQQ", 8, 9, 9)
    handler.parts = {"samples": (200, SUM), "stacks": (200, twice), "frames": (200, FRAME)}
    told = perf("fleet", "top", "--from", url, "--time", f"@{END},@{END + 60}", "--format", "csv")
    rows = [line.split(",") for line in told.stdout.splitlines()]
    columns = [rows[0].index(name) for name in ("self", "total", "function")]
    assert [[row[column] for column in columns] for row in rows[1:]] == [["100.0000", "100.0000", "work"], ["0.0000", "100.0000", "main"]]


@pytest.mark.sanitize
@pytest.mark.parametrize("part, answer", [("samples", SUM), ("stacks", STACK), ("frames", FRAME[:len(FRAME) // 2])])
def test_cut_answers(perf, database, part, answer):
    for size in range(1, len(answer)):
        told = ask(perf, database, **{part: answer[:size]})
        assert told.returncode == 255 and "not as it should be" in told.stderr, (size, told)


@pytest.mark.sanitize
@pytest.mark.parametrize("part, answer", [
    ("samples", LONG + SUM), ("samples", b"\xff" * 40), ("stacks", STACK_HEAD + LONG), ("stacks", struct.pack("<Q", 5) + LONG),
    ("stacks", struct.pack("<Q", 5) + text(b"cpu-clock") + LONG), ("stacks", STACK_HEAD + b"\xff\xff\xff\xff\x0f" + b"\0" * 64), ("frames", b"\xff" * 200), ("frames", struct.pack("<QIQ", 8, 1, 2) + LONG)])
def test_lengths_that_cannot_be(perf, database, part, answer):
    told = ask(perf, database, **{part: answer})
    assert told.returncode == 255 and "not as it should be" in told.stderr, told


def test_escapes_and_errors_are_harmless(perf, database):
    evil = FRAME.replace(text(b"work"), text(b"wo\x1b[31mrk\n")).replace(b"/usr/bin/prog", b"/usr\x1b]0;bin__")
    shown = ask(perf, database, frames=evil, stacks=STACK.replace(b"prog", b"p\x1bog"))
    assert shown.returncode == 0 and "\x1b" not in shown.stdout and "\\x1b" in shown.stdout.lower()
    told = ask(perf, database, samples=b"Code: 60. DB::Exception: \x1b[31mTable perf.samples does not exist\nmore", status=404)
    assert told.returncode == 255 and "\x1b" not in told.stderr and "perf agent schema clickhouse" in told.stderr and "more" not in told.stderr
    told = ask(perf, database, samples=b"<html>", status=302)
    assert told.returncode == 255 and "302" in told.stderr
    many = struct.pack("<QQQ", 5, 2 ** 64 - 1, 2 ** 64 - 1)
    assert ask(perf, database, samples=many).returncode == 0
