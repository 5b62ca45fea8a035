"""perf report --total-cycles: the blocks of code between branches, as the kernel's perf 6.1 tells them and as they are counted here."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import branches
import recording
import screens


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The program, its recording as a text, and the folder."""
    if not shutil.which("gcc") or not shutil.which("objdump"):
        pytest.skip("gcc or objdump is not installed")
    directory = tmp_path_factory.mktemp("cycles")
    program, script = branches.make(directory, rounds=20)
    (directory / "perf.data").write_bytes(recording.Maker(script).make())
    (directory / "padded.data").write_bytes(recording.Maker(branches.padded(script)).make())
    return program, script, directory


def rows(program, path, words=()):
    """(percent, cycles, average, range, file); titles with them."""
    done = program("report", "--stdio", "--total-cycles", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if re.match(r"# (Sampled|\.\.|Samples|Event count)", line)]
    found = [re.fullmatch(r" *([0-9.]+)% +([0-9.KMG]+) +([0-9.]+)% +([0-9.KMG]+) +(\[.*\]) +(\S+)", line) for line in done.stdout.splitlines()]
    return titles, [(m[1], m[2], m[4], m[5], m[6]) for m in found if m], [float(m[3]) for m in found if m]


def test_blocks(perf, oracle, made):
    """Of the average cycles' percentages the kernel's perf counts a block once for each row of its function."""
    titles, ours, percentages = rows(perf, made[2] / "padded.data")
    their_titles, theirs, _ = rows(oracle, made[2] / "padded.data")
    assert len(ours) > 10 and titles == their_titles
    assert sorted(ours) == sorted(theirs) and [row[1] for row in ours] == [row[1] for row in theirs]
    assert sum(percentages) == pytest.approx(100, abs=0.2)
    _, full, _ = rows(perf, made[2] / "padded.data", ["--full-source-path"])
    assert sorted((*row[:3], row[3].replace(f"{made[2]}/", ""), row[4]) for row in full) == sorted(ours) and str(made[2]) in full[0][3]
    _, large, _ = rows(perf, made[2] / "padded.data", ["--percent-limit", "5"])
    assert large == [row for row in ours if float(row[0]) >= 5] and len(large) < len(ours)
    _, one, _ = rows(perf, made[2] / "padded.data", ["-S", "square"])
    assert len(one) == 1 and one[0] in ours


def test_some_samples(perf, oracle, made):
    """The kernel's perf leaves out blocks of functions that no branch led to."""
    _, ours, _ = rows(perf, made[2] / "padded.data", ["--time", "0,0.000000300"])
    _, theirs, _ = rows(oracle, made[2] / "padded.data", ["--time", "0,0.000000300"])
    assert len(theirs) > 3 and set(theirs) <= set(ours)
    assert {re.sub(r":.*", "", row[3]) for row in set(ours) - set(theirs)} <= {"[loops.c"} and len(ours) <= len(theirs) + 1


def test_without_lines(perf, oracle, made, tmp_path):
    """Blocks are named by functions; the kernel's perf then only has the distances from a start that it doesn't name."""
    program, script, directory = made
    kept = program.read_bytes()
    try:
        subprocess.run(["strip", "-g", program], check=True)
        _, ours, _ = rows(perf, directory / "padded.data")
        _, theirs, _ = rows(oracle, directory / "padded.data")
    finally:
        program.write_bytes(kept)
    functions = {re.match(r"\[(\w+)\+", row[3])[1] for row in ours}
    assert functions == {"main", "sum", "fib", "square"}
    bare = [(*row[:3], re.sub(r"\w+\+0x", "", row[3])) for row in ours]
    assert sorted(bare) == sorted((*row[:3], re.sub(r" *([0-9a-f]+) +-> +", r"\1 -> ", row[3])) for row in theirs)


