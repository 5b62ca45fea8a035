"""make deb: what is in the packages, put together from the objects of the build that is there. tools/try-packages installs them. And a program with static
libraries, as make portable has it."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402
import reused  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PERF = pathlib.Path(os.environ.get("PERF", ROOT / "build/perf")).resolve()
SCRIPTS = {"perf-ng": {"postinst", "prerm", "triggers"}, "python3-perf-ng": {"postinst", "prerm"}}


def run(*command, **arguments):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=900, **arguments)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """By name: the folder that the package is unpacked in, and its control files in DEBIAN."""
    if not shutil.which("dh_dwz") or not pathlib.Path("/usr/bin/dh_python3").exists():
        pytest.skip("debhelper and dh-python are not installed")
    if not (PERF.parent / "build.ninja").exists():
        pytest.skip(f"{PERF} is in no folder of a build")
    folder = tmp_path_factory.mktemp("deb")
    # Not compressed: they are unpacked at once.
    run(ROOT / "tools/build-deb", folder, env={**os.environ, **reused.compiler(folder, PERF.parent), "DEB_BUILD_OPTIONS": "nolto noautodbgsym",
                                               "DPKG_DEB_COMPRESSOR_TYPE": "none"})
    found = {}
    for file in folder.glob("*.deb"):
        name = file.name.split("_")[0]
        run("dpkg-deb", "-R", file, folder / name)
        found[name] = folder / name
    assert set(found) == set(SCRIPTS)
    return found


def files(package):
    return {str(path.relative_to(package)) for path in package.rglob("*") if (path.is_symlink() or not path.is_dir()) and "DEBIAN" not in path.parts}


def field(package, name):
    return re.search(rf"^{name}: (.*)$", (package / "DEBIAN/control").read_text(), re.MULTILINE)[1]


def test_files(packages):
    """All commands have their pages, and what is in people's way is called perf-ng: linux-perf's files have the names that ours would have."""
    names = files(packages["perf-ng"])
    commands = run(packages["perf-ng"] / "usr/lib/perf-ng/bin/perf", "--list-cmds").split()
    for page in ["", *(f"-{command}" for command in commands)]:
        assert f"usr/share/man/man1/perf-ng{page}.1.gz" in names
        link = packages["perf-ng"] / f"usr/lib/perf-ng/share/man/man1/perf{page}.1.gz"
        assert link.is_symlink() and link.exists()
    assert {"usr/bin/perf-ng", "usr/share/bash-completion/completions/perf-ng", "usr/lib/perf-ng/libexec/perf-core/perf-perl.so",
            "usr/lib/perf-ng/include/perf/perf_dlfilter.h", "usr/lib/systemd/system/perf-agent.service"} <= names
    service = (packages["perf-ng"] / "usr/lib/systemd/system/perf-agent.service").read_text()
    assert "ExecStart=/usr/lib/perf-ng/bin/perf agent run " in service
    outside = {name for name in names if not name.startswith(("usr/lib/perf-ng/", "usr/lib/systemd/"))}
    assert all(re.match("usr/(bin|share/(doc|man/man1|lintian/overrides|bash-completion/completions))/perf-ng([-./]|$)", name) for name in outside), outside
    assert files(packages["python3-perf-ng"]) == {"usr/lib/python3/dist-packages/perf.py", "usr/lib/python3/dist-packages/perf_ng.py",
                                                  *(f"usr/share/doc/python3-perf-ng/{name}" for name in ("changelog.gz", "copyright"))}
    for package in packages.values():
        assert all(path.exists() for path in package.rglob("*")), "a link that leads nowhere"
        assert not [path for path in package.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o7022]


def test_names_of_functions(packages):
    """perf test records the program itself, and finds its functions by name."""
    done = subprocess.run(["readelf", "-sW", packages["perf-ng"] / "usr/lib/perf-ng/bin/perf"], capture_output=True, text=True, check=True)
    assert {"check_inner", "brstack_foo"} <= set(re.findall(r"FUNC .* (\w+)$", done.stdout, re.MULTILINE))
    assert not re.search(r"\.debug_", run("readelf", "-SW", packages["perf-ng"] / "usr/lib/perf-ng/bin/perf"))


def test_control(packages):
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())[1]
    for name, package in packages.items():
        assert field(package, "Version") == version
        assert {path.name for path in (package / "DEBIAN").iterdir()} - {"control", "md5sums"} == SCRIPTS[name]
        for script in SCRIPTS[name] - {"triggers"}:
            run("sh", "-n", package / "DEBIAN" / script)
        run("md5sum", "--quiet", "-c", "DEBIAN/md5sums", cwd=package)
        assert (package / "usr/share/doc" / name / "copyright").read_text().count("License: Expat") == 2
    program = packages["perf-ng"]
    depends, loaded = field(program, "Depends"), field(program, "Recommends") + field(program, "Suggests")
    assert all(library in depends for library in ("libc6", "libdw1", "libelf1", "libbpf1")) and "libperl" not in depends
    assert all(library in loaded for library in ("libcapstone", "libarchive", "libpfm4", "libsqlite3-0", "libopencsd1", "libperl", "libpython3", "libdebuginfod1"))
    assert ("libipt2" in loaded) == (platform.machine() == "x86_64")
    assert "perf-ng" in field(packages["python3-perf-ng"], "Depends")


def test_build_depends():
    """The packages of the build are those that control names, and for the same processors: libipt is there for Intel's only."""
    pattern = r"([a-z0-9+-]+(?: \[.*?\])?)"
    listed = set(re.findall(f"^{pattern}", (ROOT / "tools/packages-build.txt").read_text(), re.MULTILINE)) - {"gcc", "libc6-dev", "linux-libc-dev"}
    named = set(re.findall(f"^ {pattern}", (ROOT / "debian/control").read_text().split("\n\n")[0], re.MULTILINE))
    assert named == listed | {"debhelper-compat", "dh-python"}
    amd64, arm64 = (set(run(ROOT / "tools/list-packages", architecture, "build").split()) for architecture in ("amd64", "arm64"))
    assert amd64 == arm64 | {"libipt-dev"} and {"gcc", "libsqlite3-dev", "clang"} < arm64


