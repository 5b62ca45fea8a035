"""perf ftrace latency -b where the kernel takes no BPF programs at functions: what stands in the way, and no advice that was followed already."""
import json
import subprocess

import pytest

pytestmark = pytest.mark.alone


@pytest.fixture(name="refusing")
def refusing_kernel(perf, root, tracefs):
    """Root may load programs here, but none at functions."""
    facts = {row["id"]: row["facts"] for row in json.loads(perf("doctor", "-j").stdout)["rows"]}["bpf"]
    if not facts["built_in"] or facts["raw_tracepoint"] != "yes" or facts["tracing"] not in ("EPERM", "EACCES"):
        pytest.skip("this kernel takes BPF programs at functions, or no programs at all")
    return perf


def test_root_is_not_told_to_be_root(refusing):
    done = refusing("ftrace", "latency", "-b", "-T", "schedule", "true")
    assert done.returncode == 255 and "fentry, fexit" in done.stderr and "as root" not in done.stderr and "CAP_BPF" not in done.stderr
    assert refusing("doctor", "bpf").returncode == 0


@pytest.mark.parametrize("state,said", [("none [integrity] confidentiality", "locked down (integrity)"), ("[none] integrity confidentiality", "'perf doctor bpf'")])
def test_lockdown_is_named(refusing, perf, state, said):
    script = 'mount -t tmpfs none /sys/kernel/security && echo "$2" >/sys/kernel/security/lockdown && "$1" ftrace latency -b -T schedule true'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", perf, state], capture_output=True, text=True, check=False)
    assert done.returncode == 255 and said in done.stderr
