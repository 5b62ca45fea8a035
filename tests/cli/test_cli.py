"""The command line as a whole: help, errors, exit statuses, configuration, the pager. Statuses are compared with the kernel's perf."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("words", [
    [], ["help"], ["--help"], ["-h"], ["--version"], ["-v"], ["version"], ["version", "--build-options"], ["-vv"],
    ["bogus"], ["--bogus"], ["config", "-h"], ["test", "list"], ["test", "-h"], ["test", "-w", "nosuch"], ["config", "--bogus"], ["config", "nosection"], ["config", "-l"],
    ["config", "a.b"], ["version", "--bogus"], ["--list-cmds"], ["--list-opts"],
    ["report", "-i", "/nonexistent"], ["report", "-h"], ["report", "--bogus"], ["record", "-F"], ["record", "-h"],
    ["script", "-i", "/nonexistent"], ["evlist", "-i", "/nonexistent"], ["buildid-list", "-i", "/nonexistent"],
    ["record", "-o", "/dev/null", "/nonexistent/program"], ["help", "report"],
], ids=" ".join)
def test_exit_status_is_the_kernel_tools(perf, oracle, words, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "PERF_CONFIG": str(tmp_path / "none")}
    ours = perf(*words, cwd=tmp_path, env=environment)
    theirs = oracle(*words, cwd=tmp_path, env=environment)
    assert ours.returncode == theirs.returncode, ours.stderr
    assert ours.stdout or ours.stderr or words[0] == "config"


def test_version_line(perf):
    assert re.fullmatch(r"perf version \S+\n", perf("--version").stdout)


def test_every_command_explains_itself(perf):
    names = perf("--list-cmds").stdout.split()
    assert {"help", "version", "config", "check"} <= set(names) and names == sorted(names)
    overview = perf("help").stdout
    for name in names:
        assert re.search(rf"^  {name}\s+\S", overview, re.MULTILINE)
        text = perf(name, "-h")
        assert text.returncode == 129 and text.stdout.startswith(f"perf {name}: ") and not text.stderr
        assert f"Usage: perf {name}" in text.stdout
        for option in perf(name, "--list-opts").stdout.split():
            assert re.search(rf"{option}\b", text.stdout), option
        assert (ROOT / "doc/man" / f"perf-{name}.md").exists(), f"no manual page for {name}"


def test_did_you_mean(perf):
    assert "Did you mean 'version'?" in perf("versoin").stderr
    wrong = perf("config", "--lsit")
    assert wrong.returncode == 129 and "did you mean --list?" in wrong.stderr and not wrong.stdout


@pytest.mark.parametrize("words, own, foreign", [
    (("stat", "report"), ("--input", "--per-socket"), ("--repeat", "--timeout")), (("stat", "record"), ("--repeat", "--output"), ("--input",)),
    (("ftrace", "latency"), ("--use-bpf", "--trace-funcs"), ("--tracer", "--sort")), (("ftrace", "profile"), ("--sort",), ("--use-bpf", "--funcs")),
    (("ftrace", "trace"), ("--tracer", "--funcs"), ("--use-nsec",)), (("sched", "latency"), ("--input",), ("--freq",)),
], ids=lambda words: " ".join(words))
def test_subcommands_have_options_of_their_own(perf, words, own, foreign):
    help_text, listed = perf(*words, "-h").stdout, perf(*words, "--list-opts").stdout.split()
    assert help_text.startswith(f"perf {' '.join(words)}: ") and words[1] in perf(words[0], "--list-cmds").stdout.split()
    for name in own:
        assert f"{name} " in help_text and name in listed
    for name in foreign:
        assert f"{name} " not in help_text and name not in listed


@pytest.mark.parametrize("words, runs", [(("script", "record"), "record"), (("script", "report"), "script"), (("test", "list"), None)], ids=str)
def test_subcommands_that_run_others(perf, words, runs):
    """They are listed, have a help of their own, and complete the options that they take."""
    assert words[1] in perf(words[0], "--list-cmds").stdout.split() and re.search(rf"^  {words[1]} ", perf(words[0], "-h").stdout, re.M)
    shown = perf(*words, "-h").stdout
    assert shown.startswith(f"perf {' '.join(words)}: ") and shown == perf("help", *words).stdout
    listed = perf(*words, "--list-opts").stdout
    assert listed == perf(runs, "--list-opts").stdout and f"perf {runs} -h" in shown if runs else listed.split() == ["--skip"] and "--skip" in shown


def test_subcommands_of_tools_are_found(perf, tmp_path):
    """What the files of a tool define is listed by the build, sorted; what is static, or is a command of its own, isn't."""
    for tool in ("kmem", "kvm", "kwork", "lock", "sched"):
        text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/cmd" / tool).glob("*.c"))
        names = re.findall(rf'^const struct command cmd_\w+ = \{{\s*"{tool} ([\w-]+)"', text, re.M)
        assert len(names) > 1 and perf(tool, "--list-cmds").stdout.split() == sorted(names, key=lambda name: name.replace("-", "_"))
    (tmp_path / "x.c").write_text('const struct command cmd_a_b_c = {"a b c", 1};\nconst struct command cmd_a_z = {\n\t"a z"};\nconst struct command cmd_a_b = {"a b"};\n'
                                  'static const struct command cmd_a_y = {"a y"};\nconst struct command cmd_a = {"a"};\n')
    subprocess.run([sys.executable, ROOT / "tools/gen-registry", "subcommand", tmp_path / "lists.c", tmp_path / "x.c"], check=True)
    lists = dict(re.findall(r"(\w+)_subcommands\[\] = \{([^}]*)\}", (tmp_path / "lists.c").read_text()))
    assert {name: re.findall(r"&(\w+)", text) for name, text in lists.items()} == {"a": ["cmd_a_b", "cmd_a_z"], "a_b": ["cmd_a_b_c"]}