@pytest.mark.parametrize("kind", ["build", "test", "soak"])
def test_each_package_is_installed(kind):
    """Those of lines with several, too."""
    words = re.sub(r"#.*|\[.*?\]", "", (ROOT / f"tools/packages-{kind}.txt").read_text()).split()
    assert set(run(ROOT / "tools/list-packages", "amd64", kind).split()) == set(words) > {{"build": "gcc", "test": "g++", "soak": "zookeeper"}[kind]}


def test_scripts_of_the_program(packages, tmp_path):
    """Its scripts, and the Python module that came with it, are found beside it, wherever it lies."""
    home = packages["perf-ng"] / "usr/lib/perf-ng"
    assert run(packages["perf-ng"] / "usr/bin/perf-ng", "--exec-path").strip().endswith("perf-core")
    assert "syscall-counts" in run(home / "bin/perf", "script", "-l")
    (tmp_path / "perf.data").write_bytes(recording.make("event cpu-clock type=1 config=0 ids=1 sample=IDENTIFIER|IP|TID|TIME flags=sample_id_all\n"
                                                        "sample event=0 id=1 ip=0x10 pid=1 tid=1 time=5\n"))
    program = "import perf; print([sample.time for sample in perf.open('perf.data')])"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(home / "libexec/perf-core/python")}
    assert run("/usr/bin/python3", "-c", program, cwd=tmp_path, env=environment).startswith("[")
    if shutil.which("man"):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
        assert "call-graph" in run(home / "bin/perf", "help", "--man", "record", env=environment)


def test_static_libraries(tmp_path):
    """Nothing but the C library is loaded, and what else would be loaded on demand is there."""
    if not (PERF.parent / "build.ninja").exists() or platform.machine() != "x86_64":
        pytest.skip(f"{PERF} is in no folder of a build")
    loaders = ("base_library.c.o", "event_vendor.c.o", "symbol_archive_library.c.o", "symbol_code_disasm.c.o")
    environment = {**os.environ, **reused.compiler(tmp_path, PERF.parent, loaders)}
    run("meson", "setup", "-Dprefer_static=true", "-Db_lto=false", "-Dtests=disabled", "-Dman=false", "-Dc_link_args=-Wl,--gc-sections", tmp_path / "build", ROOT, env=environment)
    run("ninja", "-C", tmp_path / "build", "perf", env=environment)
    program = tmp_path / "build/perf"
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program)))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}, needed
    assert "libcapstone" in run(program, "version", "--build-options")
    subprocess.run(["strace", "-e", "trace=openat", "-o", tmp_path / "log", program, "list", "pfm"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert "libm.so" in (log := (tmp_path / "log").read_text()) and "libpfm" not in log
    here = {"cwd": tmp_path, "env": {**os.environ, "HOME": str(tmp_path)}}
    if subprocess.run([program, "record", "-q", "-o", "perf.data", "--", "ls", "-lR", "/usr/share/doc"], stdout=subprocess.DEVNULL, check=False, **here).returncode:
        pytest.skip("nobody may record here")
    opened = run("strace", "-f", "-e", "trace=openat", "-o", "log", program, "archive", "perf.data", **here) + (tmp_path / "log").read_text()
    assert "libarchive.so" not in opened and list(tmp_path.glob("perf.data.tar.*"))
