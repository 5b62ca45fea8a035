"""Names of generated code from the run-time compilers themselves: node, Java, CPython; on the host and in containers."""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
import started

# Names of generated code come and go with its process: they must not be in recordings of the whole system that others read twice.
pytestmark = pytest.mark.alone

SCRIPT = """
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function collatz(n) { let steps = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; } return steps; }
let total = 0;
const rounds = +process.argv[2];
for (let round = 0; round < rounds; round++) { for (let i = 1; i < 100000; i++) total += collatz(i); total += fibonacci(27); }
console.log(total);
"""

JAVA = """
public class Hot {
	static long collatz(long n) { long steps = 0; while (n != 1) { n = (n & 1) == 1 ? 3 * n + 1 : n / 2; steps++; } return steps; }
	static long fibonacci(long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
	public static void main(String[] words) {
		long total = 0;
		for (int i = 1; i < 500000; i++) total += collatz(i);
		System.out.println(total + fibonacci(35));
	}
}
"""

PYTHON = """
def inner(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
def outer(n):
    return sum([inner(2000) for _ in range(n)])
print(outer(1000))
"""


def shares(text):
    """{symbol: percent} of a table; several versions of a function have the same name."""
    table = collections.Counter()
    for percent, symbol in re.findall(r"^ +([\d.]+)% .*?\[\.\] (.+?) *$", text, re.M):
        table[symbol] += float(percent)
    return table


def total(table, pattern):
    return sum(percent for symbol, percent in table.items() if re.search(pattern, symbol))


@pytest.fixture(name="node")
def node_fixture(tmp_path):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    (tmp_path / "hot.js").write_text(SCRIPT)
    return tmp_path


@pytest.mark.parametrize("form, clock", [("--perf-basic-prof", []), ("--perf-prof", []), ("--perf-prof", ["-k", "mono"])],
                         ids=["perf map", "jitdump", "jitdump by its clock"])
def test_node(perf, live, node, form, clock):
    """Row 35: the script's functions are named, in a recording that nothing was done to."""
    done = perf("record", "-g", "-F", "1000", *clock, "--", "node", form, "hot.js", "20", cwd=node)
    assert done.returncode == 0, done.stderr
    table = shares(perf("report", "--stdio", "--no-children", "-g", "none", cwd=node).stdout)
    assert total(table, r"JS:\*?\^?.*hot\.js") > 60, table
    assert total(table, r"fibonacci") > 2 and total(table, r"^0x") < 3
    graph = perf("report", "--stdio", "--no-children", "-G", "-S", next(name for name in table if "fibonacci" in name), cwd=node).stdout
    assert "v8::internal" in graph or "node::" in graph
    folded = perf("flamegraph", "--folded", cwd=node).stdout
    assert re.search(r";JS:[*^~]?fibonacci", folded)
    if form == "--perf-prof":
        done = perf("annotate", "--stdio2", "JS:*fibonacci*", cwd=node)
        assert done.returncode == 0 and re.search(r"^ +\d+\.\d+ .*\bmov", done.stdout, re.M), done.stderr
    for file in pathlib.Path("/tmp").glob("perf-*.map"):
        if not pathlib.Path(f"/proc/{file.stem[5:]}").exists():
            file.unlink(missing_ok=True)


def test_node_injected(perf, oracle, live, node):
    """Row 62: the kernel's perf finds the same functions in what our inject makes as in what its own does, and ours in both."""
    done = perf("record", "-F", "1000", "-k", "mono", "-o", "node.data", "--", "node", "--perf-prof", "hot.js", "15", cwd=node)
    assert done.returncode == 0, done.stderr
    tables = []
    for tool, name in ((oracle, "theirs.data"), (perf, "ours.data")):
        done = tool("inject", "--jit", "-i", "node.data", "-o", name, cwd=node)
        assert done.returncode == 0, done.stderr
        tables += [shares(reader("report", "--stdio", "-s", "sym", "-i", name, cwd=node).stdout) for reader in (perf, oracle)]
    assert all(table == tables[0] for table in tables)
    assert total(tables[0], r"JS:\*?\^?.*hot\.js") > 60 and total(tables[0], r"fibonacci") > 2


def test_stream(perf, live, node):
    """Read while it is written: the dump grows behind the pipe."""
    text = subprocess.run(["sh", "-c", '"$0" record -q -F 1000 -o - -- node --perf-prof hot.js 20 | "$0" script -i - -F ip,sym', perf.path],
                          cwd=node, capture_output=True, text=True, check=False, timeout=300).stdout
    names = re.findall(r"^ *[0-9a-f]+ (.*)$", text, re.M)
    assert sum("hot.js" in name for name in names) > 0.6 * len(names) > 100


