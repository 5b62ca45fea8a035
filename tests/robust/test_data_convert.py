"""perf data convert: what it writes to and what it leaves alone, and recordings that nobody good made."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording as made  # noqa: E402

pytestmark = pytest.mark.sanitize
SAMPLE = "event cycles type=0 config=0 freq=1000 sample=IP|TID|TIME|CPU ids=1\n"


def write(path, text, **options):
    path.write_bytes(made.make(text, **options))
    return path


@pytest.fixture
def recorded(tmp_path):
    return write(tmp_path / "perf.data", SAMPLE + "".join(f"sample event=0 ip=0x1 pid=1 tid=1 time={10 + i} cpu={i}\n" for i in range(4)))


def read(folder):
    if not shutil.which("babeltrace2"):
        pytest.skip("babeltrace2 isn't installed")
    return subprocess.run(["babeltrace2", folder], capture_output=True, text=True, check=True).stdout.splitlines()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_folders(perf, recorded, tmp_path):
    """An older trace goes, with the streams that the new one hasn't; another file stops it, but not --force; folders above are made."""
    trace = tmp_path / "a/b/trace"
    assert perf("data", "convert", "-i", recorded, "--to-ctf", f"{trace}/").returncode == 0
    assert names(trace) == ["metadata", *(f"perf_stream_{i}" for i in range(4))] and len(read(trace)) == 4
    one = write(tmp_path / "one.data", SAMPLE + "sample event=0 ip=0x1 pid=1 tid=1 time=10 cpu=2\n")
    assert perf("data", "-i", one, "convert", "--to-ctf", trace).returncode == 0
    assert names(trace) == ["metadata", "perf_stream_2"] and len(read(trace)) == 1
    (trace / "notes").write_text("x", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in trace.iterdir()}
    done = perf("data", "convert", "-i", recorded, "--to-ctf", trace)
    assert done.returncode == 255 and "has other files in it ('notes')" in done.stderr
    assert {path.name: path.read_bytes() for path in trace.iterdir()} == before
    assert perf("data", "convert", "-f", "-i", one, "--to-ctf", trace).returncode == 0 and names(trace) == ["metadata", "notes", "perf_stream_2"]


def test_new_folder_outside_of_tmp(perf, recorded):
    """The sandbox knows where it will be, slashes behind it or not."""
    place = pathlib.Path("/dev/shm")
    if not os.access(place, os.W_OK):
        pytest.skip("nothing can be written to /dev/shm")
    with tempfile.TemporaryDirectory(dir=place) as above:
        for name in ("a", "b/", "c/d//"):
            done = perf("data", "convert", "-i", recorded, "--to-ctf", f"{above}/{name}")
            assert done.returncode == 0 and (pathlib.Path(above) / name / "metadata").exists(), done.stderr


def test_links_are_not_followed(perf, recorded, tmp_path):
    trace, victim = tmp_path / "trace", tmp_path / "victim"
    trace.mkdir()
    victim.write_text("mine", encoding="utf-8")
    for name in ("metadata", "perf_stream_0", "perf_stream_3"):
        (trace / name).symlink_to(victim)
    assert perf("data", "convert", "-i", recorded, "--to-ctf", trace).returncode == 0
    assert victim.read_text(encoding="utf-8") == "mine" and not any((trace / name).is_symlink() for name in names(trace))
    own = tmp_path / "link"
    own.symlink_to(trace)
    assert perf("data", "convert", "-i", recorded, "--to-ctf", own).returncode == 0 and own.is_symlink()


def test_places_of_others(perf, recorded, tmp_path, root):
    """Root doesn't write into folders of others, nor through their links, with a slash behind them or not."""
    foreign, home = tmp_path / "foreign", tmp_path / "home"
    foreign.mkdir()
    home.mkdir()
    for folder in (foreign, home):
        (folder / "metadata").write_text("mine", encoding="utf-8")
    os.chown(foreign, 12345, 12345)
    link = tmp_path / "link"
    link.symlink_to(home)
    os.lchown(link, 12345, 12345)
    for place, sentence in ((foreign, "belongs to another user"), (link, "a symbolic link of another user"), (f"{link}/", "a symbolic link of another user")):
        done = perf("data", "convert", "-f", "-i", recorded, "--to-ctf", place)
        assert done.returncode == 255 and sentence in done.stderr, done.stderr
    assert names(foreign) == names(home) == ["metadata"]


