"""perf iostat on machines without such PMUs, which all machines for tests are. Finding ports and events: tests/unit/event/io_ports.c."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest


@pytest.fixture(autouse=True)
def no_ports():
    if any(pathlib.Path("/sys/bus/event_source/devices").glob("uncore_iio_*/die*")):
        pytest.skip("this machine has root ports that are counted")


@pytest.mark.parametrize("words", [["list"], [], ["0000:17"], ["0000:17,0000:3a", "--", "true"], ["--", "true"], ["-I", "100", "true"], ["--format", "json", "true"]], ids=" ".join)
def test_without_ports(perf, words):
    done = perf("iostat", *words)
    assert done.returncode == 255 and "Intel's servers since Skylake-SP" in done.stderr and not done.stdout


def test_options(perf):
    assert "--interval-print" in perf("iostat", "-h").stdout + perf("iostat", "-h").stderr
    assert perf("iostat", "-I", "x").returncode == 129 and perf("iostat", "--format", "xml").returncode == 129


# In place of the machine's PMUs one whose events all are the kernel's clock of a CPU, behind two ports: a count is 4 bytes, so that its
# megabytes are those of a kernel that counts. Sockets and dies are numbered as where each socket counts its dies on.
SERVER = """
devices=/sys/bus/event_source/devices
mount -t tmpfs none $devices
mkdir -p $devices/uncore_iio_0/format
cd $devices/uncore_iio_0
echo 1 >type; echo 0-1 >cpumask; echo 0000:00 >die0; echo 0000:80 >die1
echo config1:0-7 >format/event; echo config1:8-15 >format/umask; echo config1:36-43 >format/ch_mask; echo config1:44-46 >format/fc_mask
echo 0 >zero; echo 1 >one
for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
    case $cpu in */cpu0) socket=one die=zero;; *) socket=zero die=one;; esac
    mount --bind $socket $cpu/topology/physical_package_id
    mount --bind $die $cpu/topology/die_id
done
cd "$OLDPWD"
exec "$@"
"""


@pytest.fixture
def server(perf):
    if os.geteuid() or not shutil.which("unshare") or os.cpu_count() < 2:
        pytest.skip("needs root, unshare and two CPUs")
    return lambda *words, stdout=subprocess.PIPE: subprocess.run(
        ["unshare", "-m", "sh", "-e", "-c", SERVER, "sh", perf.path, "iostat", *words], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_list(server):
    assert server("list").stdout == "S0-uncore_iio_0<0000:00>\nS1-uncore_iio_0<0000:80>\n"


def test_each_port_has_the_counts_of_its_die(server):
    done = server("--format", "json", "--", "true")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [row.pop("port") for row in rows] == ["0000:00", "0000:80"], done.stderr
    assert all(len(row) == 4 and all(value > 0 for value in row.values()) for row in rows), rows


def test_chosen_ports_and_status(server):
    done = server("0000:80", "--", "sh", "-c", "exit 3")
    lines = done.stdout.splitlines()
    assert done.returncode == 3 and [line.split()[0] for line in lines] == ["port", "0000:80"], done.stderr
    assert server("0000:17", "true").returncode == 129


def test_intervals(server, tmp_path):
    """The command ends when it has seen two of them."""
    path = tmp_path / "out"
    with open(path, "w", encoding="ascii") as out:
        done = server("-I", "10", "sh", "-c", f"until [ $(grep -c 0000:80 {path}) -ge 2 ]; do sleep 0.01; done", stdout=out)
    lines = [line.split()[0] for line in path.read_text().splitlines()]
    assert done.returncode == 0 and len(lines) >= 7 and lines == ["port"] + ["0000:00", "0000:80"] * (len(lines) // 2), done.stderr
