"""Tracepoints whose fields nothing good made: the commands that follow tasks, locks, interrupts and memory neither crash nor hang, and pass on no control characters. The stories
are drawn by chance, the same in each run."""
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402
from test_bad_input import SANITIZED, SOAK, examine_all  # noqa: E402

SLAB, BIO, WAKING = "call_site/8,ptr/8,bytes_req/8,bytes_alloc/8,gfp_flags/8,node/4", "dev/4,sector/8,nr_sector/4", "comm/16,pid/4,prio/4,target_cpu/4"
TRACEPOINTS = {name: (number, fields) for number, (name, fields) in enumerate({
    "sched:sched_switch": "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4", "sched:sched_waking": WAKING, "sched:sched_wakeup": WAKING,
    "sched:sched_migrate_task": "comm/16,pid/4,prio/4,orig_cpu/4,dest_cpu/4", "sched:sched_stat_runtime": "comm/16,pid/4,runtime/8",
    "irq:irq_handler_entry": "irq/4,name/16", "irq:irq_handler_exit": "irq/4,ret/4", "irq:softirq_raise": "vec/4", "irq:softirq_entry": "vec/4", "irq:softirq_exit": "vec/4",
    "workqueue:workqueue_activate_work": "work/8,function/8", "workqueue:workqueue_execute_start": "work/8,function/8", "workqueue:workqueue_execute_end": "work/8,function/8",
    "kmem:kmalloc": SLAB, "kmem:kmem_cache_alloc": SLAB, "kmem:kfree": "call_site/8,ptr/8", "kmem:kmem_cache_free": "call_site/8,ptr/8",
    "kmem:mm_page_alloc": "pfn/8,order/4,gfp_flags/8,migratetype/4", "kmem:mm_page_free": "pfn/8,order/4",
    "block:block_bio_queue": BIO, "block:block_bio_remap": BIO + ",old_dev/4,old_sector/8", "block:block_bio_complete": BIO,
    "power:cpu_idle": "state/4,cpu_id/4", "power:cpu_frequency": "state/4,cpu_id/4",
    "syscalls:sys_enter_read": "__syscall_nr/8,fd/8,buf/8,count/8", "syscalls:sys_exit_read": "__syscall_nr/8,ret/8",
    "syscalls:sys_enter_futex": "__syscall_nr/4,uaddr/8,op/8,val/8", "syscalls:sys_exit_futex": "__syscall_nr/4,ret/8",
    "kvm:kvm_entry": "vcpu_id/4,rip/8", "kvm:kvm_exit": "exit_reason/4,guest_rip/8,isa/4,ret/4,esr_ec/4", "kvm:kvm_mmio": "type/4,len/4,gpa/8",
    "lock:contention_begin": "lock_addr/8,flags/4", "lock:contention_end": "lock_addr/8,ret/4",
    "lock:lock_acquire": "flags/4,name/16,lockdep_addr/8", "lock:lock_acquired": "name/16,lockdep_addr/8", "lock:lock_contended": "name/16,lockdep_addr/8",
    "lock:lock_release": "name/16,lockdep_addr/8"}.items(), 1)}
# What a command looks at: the beginnings of its events' names.
COMMANDS = {
    "where": (["where"], ["sched:", "block:"]), "where --flamegraph": (["where", "--flamegraph", "/dev/null"], ["sched:", "block:"]), "offcpu": (["offcpu"], ["sched:sched_switch"]),
    "sched latency": (["sched", "latency"], ["sched:"]), "sched timehist": (["sched", "timehist", "-wMVn"], ["sched:"]), "sched map": (["sched", "map"], ["sched:"]),
    "kwork report": (["kwork", "report", "-k", "irq,softirq,workqueue"], ["irq:", "workqueue:"]), "kwork timehist": (["kwork", "timehist"], ["irq:", "workqueue:"]),
    "kvm stat": (["kvm", "stat", "report"], ["kvm:kvm_e"]), "kvm stat mmio": (["kvm", "stat", "report", "--event=mmio"], ["kvm:"]),
    "kmem slab": (["kmem", "stat", "--slab", "--caller", "--alloc"], ["kmem:"]), "kmem page": (["kmem", "stat", "--page", "--caller", "--alloc", "--live"], ["kmem:"]),
    "timechart": (["timechart", "-o", "-"], ["power:", "sched:sched_switch", "sched:sched_wakeup", "syscalls:"]), "lock contention": (["lock", "contention", "-v"], ["lock:cont"]),
    "lock report": (["lock", "report"], ["lock:lock_"]), "lock --user": (["lock", "contention", "--user", "-v"], ["syscalls:", "sched:sched_waking"]),
    "html": (["report", "--html", "/dev/stdout"], [""]), "trace": (["trace", "-s"], [""]), "script": (["script"], [""])}
