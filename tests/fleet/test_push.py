"""perf agent push: recordings made by hand with known totals, as engines get them. What is sent is decoded by readers that aren't ours: protoc by the engines'
public definitions, and those of tests/lib."""
import base64
import collections
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("lib", "export")]
import exported  # noqa: E402
import protobuf  # noqa: E402
import schemas  # noqa: E402
import test_export  # noqa: E402
from engine import HANG, RESET, Engine, make_certificate  # noqa: E402

NAMES = {test_export.CLOCK: "cpu"}
SAMPLES = test_export.SAMPLES
TIME = 1795808000  # 2026-11-27 19:33:20


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recording that doesn't tell when it was made; its file was written last at TIME."""
    folder = tmp_path_factory.mktemp("made")
    test_export.write(folder)
    os.utime(folder / "perf.data", (TIME, TIME))
    return folder


@pytest.fixture
def engine():
    with Engine() as one:
        yield one


def push(perf, folder, url, *words, fails=False):
    done = perf("agent", "push", "--sink", url, "--kallsyms", "kallsyms", *words, cwd=folder)
    assert (done.returncode != 0) == fails, done.stderr
    return done


def wanted(event):
    """What an engine's profile of an event says: (stack) → samples and periods."""
    found = collections.defaultdict(lambda: [0, 0])
    for number, _, _, stack, period in SAMPLES:
        if test_export.EVENTS[number] == event:
            found[tuple(stack.split())][0] += 1
            found[tuple(stack.split())][1] += period
    return dict(found)


def check_profile(data, event, tmp_path):
    """A compressed pprof profile of one event."""
    plain = gzip.decompress(data)
    assert not [line for line in schemas.protoc(tmp_path, schemas.PPROF, "Profile", plain).splitlines() if line.strip()[:1].isdigit()]
    profile, strings, locations = exported.pprof_tables(data)
    kind = NAMES.get(event, event)
    types = [[strings[protobuf.one(one, field)] for field in (1, 2)] for one in map(protobuf.decode, profile[1])]
    unit = "nanoseconds" if kind == "cpu" else "count"
    assert types == [["samples", "count"], [kind, unit]]
    assert [strings[protobuf.one(protobuf.decode(profile[11][0]), field)] for field in (1, 2)] == [kind, unit]
    found, seen = collections.defaultdict(lambda: [0, 0]), set()
    for sample in map(protobuf.decode, profile[2]):
        stack = tuple(name for location in reversed(protobuf.packed(sample[1][0])) for name in locations[location])
        found[stack] = [a + b for a, b in zip(found[stack], protobuf.packed(sample[2][0]))]
        (key, comm), = [(strings[protobuf.one(label, 1)], strings[protobuf.one(label, 2)]) for label in map(protobuf.decode, sample[3])]
        assert key == "comm" and (stack, comm) not in seen  # no series for each thread
        seen.add((stack, comm))
    assert dict(found) == wanted(event)
    assert protobuf.one(profile, 9) == (TIME - TIME % 60) * 10**9 and protobuf.one(profile, 10) == 60 * 10**9
    return profile


def check_labels(labels, event):
    name = {"cpu-clock:HG": "process_cpu", "page-faults:HG": "page_faults_HG", "sched:sched_waking": "sched_sched_waking"}[event]
    assert labels == {"__name__": name, "service_name": "shop", "service": "shop", "region": "north", "host": "web1"}


LABELS = "--label", "service=shop", "--label", "region=north", "--host", "web1"