def test_programs_called_like_a_subcommand(perf, tmp_path):
    """Options may stand before a subcommand's word; behind "--", it is a program. Those of trace can't be shortened: "rec" is a program, too."""
    for name in ("record", "rec"):
        (tmp_path / name).write_text("#!/bin/sh\necho ran $0\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert "ran" in perf("stat", "-e", "task-clock", "--", "record", env=environment, cwd=tmp_path).stdout
    assert "ran" not in perf("stat", "-e", "task-clock", "record", "true", env=environment, cwd=tmp_path).stdout
    assert "task-clock" in perf("stat", "-j", "report", cwd=tmp_path).stderr
    assert "task-clock" in perf("stat", "report", "-x,", cwd=tmp_path).stderr
    assert "ran" in perf("trace", "rec", env=environment, cwd=tmp_path).stdout


def test_no_command_is_missing(perf, oracle):
    """Those of the kernel's perf 6.1, and what later ones and its folder of programs have."""
    ours, theirs = (set(program("--list-cmds").stdout.split()) for program in (perf, oracle))
    assert len(theirs) > 25 and theirs | {"archive", "check", "iostat"} <= ours
    listed = perf("help", "-a").stdout
    assert all(re.search(rf"^ *{name}\b", listed, re.M) for name in ours)


def test_options_before_the_command(perf, tmp_path):
    assert "did you mean --paginate?" in perf("--pagniate", "version").stderr
    assert perf("--buildid-dir").returncode == 129
    recording = tmp_path / "none"
    quiet, told = (perf(*words, "evlist", "-i", recording) for words in ([], ["--debug", "verbose=2"]))
    assert quiet.returncode == told.returncode == 255
    wrong = perf("--debug", "sched", "version")
    assert wrong.returncode == 129 and "verbose" in wrong.stderr
    done = perf("--debug-file", tmp_path / "log", "-c", "nosuchthing.here=1", "version")
    assert done.returncode == 0 and (tmp_path / "log").exists()
    assert perf("--debug-file=/nonexistent/log", "version").returncode == 129


def test_debugfs_elsewhere(perf, tmp_path):
    (tmp_path / "tracing/events/made/up").mkdir(parents=True)
    (tmp_path / "tracing/events/header_page").write_text("")
    (tmp_path / "tracing/events/made/up/id").write_text("7\n")
    (tmp_path / "tracing/events/made/up/format").write_text("name: up\nID: 7\nformat:\n\nprint fmt: \"\"\n")
    assert "made:up" in perf("--debugfs-dir", tmp_path, "list", "made:*").stdout
    assert "made:up" in perf("list", "made:*", env={**os.environ, "PERF_DEBUGFS_DIR": str(tmp_path)}).stdout


def test_help_with_other_viewers(perf, tmp_path):
    """The viewer is the first of its name in PATH; it is given the page's file."""
    for option, name in (("--man", "man"), ("--info", "info"), ("-w", "man")):
        viewer = tmp_path / name
        viewer.write_text('#!/bin/sh\necho "$@"\n')
        viewer.chmod(0o755)
        words = perf("help", option, "record", env={**os.environ, "PATH": str(tmp_path)}).stdout.split()
        assert words[-1].endswith("perf-record.1") and ("--html" in words) == (option == "-w")
        viewer.unlink()
        missing = perf("help", option, "record", env={**os.environ, "PATH": str(tmp_path)})
        assert missing.returncode == 255 and f"{name}: No such file" in missing.stderr


def test_mistakes_in_options_are_told_before_a_missing_file(perf, tmp_path):
    for words, key in ((["--sort", "comm,foo"], "foo"), (["-F", "+bar"], "bar")):
        done = perf("report", *words, cwd=tmp_path)
        assert done.returncode == 129 and f"unknown key '{key}'" in done.stderr
    done = perf("report", "--sort", "comm,sched:sched_switch.prev_comm", cwd=tmp_path)
    assert done.returncode == 255 and "cannot be opened" in done.stderr


def test_no_control_characters_from_the_command_line(perf):
    for words in (["\x1b[31mred"], ["--\x1b[31mred"], ["help", "\x1b[31m"], ["config", "--\x1bx"], ["check", "feature", "\x1b[1m"]):
        done = perf(*words)
        assert done.returncode != 0 and "\x1b" not in done.stdout + done.stderr


def test_check_feature(perf):
    done = perf("check", "feature", "zstd,HAVE_LIBELF_SUPPORT")
    assert done.returncode == 0 and done.stdout.count("[ on  ]") == 2
    assert perf("check", "-q", "feature", "zstd").stdout == ""
    assert perf("check", "feature", "libbfd").returncode == 1
    assert perf("check", "feature", "bogus").returncode not in (0, 129)
    assert perf("check").returncode == 129


def test_config_writes_what_the_kernel_tool_reads(perf, oracle, tmp_path):
    home = {**{k: v for k, v in os.environ.items() if k != "PERF_CONFIG"}, "HOME": str(tmp_path)}
    file = tmp_path / ".perfconfig"
    file.write_text("# mine\n[report]\n\tpercent-limit = 1 # note\n[ui]\n\tshow-headers = true\n")
    assert "has no effect" in perf("config", "colors.top=red", env=home).stderr
    file.write_text(file.read_text().replace("[colors]\n\ttop = red\n", ""))
    for change in ("report.percent-limit=2", "report.children=false", "core.pager=less -S", "ui.show-headers=off"):
        done = perf("config", change, env=home)
        assert done.returncode == 0 and ("has no effect" in done.stderr) == change.startswith("ui.")
    assert file.read_text() == ("# mine\n[report]\n\tpercent-limit = 2\n\tchildren = false\n[ui]\n\tshow-headers = off\n"
                                "[core]\n\tpager = less -S\n")
    listing = sorted(perf("config", "-l", env=home).stdout.splitlines())
    assert listing == sorted(oracle("config", "-l", env=home).stdout.splitlines())
    assert perf("config", "core.pager", env=home).stdout == "core.pager=less -S\n"
    assert perf("-c", "core.pager=more", "config", "core.pager", env=home).stdout == "core.pager=more\n"
    file.write_text("nonsense\n")
    broken = perf("config", "-l", env=home)
    assert broken.returncode == 255 and ".perfconfig:1" in broken.stderr


def on_terminal(command, environment):
    """Runs a command with a terminal as its output; returns status and text."""
    master, slave = pty.openpty()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**os.environ, **environment})
    os.close(slave)
    text = b""
    while True:
        try:
            got = os.read(master, 4096)
        except OSError:
            break
        if not got:
            break
        text += got
    os.close(master)
    return child.wait(300), text.decode()


