"""A recording of waits for kernel locks, made by hand, and the symbols of its kernel: for the text that is worked out from the times, and for the kernel's perf."""
import subprocess
import sys

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


# What kernels with CONFIG_LOCKDEP tell.
LOCKDEP = {"acquire": (1, "lockdep_addr/8,name/16,flags/4"), **{name: (number, "lockdep_addr/8,name/16") for number, name in ((2, "contended"), (3, "acquired"), (4, "release"))}}
NAMES = {0xa00: "inode", 0xb00: "rq_lock", 0xc00: "inode", 0xd00: "a_class_with_a_long_name"[:15]}
TRY, READ = 1, 2


def dep(us, tid, event, lock, *flags):
    number, fields = LOCKDEP[event]
    raw = recording.raw_of(number, fields, 0xffff888100000000 + lock, NAMES[lock], *(flags or ([0] if event == "acquire" else [])))
    return f"sample id={number} time={1000000000 + us * 1000} cpu=0 pid={tid} tid={tid} ip=0xffffffff81100020 misc=1 raw={raw}\n"


# alpha waits 2 ms for A and gets it at once another time, and waits 500 µs for C, which is of the class of A. beta tries B, reads it twice at once, and waits 1 ms for A.
# Of D the beginning is missing, then it is acquired twice, which is no sequence, and then as it should be.
LOCKDEP_STORY = "feature nrcpus 2\n" + "".join(
    f"tracepoint lock:lock_{name} id={number} fields={fields}\n"
    f"event lock:lock_{name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n"
    for name, (number, fields) in LOCKDEP.items()) + "comm pid=10 tid=10 name=alpha time=1\ncomm pid=20 tid=20 name=beta time=1\n" + "".join((
        dep(1000, 10, "acquire", 0xa00), dep(1100, 10, "contended", 0xa00), dep(2000, 20, "acquire", 0xb00, TRY), dep(2500, 20, "release", 0xb00),
        dep(3000, 20, "acquire", 0xb00, READ), dep(3050, 20, "acquire", 0xb00, READ), dep(3100, 10, "acquired", 0xa00), dep(3200, 20, "acquire", 0xa00),
        dep(3300, 20, "contended", 0xa00), dep(4000, 10, "release", 0xa00), dep(4300, 20, "acquired", 0xa00), dep(4400, 20, "release", 0xb00),
        dep(4500, 20, "release", 0xb00), dep(5000, 20, "release", 0xa00), dep(5100, 10, "acquire", 0xa00), dep(5150, 10, "acquired", 0xa00),
        dep(5200, 10, "release", 0xa00), dep(7000, 10, "acquire", 0xc00), dep(7100, 10, "contended", 0xc00), dep(7600, 10, "acquired", 0xc00),
        dep(7700, 10, "release", 0xc00), dep(8000, 20, "acquired", 0xd00), dep(8100, 20, "release", 0xd00), dep(8200, 20, "acquire", 0xd00),
        dep(8300, 20, "acquire", 0xd00), dep(8400, 20, "acquire", 0xd00), dep(8500, 20, "acquired", 0xd00), dep(8600, 20, "release", 0xd00)))

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
    if "HOLDERS" in os.environ:
        print(first[0], file=open(os.environ["HOLDERS"], "a"))
    os.read(out, 1 << 20)
"""


def load():
    """The command line of that, which starts no program and has no other pipe; None where the kernel holds no lock, or doesn't tell where threads wait."""
    command = [sys.executable, "-c", LOAD.replace("ROUNDS", "20")]
    return None if subprocess.run(["timeout", "60", *command], capture_output=True, check=False).returncode else command
