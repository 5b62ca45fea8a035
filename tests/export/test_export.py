"""perf export: recordings made by hand with known totals, read back by readers that aren't ours."""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import exported  # noqa: E402
import parquet  # noqa: E402
import protobuf  # noqa: E402
import recording  # noqa: E402
import schemas  # noqa: E402

KERNEL = 0xffffffff81000000
NAMES = ["_text", "start", "parse", "read", "write", "_etext"]
OTHERS = ["sqlite"]  # which have tests of their own
MANY = pytest.mark.parametrize("kind", sorted(exported.READERS))
FIELDS = "comm/16,pid/4,runtime/8"
HEAD = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
        "event page-faults type=1 config=2 ids=2 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all\n"
        "tracepoint sched:sched_waking id=7 fields=comm/16,pid/4,runtime/8\n"
        "event sched:sched_waking type=2 config=7 ids=3 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW|CALLCHAIN flags=sample_id_all\n"
        "feature cmdline /usr/bin/perf record -g prog\n"
        f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
        "comm pid=1 tid=1 name=prog\ncomm pid=1 tid=5 name=helper\ncomm pid=2 tid=2 name=other\n")
CLOCK, FAULTS, WAKING = EVENTS = ["cpu-clock:HG", "page-faults:HG", "sched:sched_waking"]
# event, pid, tid, stack from the outermost on, period
SAMPLES = [(0, 1, 1, "start parse read", 1000000), (0, 1, 5, "start parse read", 2000000), (0, 1, 1, "start parse", 500001), (1, 1, 1, "start write", 1),
           (0, 2, 2, "start", 7), (2, 2, 2, "start write", 1), (0, 1, 1, "start parse read", 1000000), (1, 2, 2, "start parse parse", 3), (2, 1, 5, "write", 1)]


def write(folder, names=NAMES, samples=SAMPLES, head=HEAD):
    text = head
    for time, (event, pid, tid, stack, period) in enumerate(samples):
        places = [KERNEL + 0x1000 * NAMES.index(word) + 0x10 for word in reversed(stack.split())]
        raw = " raw=" + recording.raw_of(7, FIELDS, f"waker{time}", -tid, 1 << 40) if event == 2 else ""
        text += (f"sample event={event} id={event + 1} ip={places[0]:#x} pid={pid} tid={tid} time={1000 * (time + 1)} cpu={tid % 2} period={period} misc=1 "
                 f"chain=kernel,{','.join(map(hex, places))}{raw}\n")
    (folder / "kallsyms").write_bytes(b"".join(f"{KERNEL + 0x1000 * i:016x} T ".encode() + (name if isinstance(name, bytes) else name.encode()) + b"\n"
                                               for i, name in enumerate(names)))
    (folder / "perf.data").write_bytes(recording.make(text))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write(folder)
    return folder


def export(perf, folder, kind, *words):
    """The bytes, after checking that a file gets the same as standard output."""
    name = folder / f"out.{kind}"
    done = perf("export", kind, "-o", name, "--kallsyms", "kallsyms", *words, cwd=folder)
    assert done.returncode == 0 and not done.stdout, done.stderr
    piped = perf("export", kind, "--kallsyms", "kallsyms", *words, cwd=folder, text=False)
    assert piped.returncode == 0 and piped.stdout == name.read_bytes(), piped.stderr
    return piped.stdout


def sums(rows, *columns):
    """Periods by these columns of the rows."""
    found = collections.Counter()
    for row in rows:
        found[tuple(row[column] for column in columns)] += row[4]
    return {key: value for key, value in found.items() if value}


@MANY
def test_stacks(perf, made, kind):
    """The same stacks of the same events and threads weigh the same."""
    wanted = [(EVENTS[event], pid, tid, tuple(stack.split()), period) for event, pid, tid, stack, period in SAMPLES]
    rows = exported.READERS[kind](export(perf, made, kind))
    if kind == "folded":  # of one event, without threads
        assert sums(rows, 3) == sums([row for row in wanted if row[0] == CLOCK], 3)
        return
    if kind == "firefox":  # tracepoints are markers
        wanted = [row for row in wanted if row[0] != WAKING]
    assert sums(rows, 0, 1, 2, 3) == sums(wanted, 0, 1, 2, 3)


