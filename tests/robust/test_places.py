"""Places that other users can have prepared: nothing is written through their links or out of the build-id cache, and nothing is believed that they wrote."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

OTHER = 65534
EVENT = "event cycles:u sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,mmap2\n"


@pytest.fixture
def root():
    if os.geteuid():
        pytest.skip("only root can give files to others")


def foreign_link(path, target):
    path.symlink_to(target)
    os.lchown(path, OTHER, OTHER)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with a build-id."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "x.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-Wl,--build-id", "-o", "x", "x.c"], cwd=folder, check=True)
    return folder / "x"


def recorded(path, name, pid=5):
    path.write_bytes(recording.make(EVENT + f"comm pid={pid} tid={pid} name=x time=1\nmmap2 pid={pid} tid={pid} addr=0x400000 len=0x10000 pgoff=0 prot=5 "
                                    f"flags=2 time=2 misc=2 name={name}\nsample ip=0x401004 pid={pid} tid={pid} time=10 period=1 misc=2\n"))
    return path


@pytest.mark.parametrize("words", [["stat", "-o", "OUT", "true"], ["stat", "--append", "-o", "OUT", "true"], ["list", "-o", "OUT", "sw"],
                                   ["trace", "-o", "OUT", "true"]], ids=" ".join)
def test_outputs_and_links_of_others(perf, root, tmp_path, words):
    (tmp_path / "mine").write_text("")
    link = foreign_link(tmp_path / "out", tmp_path / "mine")
    done = perf(*[str(link) if word == "OUT" else word for word in words])
    assert done.returncode != 0 and "a symbolic link of another user" in done.stderr
    assert (tmp_path / "mine").read_text() == ""


def test_outputs_and_own_links(perf, tmp_path):
    (tmp_path / "mine").write_text("old")
    (tmp_path / "out").symlink_to(tmp_path / "mine")
    assert perf("list", "-o", tmp_path / "out", "sw").returncode == 0
    assert "cpu-clock" in (tmp_path / "mine").read_text() and (tmp_path / "out").is_symlink()
    assert perf("list", "-o", "/dev/null", "sw").returncode == 0


def test_names_that_leave_the_cache(perf, program, tmp_path):
    cache = tmp_path / "a" / "b" / "cache"
    cache.mkdir(parents=True)
    up = "/" + "../" * 40 + str(program.parent).lstrip("/") + "/../" + program.parent.name + "/x"
    assert os.path.samefile(up, program)
    before = set(program.parent.rglob("*"))
    done = perf("--buildid-dir", cache, "buildid-cache", "-a", recorded(tmp_path / "perf.data", up), "-f")
    assert "are not allowed in the build-id cache" in done.stderr
    assert not list(cache.rglob("elf")) and set(program.parent.rglob("*")) == before
    done = perf("--buildid-dir", cache, "buildid-cache", "-a", recorded(tmp_path / "perf.data", program), "-f")
    assert not done.stderr and len(list(cache.rglob("elf"))) >= 1


@pytest.mark.parametrize("how", ["link", "directory", "home"])
def test_cache_of_another_user(perf, root, program, tmp_path, how):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    if how == "link":
        foreign_link(home / ".debug", elsewhere)
    elif how == "directory":
        (home / ".debug").mkdir()
        os.chown(home / ".debug", OTHER, OTHER)
    else:
        os.chown(home, OTHER, OTHER)
    environment = {name: value for name, value in os.environ.items() if name != "PERF_BUILDID_DIR"} | {"HOME": str(home)}
    done = perf("buildid-cache", "-a", program, env=environment)
    assert f"{home}/.debug is owned neither by you nor by root" in done.stderr
    assert not list(elsewhere.rglob("*")) and not list(home.rglob("elf"))
    if how == "link":
        (home / ".debug").unlink()
        done = perf("buildid-cache", "-a", program, env=environment)
        assert done.returncode == 0 and not done.stderr and list(home.rglob("elf"))


def test_files_in_a_directory(perf, root, tmp_path):
    folder = tmp_path / "perf.data"
    folder.mkdir()
    recorded(folder / "data", "/x")
    assert "401004" in perf("script", "-i", folder, "-F", "ip").stdout
    (folder / "data.0").write_bytes(b"")
    os.chown(folder / "data.0", OTHER, OTHER)
    done = perf("script", "-i", folder, "-F", "ip")
    assert done.returncode != 0 and "'data.0' belongs to another user" in done.stderr
    assert "401004" in perf("script", "-f", "-i", folder, "-F", "ip").stdout
    (folder / "data.0").unlink()
    (folder / "data.0").symlink_to("/etc/hostname")
    assert perf("script", "-i", folder, "-F", "ip").returncode != 0
    (folder / "data.0").unlink()
    os.mkfifo(folder / "data.0")
    done = perf("script", "-i", folder, "-F", "ip", timeout=300)
    assert done.returncode != 0 and "not a regular file" in done.stderr


@pytest.mark.parametrize("words", ["report --stdio", "script", "annotate --stdio", "flamegraph --folded", "evlist", "buildid-list", "inject -o /dev/null", "kmem stat", "lock report",
                                   "sched latency", "kwork report", "kvm stat report", "timechart -o /dev/null", "where", "offcpu", "trace", "stat report"])
def test_recordings_of_others(perf, root, tmp_path, words):
    """Refused, and what the refusal says to do helps with each command."""
    os.chown(recorded(tmp_path / "perf.data", "/x"), OTHER, OTHER)
    done = perf(*words.split(), "-i", tmp_path / "perf.data")
    assert done.returncode == 255 and "belongs to another user; use --force to read it anyway" in done.stderr
    done = perf(*words.split(), "--force", "-i", tmp_path / "perf.data")
    assert done.returncode != 129 and "another user" not in done.stderr, done.stderr


def test_map_that_is_a_link_of_another_user(perf, root, tmp_path):
    """The link is alice's, its target root's: that doesn't make it root's word."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "secret").write_text("400000 10000 secret_word\n")
    map_file = tmp_path / "tmp" / "perf-5.map"
    map_file.symlink_to(tmp_path / "secret")
    data = recorded(tmp_path / "perf.data", "//anon")
    words = ["script", "-i", data, "--symfs", tmp_path, "-F", "ip,sym"]
    assert "secret_word" in perf(*words).stdout
    os.lchown(map_file, OTHER, OTHER)
    done = perf(*words)
    assert "secret_word" not in done.stdout and "is a symbolic link of another user" in done.stderr
    assert "secret_word" in perf(*words, "-f").stdout
