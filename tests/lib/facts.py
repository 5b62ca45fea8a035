#!/usr/bin/python3
"""What is true of this machine and this user, found out without our program: JSON on standard output.

The counterpart of `perf doctor -j` in tests, run under the same conditions (user, namespaces, seccomp filter). usage: facts.py SCHED_SWITCH_ID
(0 = not known), the number of the tracepoint, which not everybody may look up.
"""
import ctypes
import errno
import glob
import json
import mmap
import os
import platform
import re
import resource
import signal
import struct
import sys

NUMBERS = {"x86_64": {"perf_event_open": 298, "bpf": 321, "getppid": 110}, "aarch64": {"perf_event_open": 241, "bpf": 280, "getppid": 173}}
NUMBER = NUMBERS[platform.machine()]
LIBC = ctypes.CDLL(None, use_errno=True)
HARDWARE, SOFTWARE, TRACEPOINT, BREAKPOINT = 0, 1, 2, 5
IP, TIME, CALLCHAIN, RAW, BRANCHES, REGISTERS, STACK = 1, 4, 1 << 5, 1 << 10, 1 << 11, 1 << 12, 1 << 13
DISABLED, NO_KERNEL, FREQ, CLOCK = 1, 1 << 5, 1 << 10, 1 << 25


def attr(kind, config, flags=0, period=0, sample=0, precise=0, bp=(0, 0, 0), branch=0, regs=0, stack=0, clock=0):
    return struct.pack("<IIQQQQQIIQQQQIi", kind, 96, config, period, sample, 0, DISABLED | flags | precise << 15, 0, bp[0], bp[1], bp[2], branch, regs,
                       stack, clock)


def perf_open(data, pid=0, cpu=-1, flags=0):
    """A descriptor, or minus the errno."""
    buffer = ctypes.create_string_buffer(data, 96)
    fd = LIBC.syscall(NUMBER["perf_event_open"], buffer, pid, cpu, -1, ctypes.c_ulong(flags))
    return fd if fd >= 0 else -ctypes.get_errno()


def tried(data, pid=0, cpu=-1, flags=0):
    """"yes", or the name of the errno."""
    fd = perf_open(data, pid, cpu, flags)
    if fd < 0:
        return errno.errorcode[-fd]
    os.close(fd)
    return "yes"