@MANY
def test_filters(perf, made, kind):
    rows = exported.READERS[kind](export(perf, made, kind, "--show-event", CLOCK, "--comms", "helper,other"))
    assert sums(rows, 3) == {(("start", "parse", "read"),): 2000000, (("start",),): 7}
    rows = exported.READERS[kind](export(perf, made, kind, "--show-event", CLOCK, "--show-cpu", "0"))
    assert sums(rows, 3) == {(("start",),): 7}


@pytest.mark.parametrize("kind", sorted({*exported.READERS} - {"folded"}))
def test_idle_thread(perf, tmp_path, kind):
    """Process 0 is one, not none."""
    write(tmp_path, samples=[(0, 0, 0, "start", 9), *SAMPLES])
    rows = exported.READERS[kind](export(perf, tmp_path, kind, "--show-event", CLOCK))
    assert sums(rows, 1, 2, 3)[0, 0, ("start",)] == 9
    if kind == "pprof":
        profile, strings, _ = exported.pprof_tables(export(perf, tmp_path, kind))
        labels = [label for sample in profile[2] for label in map(protobuf.decode, protobuf.decode(sample)[3]) if strings[label[1][0]] in ("pid", "tid")]
        assert all(3 in label for label in labels) and [0] in [label[3] for label in labels]


@MANY
def test_report(perf, made, kind):
    """What perf report says of each function."""
    done = perf("report", "--kallsyms", "kallsyms", "--no-children", "-g", "none", "-s", "sym", "-F", "period,sym", "--format", "csv", cwd=made)
    wanted = {(row["event"], row["symbol"][4:]): int(row["period"]) for row in csv.DictReader(io.StringIO(done.stdout))
              if row["period"] != "period"}
    event = CLOCK
    rows = exported.READERS[kind](export(perf, made, kind, "--show-event", event))
    assert {(event, name): value for (name,), value in sums([(*row, row[3][-1]) for row in rows], 5).items()} == \
        {key: value for key, value in wanted.items() if key[0] == event}


def test_order_of_time(perf, made):
    """Where each sample is a row, they come as they were taken."""
    rows = [json.loads(line) for line in export(perf, made, "ndjson").splitlines()]
    assert [row["time"] for row in rows] == [1000 * (i + 1) for i in range(len(SAMPLES))]
    assert [(row["comm"], row["cpu"]) for row in rows][:2] == [("prog", 1), ("helper", 1)]
    assert rows[5]["fields"] == {"comm": "waker5", "pid": -2, "runtime": 1 << 40} and "fields" not in rows[0]
    assert [sample["ts"] for sample in json.loads(export(perf, made, "chrome"))["samples"]] == [i + 1 for i in range(len(SAMPLES))]


def test_tracepoints(perf, made):
    """Markers and instant events have the fields."""
    trace = json.loads(export(perf, made, "chrome"))
    instants = [event for event in trace["traceEvents"] if event["ph"] == "i"]
    assert [(event["ts"], event["tid"], event["args"]["comm"], event["args"]["pid"]) for event in instants] == [(6, 2, "waker5", -2), (9, 5, "waker8", -5)]
    assert {(event["tid"], event["args"]["name"]) for event in trace["traceEvents"] if event["name"] == "thread_name"} == {(1, "prog"), (5, "helper"), (2, "other")}
    profile = json.loads(export(perf, made, "firefox"))
    assert [field["key"] for field in profile["meta"]["markerSchema"][0]["fields"]] == ["comm", "pid", "runtime"]
    markers = {thread["tid"]: thread["markers"] for thread in profile["threads"] if thread["markers"]["length"]}
    assert set(markers) == {2, 5} and markers[5]["data"][0]["comm"] == "waker8" and markers[5]["startTime"] == [0.008]
    assert exported.firefox_stack(profile["shared"], markers[2]["data"][0]["cause"]["stack"]) == ("start", "write")
    alone = exported.firefox(export(perf, made, "firefox", "--show-event", WAKING))
    assert sums(alone, 3) == {(("start", "write"),): 1, (("write",),): 1}


