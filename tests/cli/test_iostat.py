"""perf iostat on machines without such PMUs, which all machines for tests are. Finding ports and events: tests/unit/event/io_ports.c."""
import pathlib

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
