"""What report shows depends on neither the order of work nor the number of threads: recordings in which all is equal but names and
addresses, and processes have the same file elsewhere, so that what a worker meets first would show."""
import struct
import subprocess

import pytest

from test_changing_file import make

SAMPLES = 6000
HEAD = "event one type=1 config=0 period=1 sample=IP|TID|TIME|PERIOD{} flags=sample_id_all,mmap,comm{}\n"


def processes():
    """Forty processes, each with one file of no symbols at a place of its own, and half with a second file."""
    for pid in range(10, 50):
        yield f"comm pid={pid} tid={pid} name=same time=1"
        yield f"mmap2 pid={pid} tid={pid} addr={base(pid):#x} len=0x10000 pgoff=0 prot=5 flags=2 time=2 name=/bin/none"
        yield f"mmap2 pid={pid} tid={pid} addr={base(pid) + 0x20000:#x} len=0x10000 pgoff=0 prot=5 flags=2 time=2 name=/lib/none-{pid % 5}"


def base(pid):
    return 0x400000 + (pid * 7919 % 40) * 0x100000


def samples(extra):
    """Each of a set of places equally often, one process after the other, so that each thread of work meets another first."""
    for i in range(SAMPLES):
        pid = 10 + i * 40 // SAMPLES
        yield f"sample event=0 ip={base(pid) + i % 50 * 16:#x} pid={pid} tid={pid} time={100 + i // 64} period=7 {extra(pid, i)}"


def chain(pid, i):
    at = base(pid)
    return f"chain=user,{at + i % 50 * 16:#x},{at + 0x20000 + i % 7 * 32:#x},{at + 0x1000 + i % 3 * 64:#x},{at + 0x8000:#x}"


def branches(pid, i):
    """Several of one sample: they have one time and one place in the file."""
    at = base(pid)
    return "branch=" + ",".join(f"{at + 0x100 * (i % 5 + n):#x}>{at + 0x20000 + 0x40 * (n * 3 % 8):#x}/P" for n in range(8))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """kind → path."""
    found = {}
    for kind, field, extra in (("chains", "|CALLCHAIN", chain), ("branches", "|BRANCH_STACK", branches)):
        flag = " branch=0x8" if kind == "branches" else ""
        lines = [*processes(), *samples(extra)]
        features = "feature branch_stack\n" if kind == "branches" else ""
        found[kind] = make(tmp_path_factory.mktemp(kind), HEAD.format(field, flag) + features + "\n".join(lines) + "\n")
    return found


def same_for_all(perf, recording, words):
    first, *others = (perf(*words, "--jobs", str(jobs), "-i", recording, text=False) for jobs in (1, 2, 4, 4, 3, 4))
    assert first.returncode == 0 and first.stdout, first.stderr
    assert all(other.stdout == first.stdout for other in others)


@pytest.mark.parametrize("words", [["-g", "fractal,1"], ["-g", "graph,0,caller"], ["-g", "flat,0"], ["-g", "folded,0,callee"], ["-g", "fractal,0.1", "-s", "dso"],
                                   ["-s", "comm,dso,sym", "-g", "caller"], ["--no-children", "-g", "none"], ["--hierarchy"], ["-s", "comm", "-g", "address"]],
                         ids=" ".join)
def test_ties_of_call_chains(perf, recordings, words):
    same_for_all(perf, recordings["chains"], ["report", "--stdio", *words])


@pytest.mark.parametrize("words", [[], ["-s", "comm,dso,sym"], ["-s", "sym"], ["-s", "symbol_from,symbol_to"], ["-s", "dso_from,dso_to"], ["-s", "dso"]], ids=" ".join)
def test_ties_of_branches(perf, recordings, words):
    same_for_all(perf, recordings["branches"], ["report", "--stdio", *words])


