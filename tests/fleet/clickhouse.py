"""ClickHouse servers of a test's own, in folders and on ports of their own: one, or a cluster with ZooKeeper. And a proxy that loses answers."""
import pathlib
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
import urllib.error
import urllib.request

import started

SERVER, ZOOKEEPER = shutil.which("clickhouse-server"), pathlib.Path("/usr/share/java/zookeeper.jar")


def free_ports(count):
    """Ports of the loopback address that nobody has at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """One server. `cluster`: text of its configuration beyond that of a single one; `address`: another one of this machine, from whose network it may be asked."""
    def __init__(self, folder, cluster="", ports=None, address=None):
        self.folder = pathlib.Path(folder)
        self.http, self.tcp, self.between = ports or free_ports(3)
        self.process = None
        for name in ("data", "tmp", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "config.xml").write_text(f"""<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{self.folder}/logs/log</log><errorlog>{self.folder}/logs/errors</errorlog></logger>
  <http_port>{self.http}</http_port><tcp_port>{self.tcp}</tcp_port><listen_host>127.0.0.1</listen_host>{f'<listen_host>{address}</listen_host>' if address else ''}
  <interserver_http_port>{self.between}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
  <path>{self.folder}/data/</path><tmp_path>{self.folder}/tmp/</tmp_path>
  <users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
  <compression><case><method>zstd</method></case></compression>
  {cluster}
</yandex>
""", encoding="ascii")
        (self.folder / "users.xml").write_text(f"""<?xml version="1.0"?>
<yandex>
  <profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
  <users><default><password></password><networks><ip>127.0.0.1</ip>{f'<ip>{address}/24</ip>' if address else ''}</networks><profile>default</profile><quota>default</quota></default></users>
  <quotas><default></default></quotas>
</yandex>
""", encoding="ascii")

    def start(self):
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen([SERVER, "--config-file=config.xml"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        return self

    def wait(self):
        """Until it answers."""
        for _ in range(3000):
            assert self.process.poll() is None, (self.folder / "output").read_text(errors="replace") + (self.folder / "logs/errors").read_text(errors="replace")
            try:
                if self.ask("SELECT 1") == "1":
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError("the server doesn't answer")

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def url(self, database="perf", port=None):
        return f"clickhouse://127.0.0.1:{port or self.http}/{database}"

    def ask(self, sql, settings=""):
        """The answer as text; its exception as an AssertionError."""
        return self.ask_bytes(sql, settings).decode()

    def ask_bytes(self, sql, settings=""):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/?{settings}", sql.encode(), timeout=3600) as answer:
                return answer.read().rstrip(b"\n")
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode(errors="replace")) from error

    def numbers(self, sql):
        return tuple(int(number) for number in self.ask(sql).split("\t"))


class Losing:
    """A proxy that hands on requests, one by one, and does something to the `at`-th (from 0 on): "answer" is taken from the server and lost, "request" is
    lost, or a function is called once the request has been handed on, whose answer is lost."""
    def __init__(self, port, at, how):
        self.count = 0
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while True:
                    head = b""
                    while line := self.rfile.readline():
                        head += line
                        if line == b"\r\n":
                            break
                    if not head.endswith(b"\r\n\r\n"):
                        return
                    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head.decode("latin1").split("\r\n")[1:])}
                    body = self.rfile.read(int(fields.get("content-length", 0)))
                    number, outer.count = outer.count, outer.count + 1
                    if number == at and how == "request":
                        return
                    head = head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
                    with socket.create_connection(("127.0.0.1", port)) as server:
                        server.sendall(head + body)
                        if number == at and callable(how):
                            how()
                            return
                        answer = b""
                        while data := server.recv(1 << 16):
                            answer += data
                    if number == at:
                        return
                    self.wfile.write(answer)
                    return

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Cluster:
    """Shards of two replicas each, and their ZooKeeper. servers[shard][replica]."""
    def __init__(self, folder, shards=2):
        folder = pathlib.Path(folder)
        keeper, = free_ports(1)
        self.port = keeper
        places = [[free_ports(3) for _ in range(2)] for _ in range(shards)]
        (folder / "keeper").mkdir(parents=True)
        (folder / "keeper/zoo.cfg").write_text(f"tickTime=500\ndataDir={folder}/keeper/data\nclientPort={keeper}\nclientPortAddress=127.0.0.1\n"
                                               "admin.enableServer=false\n", encoding="ascii")
        with open(folder / "keeper/output", "wb") as output:
            self.keeper = subprocess.Popen(["java", "-Xmx256m", "-cp", str(ZOOKEEPER), "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"],
                                           cwd=folder / "keeper", stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        remote = "".join("<shard><internal_replication>true</internal_replication>" +
                         "".join(f"<replica><host>127.0.0.1</host><port>{ports[1]}</port></replica>" for ports in shard) + "</shard>" for shard in places)
        self.servers = []
        for number, shard in enumerate(places):
            self.servers.append([])
            for replica, ports in enumerate(shard):
                cluster = (f"<remote_servers><fleet>{remote}</fleet></remote_servers>"
                           f"<zookeeper><node><host>127.0.0.1</host><port>{keeper}</port></node><session_timeout_ms>6000</session_timeout_ms></zookeeper>"
                           f"<macros><shard>{number}</shard><replica>{replica}</replica></macros>"
                           "<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>")
                self.servers[-1].append(Server(folder / f"{number}-{replica}", cluster, ports))

    def keeper_answers(self):
        """While it starts, it takes connections that it never answers nor closes: then another one is made."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as asked:
                asked.sendall(b"srvr")
                with asked.makefile("rb") as answer:
                    return b"standalone" in answer.read()
        except OSError:
            return False

    def all(self):
        return [server for shard in self.servers for server in shard]

    def start(self):
        started.until(self.keeper_answers, "ZooKeeper answers")
        for server in self.all():
            server.start()
        for server in self.all():
            server.wait()
        return self

    def revive(self):
        """Where ZooKeeper answers late, servers of version 18.16 die of it (a null pointer in zkutil::ZooKeeper::createImpl). As everywhere, they are started again then.
        Returns how many were."""
        dead = [server for server in self.all() if server.process.poll() is not None]
        for server in dead:
            assert "zkutil::ZooKeeper::createImpl" in (server.folder / "logs/errors").read_text(errors="replace"), (server.folder / "output").read_text(errors="replace")
            server.start()
        return len(dead)

    def make_tables(self, perf):
        """A statement waits for three minutes for a server that has died: it is there again before that, and does its part. Statements may be repeated."""
        words = [perf, "agent", "schema", "clickhouse", "--cluster", "fleet", "--create", self.servers[0][0].url()]
        for _ in range(5):
            with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as making:
                while making.poll() is None:
                    self.revive()
                    time.sleep(0.1)
                why = making.stderr.read()
            died = self.revive()
            for server in self.all():
                server.wait()
            if not died and not making.returncode:
                return
        raise AssertionError(why)

    def stop(self):
        for server in self.all():
            server.kill()
        self.keeper.kill()
        self.keeper.wait()