def test_perfetto_scheduling(perf, tmp_path):
    """Tracepoints of the scheduler have messages of their own, others are listed by their fields."""
    fields = "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"
    raws = recording.raw_of(8, fields, "one", 1, 120, 1, "two", 2, -5), recording.raw_of(9, "name/8,left/8", "x", -1)
    text = (f"tracepoint sched:sched_switch id=8 fields={fields}\ntracepoint own:thing id=9 fields=name/8,left/8\n"
            + "".join(f"event {name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all\n"
                      for name, number in (("sched:sched_switch", 8), ("own:thing", 9)))
            + "".join(f"sample event={i} id={8 + i} ip=0x10 pid=1 tid=1 time={70 + i} cpu=3 period=1 raw={raw}\n" for i, raw in enumerate(raws)))
    (tmp_path / "perf.data").write_bytes(recording.make(text))
    packets = [protobuf.decode(packet) for packet in protobuf.decode(perf("export", "perfetto", cwd=tmp_path, text=False).stdout)[1]]
    bundles = [protobuf.decode(packet[1][0]) for packet in packets if 1 in packet]
    events = [protobuf.decode(bundle[2][0]) for bundle in bundles]
    assert [bundle[1] for bundle in bundles] == [[3], [3]] and [event[1] for event in events] == [[70], [71]]
    assert protobuf.decode(events[0][4][0]) == {1: [b"one"], 2: [1], 3: [120], 4: [1], 5: [b"two"], 6: [2], 7: [(1 << 64) - 5]}
    generic = protobuf.decode(events[1][327][0])
    assert generic[1] == [b"own:thing"] and [protobuf.decode(field) for field in generic[2]] == [{1: [b"name"], 4: [ord("x")]}, {1: [b"left"], 4: [(1 << 64) - 1]}]


@pytest.mark.parametrize("name,number", [("wakeup", 17), ("wakeup_new", 114), ("waking", 20)])
def test_perfetto_wakeups(perf, tmp_path, name, number):
    """By the numbers of Perfetto's ftrace_event.proto."""
    fields = "comm/16,pid/4,prio/4,success/4,target_cpu/4"
    (tmp_path / "perf.data").write_bytes(recording.make(
        f"tracepoint sched:sched_{name} id=8 fields={fields}\n"
        f"event sched:sched_{name} type=2 config=8 ids=8 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all\n"
        f"sample event=0 id=8 ip=0x10 pid=1 tid=1 time=70 cpu=3 period=1 raw={recording.raw_of(8, fields, 'one', 6, 120, 1, 2)}\n"))
    packets = [protobuf.decode(packet) for packet in protobuf.decode(perf("export", "perfetto", cwd=tmp_path, text=False).stdout)[1]]
    (event,) = [protobuf.decode(protobuf.decode(packet[1][0])[2][0]) for packet in packets if 1 in packet]
    assert protobuf.decode(event[number][0]) == {1: [b"one"], 2: [6], 3: [120], 4: [1], 5: [2]}


def test_process_names(perf, tmp_path):
    """Each process once, also when its main thread has no samples."""
    head = HEAD.replace("comm pid=2", "comm pid=1 tid=6 name=second\ncomm pid=2")
    write(tmp_path, samples=[(0, 1, 5, "start", 1), (0, 1, 6, "start", 1), (0, 2, 2, "start", 1)], head=head)
    trace = json.loads(perf("export", "chrome", cwd=tmp_path).stdout)
    assert [(event["pid"], event["args"]["name"]) for event in trace["traceEvents"] if event["name"] == "process_name"] == [(1, "prog"), (2, "other")]
    packets = [protobuf.decode(packet) for packet in protobuf.decode(perf("export", "perfetto", cwd=tmp_path, text=False).stdout)[1]]
    (tree,) = [protobuf.decode(packet[2][0]) for packet in packets if 2 in packet]
    assert [protobuf.decode(process) for process in tree[1]] == [{1: [1], 3: [b"prog"]}, {1: [2], 3: [b"other"]}]


def test_firefox_threads(perf, made):
    profile = json.loads(export(perf, made, "firefox"))
    assert profile["meta"]["product"] == "perf record -g prog"
    assert {(thread["pid"], thread["tid"], thread["isMainThread"], thread["processName"]) for thread in profile["threads"]} == \
        {("1", 1, True, "prog"), ("1", 5, False, "prog"), ("2", 2, True, "other")}


HOSTILE = [b'a"b\\c\x1b[31m', b"bad\xff\xc3(", b"x;y,z'<b>", b"n" * (1 << 20)]


