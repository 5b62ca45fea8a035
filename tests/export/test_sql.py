"""perf sql, and the databases that perf export writes: the same statements give the same rows in both."""
import contextlib
import csv
import io
import json
import pathlib
import sqlite3
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from test_export import CLOCK, FAULTS, HEAD, HOSTILE, NAMES, SAMPLES, WAKING, export, write  # noqa: E402
import recording  # noqa: E402


@pytest.fixture(scope="module")
def made(perf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sql")
    write(folder)
    if "built without SQLite" in perf("sql", "select 1", cwd=folder).stderr:
        pytest.skip("built without SQLite")
    return folder


def ask(perf, folder, statement, *words):
    done = perf("sql", "--csv", "--kallsyms", "kallsyms", *words, statement, cwd=folder)
    assert done.returncode == 0, done.stderr
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


STATEMENTS = [
    ("select symbol, count(*), sum(period) from samples where event like 'cpu%' group by symbol order by 3 desc",
     [["read", "3", "4000000"], ["parse", "1", "500001"], ["start", "1", "7"]]),
    ("select symbol, count(*) n from samples group by symbol order by n desc, symbol", [["read", "3"], ["write", "3"], ["parse", "2"], ["start", "1"]]),
    ("select symbol, count(*) n from samples group by symbol order by n desc limit 1", [["write", "3"]]),
    ("select comm, tid, symbol, count(*) from samples group by comm, tid, symbol order by comm desc, tid, symbol desc",
     [["prog", "1", "write", "1"], ["prog", "1", "read", "2"], ["prog", "1", "parse", "1"], ["other", "2", "write", "1"], ["other", "2", "start", "1"],
      ["other", "2", "parse", "1"], ["helper", "5", "write", "1"], ["helper", "5", "read", "1"]]),
    ("select id, time, cpu, period from samples where id = 3", [["3", "4000", "1", "1"]]),
    ("select id from samples where id = 3 or id in (5, 6) order by id", [["3"], ["5"], ["6"]]),
    ("select f.level, f.symbol from samples s join frames f on f.stack = s.stack or f.stack in (s.stack, -1) where s.id = 0 order by level",
     [["0", "read"], ["1", "parse"], ["2", "start"]]),
    ("select id from samples where id = '3'", [["3"]]),
    ("select id from samples where id = 3.0", [["3"]]),
    ("select id from samples where id in (4.5, 'five', '3x', 9e99, null)", []),
    ("select count(*) from samples", [[str(len(SAMPLES))]]),
    ("select time from samples order by time desc limit 2", [["9000"], ["8000"]]),
    ("select group_concat(symbol, '<') from (select f.symbol from samples s join frames f on f.stack = s.stack where s.id = 0 order by level)", [["read<parse<start"]]),
    ("select text, depth, count(*) from samples s join stacks k on k.id = s.stack where event = '" + FAULTS + "' group by text order by text",
     [["start;parse;parse", "3", "1"], ["start;write", "2", "1"]]),
    ("select name, samples, period, unit from events order by id", [[CLOCK, "5", "4500008", "ns"], [FAULTS, "2", "4", "count"], [WAKING, "2", "2", "count"]]),
    ("select pid, tid, comm, process from threads order by tid", [["1", "1", "prog", "prog"], ["2", "2", "other", "other"], ["1", "5", "helper", "prog"]]),
    ("select dso, printf('%x', start) from maps", [["[kernel.kallsyms]", "ffffffff81000000"]]),
    (f"select sample, sample_time, comm, pid, runtime from \"{WAKING}\" order by sample", [["5", "6000", "waker5", "-2", str(1 << 40)], ["8", "9000", "waker8", "-5", str(1 << 40)]]),
    (f"select s.symbol, w.comm from \"{WAKING}\" w join samples s on s.id = w.sample where w.pid = -5", [["write", "waker8"]]),
    ("select comm, pid from sched_waking order by sample", [["waker5", "-2"], ["waker8", "-5"]]),
    ("select e.name, a.comm, p.symbol, count(*) from samples s join events e on e.id = s.event_id join actors a on a.id = s.actor_id "
     "join places p on p.id = s.place_id where p.symbol = 'read' group by 1, 2, 3 order by 2", [[CLOCK, "helper", "read", "1"], [CLOCK, "prog", "read", "2"]]),
    ("select p.symbol from stacks k join places p on p.id = k.place_id join samples s on s.stack = k.id where s.id = 0", [["read"]]),
]


@pytest.mark.parametrize("statement,rows", STATEMENTS)
def test_statement(perf, made, statement, rows):
    assert ask(perf, made, statement) == rows


def ask_database(path, statement):
    """By Python's SQLite, as the texts that CSV has."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [["" if cell is None else str(cell) for cell in row] for row in database.execute(statement)]


def test_database(perf, made, tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_bytes(export(perf, made, "sqlite"))
    for statement, rows in STATEMENTS:
        assert ask_database(path, statement) == rows, statement
    assert ask_database(path, "pragma integrity_check") == [["ok"]]


def test_names_of_tracepoints(perf, made, tmp_path):
    """Two events of one tracepoint are one table; a short name that is taken, or that SQLite keeps for itself, is not used."""
    names = ["own:thing", "own:samples", "own:SQLite_step", "own:thing", "own:silent"]
    raws = [recording.raw_of(number, "left/4", number) for number in (1, 2, 3, 1, 5)]
    (tmp_path / "perf.data").write_bytes(recording.make(
        "".join(f"tracepoint {names[number - 1]} id={number} fields=left/4\n" for number in (1, 2, 3, 5))
        + "".join(f"event {name} type=2 config={names.index(name) + 1} ids={i + 1} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all\n"
                  for i, name in enumerate(names))
        + "".join(f"sample event={i} id={i + 1} ip=0x10 pid=1 tid=1 time={70 + i} cpu=3 period=1 raw={raws[i]}\n" for i in range(4))))
    (tmp_path / "kallsyms").write_bytes((made / "kallsyms").read_bytes())
    path = tmp_path / "out.sqlite"
    export(perf, tmp_path, "sqlite")
    for statement, rows in [("select left, sample from thing order by sample", [["1", "0"], ["1", "3"]]), ("select count(*) from \"own:thing\"", [["2"]]),
                            ("select count(*) from samples", [["4"]]), ("select left from \"own:samples\"", [["2"]]),
                            ("select left from \"own:SQLite_step\"", [["3"]]), ("select count(*) from silent", [["0"]])]:
        assert ask(perf, tmp_path, statement) == ask_database(path, statement) == rows, statement


@pytest.mark.parametrize("statement", ["create table x (a)", "attach 'x.sqlite' as x", "pragma temp_store = 2", "insert into samples values (1)", "delete from events",
                                       "select load_extension('x')", "create temp view v as select 1", "vacuum into 'x.sqlite'", "begin", "drop table samples"])
def test_reads_only(perf, made, statement):
    done = perf("sql", statement, cwd=made)
    assert done.returncode == 255 and not (made / "x.sqlite").exists() and not done.stdout
    assert "authoriz" in done.stderr or "may not be" in done.stderr, done.stderr


def test_forms(perf, made):
    statement = "select symbol, null as absent, 2.5 as half, period from samples where id = 0"
    assert json.loads(perf("sql", "--json", "--kallsyms", "kallsyms", statement, cwd=made).stdout) == {"symbol": "read", "absent": None, "half": 2.5, "period": 1000000}
    assert perf("sql", "--kallsyms", "kallsyms", statement, cwd=made).stdout.splitlines()[-1].split() == ["read", "2.5", "1000000"]
    done = perf("sql", "--json", "--csv", statement, cwd=made)
    assert done.returncode == 129 and "choose one" in done.stderr


def test_standard_input(perf, made):
    """Statements over several lines, words with a dot, several on a line; without a prompt the first error is the end."""
    text = "select name\nfrom events\nwhere id = 0; select 7;\n.tables\n.schema events\nselect nope;\nselect 9"
    done = perf("sql", "--csv", cwd=made, input=text, stdin=None)
    assert done.returncode == 255 and "no such column: nope" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == ["name", CLOCK, "7", "7"] and "samples" in lines and lines[-1].startswith('CREATE TABLE "events"') and "9" not in lines


def test_blank_lines(perf, made):
    """Before a word with a dot, and alone; within a statement they are part of it."""
    text = "\n  \n.tables\nselect 7;\n\t\n.schema events\n\nselect 'a\n\nb' as text;\n\n"
    done = perf("sql", "--json", cwd=made, input=text, stdin=None)
    assert done.returncode == 0 and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "samples" and '{"7":7}' in lines and lines[-2].startswith('CREATE TABLE "events"') and json.loads(lines[-1]) == {"text": "a\n\nb"}


def resident_kb(pid, path):
    """Of the mappings of a file."""
    of_file, kb = False, 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            of_file = line.endswith(str(path))
        elif of_file and line.startswith("Rss:"):
            kb += int(line.split()[1])
    return kb


def test_what_was_read_leaves_memory(perf, made, tmp_path):
    """A statement that reads the whole recording doesn't hold it in memory: answers of many stacks need it more."""
    count, size = 1 << 19, 64
    sample = struct.pack("<IHHQIIQI28x", 9, 2, size, 0x401000, 1, 1, 5000, 28)
    head = bytearray(recording.make("event cycles type=0 config=0 sample=IP|TID|TIME|RAW\n"))
    data_at, = struct.unpack_from("<Q", head, 40)
    struct.pack_into("<Q", head, 48, count * size)
    path = tmp_path / "perf.data"
    path.write_bytes(bytes(head[:data_at]) + sample * count)
    asked = subprocess.Popen([perf.path, "sql", "--csv", "-i", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    asked.stdin.write("select count(*) from samples;\n")
    asked.stdin.flush()
    assert [asked.stdout.readline().strip() for _ in range(2)] == ["count(*)", str(count)]
    assert resident_kb(asked.pid, path) < count * size // 4 >> 10
    asked.stdin.close()
    assert asked.wait() == 0


def test_infinity(perf, made):
    """Which JSON doesn't have."""
    done = perf("sql", "--json", "select 9e999 as more, -9e999 as less, 1e300 as large", cwd=made)
    assert json.loads(done.stdout, parse_constant=pytest.fail) == {"more": None, "less": None, "large": 1e300}


def test_unknown_option(perf, made):
    done = perf("sql", "--nonsense", cwd=made)
    assert done.returncode == 129 and "nonsense" in done.stderr and not done.stdout


def test_needs_grow(perf, made):
    """A later statement that needs more of the recording than those before it."""
    text = "select count(*) from samples; select sum(period) from samples; select max(depth) from stacks; select count(*) from samples where stack > 0;"
    assert perf("sql", "--csv", cwd=made, input=text, stdin=None).stdout.split()[1::2] == ["9", "4500014", "3", "9"]


def test_filters(perf, made):
    assert ask(perf, made, "select count(*) from samples", "--show-cpu", "0") == [["3"]]


@pytest.mark.sanitize
def test_hostile_names(perf, tmp_path, made):
    write(tmp_path, [NAMES[0], *HOSTILE, NAMES[5]], head=HEAD.replace("fields=comm/16", "fields=co-mm/16"))
    done = perf("sql", "--json", "--kallsyms", "kallsyms", "select symbol, length(symbol) n from samples", cwd=tmp_path, text=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(SAMPLES) and b"\x1b" not in done.stdout and {row["symbol"] for row in rows} > {"a\"b\\c\\x1b[31m", "x;y,z'<b>"}
    done = perf("sql", "--csv", "select sum(\"pid\") from sched_waking", cwd=tmp_path)
    assert done.stdout.split()[-1] == "-7"


def test_equal_to_report(perf, made):
    done = perf("report", "--kallsyms", "kallsyms", "--no-children", "-g", "none", "-s", "sym", "-F", "period,sym", "--format", "csv", cwd=made)
    wanted = sorted([row["event"], row["symbol"][4:], row["period"]] for row in csv.DictReader(io.StringIO(done.stdout)) if row["period"] != "period")
    assert sorted(ask(perf, made, "select event, symbol, sum(period) from samples group by event, symbol")) == wanted