def counted(script, functions):
    """By last instruction: (cycles, times), the first instruction that led there, and all cycles."""
    blocks, begins, total = collections.defaultdict(lambda: [0, 0]), {}, 0
    for line in script.splitlines():
        if not line.startswith("sample"):
            continue
        entries = re.findall(r"(0x\w+)>(0x\w+)/[MP](\d+)", line)[::-1]
        before = None
        for source, target, cycles in entries:
            source, target = int(source, 16), int(target, 16)
            blocks[source][0] += int(cycles)
            blocks[source][1] += 1
            total += int(cycles)
            start, _ = next((low, high) for low, high in functions if low <= source < high)
            if before is not None and start <= before < source:
                begins[source] = min(before, begins.get(source, before))
            before = target
    return blocks, begins, total


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_cycle(perf, made, jobs):
    """All samples, counted here. What instructions a block has is told by objdump's functions."""
    program, script, directory = made
    listing = subprocess.run(["nm", "-S", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    functions = [(int(a, 16), int(a, 16) + int(b, 16)) for a, b in re.findall(r"^(\w+) (\w+) [tT] ", listing, re.M)]
    blocks, begins, total = counted(script, functions)
    done = perf("report", "--total-cycles", "--format", "json", "--jobs", jobs, "-i", directory / "perf.data")
    assert done.returncode == 0, done.stderr
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["cycles"] for row in ours] == sorted((cycles for cycles, _ in blocks.values()), reverse=True)
    assert sorted((row["cycles"], row["average"]) for row in ours) == sorted((cycles, cycles // times) for cycles, times in blocks.values())
    assert sum(row["cycles_percent"] for row in ours) == pytest.approx(100, abs=0.01)
    assert ours[0]["cycles_percent"] == pytest.approx(100 * ours[0]["cycles"] / total, abs=0.001)
    lines = subprocess.run(["addr2line", "-s", "-e", program, *(f"{a:#x}" for end in sorted(blocks) for a in (begins.get(end, end), end))],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    lines = [re.sub(r" \(.*", "", line) for line in lines]
    wanted = sorted((blocks[end][0], lines[2 * i], lines[2 * i + 1]) for i, end in enumerate(sorted(blocks)) if end in begins)
    shown = sorted((row["cycles"], *row["range"][1:-1].split(" -> ")) for row in ours)
    assert len(wanted) > 10 and set(wanted) <= set(shown)


def test_refusals(perf, made, tmp_path):
    (tmp_path / "flat.data").write_bytes(recording.Maker("event cycles type=0 config=0\nsample ip=0x400100 pid=1 tid=1 time=5\n").make())
    done = perf("report", "--total-cycles", "-i", tmp_path / "flat.data")
    assert done.returncode != 0 and "no branch records; record with -b" in done.stderr
    done = perf("report", "--total-cycles", "--no-branch-stack", "-i", made[2] / "perf.data")
    assert done.returncode != 0 and "--total-cycles: not without branches" in done.stderr
    plain = re.sub(r"/([MP])\d+", r"/\g<1>0", made[1])
    (tmp_path / "plain.data").write_bytes(recording.Maker(plain).make())
    done = perf("report", "--total-cycles", "-i", tmp_path / "plain.data")
    assert done.returncode == 0 and "contain no cycles" in done.stderr


# ---- perf diff -c cycles: the kernel's perf 6.1 shows none of these blocks, or dies; so averages are those counted here ----

def functions_of(program):
    listing = subprocess.run(["nm", "-S", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    return {name: (int(a, 16), int(a, 16) + int(b, 16)) for a, b, name in re.findall(r"^(\w+) (\w+) [tT] (\w+)$", listing, re.M)}


def first_runs(script, functions):
    """By last instruction: the cycles of the first eight runs from the first instruction that a branch led to."""
    runs = collections.defaultdict(list)
    for line in script.splitlines():
        before = None
        for source, target, cycles in re.findall(r"(0x\w+)>(0x\w+)/[MP](\d+)", line)[::-1] if line.startswith("sample") else []:
            source, target = int(source, 16), int(target, 16)
            start = next(low for low, high in functions.values() if low <= source < high)
            runs[source].append((before if before is not None and start <= before < source else 0, int(cycles)))
            before = target
    first = {end: min((begin for begin, _ in each if begin), default=0) for end, each in runs.items()}
    return {end: [cycles for begin, cycles in each if begin == first[end]][:8] for end, each in runs.items()}


@pytest.fixture(scope="module")
def changed(made):
    """Another recording of the program, in which cycles differ from run to run."""
    number = iter(range(1 << 30))
    script = re.sub(r"(0x\w+)>(0x\w+)/([MP])(\d+)", lambda m: f"{m[1]}>{m[2]}/{m[3]}{int(m[4]) * 2 + next(number) % 7 + 1}", made[1])
    (made[2] / "new.data").write_bytes(recording.Maker(script).make())
    return script


def test_diff_of_cycles(perf, made, changed):
    program, script, directory = made
    functions = functions_of(program)
    old, _, _ = counted(script, functions.values())
    new, _, _ = counted(changed, functions.values())
    runs = first_runs(script, functions), first_runs(changed, functions)
    words = ["diff", "-c", "cycles", "--cycles-hist", directory / "perf.data", directory / "new.data"]
    done = perf(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = collections.Counter()
    for end, (cycles, times) in old.items():
        name = next(name for name, (low, high) in functions.items() if low <= end < high)
        differences = [abs(b - a) for a, b in zip(runs[0][end], runs[1][end])]
        mean = sum(differences) / len(differences)
        error = (sum((each - mean) ** 2 for each in differences) / (len(differences) - 1) / len(differences)) ** 0.5 if len(differences) > 1 else 0
        wanted[name, cycles // times, new[end][0] // new[end][1], round(100 * error / mean, 1)] += 1
    sampled = {row["symbol"] for row in ours}
    assert len(sampled) > 2 and collections.Counter((row["symbol"], row["old"], row["new"], round(row["noise"], 1)) for row in ours) == collections.Counter(
        {key: count for key, count in wanted.items() if key[0] in sampled})
    assert all(row["delta"] == row["new"] - row["old"] and row["dso"] == "loops" for row in ours)
    assert [row["baseline"] for row in ours] == sorted((row["baseline"] for row in ours), reverse=True)
    for name in sampled:
        sizes = [abs(row["delta"]) for row in ours if row["symbol"] == name]
        assert sizes == sorted(sizes, reverse=True)
    text = [line for line in perf(*words).stdout.splitlines() if line and line[0] != "#"]
    assert len(text) == len(ours)
    for line, row in zip(text, ours):
        found = re.match(r" *([\d.]+)% +(\[.*\]) *(-?\d+)  (?:±([ \d.]{5})% ([▁-█]+))?\s+loops  +\[\.\] (\w+)", line)
        assert found and (float(found[1]), found[2], int(found[3]), found[6]) == (round(row["baseline"], 2), row["range"], row["delta"], row["symbol"]), line
        assert not found[4] or float(found[4]) == pytest.approx(row["noise"], abs=0.06)
    assert any("█" in line and "▁" in line for line in text)
    same = perf("diff", "-c", "cycles", directory / "perf.data", directory / "perf.data", "--format", "json")
    assert {json.loads(line)["delta"] for line in same.stdout.splitlines()} == {0}


@pytest.mark.parametrize("words, text", [(["-s", "comm"], "must contain the key 'symbol'"), (["-p"], "cannot be combined"), (["{new}"], "compares two recordings, not 3")])
def test_diff_of_cycles_refuses(perf, made, changed, words, text):
    files = [made[2] / "perf.data", made[2] / "new.data"]
    done = perf("diff", "-c", "cycles", *files, *(str(word).format(new=files[1]) for word in words))
    assert done.returncode == 129 and text in done.stderr


# ---- perf diff --stream: streams are those of samples with one newest branch; the kernel's perf has trees of call chains without loops ----

def common_length(sequences):
    """How much all of them begin with."""
    return next((i for i, steps in enumerate(zip(*sequences)) if len(set(steps)) > 1), min(map(len, sequences)))


def streams_of(script, line_of):
    """By what they are called, innermost first: how many samples of how many, and the average of their cycles. First what samples of one newest branch have in
    common, then what those have whose newest branch has one name."""
    ways, total = collections.defaultdict(list), 0
    for line in script.splitlines():
        entries = [(int(b, 16), int(a, 16), int(c)) for a, b, c in re.findall(r"(0x\w+)>(0x\w+)/[MP](\d+)", line)] if line.startswith("sample") else []
        if entries:
            total += 1
            ways[entries[0][:2]].append(entries)
    named = collections.defaultdict(list)
    for samples in ways.values():
        common = common_length([[entry[:2] for entry in sample] for sample in samples])
        names = [(line_of[to], line_of[source]) for to, source, _ in samples[0][:common]]
        named[names[0]].append((names, samples))
    streams = {}
    for group in named.values():
        common = common_length([names for names, _ in group])
        samples = [sample for _, each in group for sample in each]
        name = ";".join(word for pair in group[0][0][:common] for word in pair)
        streams[name] = (len(samples), sum(cycles for sample in samples for _, _, cycles in sample[:common]) // len(samples))
    return streams, total


def lines_of(program, script):
    addresses = sorted({int(word, 16) for line in script.splitlines() if line.startswith("sample") for word in re.findall(r"(0x\w+)(?=[>/])", line)})
    functions = functions_of(program)
    text = subprocess.run(["addr2line", "-s", "-e", program, *map(hex, addresses)], check=True, capture_output=True, text=True).stdout.splitlines()
    names = [next(name for name, (low, high) in functions.items() if low <= address < high) for address in addresses]
    return {address: f"{name} " + re.sub(r" \(.*", "", line) for address, name, line in zip(addresses, names, text)}


@pytest.mark.parametrize("jobs", [1, 3])
def test_streams(perf, made, changed, jobs):
    program, script, directory = made
    lines = script.splitlines()
    samples = [number for number, line in enumerate(lines) if line.startswith("sample")]
    part = "\n".join(lines[:samples[len(samples) // 12]]) + "\n"  # of the whole program there is the beginning: some ways are missing, others are longer
    (directory / "part.data").write_bytes(recording.Maker(part).make())
    line_of = lines_of(program, script)
    (old, all_old), (new, all_new) = streams_of(part, line_of), streams_of(changed, line_of)
    assert max(len(old), len(new)) <= 20 and 0 < len(set(old) & set(new)) < len(new)
    done = perf("diff", "--stream", "--jobs", jobs, directory / "part.data", directory / "new.data", "--format", "json")
    assert done.returncode == 0, done.stderr
    ours = {row["stream"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert not set(ours) ^ (set(old) | set(new)) and len(ours) == len(done.stdout.splitlines())
    for name, row in ours.items():
        assert row["recordings"] == ("both" if name in old and name in new else "old" if name in old else "new")
        for known, total, which in ((old, all_old, "old"), (new, all_new, "new")):
            hits, cycles = known.get(name, (0, 0))
            assert row[f"{which}_hits"] == pytest.approx(100 * hits / total, abs=0.001) and row[f"{which}_cycles"] == cycles
    text = perf("diff", "--stream", directory / "part.data", directory / "new.data").stdout
    titles = ["[ Matched hot streams ]", "[ Hot streams in old perf data only ]", "[ Hot streams in new perf data only ]"]
    assert [line for line in text.splitlines() if line.startswith("[")] == titles
    both, only_old, only_new = (part.count("hot chain") for part in re.split(r"^\[.*\]$", text, flags=re.M)[1:])
    assert (both, only_old, only_new) == (len(set(old) & set(new)), len(set(old) - set(new)), len(set(new) - set(old)))
    most = max(old, key=lambda name: old[name][0])
    assert f"cycles: {old[most][1]}, hits: {100 * old[most][0] / all_old:.2f}%" in text


@pytest.mark.parametrize("words, text", [(["-c", "cycles"], "--stream makes no table"), (["-s", "sym"], "--stream makes no table"), (["{new}"], "compares two recordings, not 3")])
def test_streams_refuse(perf, made, changed, words, text):
    files = [made[2] / "perf.data", made[2] / "new.data"]
    done = perf("diff", "--stream", *files, *(word.format(new=files[1]) for word in words))
    assert done.returncode == 129 and text in done.stderr
    (made[2] / "flat.data").write_bytes(recording.Maker("event cycles type=0 config=0\nsample ip=0x400100 pid=1 tid=1 time=5\n").make())
    done = perf("diff", "--stream", made[2] / "flat.data", made[2] / "flat.data")
    assert done.returncode == 255 and "no branch records; record with -b" in done.stderr


def test_on_a_screen(perf, made):
    """The blocks of the text; Enter leads into a block's function, / and L leave blocks out."""
    program, folder = perf, made[2]
    if program("check", "feature", "-q", "libncurses").returncode:
        pytest.skip("this build has no screens")
    _, blocks, _ = rows(perf, folder / "padded.data")
    with screens.Screen([perf, "report", "--total-cycles", "-i", "padded.data"], folder, columns=120) as screen:
        lines = screen.until(f"row 1 of {len(blocks)}")
        assert lines[1].split()[-5:] == ["Shared", "Object", "[Program", "Block", "Range]"]
        found = [re.fullmatch(r" *([0-9.]+)% +([0-9.KMG]+) +[0-9.]+% +([0-9.KMG]+) +(\S+) +(\[.*\])", line) for line in lines[2:2 + len(blocks)]]
        assert [(m[1], m[2], m[3], m[5], m[4]) for m in found] == [tuple(row) for row in blocks], lines
        at = next(i for i, row in enumerate(blocks) if "[loops.c:19 -> " in row[3])
        screen.keys(*["Down"] * at)
        screen.after("Enter", "fib() ", "h: help")
        screen.after("q", f"row {at + 1} of {len(blocks)}")
        screen.after("/", "Symbol to show")
        screen.type("square")
        screen.after("Enter", "row 1 of 1", "functions with square")
        screen.after("/ C-u Enter", f"row 1 of {len(blocks)}", without=["functions with"])
        screen.after("L", "Percent limit")
        screen.type("5")
        large = sum(float(row[0]) >= 5 for row in blocks)
        screen.after("Enter", "blocks from 5% on", f"row 1 of {large}")
        screen.after("?", "Keys of perf report --total-cycles", "the block's function by instructions")
        screen.after("q x", "this key does nothing")
        screen.after("P", "written to perf.hist.0")
        screen.after("q", "ended with 0")
    (folder / "perf.hist.0").unlink()


def test_functions_at_both_ends_of_a_branch(perf, made):
    """The menu of a row offers both, as the kernel's perf does."""
    if perf("check", "feature", "-q", "libncurses").returncode:
        pytest.skip("this build has no screens")
    with screens.Screen([perf, "report", "-s", "sym_from,sym_to", "-i", "perf.data"], made[2], columns=120) as screen:
        lines = screen.until("row 1 of")
        at = next(i for i, line in enumerate(lines[2:]) if line.split()[-4:] == ["[.]", "square", "[.]", "sum"])
        screen.keys(*["Down"] * at)
        screen.after("m", "Annotate square", "Annotate sum")
        screen.after("Down Enter", "sum() ", "h: help")
        screen.after("q", f"row {at + 1} of")
        screen.after("m Enter", "square() ", "h: help")
        screen.after("q", f"row {at + 1} of")
        at = next(i for i, line in enumerate(lines[2:]) if line.split()[-4:] == ["[.]", "sum", "[.]", "sum"])
        screen.keys("Home", *["Down"] * at)
        assert "\n".join(screen.after("m", "Annotate sum")).count("Annotate") == 1


def test_on_a_screen_of_a_large_recording(perf, made):
    """Blocks are of all samples, and so is what stands above them: a recording so large is shown in part first else."""
    if perf("check", "feature", "-q", "libncurses").returncode:
        pytest.skip("this build has no screens")
    script, folder = made[1].replace("|BRANCH_STACK", "|RAW|BRANCH_STACK"), made[2]
    maker, path = recording.Maker(re.sub(r"^sample .*", rf"\g<0> raw={bytes(56000).hex()}", script, flags=re.M)), folder / "large.data"
    records = maker.data()
    maker.data = lambda: records * 15
    path.write_bytes(maker.make())
    assert path.stat().st_size > 192 << 20
    branches_taken = script.count(">0x") * 15
    with screens.Screen([perf, "report", "--total-cycles", "-i", path], folder, columns=120) as screen:
        assert f"Samples: {branches_taken // 1000}K of event" in screen.until("row 1 of")[0]
        screen.after("q", "ended with 0")
    path.unlink()


# ---- perf annotate: the kernel's perf 6.1 dies of these recordings, so cycles and instructions are counted here ----

def annotated(script, functions, function, addresses):
    """Of each instruction: (instructions a cycle, (average, least, most) cycles of the block that ends there), as text; and what stands above."""
    blocks, begins, _ = counted(script, functions.values())
    runs, low_high = collections.defaultdict(list), functions[function]
    for source, cycles in re.findall(r"(0x\w+)>0x\w+/[MP](\d+)", "\n".join(line for line in script.splitlines() if line.startswith("sample"))):
        runs[int(source, 16)].append(int(cycles))
    ipc, instructions, all_cycles = {}, 0, 0
    for end in sorted((end for end in blocks if low_high[0] <= end < low_high[1]), reverse=True):
        inside = [address for address in addresses if end in begins and begins[end] <= address <= end]
        instructions += len(inside) * blocks[end][1]
        all_cycles += blocks[end][0] if inside else 0
        for address in inside:
            ipc.setdefault(address, len(inside) * blocks[end][1] / blocks[end][0])
    head = f"(Average IPC: {instructions / all_cycles:.2f}, IPC Coverage: {100 * len(ipc) / len(addresses):.1f}%)"
    ends = {end: (f"{blocks[end][0] // blocks[end][1]}", f"({min(runs[end])}/{max(runs[end])})") for end in blocks}
    return [(f"{ipc[address]:.2f}" if address in ipc else "", ends.get(address, ("", ""))) for address in addresses], head


def addresses_of(program, function):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", program], check=True, capture_output=True, text=True).stdout
    return [int(address, 16) for address in re.findall(r"^ +([0-9a-f]+):\s", text, re.M)]


@pytest.mark.parametrize("function", ["sum", "fib"])
def test_cycles_of_instructions(perf, made, changed, function):
    program, _, directory = made
    wanted, head = annotated(changed, functions_of(program), function, addresses_of(program, function))
    done = perf("annotate", "--stdio2", "--no-source", "-i", directory / "new.data", function)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines()[2:] if not line.rstrip().endswith("():")]
    assert lines[0].split("   ")[0] == "Percent" and lines[0].endswith(f"    IPC  Cycle   {head}")
    found = [(line[7:14].strip(), line[14:21].strip()) for line in lines[1:]]
    assert found == [(ipc, end[0]) for ipc, end in wanted]
    assert sum(bool(cycles) for _, cycles in found) > 3
    # For programs: how precise, and which cycles.
    values = [(ipc or "0.00", end[0] or "0", *(re.findall(r"\d+", end[1]) or ["0", "0"])) for ipc, end in wanted]
    rows = perf("annotate", "--format", "csv", "-i", directory / "new.data", function).stdout.splitlines()
    assert rows[0].endswith(",ipc,cycles,cycles_least,cycles_most")
    assert [(f"{float(row[-4]):.2f}", *row[-3:]) for row in (row.split(",") for row in rows[1:])] == values
    objects = [json.loads(line) for line in perf("annotate", "--format", "json", "-i", directory / "new.data", function).stdout.splitlines()]
    assert [(f"{one['ipc']:.2f}", *(str(one[name]) for name in ("cycles", "cycles_least", "cycles_most"))) for one in objects] == values


def test_no_cycles_no_columns(perf, made):
    program, script, directory = made
    (directory / "flat.data").write_bytes(recording.Maker(re.sub(r"/([MP])\d+", r"/\g<1>0", script)).make())
    assert perf("annotate", "--format", "csv", "-i", directory / "flat.data", "fib").stdout.splitlines()[0].endswith(",period")


def test_cycles_of_instructions_on_a_screen(perf, made, changed):
    if perf("check", "feature", "-q", "libncurses").returncode:
        pytest.skip("this build has no screens")
    program, _, directory = made
    wanted, head = annotated(changed, functions_of(program), "fib", addresses_of(program, "fib"))
    average, most = next(end for _, end in wanted if end[0])
    with screens.Screen([perf, "annotate", "-i", "new.data", "fib"], directory, columns=120) as screen:
        screen.until("h: help", "IPC  Cycle", head)
        screen.after("c", "Cycle(min/max)", f" {average}{most} ")
        screen.after("c", "IPC  Cycle", without=[most])
    (directory / "flat.data").write_bytes(recording.Maker(re.sub(r"/([MP])\d+", r"/\g<1>0", made[1])).make())
    with screens.Screen([perf, "annotate", "-i", "flat.data", "fib"], directory, columns=120) as screen:
        screen.until("h: help", without=["IPC"])
        screen.after("c", "there are no cycles: record with -b")


# ---- branch counters: the kernel's perf 6.1 doesn't know them; 6.12 shows these letters, but for a '+' that it takes over from one event to the next ----

LEGEND = ["cycles = A", "branch-misses = B", "'-' No event occurs", "'+' Event occurrences may be lost due to branch counter saturated"]


def counters_text(letters, counts, numbers, most=3):
    """Of the runs of a block, as letters or as numbers."""
    words = []
    for letter, each in zip(letters, zip(*counts)):
        average, full = -(-sum(each) // len(each)), most in each
        if numbers:
            words.append(f"{letter}={average or '-'}{'+' if full else ' '}")
        else:
            words.append(f"|{letter * min(average, 3)}{'-' if not average else '+' if full or average > 3 else ' '}".ljust(5))
    return ",".join(words) if numbers else "".join(words) + "|"


@pytest.fixture(scope="module")
def with_counters(made):
    """By last instruction: the counts of its runs, and their cycles."""
    script, counts = branches.with_counters(made[1])
    (made[2] / "counters.data").write_bytes(recording.make(script))
    runs, number = collections.defaultdict(list), iter(counts)
    for line in script.splitlines():
        for source, cycles in re.findall(r"(0x\w+)>0x\w+/[MP](\d+)", line) if line.startswith("sample") else []:
            runs[int(source, 16)].append((next(number), int(cycles)))
    return runs


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("numbers", [False, True], ids=["letters", "numbers"])
def test_counters_of_blocks(perf, made, with_counters, numbers, jobs):
    words = ["report", "--total-cycles", "-i", made[2] / "counters.data", "--jobs", jobs, *(["-v"] if numbers else [])]
    rows = [json.loads(line) for line in perf(*words, "--format", "json").stdout.splitlines()]
    wanted = sorted((sum(cycles for _, cycles in runs), counters_text("AB", [counts for counts, _ in runs], numbers)) for runs in with_counters.values())
    assert sorted((row["cycles"], row["branch_counter"]) for row in rows) == wanted and len({text for _, text in wanted}) > 4
    lines = perf(*words, "--stdio").stdout.splitlines()
    at = lines.index("# Branch counter abbr list:")
    assert lines[at + 1:at + 6] == [*(f"# {line}" for line in LEGEND), "#"] and " Avg Cycles                  Branch Counter  " in lines[at + 6]
    assert "Branch Counter" not in perf("report", "--total-cycles", "--stdio", "-i", made[2] / "perf.data").stdout


def test_event_without_counters_beside_others(perf, made):
    """Nothing is said to have never happened that nobody counted."""
    script, _ = branches.with_counters(made[1])
    sample = next(line for line in script.splitlines() if line.startswith("sample"))
    script += re.sub(" id=1 counts=.*", " id=3", sample).replace("sample ", "sample event=2 ") + "\n"
    (made[2] / "beside.data").write_bytes(recording.make(script))
    with_column, without = perf("report", "--total-cycles", "--stdio", "-i", made[2] / "beside.data").stdout.split("# Samples: ")[1:]
    assert " of event 'cycles'" in with_column and "Branch Counter" in with_column
    assert " of event 'cache-misses'" in without and "Avg Cycles" in without and "Branch" not in without


def test_more_counters_than_a_word_has_room_for(perf, made):
    """A recording may name as many events as it likes: of 2 bits there are at most 32."""
    script, _ = branches.with_counters(made[1])
    first, second = (next(line for line in script.splitlines() if line.startswith(f"event {name} ")) for name in ("cycles", "branch-misses"))
    more = "\n".join(second.replace("ids=2 ", f"ids={number} ") for number in range(10, 48))
    script = script.replace(first, first.replace("members=3", "members=41")).replace(second, f"{second}\n{more}")
    (made[2] / "many.data").write_bytes(recording.make(script))
    rows = [json.loads(line) for line in perf("report", "--total-cycles", "-i", made[2] / "many.data", "--format", "json").stdout.splitlines()]
    assert rows and {row["branch_counter"].count("|") for row in rows} == {33}


@pytest.mark.parametrize("numbers", [False, True], ids=["letters", "numbers"])
def test_counters_of_instructions(perf, made, with_counters, numbers):
    program, _, directory = made
    done = perf("annotate", "--stdio2", "--no-source", "-i", directory / "counters.data", "sum", *(["-v"] if numbers else []))
    lines = [line for line in done.stdout.splitlines()[2:] if not line.rstrip().endswith("():")]
    column = lines[0].index("Branch Counter")
    found = [line[column:column + 14].strip() for line in lines[1:]]
    wanted = [counters_text("AB", [counts for counts, _ in with_counters[address]], numbers).strip() if address in with_counters else ""
              for address in addresses_of(program, "sum")]
    assert found == wanted and sum(map(bool, found)) > 3
    assert "Branch Counter" not in perf("annotate", "--stdio2", "-i", directory / "perf.data", "sum").stdout


def test_counters_on_a_screen(perf, made, with_counters):
    """B says what the letters stand for, as in the kernel's perf 6.12."""
    if perf("check", "feature", "-q", "libncurses").returncode:
        pytest.skip("this build has no screens")
    with screens.Screen([perf, "report", "--total-cycles", "-i", "counters.data"], made[2], columns=130) as screen:
        screen.until("row 1 of", "Branch Counter", "|AA  |BB  |")
        screen.after("B", "Branch counter abbr list", *LEGEND)
        screen.after("q", "row 1 of")
        screen.after("a", "h: help", "IPC  Cycle", "Branch Counter", "|")
        screen.after("B", "Branch counter abbr list", *LEGEND)
        screen.after("q", "h: help")
        screen.after("h", "Keys of instructions", "what the letters of branch counters stand for")
    for words in (["annotate", "-i", "perf.data", "fib"], ["report", "--total-cycles", "-i", "perf.data"]):
        with screens.Screen([perf, *words], made[2], columns=130) as screen:
            screen.until(": help", without=["Branch Counter"])
            screen.after("B", "there are no branch counters: record with -j any,counter")