@pytest.mark.sanitize
@MANY
def test_hostile_names(perf, tmp_path, kind):
    """Quotes, control bytes, invalid UTF-8 and long names: what comes out is valid, and weighs what it should."""
    head = HEAD.replace("name=helper", r"name='he\"lper'")
    write(tmp_path, [NAMES[0], *HOSTILE, NAMES[5]], head=head)
    data = export(perf, tmp_path, kind)
    rows = exported.READERS[kind](data)
    assert sum(row[4] for row in rows if row[0] in (None, CLOCK)) == 4500008
    plain = data if kind != "pprof" else b"".join(protobuf.decode(gzip.decompress(data))[6])
    if kind in ("perfetto", "otlp", "parquet"):  # lengths are bytes of any kind, or all is compressed
        plain = "".join(name for row in rows for name in row[3]).encode()
    assert b"\x1b" not in plain and b"\xff" not in plain


def test_pprof_by_protoc(perf, made, tmp_path):
    """All that was written is in the schema: what isn't would be shown as a number."""
    text = schemas.protoc(tmp_path, schemas.PPROF, "Profile", gzip.decompress(export(perf, made, "pprof")))
    assert not [line for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert text.count("\nsample {") == len({row[:4] for row in SAMPLES}) and 'string_table: "cpu-clock:HG"' in text and "duration_nanos: 8000" in text


def test_otlp_by_protoc(perf, made, tmp_path):
    text = schemas.protoc(tmp_path, schemas.OTLP, "Data", export(perf, made, "otlp"))
    assert not [line for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert 'string_table: "page-faults:HG"' in text and 'string_value: "perf record -g prog"' in text and text.count("    profiles {") == 3


# What is used of perfetto's protos/perfetto/trace/trace.proto and the files that it includes.
PERFETTO = """syntax = "proto2";
message Trace { repeated Packet packet = 1; }
message Packet { optional Bundle ftrace_events = 1; optional Tree process_tree = 2; optional uint64 timestamp = 8; optional uint32 trusted_packet_sequence_id = 10;
  optional Interned interned_data = 12; optional uint32 sequence_flags = 13; optional Defaults trace_packet_defaults = 59; optional Sample perf_sample = 66; }
message Defaults { optional SampleDefaults perf_sample_defaults = 12; }
message SampleDefaults { optional Timebase timebase = 1; }
message Timebase { optional string name = 10; }
message Sample { optional uint32 cpu = 1; optional uint32 pid = 2; optional uint32 tid = 3; optional uint64 callstack_iid = 4; optional Mode cpu_mode = 5;
  optional uint64 timebase_count = 6; }
enum Mode { MODE_UNKNOWN = 0; MODE_KERNEL = 1; MODE_USER = 2; }
message Tree { repeated Process processes = 1; repeated Thread threads = 2; }
message Process { optional int32 pid = 1; optional int32 ppid = 2; repeated string cmdline = 3; }
message Thread { optional int32 tid = 1; optional string name = 2; optional int32 tgid = 3; }
message Interned { repeated String function_names = 5; repeated Frame frames = 6; repeated Stack callstacks = 7; repeated String build_ids = 16;
  repeated String mapping_paths = 17; repeated String source_paths = 18; repeated Mapping mappings = 19; }
message String { optional uint64 iid = 1; optional bytes str = 2; }
message Frame { optional uint64 iid = 1; optional uint64 function_name_id = 2; optional uint64 mapping_id = 3; optional uint64 rel_pc = 4;
  optional uint64 source_path_iid = 5; optional uint32 line_number = 6; }
message Stack { optional uint64 iid = 1; repeated uint64 frame_ids = 2; }
message Mapping { optional uint64 iid = 1; optional uint64 build_id = 2; optional uint64 start = 4; optional uint64 end = 5; repeated uint64 path_string_ids = 7;
  optional uint64 exact_offset = 8; }
message Bundle { optional uint32 cpu = 1; repeated Event event = 2; }
message Event { optional uint64 timestamp = 1; optional uint32 pid = 2; optional Waking sched_waking = 20; optional Generic generic = 327; }
message Waking { optional string comm = 1; optional int32 pid = 2; optional int32 prio = 3; optional int32 success = 4; optional int32 target_cpu = 5; }
message Generic { optional string event_name = 1; }
"""


def test_perfetto_by_protoc(perf, made, tmp_path):
    """With $PERFETTO, a clone of Perfetto's sources, by the schema there."""
    data = export(perf, made, "perfetto")
    texts = [schemas.protoc(tmp_path, PERFETTO, "Trace", data)]
    if clone := os.environ.get("PERFETTO"):
        texts.append(subprocess.run(["protoc", f"--proto_path={clone}", "--decode=perfetto.protos.Trace", "protos/perfetto/trace/trace.proto"], input=data,
                                    capture_output=True, check=True).stdout.decode())
    for text in texts:
        assert not [line for line in text.splitlines() if line.strip()[:1].isdigit()]
        assert text.count("perf_sample {") == len(SAMPLES) and text.count("sched_waking {") == 2 and f'name: "{CLOCK}"' in text
        assert text.count("timebase_count: 4500001\n") == 1 and "MODE_KERNEL" in text and 'cmdline: "prog"' in text


def test_pprof_mapping(perf, tmp_path):
    """Mappings with the build-id, addresses in memory."""
    text = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|PERIOD|CALLCHAIN flags=sample_id_all,mmap,comm\n"
            "feature build_id 0123456789abcdef0123456789abcdef01234567 /no/such\n"
            "mmap pid=1 tid=1 addr=0x400000 len=0x2000 pgoff=0x1000 name=/no/such\n"
            "sample event=0 id=1 ip=0x400123 pid=1 tid=1 time=10 period=5 chain=user,0x400123,0x400456\n")
    (tmp_path / "perf.data").write_bytes(recording.make(text))
    profile, strings, locations = exported.pprof_tables(perf("export", "pprof", cwd=tmp_path, text=False).stdout)
    mapping = protobuf.decode(profile[3][0])
    assert (protobuf.one(mapping, 2), protobuf.one(mapping, 3), protobuf.one(mapping, 4)) == (0x400000, 0x402000, 0x1000)
    assert strings[protobuf.one(mapping, 5)] == "/no/such" and strings[protobuf.one(mapping, 6)] == "0123456789abcdef0123456789abcdef01234567"
    assert {protobuf.one(protobuf.decode(location), 3) for location in profile[4]} == {0x400123, 0x400456}
    assert set(locations.values()) == {("[such]",)}


def test_parquet_columns(perf, made):
    """The values of ndjson; nothing where it has none."""
    table, groups = parquet.read(export(perf, made, "parquet"))
    rows = [json.loads(line) for line in export(perf, made, "ndjson").splitlines()]
    assert groups == 1 and list(table) == ["time", "event", "comm", "pid", "tid", "cpu", "period", "address", "symbol", "dso", "source", "line", "stack"]
    for name, values in table.items():
        wanted = [";".join(row["stack"]) if name == "stack" else int(row[name], 16) if name == "address" else row.get(name) for row in rows]
        assert values == wanted, name


def test_parquet_groups(perf, tmp_path):
    """Each of 131072 rows, with a dictionary of its own: in the second there are processes that the first has not got."""
    count = (1 << 17) + 1001

    def owner(i):
        return 1 if i < 1 << 17 else 1 + i % 39
    (tmp_path / "perf.data").write_bytes(recording.make(
        "event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD flags=sample_id_all,comm\n"
        + "".join(f"comm pid={pid} tid={pid} name=task{pid}\n" for pid in range(1, 40))
        + "".join(f"sample event=0 id=1 ip={0x1000 + i % 7:#x} pid={owner(i)} tid={owner(i)} time={i + 1} cpu={i % 3} period={i}\n" for i in range(count))))
    table, groups = parquet.read(perf("export", "parquet", cwd=tmp_path, text=False).stdout)
    assert groups == 2 and table["time"] == list(range(1, count + 1)) and sum(table["period"]) == count * (count - 1) // 2
    assert table["pid"] == [owner(i) for i in range(count)] and table["cpu"] == [i % 3 for i in range(count)]
    assert table["comm"] == [f"task{owner(i)}" for i in range(count)]
    assert table["line"] == [None] * count and table["address"][:8] == [0x1000, *range(0x1001, 0x1007), 0x1000]


def test_parquet_long_names(perf, tmp_path):
    """A group has some 64 MB of names at most, so that no page is too large."""
    write(tmp_path, [NAMES[0], b"a" * (1 << 20), b"b" * (1 << 20), b"c" * (1 << 20), *NAMES[4:]],
          samples=[(0, 1, 1, " ".join(["start"] * depth), 1) for depth in (*range(1, 13), 12, 1)])
    table, groups = parquet.read(export(perf, tmp_path, "parquet"))
    assert groups == 2 and table["stack"] == [";".join(["a" * (1 << 20)] * depth) for depth in (*range(1, 13), 12, 1)]


def test_parquet_by_duckdb(perf, made, tmp_path):
    """With node's @duckdb/node-api in $NODE_PATH: the same sums by an engine of others."""
    if not shutil.which("node") or subprocess.run(["node", "-e", "require('@duckdb/node-api')"], capture_output=True, check=False).returncode:
        pytest.skip("node has no @duckdb/node-api: npm install it, and set NODE_PATH")
    (tmp_path / "table.parquet").write_bytes(export(perf, made, "parquet"))
    program = ("require('@duckdb/node-api').DuckDBInstance.create().then(async (database) => { const reader = await (await database.connect()).runAndReadAll("
               "\"select event, stack, cast(sum(period) as bigint) from 'table.parquet' group by all\"); "
               "console.log(JSON.stringify(reader.getRows().map((row) => row.map(String)))); })")
    done = subprocess.run(["node", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted = sums([(EVENTS[event], pid, tid, stack.replace(" ", ";"), period) for event, pid, tid, stack, period in SAMPLES], 0, 3)
    assert {(event, stack): int(period) for event, stack, period in json.loads(done.stdout)} == wanted


@pytest.mark.parametrize("words,status,sentence", [
    (["nonsense"], 129, "choose one of"), (["csv", "more"], 129, "one format at a time: unexpected 'more'"), (["csv", "--show-event", "nope"], 255, "no event 'nope'"),
    (["csv", "-i", "/nonexistent"], 255, "/nonexistent")])
def test_mistakes(perf, made, words, status, sentence):
    done = perf("export", *words, cwd=made)
    assert done.returncode == status and sentence in done.stderr and not done.stdout


def test_not_over_the_recording(perf, tmp_path):
    """By whatever name, and when it is what is read by default."""
    write(tmp_path)
    before = (tmp_path / "perf.data").read_bytes()
    (tmp_path / "link").symlink_to("perf.data")
    (tmp_path / "hard").hardlink_to(tmp_path / "perf.data")
    for words in (["-i", "perf.data", "-o", "perf.data"], ["-o", "./perf.data"], ["-o", "link"], ["-i", "link", "-o", "perf.data"], ["-o", "hard"]):
        done = perf("export", "csv", *words, cwd=tmp_path)
        assert done.returncode == 255 and done.stderr.endswith(f"{words[-1]} is the recording itself: choose another file to write\n"), done.stderr
        assert (tmp_path / "perf.data").read_bytes() == before


def test_not_over_a_part_of_the_recording(perf, tmp_path):
    """A recording that is a directory is its files; what else is there may be written."""
    write(tmp_path)
    (tmp_path / "dir").mkdir()
    before = (tmp_path / "perf.data").read_bytes()
    (tmp_path / "dir/data").write_bytes(before)
    (tmp_path / "dir/data.0").write_bytes(b"")
    (tmp_path / "link").symlink_to("dir/data")
    for output in ("dir/data", "./dir/../dir/data", "link", "dir/data.0"):
        done = perf("export", "csv", "-i", "dir", "-o", output, cwd=tmp_path)
        assert done.returncode == 255 and done.stderr.endswith(f"{output} is the recording itself: choose another file to write\n"), done.stderr
        assert (tmp_path / "dir/data").read_bytes() == before and not (tmp_path / "dir/data.0").read_bytes()
    for _ in range(2):
        done = perf("export", "csv", "-i", "dir", "-o", "dir/samples.csv", cwd=tmp_path)
        assert done.returncode == 0 and (tmp_path / "dir/samples.csv").stat().st_size, done.stderr


def test_list(perf):
    done = perf("export")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert done.returncode == 0 and names == sorted(names) and set(exported.READERS) <= set(names) <= {*exported.READERS, *OTHERS}


def test_no_samples(perf, tmp_path):
    (tmp_path / "perf.data").write_bytes(recording.make(HEAD))
    done = perf("export", "csv", cwd=tmp_path)
    assert done.returncode == 255 and "no samples" in done.stderr