def test_what_fails_leaves_nothing(perf, recorded, tmp_path):
    out, nothing = tmp_path / "out", tmp_path / "nothing"
    nothing.write_text("no recording", encoding="utf-8")
    for words, sentence in ((["-i", nothing, "--to-json", out], "has no perf.data header"), (["-i", nothing, "--to-ctf", out], "has no perf.data header"), (["-i", recorded, "--tod", "--to-ctf", out], "record with -k")):
        done = perf("data", "convert", *words)
        assert done.returncode == 255 and sentence in done.stderr and not out.exists(), (words, done.stderr)
    with open(write(tmp_path / "pipe.data", SAMPLE + "sample event=0 ip=0x1 pid=1 tid=1 time=10 cpu=2\n", pipe=True), "rb") as file:
        done = perf("data", "convert", "-i", "-", "--tod", "--to-ctf", out, stdin=file)
    assert done.returncode == 255 and "record with -k" in done.stderr and not out.exists()
    out.write_text("mine", encoding="utf-8")
    done = perf("data", "convert", "-i", recorded, "--to-json", out)
    assert done.returncode == 255 and "exists already" in done.stderr and out.read_text(encoding="utf-8") == "mine"
    done = perf("data", "convert", "-f", "-i", nothing, "--to-json", out)
    assert done.returncode == 255 and out.read_text(encoding="utf-8") == "mine"
    assert perf("data", "convert", "-f", "-i", recorded, "--to-json", out).returncode == 0 and len(json.loads(out.read_bytes())["samples"]) == 4


def test_mistakes(perf, recorded):
    for words, sentence in (([], "--to-json FILE or --to-ctf FOLDER"), (["--to-json", "a", "--to-ctf", "b"], "cannot be combined"), (["--to-json", "a", "--all"], "--all is for --to-ctf only"),
                            (["--to-json", "a", "--tod"], "--tod is for --to-ctf only"), (["--to-ctf", ""], "is empty"), (["--to-json", ""], "is empty"), (["x", "--to-json", "a"], "unexpected argument 'x'")):
        done = perf("data", "convert", "-i", recorded, *words)
        assert done.returncode == 129 and sentence in done.stderr, done.stderr
    assert perf("data").returncode == perf("data", "x").returncode == 129
    done = perf("data", "convert", "-i", recorded, "--to-json", "/dev/full")
    assert done.returncode == 255 and "No space left" in done.stderr, done.stderr


def test_names(perf, tmp_path):
    """Names of a recording end neither a string nor a line of the metadata, and JSON stays JSON."""
    evil = 'a"; }; event { id = 9\\'
    path = write(tmp_path / "x.data", f"""
feature hostname '{evil}'
feature event_desc
feature cmdline '{evil}'
event '{evil}' type=0 config=0 freq=1000 sample=IP|TID|TIME ids=1
comm pid=1 tid=1 name='{evil}'
sample event=0 ip=0x1 pid=1 tid=1 time=10
""")
    assert perf("data", "convert", "--all", "-i", path, "--to-ctf", tmp_path / "trace").returncode == 0
    first, second = read(tmp_path / "trace")
    assert "perf_comm" in first and evil in second
    document = json.loads(perf("data", "convert", "-i", path, "--to-json", "-").stdout)
    assert document["headers"]["hostname"] == document["headers"]["cmdline"][0] == document["samples"][0]["comm"] == evil


def overlapping(count):
    """A tracepoint whose fields lie on one another, as if a record had many times what it has."""
    format_of, sizes_of = made.format_of, "dyn/4"
    fields = {"id": "7", "fields": sizes_of}
    text = format_of("many", fields)
    line = "\tfield:__data_loc char[] f{0};\toffset:8;\tsize:4;\tsigned:0;\n\tfield:unsigned long g{0}[1000];\toffset:16;\tsize:8000;\tsigned:0;\n"
    return text.replace("\n\nprint fmt", "\n" + "".join(line.format(i) for i in range(count)) + "\nprint fmt")


def test_output_is_bounded(perf, tmp_path, monkeypatch):
    """Fields that overlap: an event becomes no more than some times as large as a record can be."""
    monkeypatch.setattr(made, "format_of", lambda name, fields, text=overlapping(3000): text)
    long = "41" * 60000
    path = write(tmp_path / "x.data", f"""
tracepoint odd:many id=7 fields=dyn/4
event odd:many type=2 config=7 period=1 sample=TIME|RAW ids=1
sample event=0 time=1 raw=0700000000000000{(60000 << 16 | 12):08x}{long}
""".replace(f"{(60000 << 16 | 12):08x}", (60000 << 16 | 12).to_bytes(4, "little").hex()))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
    assert perf("data", "convert", "-i", path, "--to-ctf", tmp_path / "trace", preexec_fn=limit).returncode == 0
    assert len(read(tmp_path / "trace")) == 1 and (tmp_path / "trace/perf_stream_0").stat().st_size < 1 << 20
    assert perf("data", "convert", "-i", path, "--to-json", tmp_path / "json", preexec_fn=limit).returncode == 0
    assert json.loads((tmp_path / "json").read_bytes())["samples"]


def tracepoint_of(monkeypatch, lines):
    """The tracepoint odd:it has fields of these lines."""
    text = made.format_of("it", {"id": "7", "fields": "x/4"}).replace("\n\nprint fmt", "\n" + "".join(f"\t{line};\tsigned:0;\n" for line in lines) + "\nprint fmt")
    monkeypatch.setattr(made, "format_of", lambda name, fields: text)
    return "tracepoint odd:it id=7 fields=x/4\n"


