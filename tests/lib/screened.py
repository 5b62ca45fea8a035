"""A recording for screens: of a program with samples in known functions, of threads and events as a test wants them."""
import re
import shutil
import subprocess

import pytest

import recording

PROGRAM = r"""
__attribute__((noinline)) long hot(long n) { return n * n + 1; }
__attribute__((noinline)) long warm(long n) { return hot(n) + 2; }
__attribute__((noinline)) long cold(long n) { return hot(n) + 3; }
__attribute__((noinline)) long spin(long n)
{
	long sum = warm(n);
	for (long i = 0; i < n; i++)
		sum ^= i * n;
	return sum;
}
int main(int argc, char **argv) { return (int)(cold(argc) + warm(argc) + spin(argc)); }
"""
EVENT = "event {} type=1 config={} sample=IP|TID|TIME|PERIOD|CALLCHAIN|ID flags=sample_id_all,mmap,mmap2,comm,task ids={} period=1\n"
EVIL = "ev\x1b[31m\x07é"
# From the inside to the outside, and how often.
STACKS = [(("hot", "warm", "main"), 600), (("hot", "cold", "main"), 200), (("warm", "main"), 100), (("main",), 60)]


def compile_in(folder):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (folder / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-no-pie", "-o", "prog", "prog.c"], cwd=folder, check=True)


def head(folder, events, threads):
    text = "feature hostname box\nfeature event_desc\n" + "".join(EVENT.format(event, i, i + 1) for i, event in enumerate(events))
    for comm, tid in threads:
        text += f'comm pid={tid} tid={tid} time=1 name="{comm}"\n'
        text += f"mmap2 pid={tid} tid={tid} addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={folder / 'prog'}\n"
        text += f"mmap2 pid={tid} tid={tid} addr=0x7f0000000000 len=0x1000 pgoff=0 time=2 prot=5 flags=2 name=/nowhere/lib.so\n"
    return text


def places(folder):
    """{function: an address in it}"""
    symbols = subprocess.run(["nm", folder / "prog"], check=True, capture_output=True, text=True).stdout
    return {name: int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) + 4 for name in ("main", "warm", "cold", "hot")}


def make_stacks(folder, name, stacks):
    """Samples of one thread with these stacks, innermost first: [(functions, how many)]."""
    at, time = places(folder), 10
    text = head(folder, ["cpu-clock"], [("one", 7)])
    for stack, count in stacks:
        for _ in range(count):
            time += 1
            chain = ",".join(f"{at[name]:#x}" for name in stack)
            text += f"sample event=0 id=1 ip={at[stack[0]]:#x} pid=7 tid=7 time={time} period=1 chain=user,{chain}\n"
    path = folder / name
    path.write_bytes(recording.Maker(text).make())
    return path


def make(folder, name, events=("cpu-clock",), threads=(("one", 7), ("two", 8))):
    """1000 samples of the first thread and 520 of the second, of each event: 40 of them in a file without symbols."""
    at = places(folder)
    text = head(folder, events, threads)
    time = 10
    for event in range(len(events)):
        for _, tid in threads:
            for stack, count in STACKS:
                for _ in range(count if tid == threads[0][1] else count // 2):
                    time += 1
                    chain = ",".join(f"{at[name]:#x}" for name in stack)
                    text += f"sample event={event} id={event + 1} ip={at[stack[0]]:#x} pid={tid} tid={tid} time={time} period=1 chain=user,{chain}\n"
            for _ in range(40):
                time += 1
                text += f"sample event={event} id={event + 1} ip=0x7f0000000010 pid={tid} tid={tid} time={time} period=1 chain=user,0x7f0000000010\n"
    path = folder / name
    path.write_bytes(recording.Maker(text).make())
    return path


def instructions(folder, function):
    """[(address, mnemonic)] as objdump has them."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", folder / "prog"], check=True, capture_output=True, text=True).stdout
    return [(int(address, 16), mnemonic) for address, mnemonic in re.findall(r"^ +([0-9a-f]+):\s+(\S+)", text, re.MULTILINE)]


def make_at(folder, name, addresses):
    """Samples at these addresses: {address: how many}."""
    text = head(folder, ["cpu-clock"], [("one", 7)])
    time = 10
    for address, count in addresses.items():
        for _ in range(count):
            time += 1
            text += f"sample event=0 id=1 ip={address:#x} pid=7 tid=7 time={time} period=1 chain=user,{address:#x}\n"
    path = folder / name
    path.write_bytes(recording.Maker(text).make())
    return path