def test_java(perf, live, tmp_path):
    """Row 62: the map that OpenJDK writes when it ends."""
    if not shutil.which("javac"):
        pytest.skip("no Java compiler")
    (tmp_path / "Hot.java").write_text(JAVA)
    subprocess.run(["javac", "Hot.java"], cwd=tmp_path, check=True)
    words = ["java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "Hot"]
    done = perf("record", "-g", "-F", "1000", "--", *words, cwd=tmp_path)
    if "Unrecognized VM option" in done.stderr + done.stdout:
        pytest.skip("this Java writes no perf map: OpenJDK 17 and later do")
    assert done.returncode == 0, done.stderr
    table = shares(perf("report", "--stdio", "--no-children", "-g", "none", cwd=tmp_path).stdout)
    assert total(table, r"Hot\.(collatz|main)") > 20 and total(table, r"Hot\.fibonacci") > 5, table


def pythons():
    found = {}
    for version in ("3.12", "3.13", "3.14"):
        places = [shutil.which(f"python{version}"), *pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")]
        for place in filter(None, places):
            done = subprocess.run([place, "-X", "perf", "-c", "pass"], capture_output=True, check=False)
            if done.returncode == 0 and not done.stderr:
                found.setdefault(version, str(place))
    return found


@pytest.mark.parametrize("form", ["perf", "perf_jit"])
def test_python(perf, live, tmp_path, form):
    """Trampolines: a perf map, which ends a stack at the innermost function; since 3.13 a jitdump with call frame information, with which stacks are
    whole."""
    found = pythons()
    version = "3.13" if form == "perf_jit" else next(iter(found), "none")
    if version not in found:
        pytest.skip("no CPython that has this (3.12 has -X perf, 3.13 -X perf_jit)")
    (tmp_path / "hot.py").write_text(PYTHON)
    done = perf("record", "--call-graph", "dwarf,16384", "-F", "500", "--", found[version], "-X", form, "hot.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = shares(perf("report", "--stdio", "-g", "none", "--children", cwd=tmp_path).stdout)
    assert total(table, r"^py::inner:.*hot\.py$") > 50, table
    if form == "perf_jit":
        assert total(table, r"^py::outer:.*hot\.py$") > 50 and total(table, r"^py::<module>:.*hot\.py$") > 50
        assert total(table, r"^_start$") > 80


@pytest.fixture(name="namespaces")
def namespaces_fixture(root):
    if subprocess.run(["unshare", "--pid", "--fork", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no new namespaces here")


@pytest.fixture(name="container")
def container_fixture(node, namespaces):
    """node with its own process numbers, mounts and /tmp: the host's pid of it. The root directory it has in common with a neighbour that has other mounts, too."""
    inside = "mount -t tmpfs none /tmp && mkdir /tmp/work && cat > /tmp/work/hot.js && cd /tmp/work && exec node --perf-basic-prof hot.js 100000"
    neighbour = subprocess.Popen(["unshare", "--mount", "sleep", "1000"])
    started.until(lambda: pathlib.Path(f"/proc/{neighbour.pid}/comm").read_text(encoding="ascii") == "sleep\n", "the neighbour has its mounts")
    with open(node / "hot.js", "rb") as script:
        shell = subprocess.Popen(["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", inside], stdin=script,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield started.child_named(shell.pid, "node")
    os.kill(started.child_named(shell.pid, "node"), signal.SIGKILL)
    shell.wait(timeout=300)
    neighbour.kill()
    neighbour.wait(timeout=300)


def test_container_while_it_runs(perf, live, node, container):
    """The map is in the container's /tmp and has its number of the process."""
    started.until(lambda: started.ran(container) > 1.5, "the script's functions are compiled")
    done = perf("record", "-F", "500", "-p", container, "--", *started.while_it_runs(container, 0.8), cwd=node)
    assert done.returncode == 0, done.stderr
    assert not pathlib.Path(f"/tmp/perf-{container}.map").exists()
    table = shares(perf("report", "--stdio", cwd=node).stdout)
    assert total(table, r"JS:.*hot\.js") > 60, table


def test_container_that_ended(perf, live, node, namespaces):
    """A jitdump with the container's number of the process, in a directory that both see."""
    done = perf("record", "-F", "1000", "--", "unshare", "--pid", "--fork", "--mount-proc", "node", "--perf-prof", "hot.js", "20", cwd=node)
    assert done.returncode == 0, done.stderr
    assert (node / "jit-1.dump").exists()
    table = shares(perf("report", "--stdio", cwd=node).stdout)
    assert total(table, r"JS:.*hot\.js") > 60, table