def test_branches_to_one_place_of_several_processes(perf, recordings):
    """Ends of branches without a symbol are shown with their addresses in memory, each with its own row."""
    done = perf("report", "--stdio", "-s", "sym", "-i", recordings["branches"])
    assert done.returncode == 0, done.stderr
    shown = {line.split()[-1] for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")}
    expected = {f"{base(pid) + 0x20000 + 0x40 * n:#018x}" for pid in range(10, 50) for n in range(8)}
    assert shown == expected


# Functions with room between them that belongs to none.
LIBRARY = ".text\n" + "".join(f".globl f{i}\n.type f{i},@function\n.size f{i},64\nf{i}: .fill 256,1,0x90\n" for i in range(16))


@pytest.fixture(scope="module")
def with_symbols(tmp_path_factory):
    """One library at another place in each process; callers of equal weight, half of them in functions and half between."""
    folder = tmp_path_factory.mktemp("symbols")
    (folder / "library.s").write_text(LIBRARY)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", folder / "library.so", folder / "library.s"], check=True)
    headers = subprocess.run(["readelf", "-lW", folder / "library.so"], check=True, capture_output=True, text=True).stdout
    offset, address = next((int(line.split()[1], 16), int(line.split()[2], 16)) for line in headers.splitlines() if "LOAD" in line and " E " in line)
    assert offset == address
    lines = []
    for pid in range(10, 50):
        lines.append(f"comm pid={pid} tid={pid} name=same time=1")
        lines.append(f"mmap2 pid={pid} tid={pid} addr={base(pid):#x} len=0x1000 pgoff={offset:#x} prot=5 flags=2 time=2 name={folder}/library.so")
    for i in range(SAMPLES):
        pid = 10 + i * 7 % 40
        function, between = base(pid) + i % 16 * 256 + 8, base(pid) + (i * 5 + 3) % 16 * 256 + 128
        callers = f"{function:#x},{base(pid) + 0x10:#x}" if i % 3 else f"{between:#x},{base(pid) + 0x10:#x}"
        lines.append(f"sample event=0 ip={base(pid) + 8:#x} pid={pid} tid={pid} time={100 + i // 64} period=7 chain=user,{base(pid) + 8:#x},{callers}")
    return make(folder, HEAD.format("|CALLCHAIN", "") + "\n".join(lines) + "\n")


@pytest.mark.parametrize("style", ["fractal,0.01", "graph,0,caller", "graph,0,callee", "flat,0", "folded,0"])
def test_ties_of_functions_and_addresses(perf, with_symbols, style):
    same_for_all(perf, with_symbols, ["report", "--stdio", "-g", style])


@pytest.fixture(scope="module")
def with_lines(tmp_path_factory):
    """A library with debug information at another place in each process."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "library.c").write_text("".join(f"long g{i}(long a) {{ for (long i = 0; i < a; i++) {{ a ^= i * {i + 3};\n a += i;\n }} return a; }}\n" for i in range(16)))
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-nostdlib", "-o", folder / "library.so", folder / "library.c"], check=True)
    symbols = subprocess.run(["nm", folder / "library.so"], check=True, capture_output=True, text=True).stdout
    at = sorted(int(line.split()[0], 16) for line in symbols.splitlines() if line.split()[1] == "T")
    start = at[0] & ~0xfff
    lines = []
    for pid in range(10, 50):
        lines.append(f"comm pid={pid} tid={pid} name=same time=1")
        lines.append(f"mmap2 pid={pid} tid={pid} addr={base(pid):#x} len=0x2000 pgoff={start:#x} prot=5 flags=2 time=2 name={folder}/library.so")
    for i in range(SAMPLES):
        pid = 10 + i % 40
        stack = [base(pid) - start + at[n % 16] + 4 + n % 3 for n in (i, i // 40 % 5, 0)]
        lines.append(f"sample event=0 ip={stack[0]:#x} pid={pid} tid={pid} time={100 + i} period=7 chain=user,{','.join(map(hex, stack))}")
    return make(folder, HEAD.format("|CALLCHAIN", "") + "\n".join(lines) + "\n")


@pytest.mark.parametrize("words", ["--branch-history", "-s addr -g caller,0", "-s srcline -g graph,0,address"])
def test_functions_of_debug_information(perf, with_lines, words):
    """One place in a library is one node of a call graph, whichever process it was met in first."""
    same_for_all(perf, with_lines, ["report", "--stdio", *words.split()])


@pytest.mark.parametrize("words", ["-v -g none", "-v --no-children -g none -s sym"])
def test_the_address_that_stands_for_a_function(perf, with_lines, words):
    """Of those that were sampled -v shows the lowest, whichever was met first; of calls that is the byte before the return address."""
    same_for_all(perf, with_lines, ["report", "--stdio", *words.split()])
    if "--no-children" not in words:
        return
    symbols = subprocess.run(["nm", with_lines.parent / "library.so"], check=True, capture_output=True, text=True).stdout
    lowest = {name: int(address, 16) + 4 for address, kind, name in map(str.split, symbols.splitlines()) if kind == "T"}
    shown = {row[-1]: int(row[-4], 16) for row in map(str.split, perf("report", "--stdio", *words.split(), "-i", with_lines).stdout.splitlines()) if "[.]" in row}
    assert len(shown) == 16 and shown == {name: lowest[name] for name in shown}


@pytest.mark.parametrize("name", ["perf.data.callgraph_and_branch-3.4", "perf.data.raw_callgraph_branch-3.4"])
def test_recordings_of_others(perf, corpus, name):
    path = corpus / "google+perf_data_converter/src/quipper/testdata" / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    same_for_all(perf, path, ["report", "--stdio", "-s", "comm,dso,sym", "-g", "caller"])


def test_records_that_the_kernel_made_longer(perf, tmp_path):
    """Of a BPF program, told of to two recorders: the time stands where the first one's record ends, and what lay in the buffer behind it."""
    name = b"bpf_prog_1_x\0\0\0\0"
    told = struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 0) + name + struct.pack("<IIQ", 5, 5, 20) + bytes(16)
    text = "event one type=1 config=0 period=1 sample=IP|TID|TIME flags=sample_id_all,mmap,comm,ksymbol\n"
    text += "\n".join(f"sample event=0 ip=0xffffffffc0000010 pid=5 tid=5 time={time} misc=1" for time in (10, 30))
    path = make(tmp_path, f"{text}\nrecord type=17 misc=1 data={told.hex()}\nround\n")
    done = perf("script", "--show-bpf-events", "-F", "ip,sym,event", "-i", path)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert len(lines) == 3 and "[unknown]" in lines[0] and "PERF_RECORD_KSYMBOL" in lines[1] and "bpf_prog_1_x" in lines[2], lines
