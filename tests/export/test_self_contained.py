"""record --self-contained, inject --self-contained: read where nothing of the recorded machine is, a recording shows the same bytes."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import empty_root  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = [
    ["report", "--stdio"],
    ["report", "--stdio", "-g", "caller"],
    ["report", "--stdio", "--no-demangle"],
    ["report", "--stdio", "--no-children", "-g", "none", "-s", "dso,sym,srcline"],
    ["report", "--stdio", "-g", "none", "-s", "srcfile,symoff"],
    ["report", "--stdio", "-g", "folded"],
    ["script"],
    ["script", "-F", "+srcline,+symoff"],
    ["script", "-F", "+srccode,+insn"],
    ["annotate", "--stdio"],
    ["annotate", "--stdio", "-l", "-M", "intel"],
    ["flamegraph", "-o", "-"],
    ["export", "folded", "-o", "-"],
    ["export", "speedscope", "-o", "-"],
]
RECORDINGS = {"dwarf": ["--call-graph", "dwarf,4096"], "fp": ["--call-graph", "fp"], "auto": ["-g"], "faults": ["-e", "page-faults", "-g"]}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    shutil.copy(HERE / "inlined.cc", folder)
    subprocess.run(["g++", "-O2", "-g", "-fno-omit-frame-pointer", "-o", "inlined", "inlined.cc"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def recorded(perf, live, program, tmp_path_factory):
    """recorded(name): a self-contained recording, and one that isn't, which a later command has made self-contained."""
    folder, made = tmp_path_factory.mktemp("recorded"), {}

    def make(name):
        if name not in made:
            plain, at_once, afterwards = (folder / f"{name}.{kind}" for kind in ("plain", "at-once", "afterwards"))
            for path, words in ((plain, []), (at_once, ["--self-contained"])):
                done = perf("record", "-N", "-F", "4000", *RECORDINGS[name], *words, "-o", path, "--", program / "inlined", "150")
                assert done.returncode == 0 and "self-contained" not in done.stderr, done.stderr
            done = perf("inject", "--self-contained", "-i", plain, "-o", afterwards)
            assert done.returncode == 0 and not done.stderr, done.stderr
            made[name] = {"plain": plain, "at-once": at_once, "afterwards": afterwards}
        return made[name]
    return make


@pytest.fixture(scope="module")
def empty(perf, tmp_path_factory):
    return empty_root.EmptyRoot(perf.path, tmp_path_factory.mktemp("root") / "root")


def here(perf, path, words, folder):
    shutil.copy(path, folder / "perf.data")
    done = perf(*words, cwd=folder, text=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["at-once", "afterwards"])
@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_the_same_bytes_in_an_empty_root(perf, root, recorded, empty, tmp_path, name, kind):
    path = recorded(name)[kind]
    for words in COMMANDS:
        shown, there = here(perf, path, words, tmp_path), empty.run(path, *words)
        assert there.returncode == 0, there.stderr
        assert there.stdout == shown, words
        if words == ["report", "--stdio"] and name != "faults":
            assert b"churn(" in shown or b"churn" in shown


def test_it_is_the_recording_that_knows(perf, root, recorded, empty):
    """What is shown there isn't there without it."""
    paths = recorded("fp")
    with_it, without = (empty.run(paths[kind], "report", "--stdio", "-g", "none", "-s", "sym,srcline").stdout.decode() for kind in ("afterwards", "plain"))
    assert re.search(r"std::__introsort_loop.*stl_algo\.h:\d+", with_it) and "inlined.cc:" in with_it
    assert "introsort" not in without and "inlined.cc" not in without
    assert b"values.begin()" in empty.run(paths["afterwards"], "annotate", "--stdio", "churn").stdout


def test_names_do_not_depend_on_what_symfs_has(perf, recorded, tmp_path):
    """The same where a program runs as anybody: --symfs is an empty folder."""
    paths = recorded("fp")
    (tmp_path / "nothing").mkdir()
    for words in (["report", "--stdio"], ["annotate", "--stdio"], ["script", "-F", "+srcline"]):
        assert here(perf, paths["at-once"], [*words, "--symfs", "nothing"], tmp_path) == here(perf, paths["at-once"], words, tmp_path)


def test_the_kernels_perf_reads_it_as_before(perf, oracle, recorded, tmp_path):
    paths = recorded("fp")
    assert perf("inject", "-i", paths["plain"], "-o", tmp_path / "plain.data").returncode == 0
    for words in (["report", "--stdio"], ["script"], ["report", "--header-only"], ["buildid-list"]):
        plain, carrying = (oracle(*words, "-i", path) for path in (tmp_path / "plain.data", paths["afterwards"]))
        assert carrying.returncode == plain.returncode == 0 and carrying.stderr == plain.stderr
        assert without_places(carrying.stdout) == without_places(plain.stdout)


