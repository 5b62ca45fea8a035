"""Debug files from servers: fetched where they are missing, the hottest first, and whatever a server does, a report comes."""
import http.server
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import pathlib
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording
import started

PROGRAM = """volatile long sink;
static __attribute__((noinline)) void NAME_secret(long n) { for (long i = 0; i < n; i++) sink += i; }
int main(void) { NAME_secret(1000); return 0; }
"""
SAMPLES = {"cool": 10, "warm": 30, "hot": 60}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Three stripped programs, a recording in which they are sampled, and their debug files by build-id."""
    if not shutil.which("gcc") or not shutil.which("objcopy"):
        pytest.skip("gcc or objcopy is not installed")
    try:
        import ctypes
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        pytest.skip("libdebuginfod1 is not installed")
    folder = tmp_path_factory.mktemp("debuginfod")
    text = ["event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,mmap2,comm"]
    ids = {}
    samples = []
    for number, (name, count) in enumerate(SAMPLES.items()):
        (folder / f"{name}.c").write_text(PROGRAM.replace("NAME", name))
        subprocess.run(["gcc", "-g", "-O1", "-no-pie", "-Wl,--build-id", "-o", name, f"{name}.c"], cwd=folder, check=True)
        notes = subprocess.run(["readelf", "-n", folder / name], check=True, capture_output=True, text=True).stdout
        ids[name] = re.search(r"Build ID: (\w+)", notes)[1]
        symbols = subprocess.run(["nm", folder / name], check=True, capture_output=True, text=True).stdout
        address = int(re.search(rf"(\w+) t {name}_secret", symbols)[1], 16)
        subprocess.run(["objcopy", "--only-keep-debug", name, f"{name}.debug"], cwd=folder, check=True)
        subprocess.run(["strip", name], cwd=folder, check=True)
        pid = 100 + number
        text += [f"comm pid={pid} tid={pid} name={name} exec=1 time=1",
                 f"mmap2 pid={pid} tid={pid} addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={folder / name}"]
        samples += [f"sample ip={address + 4:#x} pid={pid} tid={pid} time={10 + 100 * number + i} period=1000" for i in range(count)]
    (folder / "perf.data").write_bytes(recording.Maker("\n".join(text + samples) + "\n").make())
    return folder, ids


class Server:
    """Serves /buildid/ID/KIND by a function of the request handler; notes what was asked for."""

    def __init__(self, answer):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                try:
                    answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def until_asked(self):
        """A question that nobody waits for any more is still in the socket."""
        started.until(lambda: self.asked, "the server reads the question")

    def __exit__(self, *what):
        self.server.shutdown()
        self.server.server_close()


def send(handler, data, length=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)


def debug_files(programs, kinds=("debuginfo",)):
    folder, ids = programs
    files = {f"/buildid/{ids[name]}/{kind}": folder / (f"{name}.debug" if kind == "debuginfo" else name) for name in SAMPLES for kind in kinds}

    def answer(handler):
        if handler.path in files:
            send(handler, files[handler.path].read_bytes())
        else:
            handler.send_error(404)
    return answer


def report(perf, programs, tmp_path, url, *words, **more):
    environment = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": url, **more}
    return subprocess.run([perf.path, "report", "--stdio", "-s", "sym,srcline", "-i", programs[0] / "perf.data", *words], capture_output=True, text=True,
                          env=environment, timeout=300, check=False)


def names(done):
    return re.findall(r"\[\.\] (\w+_secret)\s+(\w+\.c:\d+)", done.stdout)


def test_found_and_kept(perf, programs, tmp_path):
    """In the order of their samples, once: without the server they are there still, for a debugger too."""
    folder, ids = programs
    with Server(debug_files(programs)) as server:
        done = report(perf, programs, tmp_path, server.url)
        assert names(done) == [("hot_secret", "hot.c:2"), ("warm_secret", "warm.c:2"), ("cool_secret", "cool.c:2")], done.stderr
        assert [path.split("/")[2] for path in server.asked] == [ids["hot"], ids["warm"], ids["cool"]]
        assert names(report(perf, programs, tmp_path, server.url)) == names(done) and len(server.asked) == 3
    assert "debuginfod" not in done.stderr
    assert names(report(perf, programs, tmp_path, "")) == names(done)
    assert (tmp_path / "cache" / ids["hot"] / "debuginfo").read_bytes() == (folder / "hot.debug").read_bytes()
    if shutil.which("gdb"):
        seen = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled on", "-ex", f"file {folder / 'hot'}", "-ex", "info line hot_secret"],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": "http://127.0.0.1:1/"})
        assert 'Line 2 of "hot.c"' in seen.stdout, seen


@pytest.mark.parametrize("words", [["script", "-F", "+srcline"], ["flamegraph", "-o", "/dev/stdout"], ["annotate", "--stdio", "-s", "hot_secret"]],
                         ids=lambda words: words[0])
def test_other_commands(perf, programs, tmp_path, words):
    with Server(debug_files(programs)) as server:
        done = subprocess.run([perf.path, *words, "-i", programs[0] / "perf.data"], capture_output=True, text=True, check=False,
                              env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": server.url})
    assert done.returncode == 0 and "hot_secret" in done.stdout, done.stderr


def test_only_where_servers_are_named(perf, programs, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DEBUGINFOD")}
    with Server(debug_files(programs)) as server:
        done = subprocess.run([perf.path, "report", "--stdio", "-i", programs[0] / "perf.data"], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0 and "secret" not in done.stdout
        assert not names(report(perf, programs, tmp_path, server.url, "--debuginfod-timeout", "0"))
        assert not names(report(perf, programs, tmp_path, server.url, PERF_CONFIG=str(write_config(tmp_path, 0))))
        assert server.asked == []
        assert names(report(perf, programs, tmp_path, server.url, PERF_CONFIG=str(write_config(tmp_path, 20))))


def write_config(tmp_path, seconds):
    path = tmp_path / "config"
    path.write_text(f"[debuginfod]\n\ttimeout = {seconds}\n")
    return path


def random_bytes(handler):
    send(handler, random.Random(1).randbytes(5000))


def half_an_elf(data):
    """Whole for HTTP, but not for ELF."""
    return lambda handler: send(handler, data[:len(data) // 2])


def cut_short(data):
    return lambda handler: send(handler, data[:len(data) // 2], len(data))


def garbled(data):
    """The header is right, most of the rest isn't."""
    return lambda handler: send(handler, data[:64] + random.Random(2).randbytes(len(data) - 64))


