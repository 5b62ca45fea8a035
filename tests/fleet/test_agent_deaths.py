"""The agent's promise, at random moments: the server is killed, the network is cut, the disk is full, the spool is, the agent is killed. PERF_SEED is printed, and
can be given."""
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "lib")]
import clickhouse  # noqa: E402
import started  # noqa: E402

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not os.environ.get("PERF_SOAK"), reason="takes some minutes: make soak")]

MOMENTS = 50
SPOOL = 1 << 20  # of the disk; the spool's limit is a quarter of it


def run(*words):
    subprocess.run(list(map(str, words)), check=True, stdin=subprocess.DEVNULL)


class Network:
    """A namespace that has one cable, to this machine."""
    def __init__(self, name, address, far):
        self.name, self.address, self.far, self.cable = name, address, far, f"{name}0"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", f"{name}1", "netns", name)
        run("ip", "addr", "add", f"{address}/24", "dev", self.cable)
        self.inside("addr", "add", f"{far}/24", "dev", f"{name}1")
        self.inside("link", "set", f"{name}1", "up")
        self.connect(True)

    def inside(self, *words):
        run("ip", "-n", self.name, *words)

    def connect(self, there):
        run("ip", "link", "set", self.cable, "up" if there else "down")

    def words(self):
        """What a program is started with. `ip netns exec` would hide cgroups and tracepoints."""
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def close(self):
        subprocess.run(["ip", "link", "del", self.cable], check=False)
        subprocess.run(["ip", "netns", "del", self.name], check=False)


class Life:
    """One process of the agent. `batches` and `samples` that it has put: known up to when it was last asked."""
    def __init__(self, perf, folder, network):
        self.perf, self.folder = perf, folder
        self.said = open(folder / "said", "a", encoding="utf-8")
        self.process = subprocess.Popen([*network.words(), perf, "agent", "run", "-v", "--config", folder / "agent.conf", "--socket", folder / "socket", "--spool", folder / "spool",
                                         "--window", "1s", "-F", "499", "--budget", "100%"], stdin=subprocess.DEVNULL, stderr=self.said)
        self.last = {}
        started.until(self.ask, "the agent answers")

    def ask(self):
        """Its own counts, if it answers."""
        assert self.process.poll() is None, (self.folder / "said").read_text(encoding="utf-8")
        done = self.perf("agent", "status", "--json", "--socket", self.folder / "socket")
        if done.returncode:
            return None
        status = json.loads(done.stdout)
        self.last = {**status, **status["sinks"][0]}
        return self.last

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(timeout=300)
        self.said.close()


def test_at_random_moments(perf, live_system, tmp_path):
    if os.getuid() or not clickhouse.SERVER or not shutil.which("ip") or not shutil.which("nsenter"):
        pytest.skip("root, clickhouse-server, ip and nsenter are needed")
    seed = int(os.environ.get("PERF_SEED", time.time_ns() % 10**9))
    print(f"PERF_SEED={seed}")
    chance = random.Random(seed)
    network = Network(f"pa{os.getpid() % 10**7}", "198.18.77.1", "198.18.77.2")
    spool = tmp_path / "spool"
    spool.mkdir(mode=0o700)
    run("mount", "-t", "tmpfs", "-o", f"size={SPOOL},mode=0700", "none", spool)
    server = clickhouse.Server(tmp_path / "server", address=network.address)
    busy = subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"], preexec_fn=lambda: os.nice(10))
    lives = []
    told = {}
    try:
        server.start().wait()
        assert perf("agent", "schema", "clickhouse", "--create", server.url()).returncode == 0
        (tmp_path / "agent.conf").write_text(f"[sink main]\nurl = clickhouse://{network.address}:{server.http}/perf\ntimeout = 2s\nspool-limit = {SPOOL // 4}\n", encoding="ascii")
        ballast = spool / "ballast"

        def server_killed():
            server.kill()
            yield
            server.start().wait()

        def network_cut():
            network.connect(False)
            yield
            network.connect(True)

        def disk_full():
            try:
                with open(ballast, "wb", buffering=0) as full:
                    while full.write(bytes(4096)):
                        pass
            except OSError:  # at last
                pass
            yield
            ballast.unlink(missing_ok=True)

        def spool_full():
            """Both away for as long as it takes until something is dropped."""
            network.connect(False)
            yield
            before = lives[-1].last["dropped_batches"]
            started.until(lambda: lives[-1].ask() and lives[-1].last["dropped_batches"] > before, "the spool is full")
            network.connect(True)

        def agent_killed():
            lives[-1].ask()
            lives[-1].end(signal.SIGKILL)
            yield
            lives.append(Life(perf, tmp_path, network))

        kinds = [server_killed, network_cut, disk_full, agent_killed]
        deeds = [kinds[number % len(kinds)] for number in range(MOMENTS - 3)] + [spool_full] * 3
        chance.shuffle(deeds)
        lives.append(Life(perf, tmp_path, network))
        for deed in deeds:
            time.sleep(chance.uniform(0, 2))
            told[deed.__name__] = told.get(deed.__name__, 0) + 1
            doing = deed()
            next(doing)
            if deed is not agent_killed and chance.random() < 0.3:  # two at once
                time.sleep(chance.uniform(0, 1))
                for _ in agent_killed():
                    pass
                told["… and the agent killed"] = told.get("… and the agent killed", 0) + 1
            time.sleep(chance.uniform(0, 3))
            for _ in itertools.islice(doing, 1):
                pass

        # All is well again: what waits is sent, then the agent is told to end.
        started.until(lambda: lives[-1].ask() and not lives[-1].last["waiting_batches"], "nothing waits")
        lives[-1].end(signal.SIGTERM)
        check(lives, server, told)
    finally:
        busy.kill()
        busy.wait()
        for life in lives:
            if life.process.poll() is None:
                life.end(signal.SIGKILL)
        server.kill()
        subprocess.run(["umount", "-l", spool], check=False)
        network.close()


def check(lives, server, told):
    windows, ids, rows, taken, stored, lost, dropped = server.numbers("SELECT count(), uniqExact(id), sum(rows), sum(taken), sum(stored), sum(lost), sum(dropped) FROM perf.windows FINAL")
    there, samples = server.numbers("SELECT count(), sum(count) FROM perf.samples")
    given_up, given_up_samples = lives[-1].last["ever_dropped_batches"], lives[-1].last["ever_dropped_samples"]
    put, put_samples = sum(life.last["batches"] for life in lives), sum(life.last["samples"] for life in lives)
    print(f"{told}; {len(lives)} agents: {windows} windows and {samples} samples are there, {given_up} and {given_up_samples} were given up; {put} and {put_samples} at least were put")
    # Nothing twice: each window once, with the rows and samples that it says; none without its window.
    assert windows == ids and there == rows and samples == stored
    # All is counted within windows …
    assert taken == stored + lost + dropped
    # … and no window is missing. The last one of each agent may have come after it was asked for the last time.
    assert put <= windows + given_up <= put + len(lives)
    assert put_samples <= samples + given_up_samples
    assert given_up and told["spool_full"]