def test_pyroscope(perf, made, engine, tmp_path):
    done = push(perf, made, f"pyroscope://me@{engine.place}/a%20prefix/?tenant=team", *LABELS, "--password-file", secret(tmp_path, "hush hush"))
    assert done.stdout == "perf.data: 9 samples sent, 1 window\n"
    request, = engine.requests
    assert (request.method, request.path, request.headers["Content-Type"]) == ("POST", "/a%20prefix/push.v1.PusherService/Push", "application/proto")
    assert request.headers["Connect-Protocol-Version"] == "1" and request.headers["X-Scope-OrgID"] == "team"
    assert base64.b64decode(request.headers["Authorization"].removeprefix("Basic ")) == b"me:hush hush"
    text = schemas.protoc(tmp_path, schemas.PYROSCOPE, "PushRequest", request.body)
    assert text.count("series {") == 3 and not [line for line in text.splitlines() if line.strip()[:1].isdigit()]
    ids = set()
    for event, series in zip(test_export.EVENTS, map(protobuf.decode, protobuf.decode(request.body)[1])):
        labels = [[protobuf.one(label, field).decode() for field in (1, 2)] for label in map(protobuf.decode, series[1])]
        assert labels[1:] == sorted(labels[1:])
        check_labels(dict(labels), event)
        sample = protobuf.decode(series[2][0])
        check_profile(sample[1][0], event, tmp_path)
        ids.add(sample[2][0].decode())
    assert len(ids) == 3 and all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one) for one in ids)


def test_parca(perf, made, engine, tmp_path):
    push(perf, made, f"parca://{engine.place}", *LABELS, "--token-file", secret(tmp_path, "open sesame"))
    request, = engine.requests
    assert (request.method, request.path, request.headers["Content-Type"]) == ("POST", "/api/profiles/writeraw", "application/json")
    assert request.headers["Authorization"] == "Bearer open sesame"
    document = json.loads(request.body)
    assert list(document) == ["series"] and len(document["series"]) == 3
    for event, series in zip(test_export.EVENTS, document["series"]):
        check_labels({label["name"]: label["value"] for label in series["labels"]["labels"]}, event)
        sample, = series["samples"]
        check_profile(base64.b64decode(sample["rawProfile"], validate=True), event, tmp_path)