@pytest.mark.parametrize("way", ["404", "500", "random", "empty", "half", "cut", "garbled", "other", "redirects"])
def test_bad_answers(perf, programs, tmp_path, way):
    """The report is that without a server, and comes."""
    data = (programs[0] / "hot.debug").read_bytes()
    other = (programs[0] / "cool.debug").read_bytes()
    answers = {"404": lambda handler: handler.send_error(404), "500": lambda handler: handler.send_error(500), "random": random_bytes,
               "empty": lambda handler: send(handler, b""), "half": half_an_elf(data), "cut": cut_short(data), "garbled": garbled(data),
               "other": lambda handler: send(handler, other), "redirects": redirect_for_ever}
    with Server(answers[way]) as server:
        done = report(perf, programs, tmp_path, server.url, "--debuginfod-timeout", "3" if way == "redirects" else "30")
        server.until_asked()
    assert done.returncode == 0 and "Overhead" in done.stdout
    shown = [name for name, _ in names(done)]
    assert shown == (["cool_secret"] if way == "other" else [])
    assert done.stdout.count("%") >= 3
    if way == "redirects":
        assert "debuginfod: " in done.stderr


def redirect_for_ever(handler):
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.end_headers()


def test_nobody_there(perf, programs, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        done = report(perf, programs, tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert done.returncode == 0 and done.stdout.count("%") >= 3 and "perf doctor debuginfod" in done.stderr


@pytest.mark.parametrize("way", ["silent", "drops"])
def test_slow_server(perf, programs, tmp_path, way):
    """It says nothing, or a byte now and then: all files together get the time that is given."""
    over = threading.Event()

    def answer(handler):
        if way == "drops":
            handler.send_response(200)
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
        while not over.wait(.1):
            if way == "drops":
                handler.wfile.write(b"x")
                handler.wfile.flush()
    with Server(answer) as server:
        done = report(perf, programs, tmp_path, server.url, "--debuginfod-timeout", "1")
        server.until_asked()
        over.set()
        assert len(server.asked) == 1 and programs[1]["hot"] in server.asked[0]
    assert done.returncode == 0 and done.stdout.count("%") >= 3 and not names(done)
    assert "after 1 s, with 3 files still without debug information" in done.stderr and "--debuginfod-timeout" in done.stderr


def test_progress_on_a_terminal(perf, programs, tmp_path):
    over = threading.Event()
    if not shutil.which("script"):
        pytest.skip("script is not installed")
    with Server(lambda handler: over.wait(300)) as server:
        command = f"{perf.path} --no-pager report --stdio --debuginfod-timeout 300 -i {programs[0] / 'perf.data'}"
        with subprocess.Popen(["script", "-qec", command, "/dev/null"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env={**os.environ, "TERM": "xterm", "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": server.url}) as process:
            shown = b""
            while not re.search(rb"Debug file: hot +\[[# ]+\] +\d+%", shown):
                more = os.read(process.stdout.fileno(), 65536)
                assert more, shown
                shown += more
            over.set()
            process.stdout.read()


def test_code_of_a_missing_program(perf, programs, tmp_path):
    """A recording of another machine: the program itself comes from the server, too; debug files don't tell where its parts were in memory."""
    folder, ids = programs
    known = tmp_path / "known.data"
    listed = "".join(f"feature build_id {ids[name]} /elsewhere/{name}\n" for name in SAMPLES)
    known.write_bytes(recording.Maker(listed + describe_again(programs).replace(f"name={folder}/", "name=/elsewhere/")).make())
    with Server(debug_files(programs, ("debuginfo",))) as infos, Server(debug_files(programs, ("executable",))) as files:
        environment = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": f"{infos.url} {files.url}"}

        def run(*words):
            return subprocess.run([perf.path, *words, "-i", known], capture_output=True, text=True, env=environment, check=False)
        assert names(run("report", "--stdio", "-s", "sym,srcline"))[0] == ("hot_secret", "hot.c:2")
        assert [path for path in files.asked if "executable" in path] == [f"/buildid/{ids[name]}/executable" for name in ("hot", "warm", "cool")]
        shown = run("annotate", "--stdio", "-s", "hot_secret")
        assert re.search(r"100\.00 +: +[0-9a-f]+: +\w+", shown.stdout), shown.stdout + shown.stderr
        assert sum("executable" in path for path in files.asked) == 3
    environment["DEBUGINFOD_URLS"] = ""
    assert run("annotate", "--stdio", "-s", "hot_secret").stdout == shown.stdout


def cached(perf, home, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DEBUGINFOD") and name != "PERF_BUILDID_DIR"}
    return subprocess.run([perf.path, *words], capture_output=True, text=True, check=False, env={**environment, "HOME": str(home)})


def test_buildid_cache(perf, programs, tmp_path):
    """-a of a recording with --debuginfod=URL: the files and their debug files; then neither servers nor the programs are needed."""
    folder, ids = programs
    away = tmp_path / "away"
    away.mkdir()
    done = cached(perf, tmp_path, "buildid-cache", "-v", "-a", folder / "perf.data")
    assert done.returncode == 0 and f"{folder / 'hot'}: Ok\n" in done.stderr
    assert sorted(line.split()[0] for line in cached(perf, tmp_path, "buildid-cache", "-l").stdout.splitlines()) == sorted(ids.values())
    cached(perf, tmp_path, "buildid-cache", "-P")
    try:
        for name in SAMPLES:
            (folder / name).rename(away / name)
        kinds = debug_files((away, ids), ("executable",))
        infos = debug_files(programs)
        with Server(lambda handler: (kinds if "executable" in handler.path else infos)(handler)) as server:
            # Without the files nobody knows which builds they were: the recording must.
            listed = "".join(f"feature build_id {ids[name]} {folder / name}\n" for name in SAMPLES)
            known = tmp_path / "known.data"
            known.write_bytes(recording.Maker(listed + describe_again(programs)).make())
            done = cached(perf, tmp_path, "buildid-cache", "-v", f"--debuginfod={server.url}", "-a", known)
            assert done.returncode == 0 and f"{folder / 'hot'}: Ok, with its debug file\n" in done.stderr, done.stderr
        shutil.rmtree(tmp_path / ".cache", ignore_errors=True)
        done = cached(perf, tmp_path, "report", "--stdio", "-s", "sym,srcline", "-i", known)
        assert names(done)[0] == ("hot_secret", "hot.c:2"), done.stderr
        assert "hot_secret" in cached(perf, tmp_path, "annotate", "--stdio", "-s", "hot_secret", "-i", known).stdout
    finally:
        for name in SAMPLES:
            (away / name).rename(folder / name)
    done = cached(perf, tmp_path, "buildid-cache", "--debuginfod", "-a", known)
    assert done.returncode != 0 and "no servers given" in done.stderr


def describe_again(programs):
    folder, _ = programs
    lines = ["event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,mmap2,comm"]
    for number, (name, count) in enumerate(SAMPLES.items()):
        symbols = subprocess.run(["nm", folder / f"{name}.debug"], check=True, capture_output=True, text=True).stdout
        address = int(re.search(rf"(\w+) t {name}_secret", symbols)[1], 16)
        lines += [f"comm pid={100 + number} tid={100 + number} name={name} exec=1 time=1",
                  f"mmap2 pid={100 + number} tid={100 + number} addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={folder / name}"]
        lines += [f"sample ip={address + 4:#x} pid={100 + number} tid={100 + number} time={500 + i} period=1000" for i in range(count)]
    return "\n".join(lines) + "\n"


def test_recorded_with_debug_files(perf, programs, live, tmp_path):
    """They are in the build-id cache, and reports find them there without asking anybody."""
    folder, ids = programs
    environment = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": ""}

    def run(*words):
        return subprocess.run([perf.path, "--buildid-dir", tmp_path / "ids", *words], capture_output=True, text=True, env=environment, timeout=100, check=False)
    recorded = ["record", "-o", tmp_path / "own.data", "-e", "cpu-clock:u", "--buildid-all"]
    with Server(debug_files(programs)) as server:
        done = run(*recorded, f"--debuginfod={server.url}", folder / "hot")
        assert done.returncode == 0 and f"/buildid/{ids['hot']}/debuginfo" in server.asked, done.stderr
    kept = tmp_path / "ids" / str(folder / "hot")[1:] / ids["hot"]
    assert (kept / "debug").read_bytes() == (folder / "hot.debug").read_bytes() and (kept / "elf").exists()
    for words, status, said in (([], 129, "no servers given"), (["-N"], 129, "omit -B and -N"), (["-B"], 129, "omit -B and -N")):
        done = run(*recorded, "--debuginfod" if not words else "--debuginfod=http://127.0.0.1:1/", *words, "true")
        assert done.returncode == status and said in done.stderr, done.stderr


def test_recorded_with_vmlinux(perf, root, live, tmp_path):
    """It goes into the cache under the kernel's build-id; another kernel's is refused before anything is recorded."""
    notes = subprocess.run(["readelf", "-n", "/sys/kernel/notes"], capture_output=True, text=True, check=False).stdout
    raw = pathlib.Path("/sys/kernel/notes").read_bytes()
    at = raw.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    if at < 0:
        pytest.skip(f"the kernel has no build-id {notes}")
    number = raw[at + 16:at + 36].hex()
    (tmp_path / "x.c").write_text("int start_kernel(void) { return 0; }")
    for name, value in (("vmlinux", number), ("other", "12" * 20)):
        subprocess.run(["gcc", "-shared", f"-Wl,--build-id=0x{value}", "-o", tmp_path / name, tmp_path / "x.c"], check=True)
    words = ["--buildid-dir", tmp_path / "ids", "record", "-o", tmp_path / "own.data", "-e", "cpu-clock"]
    assert perf(*words, "--vmlinux", tmp_path / "vmlinux", "true").returncode == 0
    listed = perf("--buildid-dir", tmp_path / "ids", "buildid-cache", "-l").stdout
    assert f"{number} {tmp_path / 'vmlinux'}\n" in listed
    for path, said in ((tmp_path / "other", f"its build-id is {'12' * 20}, the kernel's is {number}"), (tmp_path / "x.c", "is not an ELF file")):
        done = perf(*words, "-o", tmp_path / "second.data", "--vmlinux", path, "true")
        assert done.returncode == 255 and said in done.stderr and not (tmp_path / "second.data").exists()