def without_places(text):
    """… of the file itself, and the tip of the day."""
    return [line for line in text.splitlines() if not re.match(r"# (captured on|data offset|data size|feat offset|\(Tip: )", line)]


def test_names_of_the_kernel(perf, oracle, root, live, tmp_path):
    """They come from a list that becomes the table as it is."""
    path = tmp_path / "perf.data"
    done = perf("record", "-q", "-N", "--self-contained", "-e", "context-switches", "-c", "1", "-g", "-o", path, "--", "sh", "-c", "sleep 0.01; sleep 0.01")
    assert done.returncode == 0, done.stderr
    told = perf("report", "-i", path, "-v", "--stdio").stderr
    ours, theirs = (tool("script", "-i", path, "-F", "ip,sym", "--no-inline").stdout for tool in (perf, oracle))
    kernel = [[line.split() for line in text.splitlines() if line.split() and int(line.split()[0], 16) >> 63] for text in (ours, theirs)]
    assert "[kernel.kallsyms]: names from the recording" in told and kernel[0] == kernel[1] and len(kernel[0]) > 10


def test_the_header_tells_of_it(perf, recorded):
    paths = recorded("fp")
    heads = {kind: perf("report", "--header-only", "-i", paths[kind]).stdout for kind in paths}
    assert re.search(r"^# contains names, source lines and code of what was hit: \d+ kB$", heads["at-once"], re.MULTILINE)
    assert "contains names" not in heads["plain"] and "SELF_CONTAINED" not in heads["plain"]


def test_a_later_inject_keeps_it(perf, recorded, tmp_path):
    paths = recorded("fp")
    done = perf("inject", "-b", "-i", paths["at-once"], "-o", tmp_path / "again.data")
    assert done.returncode == 0, done.stderr
    assert "contains names" in perf("report", "--header-only", "-i", tmp_path / "again.data").stdout


def test_another_program_of_the_same_name_is_not_looked_at(perf, live, program, tmp_path):
    """No build-id tells the two apart."""
    for name in ("before", "after"):
        (tmp_path / f"{name}.c").write_text(f"volatile long x;\n__attribute__((noinline)) void {name}(void) {{ for (long i = 0; i < 300000000; i++) x += i; }}\n"
                                            f"int main(void) {{ {name}(); return 0; }}\n")
    build = ["gcc", "-O1", "-g", "-Wl,--build-id=none", "-o", "program"]
    subprocess.run([*build, "before.c"], cwd=tmp_path, check=True)
    done = perf("record", "-N", "--self-contained", "-F", "1000", "-o", "perf.data", "--", "./program", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    subprocess.run([*build, "after.c"], cwd=tmp_path, check=True)
    report = perf("report", "--stdio", "-s", "sym", cwd=tmp_path).stdout
    assert re.search(r"\[\.\] before\b", report) and "after" not in report
    (tmp_path / "program").unlink()
    assert "x += i" in perf("annotate", "--stdio", "before", cwd=tmp_path).stdout


def test_a_stream_has_no_place_for_it(perf, live, tmp_path):
    done = perf("record", "--self-contained", "-F", "1000", "-o", "-", "--", "true", cwd=tmp_path, text=False)
    assert b"a stream has no place for it" in done.stderr and b"perf inject --self-contained" in done.stderr
    (tmp_path / "stream").write_bytes(done.stdout)
    done = perf("inject", "--self-contained", "-i", "stream", "-o", "file.data", cwd=tmp_path)
    assert done.returncode == 0 and "contains names" in perf("report", "--header-only", "-i", "file.data", cwd=tmp_path).stdout
    done = perf("inject", "--self-contained", "-i", "stream", cwd=tmp_path)
    assert done.returncode == 129 and "give it with -o" in done.stderr


def test_where_names_came_from(perf, root, recorded, empty, program):
    paths = recorded("fp")
    told = perf("report", "--stdio", "-v", "-i", paths["afterwards"]).stderr
    assert f"{program}/inlined: names from the recording, whose recorder had them from {program}/inlined (complete, with source lines)" in told
    told = perf("report", "--stdio", "-v", "-i", paths["plain"]).stderr
    assert f"{program}/inlined: names from {program}/inlined (complete, with source lines)" in told
    told = empty.run(paths["plain"], "report", "--stdio", "-v").stderr.decode()
    assert f"{program}/inlined: no file with names (file not found); better: give the directory of copies with --symfs" in told