NAMES = ["a", "beta", "x;y", "<b>]]>&", "\x1b[2J", "a\nb", "\udcff\udcfe\udc80", '"q"', "</script>", "", "%s%n", "€uro€uro€uro", "\u202e", "a\tb", "\\u0000", "swapper"]
TASKS = [0, 0, 10, 10, 20, 20, 21, 30, -1, 2**31 - 1, -2**31, 4194304]
NUMBERS = [0, 1, 2, 8, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 2**63, 2**63 - 1, 2**64 - 1, 2**64 - 4095, 0xffffffff81001010, 0xffff888100000000, 0xffff888100000100]
USUAL = [0xffff888100000000, 1, 5, 0xffffffff81001010, 100]


def value(chance, name, size):
    if size == 16:
        return chance.choice(NAMES)
    if name.endswith("pid"):
        return chance.choice(TASKS)
    if "cpu" in name:
        return chance.choice([0, 1, 1, 0, 2, 4095, -1, 2**31 - 1])
    return chance.choice(USUAL if chance.random() < 0.6 else NUMBERS) % (1 << 8 * size)


def chain(chance):
    kernel = [hex(chance.choice([0xffffffff81001010, 0xffffffff81002020])) for _ in range(chance.choice([1, 2, 5, 200]))]
    user = ["user", *(hex(chance.choice([0x401000, 0x1000010, 2**64 - 8])) for _ in range(3))] if chance.random() < 0.6 else []
    return ",".join(["kernel", *kernel, *user]) if chance.random() < 0.9 else ""


def side_band(chance, thread, name):
    kind = chance.choice(["comm", "fork", "exit", "switch", "lost", "sample"])
    rest = {"comm": f"name='{name}'", "fork": f"ppid={chance.choice([10, 20])} ptid={chance.choice([10, 20])}", "exit": "ppid=1 ptid=1",
            "switch": chance.choice(["", "out=1"]), "lost": f"lost={chance.choice([1, 2**64 - 1])}", "sample": f"period={chance.choice([1, 0, 2**63, 2**64 - 1])} chain={chain(chance)}"}
    return f"{kind} id=90 {thread} {rest[kind]}\n"


def story(chance, wanted):
    """Times mostly go on; some records have one that nothing explains, or a CPU that isn't there, or end within their fields."""
    events = [(number, name, fields) for name, (number, fields) in TRACEPOINTS.items() if name.startswith(tuple(wanted))]
    common = "sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN"
    text = f"feature nrcpus {chance.choice([1, 4, 4, 0, 4294967295])}\nfeature numa_topology 0-1 2-3\nfeature osrelease 6.1.0\n"
    for number, name, fields in events:
        text += (f"tracepoint {name} id={number} fields={fields}\n"
                 f"event {name} type=2 config={number} ids={number} {common}|RAW flags=sample_id_all,comm,task,context_switch,mmap\n")
    text += f"event cpu-clock type=1 config=0 ids=90 {common} flags=sample_id_all\n"
    text += "mmap pid=-1 tid=0 addr=0xffffffff81000000 len=0x100000 pgoff=0xffffffff81000000 misc=1 name=[kernel.kallsyms]_text\n"
    now = 1000000000
    for _ in range(chance.choice([5, 40, 200])):
        now += chance.choice([0, 1, 1000, 1000000, 50000000])
        time = now if chance.random() < 0.98 else chance.choice([0, 1, 2**63, 2**64 - 1, 2**64 - 2, now + 10**15])
        task, cpu = chance.choice(TASKS) % 2**32, chance.choice([0, 1]) if chance.random() < 0.97 else chance.choice([4095, 2**31, 2**32 - 1])
        thread = f"pid={task} tid={task} cpu={cpu} time={time}"
        if chance.random() < 0.2:
            text += side_band(chance, thread, chance.choice(["plain", "<b>&", "\x1b[31m", "x;y"]))
            continue
        number, _, fields = chance.choice(events)
        raw = recording.raw_of(number, fields, *(value(chance, *field) for field in recording.sizes_of(fields)), flags=chance.choice([0, 0, 8, 255]))
        raw = raw if chance.random() < 0.98 else raw[:2 * chance.randrange(len(raw) // 2)]
        text += f"sample id={number} ip={chance.choice([0xffffffff81001010, 0x401000, 0])} {thread} period=1 chain={chain(chance)} raw={raw}\n"
    return recording.make(text)


@pytest.mark.sanitize
@pytest.mark.parametrize("name", COMMANDS)
def test_stories(perf, tmp_path, name):
    words, wanted = COMMANDS[name]
    cases = []
    for seed in range(120 if SOAK else 5 if SANITIZED else 15):
        cases.append((tmp_path / f"{seed}.data",))
        cases[-1][0].write_bytes(story(random.Random(f"{name} {seed}"), wanted))
    examine_all(perf, words, cases)
