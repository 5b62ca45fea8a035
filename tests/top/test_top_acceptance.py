"""perf top as people type it: the acceptance rows 4, 20, 30, 36 and 63. It is stopped when what they look for has been seen."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import sparing  # noqa: E402

pytestmark = pytest.mark.usefixtures("live")

LOOP = """
#include <unistd.h>
volatile unsigned long turns;
int main(int argc, char **argv)
{
	for (;;) {
		turns++;
		if (argc > 1 && !(turns & 0xfff))
			getppid();
	}
}
"""
HEADER = re.compile(r"   PerfTop: *(\d+) irqs/sec  kernel: *[\d.]+%  exact: *[\d.]+% lost: \d+/\d+ drop: \d+/\d+ \[(.*)\],  \((.*)\)")


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """A C loop, which makes system calls."""
    folder = tmp_path_factory.mktemp("loop")
    (folder / "loop.c").write_text(LOOP)
    subprocess.run(["gcc", "-O0", "-o", folder / "loop", folder / "loop.c"], check=True)
    with sparing.now_and_then(subprocess.Popen([folder / "loop", "calls"])) as process:
        yield process


def until(command, wanted, **arguments):
    """The lines up to the first in which the pattern is found, after a header; and the match."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **arguments) as process:
        lines, match = [], None
        while not match:
            line = process.stdout.readline()
            assert line, (lines, process.stderr.read())
            lines.append(line.rstrip("\n"))
            match = re.search(wanted, line)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait() == 0
    return lines, match


@pytest.mark.usefixtures("root")
def test_whole_system_as_text(perf, loop):
    """Row 4: the header, and rows that come anew."""
    lines, _ = until([perf, "top", "-a", "--stdio", "-d", "1"], r"^ +[\d.]+%")
    header = next(filter(None, map(HEADER.match, reversed(lines))))  # the first ones may come before there are samples
    assert int(header[1]) > 0 and re.fullmatch(r"all, \d+ CPUs?", header[3])
    until([perf, "top", "-a", "--stdio", "-d", "1"], r"% +loop +\[\.\] main")


@pytest.mark.parametrize("words", [["-p"], ["--no-children", "-p"], ["-t"], ["-K", "-p"], ["--disassembler-style=att", "-p"], ["-F", "49", "-p"]], ids=" ".join)
def test_process(perf, loop, words):
    """Rows 20, 30, 63 and 36: a C loop is at the top with nearly all."""
    lines, _ = until([perf, "top", "--stdio", "-d", "1", *words, loop.pid], r"^ +(4[1-9]|[5-9]\d|100)[\d.]*% +loop +\[\.\] main")  # sooner or later: the first screen may have a few samples
    header = next(filter(None, map(HEADER.match, lines)))
    assert str(loop.pid) in header[3] and ("49Hz" in header[2] or words[0] != "-F")
    if words[0] == "-K":
        assert not any("[k]" in line for line in lines)


@pytest.mark.usefixtures("root")
def test_rows_by_thread_and_file(perf, loop):
    """Row 36: perf top -ns comm,dso."""
    _, match = until([perf, "top", "--stdio", "-d", "1", "-ns", "comm,dso"], r"% +(\d+) +loop +loop")
    assert int(match[1]) > 0


@pytest.mark.usefixtures("root", "tracefs")
def test_system_calls_by_thread(perf, loop):
    """Row 36: perf top -e raw_syscalls:sys_enter -ns comm -d 1."""
    lines, match = until([perf, "top", "--stdio", "-e", "raw_syscalls:sys_enter", "-ns", "comm", "-d", "1"], r"% +(\d+) +loop")
    assert int(match[1]) > 0 and "raw_syscalls:sys_enter" in lines[0]


@pytest.mark.usefixtures("root", "tracefs")
def test_packets_through_a_pipe(perf):
    """Row 36: stdbuf -oL perf top -e net:net_dev_xmit -ns comm | strings, while something is sent over the loopback device."""
    sender = ("import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nopen('/proc/self/comm', 'w').write('sender')\n"
              "while True: s.sendto(b'x', ('127.0.0.1', 9)); time.sleep(0.001)")
    if not os.path.exists("/sys/kernel/tracing/events/net/net_dev_xmit"):
        pytest.skip("no net:net_dev_xmit here")
    with subprocess.Popen(["/usr/bin/python3", "-c", sender]) as process:
        try:
            shell = subprocess.Popen(["sh", "-c", 'stdbuf -oL "$0" top -e net:net_dev_xmit -ns comm -d 1 | strings', perf.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True, start_new_session=True)
            line = "first"
            while line and not re.search(r"% +\d+ +sender", line):
                line = shell.stdout.readline()
            os.killpg(shell.pid, signal.SIGINT)
            shell.communicate()
            assert line
        finally:
            process.kill()