def test_large_fields_of_small_records(perf, tmp_path, monkeypatch):
    """An array that is declared, of which records have next to nothing, would make a huge trace of a small recording."""
    text = tracepoint_of(monkeypatch, ["field:unsigned short g[30000];\toffset:12;\tsize:60000"]) + "event odd:it type=2 config=7 period=1 sample=TIME|RAW ids=1\n"
    text += "".join(f"sample event=0 time={i} raw=070000000000000011111111\n" for i in range(1, 100)) + f"sample event=0 time=100 raw=0700000000000000{'22' * 60004}\n"
    done = perf("data", "convert", "-i", write(tmp_path / "x.data", text), "--to-ctf", tmp_path / "trace")
    assert done.returncode == 0 and "99 samples are not written" in done.stderr and "(1 samples)" in done.stderr, done.stderr
    line, = read(tmp_path / "trace")
    assert line.count(" = 8738") == 30000, line[-500:]


def test_metadata_is_bounded(perf, tmp_path, monkeypatch):
    """One format of many fields, which many events have."""
    text = tracepoint_of(monkeypatch, [f"field:unsigned char f{'x' * 200}{i};\toffset:8;\tsize:1" for i in range(5000)])
    text += "".join(f"event odd:it type=2 config=7 period=1 sample=TIME|RAW|ID ids={i}\n" for i in range(1, 90)) + f"sample event=88 time=1 id=89 raw=0700000000000000{'11' * 2000}\n"
    done = perf("data", "convert", "-i", write(tmp_path / "x.data", text), "--to-ctf", tmp_path / "trace")
    assert done.returncode == 0 and "the trace's metadata is larger than 64 MB" in done.stderr, done.stderr
    assert 64 << 20 < (tmp_path / "trace/metadata").stat().st_size < 66 << 20 and (tmp_path / "trace/perf_stream_0").exists()


def test_packets_of_many_processors(perf, tmp_path, monkeypatch):
    """Those that aren't full are written as well when they are much together."""
    text = tracepoint_of(monkeypatch, ["field:unsigned short g[31000];\toffset:12;\tsize:62000"]) + "event odd:it type=2 config=7 period=1 sample=TIME|CPU|RAW ids=1\n"
    text += "".join(f"sample event=0 time={i} cpu={i % 560} raw=0700000000000000{'22' * 7800}\n" for i in range(561))
    assert perf("data", "convert", "-i", write(tmp_path / "x.data", text), "--to-ctf", tmp_path / "trace").returncode == 0
    first = (tmp_path / "trace/perf_stream_0").read_bytes()
    assert first.count(0xc1fc1fc1.to_bytes(4, sys.byteorder)) == 2 and len(names(tmp_path / "trace")) == 561


def test_names_of_fields(perf, tmp_path, monkeypatch):
    """Readers pass over one '_': no field of a tracepoint has the name of what all samples have."""
    text = tracepoint_of(monkeypatch, [f"field:unsigned char {name};\toffset:8;\tsize:1" for name in ("_perf_ip", "perf_ip", "_perf_id", "align")])
    text += "event odd:it type=2 config=7 period=1 sample=IP|TIME|RAW ids=1\nsample event=0 ip=1 time=1 raw=070000000000000011111111\n"
    assert perf("data", "convert", "-i", write(tmp_path / "x.data", text), "--to-ctf", tmp_path / "trace").returncode == 0
    line, = read(tmp_path / "trace")
    assert line.count(" perf_ip = ") == 1 and all(f" {name} = 17" in line for name in ("field__perf_ip", "field_perf_ip", "field__perf_id", "align")), line


def test_many_processors(perf, tmp_path):
    """Numbers of processors that no machine has come to the first stream."""
    path = write(tmp_path / "x.data", "feature nrcpus 4\n" + SAMPLE + "".join(f"sample event=0 ip=0x1 pid=1 tid=1 time={i} cpu={i}\n" for i in range(1, 2000)))
    assert perf("data", "convert", "-i", path, "--to-ctf", tmp_path / "trace").returncode == 0
    assert names(tmp_path / "trace") == ["metadata", *(f"perf_stream_{i}" for i in range(4))] and len(read(tmp_path / "trace")) == 1999


def test_long_streams(perf, tmp_path):
    """More than a packet, and more than what is written at once."""
    path = write(tmp_path / "x.data", SAMPLE + "".join(f"sample event=0 ip={i} pid=1 tid=1 time={i} cpu=1\n" for i in range(1, 9000)))
    assert perf("data", "convert", "-i", path, "--to-ctf", tmp_path / "trace").returncode == 0
    assert [int(line.split("perf_ip = ")[1].split(",")[0], 16) for line in read(tmp_path / "trace")] == list(range(1, 9000))
    document = json.loads(perf("data", "convert", "-i", path, "--to-json", "-").stdout)
    assert [sample["timestamp"] for sample in document["samples"]] == list(range(1, 9000))
