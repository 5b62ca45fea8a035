"""A recording of waits for kernel locks, made by hand, and the symbols of its kernel: for the text that is worked out from the times, and for the kernel's perf."""
import subprocess

import recording

BEGIN, END = "lock_addr/8,flags/4", "lock_addr/8,ret/4"
SAMPLE = "IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN|RAW"
HEAD = (f"feature nrcpus 2\ntracepoint lock:contention_begin id=1 fields={BEGIN}\ntracepoint lock:contention_end id=2 fields={END}\n"
        f"event lock:contention_begin type=2 config=1 ids=1 sample={SAMPLE} flags=sample_id_all,mmap,comm,task\n"
        f"event lock:contention_end type=2 config=2 ids=2 sample={SAMPLE} flags=sample_id_all\n"
        "mmap pid=-1 tid=0 addr=0xffffffff81000000 len=0x1000000 pgoff=0xffffffff81000000 misc=1 name=[kernel.kallsyms]_text time=0\n"
        "comm pid=10 tid=10 name=alpha time=1\ncomm pid=20 tid=20 name=beta time=1\n")
KALLSYMS = """\
ffffffff81000000 T _text
ffffffff81000000 T _stext
ffffffff81001000 T sys_mmap
ffffffff81002000 T vm_mmap
ffffffff81003000 T sys_write
ffffffff81004000 T file_write
ffffffff81005000 T do_exit
ffffffff81006000 T entry
ffffffff81100000 T __sched_text_start
ffffffff81100010 T mutex_lock
ffffffff81100100 T rwsem_down
ffffffff81100200 T down_write
ffffffff81101000 T __sched_text_end
ffffffff81102000 T __lock_text_start
ffffffff81102010 T _raw_spin_lock
ffffffff81103000 T __lock_text_end
ffffffff81104000 T _etext
ffffffff81200000 D tasklist_lock
ffffffff81200040 D other_lock
"""
MAP = "0xffffffff81100110,0xffffffff81100205,0xffffffff81002020,0xffffffff81001008,0xffffffff81006008,user,0x401000"
WRITE = "0xffffffff81100020,0xffffffff81004040,0xffffffff81003010,0xffffffff81006008,user,0x402000"
EXIT = "0xffffffff81102030,0xffffffff81005000,0xffffffff81003020,0xffffffff81006008,user,0x403000"
A, B, TASKS = 0xffff888100000a00, 0xffff888100000b00, 0xffffffff81200000
SEM_W, SPIN, MUTEX, MUTEX_SPINS = 4, 1, 32, 33


def sample(number, us, tid, chain, lock, value, cpu=0):
    raw = recording.raw_of(number, (BEGIN, END)[number - 1], lock, value)
    return (f"sample id={number} time={1000000000 + round(us * 1000)} cpu={cpu} pid={tid} tid={tid} ip=0xffffffff81100020 misc=1 chain=kernel,{chain} raw={raw}\n")


def begin(us, tid, chain, lock, flags, cpu=0):
    return sample(1, us, tid, chain, lock, flags, cpu)


def end(us, tid, chain, lock, cpu=0):
    return sample(2, us, tid, chain, lock, 0, cpu)


# alpha waits for A from 1 to 4 ms, from 5 to 6 ms, and from 8 ms on without an end. beta spins for B from 2 ms on and sleeps for it until 4.5 ms: a wait; then it
# waits 250 ns for tasklist_lock. The end at 8.5 ms has no beginning.
STORY = HEAD + "".join((
    begin(1000, 10, MAP, A, SEM_W), begin(2000, 20, WRITE, B, MUTEX_SPINS, 1), begin(2500, 20, WRITE, B, MUTEX, 1), end(4000, 10, MAP, A, 1),
    end(4500, 20, WRITE, B), begin(5000, 10, MAP, A, SEM_W), end(6000, 10, MAP, A), begin(7000, 20, EXIT, TASKS, SPIN, 1),
    end(7000.25, 20, EXIT, TASKS, 1), begin(8000, 10, MAP, A, SEM_W), end(8500, 20, WRITE, B)))



def with_cgroups(paths):
    """The same with the cgroups of threads: tid → path."""
    lines = STORY.replace("|CALLCHAIN|RAW ", "|CALLCHAIN|RAW|CGROUP ").splitlines(keepends=True)
    named = "".join(f"cgroup id=1 cgroup={tid + 1000} path={path} time=1\n" for tid, path in paths.items())
    samples = [line.replace("\n", f" cgroup={int(line.split(' tid=')[1].split()[0]) + 1000}\n") if line.startswith("sample") else line for line in lines]
    first = next(i for i, line in enumerate(samples) if line.startswith("sample"))
    return "".join([*samples[:first], named, *samples[first:]])


# A writer holds the mutex of a pipe while it waits for a page of its text, which comes when another writer is seen to wait for the mutex; and again, 20 times.
LOAD = """
import ctypes, fcntl, mmap, os, struct, sys, threading, time
API, REGISTER, ZEROPAGE, PAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04, mmap.PAGESIZE
faults = ctypes.CDLL(None, use_errno=True).syscall({"x86_64": 323}.get(os.uname().machine, 282), os.O_CLOEXEC)
assert faults >= 0, os.strerror(ctypes.get_errno())
fcntl.ioctl(faults, API, struct.pack("QQQ", 0xaa, 0, 0))
out, into = os.pipe()
fcntl.fcntl(into, 1031, 1 << 20)
def sleeps(tid):
    with open(f"/proc/self/task/{tid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] in "DS"
def until(place, tid):
    while True:
        with open(f"/proc/self/task/{tid}/wchan") as file:
            if place in file.read() and sleeps(tid):
                return
        time.sleep(0.001)
def write(page, ids):
    ids.append(threading.get_native_id())
    os.write(into, page)
for _ in range(ROUNDS):
    page = mmap.mmap(-1, PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    fcntl.ioctl(faults, REGISTER, struct.pack("QQQQ", address, PAGE, 1, 0))
    first, second = [], []
    writers = [threading.Thread(target=write, args=(page, first)), threading.Thread(target=write, args=(b"x", second))]
    writers[0].start()
    while not first: time.sleep(0.001)
    until("userfault", first[0])
    writers[1].start()
    while not second: time.sleep(0.001)
    until("pipe_write", second[0])
    fcntl.ioctl(faults, ZEROPAGE, struct.pack("QQQq", address, PAGE, 0, 0))
    for writer in writers:
        writer.join()
    os.read(out, 1 << 20)
"""


def load():
    """The command line of that, or None where the kernel holds no lock meanwhile, or doesn't tell where threads wait."""
    command = ["python3", "-c", LOAD.replace("ROUNDS", "20")]
    return None if subprocess.run(["timeout", "60", *command], capture_output=True, check=False).returncode else command