def test_pager(perf, tmp_path):
    try:
        os.close(os.open("/dev/ptmx", os.O_RDWR))
    except OSError as error:
        pytest.skip(f"no pseudo terminals here: {error.strerror}")
    mark = {"PERF_PAGER": "sed s/^/paged:/"}
    status, text = on_terminal([perf.path, "config", "-h"], mark)
    assert status == 129 and "paged:perf config" in text
    assert "paged:" not in on_terminal([perf.path, "--no-pager", "config", "-h"], mark)[1]
    config = tmp_path / "config"
    config.write_text("[pager]\n\tconfig = false\n")
    assert "paged:" not in on_terminal([perf.path, "config", "-h"], {**mark, "PERF_CONFIG": str(config)})[1]
    config.write_text("[pager]\n\tconfig = sed s/^/mine:/\n")
    assert "mine:perf config" in on_terminal([perf.path, "config", "-h"], {**mark, "PERF_CONFIG": str(config)})[1]
    assert "mine:" not in on_terminal([perf.path, "--no-pager", "config", "-h"], {**mark, "PERF_CONFIG": str(config)})[1]
    config.write_text("[core]\n\tpager = no-such-pager-at-all\n")
    status, text = on_terminal([perf.path, "config", "-h"], {"PERF_CONFIG": str(config)})
    assert status == 129 and "perf config" in text


