"""The README's promise: a clone in an empty folder builds itself on first use, and `meson install` puts everything in its place."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import reused  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(command, **arguments):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=900, **arguments)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if not (ROOT / ".git").exists():
        pytest.skip("these sources are no git repository")
    for program in ("meson", "ninja", "pkg-config"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("clone") / "perf-ng"
    done = run(["git", "clone", "-q", ROOT, folder])
    assert done.returncode == 0, done.stderr
    return folder


def programs_started(command, log):
    """The files that a command executes, itself included, in order."""
    done = run(["strace", "-f", "-qq", "-e", "trace=execve", "-o", log, *command])
    if "ptrace" in done.stderr:
        pytest.skip("nobody may be traced here")
    return re.findall(r'execve\("([^"]*)".* = 0$', log.read_text(), re.MULTILINE)


def build_of_the_same_sources(clone):
    """build/, which a first use has made just like the clone's, or make test nearly so, if it is of the sources that git has, and up to date; or None."""
    build = ROOT / "build"
    names = ("src", "include", "tools", "meson.build", "meson_options.txt")
    same = all(run(["diff", "-rq", "-x", "__pycache__", ROOT / name, clone / name]).returncode == 0 for name in names)
    return build if same and "no work to do" in run(["ninja", "-n", "-C", build]).stdout else None


def test_first_use_builds_and_later_uses_cost_nothing(clone, tmp_path):
    # A build as the first use makes it, but for what the compiler does: build/ was built with that.
    quick = {**os.environ, "CFLAGS": "-O0 -fno-lto -U_FORTIFY_SOURCE", "LDFLAGS": "-fno-lto"}
    if other := build_of_the_same_sources(clone):
        quick.update(reused.compiler(tmp_path, other))
    first = run([clone / "perf", "version"], cwd=tmp_path, env=quick)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("perf version ") and first.stdout.count("\n") == 1
    assert "building in" in first.stderr
    options = {option["name"]: option["value"] for option in json.loads((clone / "build/meson-info/intro-buildoptions.json").read_text())}
    by_gcc = "Free Software" in run(["cc", "--version"]).stdout
    assert (options["buildtype"], options["b_lto"]) == ("release", by_gcc) # what people use is optimised more than what make test builds
    second = run([clone / "perf", "version"], cwd=tmp_path)
    assert second.stderr == "" and second.stdout == first.stdout
    link = tmp_path / "link"
    link.symlink_to(clone / "perf")
    assert run([link, "version"]).stdout == first.stdout
    assert run([clone / "perf", "bogus"]).returncode == 1


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_later_uses_start_nothing_else(clone, tmp_path):
    assert programs_started([clone / "perf", "version"], tmp_path / "log") == [str(clone / "perf"), str(clone / "build/perf")]


def test_install(clone, tmp_path):
    done = run(["meson", "install", "-C", clone / "build", "--no-rebuild"], env={**os.environ, "DESTDIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    program = next(tmp_path.rglob("bin/perf"))
    pages = {path.name for path in tmp_path.rglob("man1/*.1")}
    for name in run([program, "--list-cmds"]).stdout.split():
        assert f"perf-{name}.1" in pages
    assert "perf.1" in pages and next(tmp_path.rglob("bash-completion/completions/perf")).is_file()
    if shutil.which("man"):
        for page in tmp_path.rglob("man1/*.1"):
            shown = run(["man", "--warnings", "-P", "cat", page], env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
            assert shown.returncode == 0 and not shown.stderr, page
            assert "NAME" in shown.stdout and "{{" not in shown.stdout


def test_completion(clone):
    script = ('source "$1/completion/perf.bash"; complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _perf; '
              'echo "${COMPREPLY[*]}"; }; complete_words "$1/build/perf" conf; complete_words "$1/build/perf" config --sys; '
              'complete_words "$1/build/perf" help vers; complete_words "$1/build/perf" sched tim; complete_words "$1/build/perf" sched latency --pi; '
              'complete_words "$1/build/perf" import sp; complete_words "$1/build/perf" export otlp-; complete_words "$1/build/perf" fleet ls ser; complete_words "$1/build/perf" agent schema cl')
    done = run(["bash", "-c", script, "bash", clone])
    assert done.stdout.splitlines() == ["config", "--system", "version", "timehist", "--pids", "speedscope", "otlp-json", "services", "clickhouse"], done.stderr


def test_completion_of_events(clone):
    """As the shell sees it: words are broken at ':'."""
    script = r"""source "$1/completion/perf.bash"; perf=$1/build/perf; IFS=' '
    complete_line() { COMP_LINE="$perf $1"; COMP_POINT=${#COMP_LINE}; shift; COMP_WORDS=("$perf" "$@"); COMP_CWORD=$#; COMPREPLY=(); _perf; echo "${COMPREPLY[*]}"; }
    complete_line 'record -e page-f' record -e page-f
    complete_line 'record -e cs,cpu-cl' record -e cs,cpu-cl
    complete_line "stat -e '{cs,cpu-mig" stat -e "'{cs,cpu-mig"
    complete_line 'record --event=cgroup-s' record --event = cgroup-s
    complete_line 'stat -M insn_p' stat -M insn_p
    complete_line 'list tracep' list tracep
    complete_line 'report --sort dso,symbol_si' report --sort dso,symbol_si
    complete_line 'script -F comm,brstackd' script -F comm,brstackd
    complete_line "record -p $$" record -p $$
    complete_line 'record --call-graph dwarf,a' record --call-graph dwarf,a
    complete_line 'report -g fract' report -g fract
    complete_line 'trace -e openat,process_madv' trace -e openat,process_madv
    complete_line 'record -e sched:sched_process_exi' record -e sched : sched_process_exi"""
    done = run(["bash", "-c", script, "bash", clone])
    out = done.stdout.splitlines()
    assert out[:6] == ["page-faults", "cs,cpu-clock", "{cs,cpu-migrations", "cgroup-switches", "insn_per_cycle", "tracepoint"], done.stdout + done.stderr
    assert out[6:8] == ["dso,symbol_size", "comm,brstackdisasm"], done.stdout + done.stderr
    assert out[8] and all(pid.isdigit() for pid in out[8].split())
    assert out[9:12] == ["dwarf,auto", "fractal", "openat,process_madvise"]
    assert out[12] in ("sched_process_exit", "")  # tracefs may be closed