def test_otlp(perf, made, engine, tmp_path):
    push(perf, made, f"otlp://{engine.place}", *LABELS)
    request, = engine.requests
    assert (request.method, request.path, request.headers["Content-Type"], request.headers["Content-Encoding"]) == \
        ("POST", "/v1development/profiles", "application/x-protobuf", "gzip")
    data = gzip.decompress(request.body)
    text = schemas.protoc(tmp_path, schemas.OTLP, "Data", data)
    assert not [line for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert text.count("    profiles {") == 3 and text.count("duration_nano: 60000000000\n") == 3 and text.count(" profile_id:") == 3
    resource = text[:text.index("scope_profiles {")]
    attributes = dict(re.findall(r'key: "(.*)"\n *value \{\n *string_value: "(.*)"', resource))
    assert attributes == {"host.name": "web1", "service.name": "shop", "region": "north"}
    if clone := os.environ.get("OTLP_PROTO"):  # a clone of opentelemetry-proto: the same by the whole definition
        package = "opentelemetry.proto.collector.profiles.v1development"
        done = subprocess.run(["protoc", f"-I{clone}", f"--decode={package}.ExportProfilesServiceRequest", f"{package.replace('.', '/')}/profiles_service.proto"], input=data,
                              capture_output=True, check=True)
        assert b'key: "service.name"' in done.stdout and not re.search(rb"^ *\d+:", done.stdout, re.M)
    rows = exported.otlp(data)
    for event in test_export.EVENTS:
        periods = test_export.sums([row for row in rows if row[0] == NAMES.get(event, event)], 3)
        assert {stack: period for (stack,), period in periods.items()} == {stack: period for stack, (_, period) in wanted(event).items()}


def test_otlp_rejects_some(perf, made, engine):
    """An answer of 200 that says that not all was taken."""
    partial = protobuf.encode_field(1, protobuf.encode_field(1, 2) + protobuf.encode_field(2, b"too \x1bold"))
    engine.answers = [(200, {"Content-Type": "application/x-protobuf"}, partial)]
    done = push(perf, made, f"otlp://{engine.place}", fails=True)
    assert "rejected 2 profiles" in done.stderr and r"too \x1bold" in done.stderr


def test_same_recording_same_window(perf, made, engine, tmp_path):
    """Sent again it has the same ids; with other labels it is another one."""
    for words in (LABELS, LABELS, LABELS[2:]):
        push(perf, made, f"pyroscope://{engine.place}", *words)
    first, second, third = [[protobuf.one(protobuf.decode(protobuf.decode(series)[2][0]), 2) for series in protobuf.decode(request.body)[1]]
                            for request in engine.requests]
    assert first == second and not set(first) & set(third)


def test_windows(perf, tmp_path, engine):
    """A recording is cut into windows by the machine's clock; each sample is in one, and what only others need isn't in it."""
    places = [test_export.KERNEL + (0x2010 if second == 1 else 0x1010) for second in range(1, 26)]  # parse, then start
    head = test_export.HEAD + "".join(f"sample event=0 id=1 ip={place:#x} pid=1 tid=1 time={second * 10**9 + 5} cpu=0 period={second} misc=1 chain=kernel,{place:#x}\n"
                                      for second, place in enumerate(places, 1))
    test_export.write(tmp_path, samples=[], head=head)
    os.utime(tmp_path / "perf.data", (TIME, TIME))
    for kind in ("otlp", "pyroscope"):
        done = push(perf, tmp_path, f"{kind}://{engine.place}", "--window", "10s")
        assert done.stdout == "perf.data: 25 samples sent, 4 windows\n"
    bodies = [gzip.decompress(request.body) for request in engine.requests[:4]]
    # The last sample is at TIME.
    assert [sorted(row[4] for row in exported.otlp(body)) for body in bodies] == [[1, sum(range(2, 5))], [sum(range(5, 15))], [sum(range(15, 25))], [25]]
    series = [protobuf.decode(protobuf.decode(request.body)[1][0]) for request in engine.requests[4:]]
    bodies += [gzip.decompress(protobuf.decode(one[2][0])[1][0]) for one in series]
    assert [b"parse" in body for body in bodies] == [True, False, False, False] * 2 and all(b"start" in body for body in bodies)


def secret(folder, text):
    path = folder / "secret"
    path.write_text(text + "\nnot this\n")
    return path


# ---- what goes wrong ----

@pytest.mark.parametrize("status, says", [(400, "status 400: no\\x1b[2J"), (401, "token-file"), (403, "may not write"), (404, "path of the URL"), (413, "shorter windows"),
                                          (429, "status 429"), (500, "status 500"), (503, "status 503")])
def test_refusals(perf, made, engine, status, says):
    engine.answers = [(status, {}, b"no\x1b[2J")]
    done = push(perf, made, f"parca://{engine.place}", fails=True)
    assert says in done.stderr and "\x1b" not in done.stderr and not done.stdout
    assert ("not everything was sent" in done.stderr) == (status not in (400, 413))


def test_no_redirection(perf, made, engine, tmp_path):
    """A secret goes to the server that it was given for."""
    with Engine() as other:
        engine.answers = [(307, {"Location": f"http://{other.place}/"}, b"")]
        done = push(perf, made, f"otlp://{engine.place}", "--token-file", secret(tmp_path, "open sesame"), fails=True)
        assert "redirections aren't followed" in done.stderr and not other.requests


def test_secrets_are_in_no_message(perf, made, engine, tmp_path):
    engine.answers = [(401, {}, b"who?")]
    done = perf("--debug", "verbose=3", "agent", "push", "--sink", f"otlp://{engine.place}", "--token-file", secret(tmp_path, "open sesame"), "-i", made / "perf.data")
    assert done.returncode and engine.requests[0].headers["Authorization"] == "Bearer open sesame" and "sesame" not in done.stderr + done.stdout
    for text, says in (("", "no secret in its first line"), ("a\x01b", "control character")):
        done = push(perf, made, f"otlp://{engine.place}", "--token-file", secret(tmp_path, text), fails=True)
        assert says in done.stderr
    done = push(perf, made, f"otlp://{engine.place}", "--token-file", tmp_path / "none", fails=True)
    assert "No such file" in done.stderr and len(engine.requests) == 1


def test_connections(perf, made, engine):
    """Cut in the middle of what is sent, and never answered: an error, in the time that was given."""
    engine.answers = [RESET]
    done = push(perf, made, f"parca://{engine.place}", fails=True)
    assert "not everything was sent" in done.stderr and f"http://{engine.place}" in done.stderr
    engine.answers = [HANG]
    done = push(perf, made, f"parca://{engine.place}", "--timeout", "1s", fails=True)
    assert "timed out" in done.stderr


def test_certificates(perf, made, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed, which makes a certificate")
    certificate = make_certificate(tmp_path)
    with Engine(certificate) as engine:
        done = push(perf, made, f"otlps://{engine.place}", fails=True)
        assert "certificate is not trusted" in done.stderr and "ca-file" in done.stderr and not engine.requests
        push(perf, made, f"otlps://{engine.place}", "--ca-file", certificate[0])
        assert len(engine.requests) == 1
        port = engine.place.rpartition(":")[2]
        done = push(perf, made, f"otlps://localhost:{port}", "--ca-file", certificate[0], fails=True)  # another name than it is for
        assert len(engine.requests) == 1 and f"localhost:{port}" in done.stderr


@pytest.mark.parametrize("kind, nothing", [("pyroscope", b""), ("parca", b'{"series":[]}'), ("otlp", b"")])
def test_check(perf, tmp_path, engine, kind, nothing):
    """perf agent check sends what has nothing in it: that just this is refused tells that one may write there."""
    (tmp_path / "conf").write_text(f"[agent]\nspool = {tmp_path}/spool\n[sink main]\nurl = {kind}://{engine.place}\n")
    for status, fine in ((200, True), (400, True), (401, False), (404, False), (500, False)):
        engine.answers = [(status, {}, b"")]
        done = perf("agent", "check", "--config", "conf", cwd=tmp_path)
        assert ("sink 'main': fine" in done.stdout) == fine and (fine or f"status {status}" in done.stdout), done.stdout
        assert engine.requests.pop().body == nothing


def test_mistakes(perf, made):
    for words, says in ((["--sink", "nosuch://x"], "otlp://"), (["--sink", "otlp://me:hush@x"], "password doesn't belong"), ([], "--sink"),
                        (["--sink", "otlp://"], "has no host"), (["--sink", "otlp://x", "--window", "1ms"], "invalid length"),
                        (["--sink", "otlp://x", "--label", "A=b"], "label name"), (["--sink", "otlp://me@x", "--token-file", "t"], "choose one"),
                        (["--sink", "otlp://x", "--password-file", "p"], "without a user"), (["--sink", "otlp://x?a=b"], "no parameter 'a'")):
        done = perf("agent", "push", *words, cwd=made)
        assert done.returncode and says in done.stderr and "hush" not in done.stderr, words


def test_folder(perf, made, tmp_path):
    """Recordings and profiles in a folder have the same samples."""
    for kind in ("perf.data", "pprof"):
        push(perf, made, f"file://{tmp_path}/{kind}?format={kind}", *LABELS)
        push(perf, made, f"file://{tmp_path}/{kind}?format={kind}", *LABELS)
    recording, = (tmp_path / "perf.data").iterdir()
    profile, = (tmp_path / "pprof").iterdir()
    assert re.fullmatch(r"20261127T193300Z-web1-[0-9a-f]{16}\.pb\.gz", profile.name) and profile.stat().st_mode & 0o777 == 0o600
    read = exported.pprof(profile.read_bytes())
    again = exported.pprof(perf("export", "pprof", "-i", recording, text=False).stdout)
    periods = {(name, *stack): period for (name, stack), period in test_export.sums([(row[0].partition(":")[0], *row[1:]) for row in read], 0, 3).items()}
    assert periods == {(name, *stack): period for (name, stack), period in test_export.sums([(row[0].partition(":")[0], *row[1:]) for row in again], 0, 3).items()}
    assert sum(periods.values()) == sum(row[4] for row in SAMPLES)
    _, strings, _ = exported.pprof_tables(profile.read_bytes())
    assert {"region", "north", "service", "shop"} <= set(strings)