def test_full_disk_is_an_error(perf):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([perf.path, "version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 255 and "No space left" in done.stderr


@pytest.mark.parametrize("words", ["list -o /dev/full", "stat -o /dev/full -e page-faults true", "report -i DATA --html /dev/full", "flamegraph -i DATA -o /dev/full",
                                   "report --stdio -i DATA", "flamegraph --folded -i DATA"])
def test_full_disk_is_named(perf, tmp_path, words):
    """Also where the text is longer than what is held back, so that writing fails long before the end."""
    (tmp_path / "perf.data").write_bytes(recording.make("event cpu-clock type=1 sample=IP|TID|TIME|PERIOD|CALLCHAIN flags=mmap,comm\n" + "".join(
        f"sample ip={0x401000 + 64 * i:#x} pid=5 tid=5 time={i + 1} period=1 chain=user,{0x401000 + 64 * i:#x},{0x501000 + 64 * i:#x}\n" for i in range(1000))))
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([perf.path, *words.replace("DATA", str(tmp_path / "perf.data")).split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 255 and "No space left on device" in done.stderr, done.stderr


@pytest.mark.parametrize("command", ["report", "annotate", "script"])
def test_programs_that_are_not_needed(perf, tmp_path, command):
    """Scripts name objdump and addr2line: the answer is the same without them, and only -v tells that nothing was run."""
    data = tmp_path / "perf.data"
    data.write_bytes(recording.make("event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD\ncomm pid=1 tid=1 name=work\nsample ip=0x400010 pid=1 tid=1 time=5\n"))
    words = ["--addr2line", "/no/addr2line", *(["--objdump=/no/objdump"] if command != "script" else [])]
    plain, taken = perf(command, "-i", data), perf(command, "-i", data, *words)
    assert (taken.returncode, taken.stdout, taken.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    told = perf(command, "-i", data, *words, "-v").stderr
    assert "--addr2line: /no/addr2line isn't run" in told and ("--objdump: /no/objdump isn't run" in told) == (command != "script")


def test_colours_only_on_terminals(perf, tmp_path):
    """A row of 100 % is red."""
    data = tmp_path / "perf.data"
    data.write_bytes(recording.make("event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD\ncomm pid=1 tid=1 name=work\nsample ip=0x400010 pid=1 tid=1 time=5\n"))
    assert "\x1b[31m" not in perf("report", "--stdio", "-i", data).stdout

    def on_terminal(**more):
        return subprocess.run(["script", "-qec", f"{perf} --no-pager report --stdio -i {data}", "/dev/null"], capture_output=True, text=True,
                              env={**os.environ, "TERM": "xterm", **more}, check=False).stdout
    assert "\x1b[31m" in on_terminal()
    assert "\x1b[31m" not in on_terminal(NO_COLOR="1")
    assert "\x1b[31m" not in on_terminal(TERM="dumb")


@pytest.mark.parametrize("words", [["stat", "true"], ["record", "-o", "out", "true"], ["trace", "-o", "out", "true"]], ids=" ".join)
def test_children_that_the_parent_ignores(perf, live, tmp_path, words):
    """A daemon may have left SIGCHLD ignored: then nobody could wait for the workload."""
    done = perf(*words, cwd=tmp_path, timeout=300, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 0, done.stderr
