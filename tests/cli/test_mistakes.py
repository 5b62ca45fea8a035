"""Wrong usages: each is refused, or told of, in words that say what is wrong. None is taken and does nothing."""
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def recording(perf, tmp_path_factory):
    path = tmp_path_factory.mktemp("mistakes") / "perf.data"
    done = perf("record", "-q", "-g", "-e", "cpu-clock:u", "-o", path, "--", str(perf), "test", "-w", "brstack", "20000000")
    if done.returncode:
        pytest.skip(done.stderr)
    return path


@pytest.mark.parametrize("words, text", [
    (["record", "-c", "0", "true"], "invalid number of events '0'"),
    (["record", "-m", "4,16", "true"], "the second part of -m is for hardware traces: add an event that traces, such as -e intel_pt//"),
    (["record", "-m", "4,x", "true"], "invalid value 'x': expected a number of pages"),
    (["record", "-S", "true"], "-S is for hardware traces: add an event that traces"),
    (["record", "-Sx", "true"], "invalid value 'x': expected e for a snapshot at the end, a size such as 1M"),
    (["record", "--aux-sample", "true"], "--aux-sample is for hardware traces"),
    (["record", "--aux-sample=70000", "true"], "at most 65528"),
    (["record", "-e", "intel_pt//u", "true"], "Intel's processors since Broadwell have it"),
    (["top", "-m", "4,16"], "which only 'perf record' records; omit it"),
    (["stat", "--interval-clear", "true"], "requires -I"),
    (["stat", "--aio", "true"], "unknown option --aio; perf record has it\n"),
    (["stat", "--sort", "x"], "perf report and perf top have it\n"),
    (["report", "--format", "x"], "invalid format 'x': use csv, json or folded"),
    (["report", "-s", "smbol"], "unknown key 'smbol'; did you mean 'symbol'? The keys are\n"),
    (["report", "-w", "x"], "expected numbers separated by commas"),
    (["report", "-w", "3,,4"], "expected numbers separated by commas"),
    (["script", "--addr-range", "8", "-S", "main"], "requires -S 0x"),
    (["test", "-w", "noploop", "x"], "it takes [SECONDS]"),
    (["test", "-w", "noploop", "1", "2"], "unexpected argument '2'"),
    (["test", "-w", "landlock", "1"], "it takes no argument"),
])
def test_usage(perf, words, text):
    done = perf(*words, timeout=300)
    assert done.returncode == 129 and text in done.stderr


def test_lists_of_other_pmus_are_not_silently_empty(perf):
    done = perf("list", "--unit", "no-such-pmu")
    assert done.stdout == "" and "PMU 'no-such-pmu'" in done.stderr


def test_file_names_are_looked_at(perf, recording):
    done = perf("report", "-i", recording, "--symfs", "/no/such/place")
    assert done.returncode == 255 and "--symfs /no/such/place: No such file" in done.stderr


def test_max_stack_0_leaves_no_callers(perf, oracle, recording):
    def table(program, *words):
        lines = program("report", "--stdio", "-i", recording, "--max-stack", "0", *words).stdout.splitlines()
        return sorted(line.rstrip() for line in lines if line.strip() and not line.startswith("#"))
    for words in ([], ["-g", "none"], ["--no-children"]):
        ours = table(perf, *words)
        assert ours and not any("---" in line for line in ours)
        assert ours == table(oracle, *words)


def test_report_of_counts_says_who_shows_them(perf, tmp_path):
    assert perf("stat", "record", "-o", tmp_path / "s.data", "-e", "page-faults", "true").returncode == 0
    done = perf("report", "-i", tmp_path / "s.data")
    assert "no samples" in done.stderr and "perf stat report" in done.stderr


def test_config_refuses_what_would_break_the_file(perf, tmp_path):
    home = {**{k: v for k, v in os.environ.items() if k != "PERF_CONFIG"}, "HOME": str(tmp_path)}
    for words in (["="], [" .x=3"], ["a]b.x=3"], ["a.b c=3"], ["a.b=c", "d"]):
        done = perf("config", *words, env=home)
        assert done.returncode == 255 and "written" not in done.stderr
    assert not (tmp_path / ".perfconfig").exists()


def test_each_key_that_is_read_is_known_and_described(perf, tmp_path):
    home = {**{k: v for k, v in os.environ.items() if k != "PERF_CONFIG"}, "HOME": str(tmp_path)}
    keys = set()
    for path in (ROOT / "src").rglob("*.c"):
        text = path.read_text(encoding="utf-8")
        keys |= set(re.findall(r'config_get(?:_bool)?\(&?config, "([a-z-]+\.[a-z_-]+)"', text))
        keys |= set(re.findall(r'\{"((?:report|hist|call-graph|annotate|trace|stat|record|top|script)\.[a-z_-]+)", (?:"|offsetof)', text))
    assert len(keys) > 20
    manual = (ROOT / "doc/man/perf-config.md").read_text(encoding="utf-8")
    for key in sorted(keys):
        assert "has no effect" not in perf("config", f"{key}=1", env=home).stderr, key
        assert f"`{key}`" in manual


def test_features_that_commands_have_are_told(perf):
    for name in ("aio", "libpython"):
        assert perf("check", "-q", "feature", name).returncode == 0, name


def test_caches_that_are_not_there(perf):
    done = perf("stat", "-a", "-e", "page-faults", "--per-cache=L9", "true")
    assert done.returncode == 255 and "no CPU has such a cache" in done.stderr and done.stdout == ""


def test_events_that_are_not_there(perf, recording, tmp_path):
    cut = tmp_path / "cut.data"
    cut.write_bytes(recording.read_bytes()[:200])
    assert "describes no events" in perf("evlist", "-i", cut).stderr
    done = perf("report", "-i", recording, "--group-sort-idx", "1")
    assert "no table has that many events" in done.stderr and "brstack" in done.stdout
    assert "--group-sort-idx" not in perf("report", "-i", recording, "--group-sort-idx", "0").stderr


def test_a_kernel_image_that_is_none(perf, tmp_path):
    done = perf("record", "-q", "-F", "20000", "-e", "cpu-clock:k", "-o", tmp_path / "k.data", "--", "ls", "-R", "/usr/lib")
    if done.returncode or not perf("script", "-i", tmp_path / "k.data").stdout:
        pytest.skip(f"the kernel can't be sampled: {done.stderr}")
    image = tmp_path / "image"
    image.write_text("no ELF file")
    assert f"-k {image} is not an ELF file" in perf("report", "-i", tmp_path / "k.data", "-k", image).stderr
    other = perf("report", "-i", tmp_path / "k.data", "-k", perf)
    assert "is not the recorded kernel" in other.stderr or "not an ELF file with a symbol table" in other.stderr


def test_events_that_are_not_there_are_a_failure(perf):
    assert perf("list", "page-faults").returncode == 0
    for words in (["nosuchthing"], ["page-faults", "nosuch:*"]):
        done = perf("list", *words)
        assert done.returncode == 1 and "no event matches 'nosuch" in done.stderr


def test_an_empty_recording_is_told_of(perf, live, tmp_path):
    assert perf("record", "-q", "-e", "dummy", "-o", tmp_path / "empty", "--", "true").returncode == 0
    for command in ("script", "report"):
        done = perf(command, "-i", tmp_path / "empty")
        assert done.returncode == 0 and not done.stdout.strip() and "no samples" in done.stderr
