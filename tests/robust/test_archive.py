"""perf archive: recordings that are read where their files are not, and archives that nobody good made."""
import os
import shutil
import subprocess
import tarfile

import pytest

ID = "15dfff3239aa7c3b16a71e6b2e3b6e4009dab998"
FORMATS = {"tar": "", "tar.gz": "gz", "tar.bz2": "bz2", "tar.xz": "xz", "tar.zst": "zst"}


@pytest.fixture(scope="module", autouse=True)
def built_in(perf):
    if "libarchive" in perf("archive", "--unpack", "/dev/null", "-o", "/dev/null/x").stderr:
        pytest.skip("built without libarchive")


@pytest.fixture(scope="module")
def recorded(perf, tmp_path_factory):
    """A recording of a program that is gone afterwards: what its functions are called is in the cache alone."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("archive")
    (folder / "x.c").write_text("__attribute__((noinline)) long unique_spin(long n) { volatile long s = 0; while (n--) s += n; return s; }\n"
                                "int main(void) { return (int)unique_spin(300000000) & 1; }\n")
    subprocess.run(["gcc", "-O1", "-Wl,--build-id", "-o", "spinner", "x.c"], cwd=folder, check=True)
    done = perf("record", "-e", "task-clock", "-c", "1000000", "-o", "perf.data", "--", "./spinner", cwd=folder, env=at(folder))
    assert done.returncode == 0, done.stderr
    return folder


def at(folder):
    return {**{name: value for name, value in os.environ.items() if name != "PERF_BUILDID_DIR"}, "HOME": str(folder)}


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("ending", FORMATS)
def test_there_and_back(perf, recorded, tmp_path, ending):
    archive = tmp_path / f"x.{ending}"
    packed = perf("archive", "--all", "-o", archive, cwd=recorded, env=at(recorded))
    assert packed.returncode == 0 and "perf archive --unpack" in packed.stdout, packed.stderr
    if shutil.which("zstd") or ending != "tar.zst":  # others read it, too
        listed = subprocess.run(["tar", "tf", archive], check=True, capture_output=True, text=True)
        assert "perf.data" in listed.stdout and "/spinner/" in listed.stdout and not listed.stderr
    (recorded / "spinner").rename(recorded / "hidden")
    try:
        before = perf("report", "--stdio", "-s", "sym", "-i", recorded / "perf.data", env=at(tmp_path / "empty")).stdout
        done = perf("archive", "--unpack", archive, cwd=tmp_path, env=at(tmp_path))
        assert done.returncode == 0 and "the recording is perf.data" in done.stdout, done.stderr
        after = perf("report", "--stdio", "-s", "sym", cwd=tmp_path, env=at(tmp_path)).stdout
    finally:
        (recorded / "hidden").rename(recorded / "spinner")
    assert "unique_spin" not in before and "unique_spin" in after
    assert (tmp_path / "perf.data").read_bytes() == (recorded / "perf.data").read_bytes()


def test_tar_unpacks_it(perf, recorded, tmp_path):
    """As the kernel's tool has it: tar, into the cache's folder."""
    assert perf("archive", cwd=recorded, env=at(recorded)).returncode == 0
    (tmp_path / ".debug").mkdir()
    subprocess.run(["tar", "xf", recorded / "perf.data.tar.bz2", "-C", tmp_path / ".debug"], check=True)
    (recorded / "spinner").rename(recorded / "hidden")
    try:
        assert "unique_spin" in perf("report", "--stdio", "-i", recorded / "perf.data", env=at(tmp_path)).stdout
    finally:
        (recorded / "hidden").rename(recorded / "spinner")


def test_archives_of_the_kernels_tool(perf, oracle, recorded, tmp_path):
    """The same files under the same names; and its archives are unpacked."""
    theirs = tmp_path / "theirs"
    shutil.copytree(recorded, theirs, symlinks=True)
    # Its cache must have all files, and its script asks the perf in PATH.
    assert subprocess.run(["/usr/lib/perf-core/perf-archive", "perf.data"], cwd=theirs, env=at(theirs), capture_output=True, check=False).returncode == 0
    assert perf("archive", "-o", "ours.tar.bz2", cwd=theirs, env=at(theirs)).returncode == 0
    names = [{(member.name, member.linkname) for member in tarfile.open(theirs / name) if not member.isdir()} for name in ("perf.data.tar.bz2", "ours.tar.bz2")]
    spun = [{pair for pair in found if "spinner" in pair[0] + pair[1]} for found in names]
    assert len(spun[0]) == 2 and spun[0] <= spun[1]
    done = perf("archive", "--unpack", theirs / "perf.data.tar.bz2", cwd=tmp_path, env=at(tmp_path))
    assert done.returncode == 0 and any("/spinner/" in name for name in files_below(tmp_path / ".debug")), done.stderr
    assert not (tmp_path / "perf.data").exists()
    with tarfile.open(tmp_path / "all.tar.bz2", "w:bz2") as outer:  # of --all: one for the cache in another one
        outer.add(theirs / "perf.data", "perf.data")
        outer.add(theirs / "perf.data.tar.bz2", "perf.symbols.tar.bz2")
    (tmp_path / "other").mkdir()
    done = perf("archive", "--unpack", tmp_path / "all.tar.bz2", "-o", tmp_path / "out.data", cwd=tmp_path, env=at(tmp_path / "other"))
    assert done.returncode == 0 and (tmp_path / "out.data").read_bytes() == (theirs / "perf.data").read_bytes(), done.stderr
    assert any("/spinner/" in name for name in files_below(tmp_path / "other/.debug"))


def member(name, data=b"x", kind=tarfile.REGTYPE, link="", size=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data) if size is None else size
    return info, data


HOSTILE = {
    "absolute": ([member(f"/etc/evil/{ID}/elf")], "leads out"),
    "up": ([member(f"../../evil/{ID}/elf")], "leads out"),
    "up inside": ([member(f"usr/../../evil/{ID}/elf")], "leads out"),
    "up at the end": ([member(f"usr/{ID}/..")], "leads out"),
    "escape": ([member(f"usr/\x1b[31m/{ID}/elf")], "leads out"),
    "link": ([member(f"usr/bin/{ID}/elf", b"", tarfile.SYMTYPE, "/etc/passwd")], "is a link"),
    "hard link": ([member(f"usr/bin/{ID}/elf", b"", tarfile.LNKTYPE, "/etc/passwd")], "is a link"),
    "device": ([member(f"usr/bin/{ID}/elf", b"", tarfile.CHRTYPE)], "is a link"),
    "link, then a file below it": ([member(".build-id/15", b"", tarfile.SYMTYPE, "/tmp"), member(f".build-id/15/{ID}/elf", b"\x7fELF")], "does not belong into the build-id cache"),
    "huge": ([member(f"usr/bin/ls/{ID}/elf", b"", size=1 << 40)], "larger"),
    "no build-id": ([member("usr/bin/ls/xyz/elf")], "not a file of a build-id cache"),
    "something else": ([member(".bashrc")], "not a file of a build-id cache"),
    "another kind": ([member(f"usr/bin/ls/{ID}/exe")], "does not belong into the build-id cache"),
    "another file": ([member(f"usr/bin/ls/{ID}/elf", b"\x7fELF nonsense")], "different build-id"),
    "no symbols": ([member(f"[kernel.kallsyms]/{ID}/kallsyms", b"#!/bin/sh\n" * 9)], "not a list of kernel symbols"),
    "kernel's name": ([member(f"usr/bin/ls/{ID}/kallsyms", b"0000000000000000 t a\n")], "does not belong into the build-id cache"),
    "two recordings": ([member("perf.data"), member("perf.data")], "second recording"),
}


def write_tar(path, members):
    """Also with sizes that are not those of the contents."""
    blocks = b"".join(info.tobuf() + data + bytes(-len(data) % 512) for info, data in members)
    path.write_bytes(blocks + bytes(1024))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives(perf, tmp_path, name):
    """Refused with a sentence, and nothing is written; nor is anything that follows."""
    members, sentence = HOSTILE[name]
    write_tar(tmp_path / "x.tar", members)
    home = tmp_path / "home"
    home.mkdir()
    done = perf("archive", "--unpack", tmp_path / "x.tar", cwd=home, env=at(home))
    assert done.returncode == 255 and sentence in done.stderr and "\x1b" not in done.stderr, done.stderr
    assert [path for path in files_below(home) if path not in (".debug",)] == []


def test_recordings_have_no_size_of_files_in_the_cache(perf, tmp_path):
    """It ends early here: that is what is said of it, and no half of it stays."""
    write_tar(tmp_path / "x.tar", [member("perf.data", b"x", size=9 << 30)])
    done = perf("archive", "--unpack", tmp_path / "x.tar", cwd=tmp_path, env=at(tmp_path))
    assert done.returncode == 255 and "Truncated" in done.stderr and "larger than" not in done.stderr, done.stderr
    assert not (tmp_path / "perf.data").exists()


def test_cut_archives(perf, recorded, tmp_path):
    """At any place: an error, no crash, and no half of a file."""
    archive = tmp_path / "x.tar.zst"
    assert perf("archive", "-o", archive, cwd=recorded, env=at(recorded)).returncode == 0
    whole = archive.read_bytes()
    for i in range(6):
        (tmp_path / "cut.tar.zst").write_bytes(whole[:len(whole) * i // 6])
        home = tmp_path / f"home{i}"
        done = perf("archive", "--unpack", tmp_path / "cut.tar.zst", cwd=tmp_path, env=at(home))
        assert done.returncode in (0, 255) and not list(home.rglob(".unpacked*"))
        for path in home.rglob("elf"):
            assert path.read_bytes()[:4] == b"\x7fELF"


def test_refusals(perf, recorded, tmp_path):
    env = at(tmp_path)
    for words, sentence in ((["-i", recorded / "perf.data", "-o", "x.zip"], "must end in .tar.zst"), (["--unpack"], "which archive"), (["--all", "--unpack", "x"], "cannot be combined"),
                            (["-i", "no", "-o", "x.tar"], "no"), (["--unpack", "no.tar"], "no.tar"), (["a", "b"], "unexpected argument 'b'")):
        done = perf("archive", *words, cwd=tmp_path, env=env)
        assert done.returncode != 0 and sentence in done.stderr, (words, done.stderr)
    assert files_below(tmp_path) in ([], [".debug"])
    assert perf("archive", "--all", "-o", tmp_path / "x.tar", cwd=recorded, env=at(recorded)).returncode == 0
    (tmp_path / "perf.data").write_text("mine")
    done = perf("archive", "--unpack", "x.tar", cwd=tmp_path, env=env)
    assert done.returncode == 255 and "name another one with -o" in done.stderr and (tmp_path / "perf.data").read_text() == "mine"


def test_missing_files_are_named(perf, recorded, tmp_path):
    """Those that are neither in the cache nor here as they were."""
    home = tmp_path / "home"
    (recorded / "spinner").rename(recorded / "hidden")
    try:
        done = perf("archive", "-v", "-o", tmp_path / "x.tar", cwd=recorded, env=at(home))
    finally:
        (recorded / "hidden").rename(recorded / "spinner")
    assert done.returncode == 0 and "spinner: neither in the build-id cache nor on this machine" in done.stderr and "not in the archive" in done.stderr, done.stderr