def in_child(call):
    """Like a status of waitpid(): what the call ends with in a child, in case it is killed."""
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os._exit(call())
    status = os.waitpid(pid, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else errno.errorcode.get(os.WEXITSTATUS(status), "none")


def try_perf():
    return -min(perf_open(attr(SOFTWARE, 0, NO_KERNEL)), 0)


def try_bpf():
    buffer = ctypes.create_string_buffer(128)
    LIBC.syscall(NUMBER["bpf"], 7, buffer, 128)  # BPF_OBJ_GET of no path
    return ctypes.get_errno()


def load_bpf(kind):
    code = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(code, 16)
    licence = ctypes.create_string_buffer(b"GPL")
    version = [min(int(part), 255) for part in re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", os.uname().release).groups("0")]
    data = struct.pack("<IIQQIIQII", kind, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, version[0] << 16 | version[1] << 8 | version[2], 0)
    buffer = ctypes.create_string_buffer(data, 120)
    fd = LIBC.syscall(NUMBER["bpf"], 5, buffer, 120)
    if fd < 0:
        return errno.errorcode[ctypes.get_errno()]
    os.close(fd)
    return "yes"


def line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None


def online():
    cpus = []
    for part in line("/sys/devices/system/cpu/online").split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def count(data, work):
    """What is counted while work() runs, or None."""
    fd = perf_open(data)
    if fd < 0:
        return None
    LIBC.ioctl(fd, 0x2400, 0)
    work()
    LIBC.ioctl(fd, 0x2401, 0)
    value = struct.unpack("<Q", os.read(fd, 8))[0]
    os.close(fd)
    return value


def largest_ring(cpus):
    """KB of the largest ring up to 512 that can be had for all CPUs at once."""
    page = mmap.PAGESIZE
    kb = 512
    while kb * 1024 >= page:
        fds, maps = [], []
        try:
            for cpu in cpus:
                fds.append(perf_open(attr(SOFTWARE, 9, NO_KERNEL), 0, cpu))
                maps.append(mmap.mmap(fds[-1], kb * 1024 + page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
            return kb
        except (OSError, ValueError):
            kb //= 2
        finally:
            for each in maps:
                each.close()
            for fd in fds:
                if fd >= 0:
                    os.close(fd)
    return 0


def addresses_shown():
    try:
        with open("/proc/kallsyms", encoding="ascii", errors="replace") as file:
            return any(int(row.split()[0], 16) for row, _ in zip(file, range(20000)))
    except OSError:
        return False


def capability(number):
    text = re.search(r"^CapEff:\s*(\w+)", open("/proc/self/status", encoding="ascii").read(), re.MULTILINE).group(1)
    return bool(int(text, 16) >> number & 1)


def files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return -1 if capability(24) else hard if hard != resource.RLIM_INFINITY else -1


def cgroup_root():
    best = None
    for row in open("/proc/self/mounts", encoding="utf-8"):
        _, path, kind, options = row.split()[:4]
        if kind == "cgroup" and "perf_event" in options.split(","):
            return path
        if kind == "cgroup2":
            best = path
    return best


def main():
    cpus = online()
    word = ctypes.create_string_buffer(64)
    address = (ctypes.addressof(word) + 7) & ~7
    branch = dict(flags=NO_KERNEL, period=100000, sample=IP | BRANCHES)
    status = open("/proc/self/status", encoding="ascii").read()
    tracefs = [row.split()[1] for row in open("/proc/self/mounts", encoding="utf-8") if row.split()[2] == "tracefs"]
    readable = [path for path in tracefs if os.access(f"{path}/events/header_page", os.R_OK)]
    directory = cgroup_root()
    getppid = line(f"{readable[0]}/events/syscalls/sys_enter_getppid/id") if readable else None
    registers = (1 << 7 | 1 << 8) if platform.machine() == "x86_64" else (1 << 31 | 1 << 32)
    facts = {
        "uid": os.geteuid(),
        "release": os.uname().release,
        "machine": os.uname().machine,
        "cpus": len(cpus),
        "hypervisor_flag": bool(re.search(r"^flags.*\bhypervisor\b", open("/proc/cpuinfo", encoding="utf-8").read(), re.MULTILINE)),
        "seccomp": int(re.search(r"^Seccomp:\s*(\d)", status, re.MULTILINE).group(1)),
        "perf": in_child(try_perf),
        "bpf_call": in_child(try_bpf),
    }
    open_perf = not facts["perf"].startswith("SIG")
    if facts["bpf_call"].startswith("SIG"):
        bpf = {}
    else:
        bpf = {name: load_bpf(kind) for name, kind in (("kprobe", 2), ("tracepoint", 5), ("perf_event", 7), ("raw_tracepoint", 17))}
    facts.update({
        "perfmon": capability(38) or capability(21),
        "paranoid": int(line("/proc/sys/kernel/perf_event_paranoid")),
        "kptr_restrict": int(line("/proc/sys/kernel/kptr_restrict")),
        "mlock_kb": int(line("/proc/sys/kernel/perf_event_mlock_kb")),
        "max_sample_rate": int(line("/proc/sys/kernel/perf_event_max_sample_rate")),
        "schedstats": line("/proc/sys/kernel/sched_schedstats"),
        "clocksource": line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "addresses_shown": addresses_shown(),
        "files": files(),
        "tracefs_mounts": tracefs,
        "tracefs_readable": readable,
        "tracefs_systems": len([1 for entry in os.scandir(f"{readable[0]}/events") if entry.is_dir()]) if readable else 0,
        "syscall_events": len(glob.glob(f"{readable[0]}/events/syscalls/*/")) if readable else 0,
        "cgroup_root": directory,
        "kprobe_pmu": os.path.isdir("/sys/bus/event_source/devices/kprobe"),
        "uprobe_pmu": os.path.isdir("/sys/bus/event_source/devices/uprobe"),
        "btf": os.access("/sys/kernel/btf/vmlinux", os.R_OK),
        "bpf": bpf,
        "vmlinux": [path for pattern in ("/boot/vmlinux-{}", "/usr/lib/debug/boot/vmlinux-{}", "/lib/modules/{}/build/vmlinux",
                                         "/usr/lib/debug/lib/modules/{}/vmlinux") for path in [pattern.format(os.uname().release)] if os.path.exists(path)],
        "tmp_writable": os.access("/tmp", os.W_OK | os.X_OK),
        "debuginfod_urls": os.environ.get("DEBUGINFOD_URLS"),
    })
    if open_perf:
        kernel = 0 if tried(attr(SOFTWARE, 0)) == "yes" else NO_KERNEL
        facts.update({
            "hardware": [tried(attr(HARDWARE, config, NO_KERNEL)) for config in range(10)],
            "precise": [tried(attr(HARDWARE, 0, NO_KERNEL, 100000, IP, precise=level)) for level in (1, 2, 3)],
            "branches": tried(attr(HARDWARE, 0, branch=1 | 1 << 3, **branch)),
            "call_stack": tried(attr(HARDWARE, 0, branch=1 | 1 << 11, **branch)),
            "clocks": {name: tried(attr(SOFTWARE, 2, NO_KERNEL | CLOCK, 1, TIME, clock=number))
                       for name, number in (("mono", 1), ("raw", 4), ("boot", 7), ("real", 0), ("tai", 11))},
            "own": tried(attr(SOFTWARE, 0, NO_KERNEL)),
            "kernel": tried(attr(SOFTWARE, 0)),
            "system": tried(attr(SOFTWARE, 0, NO_KERNEL), -1, cpus[0]),
            "tracepoint_data": tried(attr(TRACEPOINT, int(sys.argv[1]), 0, 1, RAW), -1, cpus[0]) if int(sys.argv[1]) else None,
            "rate": {rate: tried(attr(SOFTWARE, 0, NO_KERNEL | FREQ, rate, IP)) for rate in (4000, int(line("/proc/sys/kernel/perf_event_max_sample_rate")))},
            "ring_kb": largest_ring(cpus),
            "software": [tried(attr(SOFTWARE, config, kernel)) for config in range(12)],
            "watchpoint": tried(attr(BREAKPOINT, 0, NO_KERNEL, bp=(2, address, 8))),
            "cgroup": None,
            "getppid_calls": None,
            "registers_and_stack": tried(attr(SOFTWARE, 2, NO_KERNEL, 1, REGISTERS | STACK, regs=registers, stack=4096)),
            "callchain": tried(attr(SOFTWARE, 2, NO_KERNEL, 1, CALLCHAIN)),
        })
        if getppid:
            facts["getppid_calls"] = count(attr(TRACEPOINT, int(getppid), kernel), lambda: [LIBC.syscall(NUMBER["getppid"]) for _ in range(10)])
        if directory:
            fd = os.open(directory, os.O_RDONLY)
            facts["cgroup"] = tried(attr(SOFTWARE, 0, NO_KERNEL), fd, cpus[0], 4)
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
