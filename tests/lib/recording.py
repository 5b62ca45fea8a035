#!/usr/bin/env python3
"""Makes a perf.data of a text: file or pipe form, native or foreign byte order, compressed. Where the fields of records are it reads from
src/perfdata/records.def; samples, trailers, headers and features it knows by itself, so that it judges the reader. Who judges the table are
the kernel's perf, which reads what is made here (tests/oracle), and recordings of others.

    tests/lib/recording.py [--pipe] [--swap] [--compress] TEXT OUTPUT

One line of the text is one thing; '#' begins a comment:

    feature hostname box                     hostname osrelease version arch cpudesc cpuid: a text
    feature cmdline perf record -g ls        words
    feature nrcpus 4                         available and online
    feature sample_time 100 900              nanoseconds
    feature build_id 0123abcd /bin/ls        several are put together; misc=2 by default (user)
    feature event_desc | group_desc          of the events
    feature cpu_topology 0 0 1               the socket of CPU 0, 1, … (nrcpus of them)
    feature numa_topology 0-1 2-3            the CPUs of node 0, 1, …
    feature mem_topology 0x8000000 0-3 4-7   size of a block of memory, and the blocks of node 0, 1, …
    feature branch_stack                     there are branch records
    feature cpu_pmu_caps branches 32         names and values
    feature bpf_btf 7 3                      numbers of BTF without content
    feature auxtrace                         where the records with hardware trace are
    event cycles:u type=0 config=0 freq=1000 sample=IP|TID|TIME|ID read=ID flags=sample_id_all,mmap,comm ids=1,2 members=2 size=128
    tracepoint sched:sched_waking id=7 fields=comm/16,pid/4,runtime/8     text of 16 bytes, int, long; print= its print fmt. Its event has type=2 config=7, and what
                                             samples have as raw= comes from raw_of()
    mmap pid=1 tid=1 addr=0x400000 len=0x1000 pgoff=0 time=5 misc=2 name=/bin/ls
    mmap2 … maj=8 min=1 ino=5 prot=5 flags=2
    comm pid=1 tid=1 name=ls exec=1
    fork pid=2 ppid=1 tid=2 ptid=1 time=7        exit: the same
    lost id=1 lost=9          lost_samples lost=3          throttle id=1          switch out=1          cgroup id=5 name=/a
    namespaces pid=1 tid=1 ns=4/0xeffffff9,…     ksymbol addr= len= flags= name=     bpf type=1 flags=0 id=7
    sample event=0 ip=0x400123 pid=1 tid=1 time=10 addr=0 cpu=0 period=1 id=1 chain=user,0x400123,0x401000 raw=00ff
           regs=1,2 abi=2 stack=0011223344556677 dyn=8 branch=0x1>0x2/M5,… hw_index=0 weight=3 data_src=0x1 read=5 transaction=0 phys=0 aux=hex …
    deferred cookie=7 tid=1 chain=user,0x401000     the end of chains that end with "deferred,7"
    round
    stat_round is_final=1 time_ns=5             any other type by its name in records.def, with its fields: numbers, BYTES and REST in hexadecimal,
                                             WORDS a,b,… and LIST a/b,c/d,…; counts before these come by themselves
    auxtrace offset= reference= index= tid= cpu= trace=hex     hardware trace, which follows the record
    record type=99 misc=0 data=hex              any record; `size=` overrides what its header says

Every record takes time=, pid=, tid=, id=, cpu= for its sample_id trailer.
"""
import argparse
import ctypes
import ctypes.util
import pathlib
import re
import shlex
import struct
import sys

FEATURES = {"tracing_data": 1, "build_id": 2, "hostname": 3, "osrelease": 4, "version": 5, "arch": 6, "nrcpus": 7, "cpudesc": 8, "cpuid": 9, "cmdline": 11,
            "event_desc": 12, "cpu_topology": 13, "numa_topology": 14, "branch_stack": 15, "auxtrace": 18, "cpu_pmu_caps": 28, "group_desc": 17, "sample_time": 21, "mem_topology": 22, "bpf_btf": 26, "compressed": 27}
SAMPLE = {name: 1 << bit for bit, name in enumerate(
    "IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC IDENTIFIER TRANSACTION "
    "REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT".split())}
READ = {"ENABLED": 1, "RUNNING": 2, "ID": 4, "GROUP": 8, "LOST": 16}
FLAGS = {name: bit for bit, name in enumerate(
    "disabled inherit pinned exclusive exclude_user exclude_kernel exclude_hv exclude_idle mmap comm freq inherit_stat enable_on_exec task "
    "watermark precise1 precise2 mmap_data sample_id_all exclude_host exclude_guest exclude_callchain_kernel exclude_callchain_user mmap2 "
    "comm_exec use_clockid context_switch write_backward namespaces ksymbol bpf_event aux_output cgroup text_poke build_id inherit_thread "
    "remove_on_exec sigtrap defer_callchain defer_output".split())}
CONTEXT = {"hv": -32, "kernel": -128, "user": -512, "deferred": -640, "guest": -2048}
# What texts call otherwise than the table does: types, and fields (TYPE.FIELD where only one type's are).
KIND_ALIASES = {"bpf": "bpf_event", "deferred": "callchain_deferred", "round": "finished_round"}
FIELD_ALIASES = {"start": "addr", "address": "addr", "length": "len", "size": "len", "major": "maj", "minor": "min", "inode": "ino", "stream_id": "id", "links": "ns",
                 "words": "chain", "path": "name", "lost.count": "lost", "lost_samples.count": "lost", "cgroup.id": "cgroup"}
FIELD_DEFAULTS = {"mmap2.prot": "5", "mmap2.flags": "2", "ksymbol.type": "1"}
LETTERS = {"U8": "B", "U16": "H", "U32": "I", "U64": "Q", "S32": "I"}
MISC = {"RECORD_MISC_MMAP_BUILD_ID": 1 << 14}
FIRST_OF_TOOLS = 64  # types from here on have no trailer


def calls_of(text):
    """The calls of macros in a text: [(name, [argument, …])]."""
    calls, at = [], 0
    while match := re.compile(r"(\w+)\(").search(text, at):
        arguments, depth, at, quoted = [""], 1, match.end(), False
        while depth:
            quoted ^= text[at] == '"'
            depth += 0 if quoted else (text[at] == "(") - (text[at] == ")")
            if text[at] == "," and depth == 1 and not quoted:
                arguments.append("")
            elif depth:
                arguments[-1] += text[at]
            at += 1
        calls.append((match[1], [argument.strip() for argument in arguments]))
    return calls


def fields_of(text):
    """The fields of a row: [(macro, argument, …)], whose arguments may be fields again."""
    nested = {"OPTIONAL": [0], "EITHER": [1, 2], "LIST": [1]}
    return [(macro, *(fields_of(argument) if i in nested.get(macro, []) else argument for i, argument in enumerate(arguments)))
            for macro, arguments in calls_of(text)]


def read_table(path):
    """The rows of records.def: {"mmap": (number, fields)}."""
    text = re.sub(r"^#.*$", "", re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S), flags=re.M)
    rows, structures = {}, {}
    for macro, arguments in calls_of(text):
        if macro != "ALIKE":
            structures[arguments[1]] = fields_of(arguments[4])
        rows[arguments[0].lower()] = (int(arguments[2]), structures[arguments[1]])
    return rows


TABLE = pathlib.Path(__file__).resolve().parents[2] / "src/perfdata/records.def"
RECORDS = read_table(TABLE)


def bits(text, table):
    return sum(table[name] for name in text.split("|") if name) if text else 0


def number(text):
    return int(text, 0)


COMMON = (("common_type", 2), ("common_flags", 1), ("common_preempt_count", 1), ("common_pid", 4))


def sizes_of(fields):
    return [(name, int(size)) for name, size in (field.split("/") for field in fields.split(","))]


def format_of(name, fields):
    """The text of a tracepoint's `format` file."""
    lines, at = [f"name: {name}", f"ID: {fields['id']}", "format:"], 0
    for field, size in (*COMMON, *sizes_of(fields["fields"])):
        kind = {1: "unsigned char", 2: "unsigned short", 4: "int", 8: "long"}.get(size, "char")
        at += -at % min(size, 8) if size in (2, 4, 8) else 0
        lines.append(f"\tfield:{kind} {field}{f'[{size}]' if size > 8 else ''};\toffset:{at};\tsize:{size};\tsigned:{int(size >= 4)};")
        at += size
        if field == COMMON[-1][0]:
            lines.append("")
    return "\n".join(lines) + f'\n\nprint fmt: {fields.get("print", chr(34) * 2)}\n'


def raw_of(number, fields, *values, flags=0):
    """raw= of a tracepoint with these fields, in the order of this machine's bytes; `flags`: its common_flags."""
    data = struct.pack("<HBBi", number, flags, 0, 0)
    for (_, size), value in zip(sizes_of(fields), values):
        data += bytes(-len(data) % min(size, 8)) if size in (4, 8) else b""
        data += value.encode(errors="surrogateescape").ljust(size, b"\0")[:size] if isinstance(value, str) else struct.pack({4: "<I", 8: "<Q"}[size], value % (1 << 8 * size))
    return data.hex()


class Event:
    def __init__(self, name, fields):
        self.name = name
        self.type = number(fields.get("type", "1"))
        self.config = number(fields.get("config", "0"))
        self.sample = bits(fields.get("sample", "IP|TID|TIME"), SAMPLE)
        self.read = bits(fields.get("read", ""), READ)
        self.flags = {flag for flag in fields.get("flags", "sample_id_all").split(",") if flag}
        self.period = number(fields.get("freq", fields.get("period", "1")))
        if "freq" in fields:
            self.flags.add("freq")
        self.ids = [number(i) for i in fields.get("ids", "").split(",") if i]
        self.members = number(fields.get("members", "1"))
        self.size = number(fields.get("size", "128"))
        self.regs_user = number(fields.get("regs_user", "0"))
        self.regs_intr = number(fields.get("regs_intr", "0"))
        self.stack = number(fields.get("stack", "0"))
        self.branch = number(fields.get("branch", "0"))
        self.clock = number(fields.get("clock", "0"))  # with the flag use_clockid


PLAIN = re.compile(r"[^\"'\\#\x00-\x1f\x7f-\U0010ffff]*")


class Maker:
    def __init__(self, text, swap=False, pipe=False, compress=False):
        self.order = ">" if swap else "<"
        self.pipe, self.compress = pipe, compress
        self.events, self.features, self.build_ids, self.records, self.traces = [], {}, [], [], []
        lines = text.replace("\\\n", " ").splitlines()
        for line in lines:
            words = line.split() if PLAIN.fullmatch(line) else shlex.split(line, comments=True)  # that takes ten times as long
            if words:
                self.line(words)

    def line(self, words):
        if words[0] == "feature":
            self.features.setdefault(words[1], []).append(words[2:])
            return
        fields = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        if words[0] == "tracepoint":
            self.features.setdefault("tracing_data", []).append((*words[1].split(":"), fields))
        elif words[0] == "event":
            self.events.append(Event(words[1], fields))
        else:
            self.records.append((words[0], fields))

    # ── Numbers ──

    def pack(self, letters, *values):
        sizes = {"B": 8, "H": 16, "I": 32, "Q": 64}
        masked = [value & ((1 << sizes[letter]) - 1) for letter, value in zip(letters, values)]
        return struct.pack(self.order + letters, *masked)

    @staticmethod
    def padded(data, size=8):
        return data + bytes(-len(data) % size)

    def string(self, text):
        data = self.padded(text.encode() + b"\0", 64)
        return self.pack("I", len(data)) + data

    def flags(self, names):
        """A bit field: each byte's bits lie the other way round in the foreign order."""
        value = sum(1 << FLAGS[name] for name in names)
        data = value.to_bytes(8, "little")
        if self.order == ">":
            data = bytes(int(f"{byte:08b}"[::-1], 2) for byte in data)
        return data

    def attr(self, event):
        data = self.pack("IIQQQQ", event.type, event.size, event.config, event.period, event.sample, event.read) + self.flags(event.flags)
        data += self.pack("IIQQQQIIQIHHIIQQ", 0, 0, 0, 0, event.branch, event.regs_user, event.stack, event.clock, event.regs_intr, 0, 0, 0, 0, 0, 0, 0)
        return (data + bytes(event.size))[:event.size]

    # ── Features ──

    def feature(self, name, uses):
        words = uses[0] if uses else []
        if name in ("hostname", "osrelease", "version", "arch", "cpudesc", "cpuid"):
            return self.string(" ".join(words))
        if name == "cmdline":
            return self.pack("I", len(words)) + b"".join(map(self.string, words))
        if name == "nrcpus":
            return self.pack("II", number(words[0]), number(words[0]))
        if name == "sample_time":
            return self.pack("QQ", number(words[0]), number(words[1]))
        if name == "build_id":
            return b"".join(self.build_id(use, 0) for use in uses)
        if name == "event_desc":
            data = self.pack("II", len(self.events), 128)
            for event in self.events:
                attr = (self.attr(event) + bytes(128))[:128]
                data += attr + self.pack("I", len(event.ids)) + self.string(event.name) + self.pack("Q" * len(event.ids), *event.ids)
            return data
        if name == "group_desc":
            leaders = [(i, event) for i, event in enumerate(self.events) if event.members > 1]
            return self.pack("I", len(leaders)) + b"".join(
                self.string("{anon_group}") + self.pack("II", i, event.members) for i, event in leaders)
        if name == "cpu_pmu_caps":
            return self.pack("I", len(words) // 2) + b"".join(map(self.string, words))
        if name == "cpu_topology":
            return self.pack("I", 0) * 2 + b"".join(self.pack("II", core, number(socket)) for core, socket in enumerate(words))
        if name == "numa_topology":
            return self.pack("I", len(words)) + b"".join(self.pack("IQQ", node, 1 << 20, 1 << 19) + self.string(cpus) for node, cpus in enumerate(words))
        if name == "mem_topology":
            ranges = [tuple(map(int, blocks.split("-"))) for blocks in words[1:]]
            return self.pack("QQQ", 1, number(words[0]), len(ranges)) + b"".join(
                self.pack("QQQQ", node, 64, 64, sum(1 << block for block in range(first, last + 1))) for node, (first, last) in enumerate(ranges))
        if name == "bpf_btf":
            return self.pack("I", len(words)) + b"".join(self.pack("II", number(word), 0) for word in words)
        if name == "tracing_data":
            return self.tracing_data(uses)
        if name == "branch_stack":
            return b""
        if name == "auxtrace":
            return self.pack("Q", len(self.traces)) + b"".join(self.pack("QQ", 104 + sum(event.size + 16 + 8 * len(event.ids) for event in self.events) + offset, 48)
                                                               for offset in self.traces)
        if name == "compressed":
            return self.pack("IIIII", 1, 1, 1, 1, 1 << 20)
        raise ValueError(name)

    def tracing_data(self, tracepoints):
        """The formats as trace.dat has them: version 0.6, no symbols, no texts of printk, no names."""
        data = b"\x17\x08\x44tracing0.6\0" + bytes([self.order == ">", 8]) + self.pack("I", 4096)
        page = b"".join(b"\tfield: %s;\toffset:%d;\tsize:%d;\tsigned:0;\n" % row for row in
                        ((b"u64 timestamp", 0, 8), (b"local_t commit", 8, 8), (b"int overwrite", 8, 1), (b"char data", 16, 4080)))
        data += b"header_page\0" + self.pack("Q", len(page)) + page + b"header_event\0" + self.pack("Q", 0) + self.pack("I", 0)
        data += self.pack("I", len(tracepoints))
        for system, name, fields in tracepoints:
            text = format_of(name, fields).encode()
            data += system.encode() + b"\0" + self.pack("IQ", 1, len(text)) + text
        return data + self.pack("IIQ", 0, 0, 0)

    def build_id(self, use, record_type):
        data = bytes.fromhex(use[0])
        name = self.padded(use[1].encode() + b"\0", 64)
        body = self.pack("I", -1) + (data + bytes(20))[:20] + self.pack("B", len(data)) + bytes(3) + name
        return self.header(record_type, 2 | 1 << 15, 8 + len(body)) + body

    # ── Records ──

    def header(self, kind, misc, size):
        return self.pack("IHH", kind, misc, size)

    def event_of(self, fields):
        if "event" in fields:
            return self.events[number(fields["event"])]
        wanted = number(fields.get("id", "0"))
        return next((event for event in self.events if wanted in event.ids), self.events[0])

    def trailer(self, fields):
        event = self.events[0]
        if "sample_id_all" not in event.flags:
            return b""

        def get(name):
            return number(fields.get(name, "0"))
        parts = [("TID", "II", (get("pid"), get("tid"))), ("TIME", "Q", (get("time"),)), ("ID", "Q", (get("id"),)),
                 ("STREAM_ID", "Q", (get("id"),)), ("CPU", "II", (get("cpu"), 0)), ("IDENTIFIER", "Q", (get("id"),))]
        return b"".join(self.pack(letters, *values) for name, letters, values in parts if event.sample & SAMPLE[name])

    def read_values(self, event, fields):
        def counter(value):
            data = self.pack("Q", value)
            return data
        ids = event.ids or [0]
        times = b"".join(self.pack("Q", number(fields.get(name, "0"))) for name, bit in (("enabled", 1), ("running", 2)) if event.read & bit)
        extra = (self.pack("Q", ids[0]) if event.read & 4 else b"") + (self.pack("Q", 0) if event.read & 16 else b"")
        if "/" in fields.get("read", ""):  # of a group: VALUE/ID of each member
            pairs = [tuple(map(number, pair.split("/"))) for pair in fields["read"].split(",")]
            return self.pack("Q", len(pairs)) + times + b"".join(self.pack("QQ", *pair) for pair in pairs)
        value = number(fields.get("read", "0"))
        if event.read & 8:
            return self.pack("Q", 1) + times + counter(value) + extra
        return counter(value) + times + extra

    def branches(self, event, text, newest, counts=""):
        entries = []
        for entry in filter(None, text.split(",")):
            source, rest = entry.split(">")
            target, _, flags = rest.partition("/")
            cycles = int(flags.lstrip("MP") or "0")
            wrong = "M" in flags
            native = (1 if wrong else 2) | cycles << 4
            if self.order == ">":
                native = (1 << 63 if wrong else 1 << 62) | cycles << 44
            entries.append(self.pack("QQQ", number(source), number(target), native))
        index = self.pack("Q", newest) if event.branch & 1 << 17 else b""
        counters = [number(count) for count in filter(None, counts.split(","))] if event.branch & 1 << 19 else []
        return self.pack("Q", len(entries)) + index + b"".join(entries) + self.pack("Q" * len(counters), *counters)

    @staticmethod
    def words(text):
        return [CONTEXT[word] if word in CONTEXT else number(word) for word in text.split(",") if word]

    def sample(self, fields):
        event = self.event_of(fields)

        def get(name, default="0"):
            return number(fields.get(name, default))

        def u64(name):
            return self.pack("Q", get(name))
        identity = get("id", str(event.ids[0]) if event.ids else "0")
        chain = self.words(fields.get("chain", ""))
        raw, aux = bytes.fromhex(fields.get("raw", "")), bytes.fromhex(fields.get("aux", ""))
        regs = [number(word) for word in fields.get("regs", "").split(",") if word]
        intr = [number(word) for word in fields.get("intr", "").split(",") if word]
        stack = bytes.fromhex(fields.get("stack", ""))
        parts = {
            "IDENTIFIER": lambda: self.pack("Q", identity), "IP": lambda: u64("ip"),
            "TID": lambda: self.pack("II", get("pid"), get("tid", fields.get("pid", "0"))), "TIME": lambda: u64("time"),
            "ADDR": lambda: u64("addr"), "ID": lambda: self.pack("Q", identity), "STREAM_ID": lambda: self.pack("Q", identity),
            "CPU": lambda: self.pack("II", get("cpu"), 0), "PERIOD": lambda: self.pack("Q", get("period", "1")),
            "READ": lambda: self.read_values(event, fields),
            "CALLCHAIN": lambda: self.pack("Q" * (1 + len(chain)), len(chain), *chain),
            "RAW": lambda: self.padded(self.pack("I", len(raw) + -(len(raw) + 4) % 8) + raw),
            "BRANCH_STACK": lambda: self.branches(event, fields.get("branch", ""), get("hw_index"), fields.get("counts", "")),
            "REGS_USER": lambda: self.pack("Q" * (1 + len(regs)), get("abi", "2") if regs else 0, *regs),
            "STACK_USER": lambda: self.pack("Q", len(stack)) + stack + (self.pack("Q", get("dyn", str(len(stack)))) if stack else b""),
            "WEIGHT": lambda: u64("weight"), "WEIGHT_STRUCT": lambda: self.pack("IHH", get("weight"), get("ins_lat"), get("p_stage")),
            "DATA_SRC": lambda: u64("data_src"), "TRANSACTION": lambda: u64("transaction"),
            "REGS_INTR": lambda: self.pack("Q" * (1 + len(intr)), 2 if intr else 0, *intr), "PHYS_ADDR": lambda: u64("phys"),
            "AUX": lambda: self.pack("Q", len(aux)) + aux,
            "CGROUP": lambda: u64("cgroup"), "DATA_PAGE_SIZE": lambda: u64("data_page"), "CODE_PAGE_SIZE": lambda: u64("code_page"),
        }
        return b"".join(make() for name, make in parts.items() if event.sample & SAMPLE[name])

    @staticmethod
    def value(kind, name, fields):
        """What the text says of a field, or "" for nothing."""
        alias = FIELD_ALIASES.get(f"{kind}.{name}", FIELD_ALIASES.get(name, name))
        return fields.get(alias, fields.get(name, FIELD_DEFAULTS.get(f"{kind}.{name}", "")))

    def numbers_of_list(self, kind, field, value, misc):
        rows = [dict(zip((inner[1] for inner in field[2]), row.split("/"))) for row in value.split(",") if row]
        return b"".join(self.fields(f"{kind}.{field[1]}", field[2], row, misc) for row in rows)

    def field(self, kind, field, fields, misc):
        macro, name = field[:2]
        if macro == "OPTIONAL":
            return self.fields(kind, name, fields, misc) if any(inner[1] in fields for inner in name) else b""
        if macro == "EITHER":
            return self.fields(kind, field[2] if misc & MISC[name] else field[3], fields, misc)
        value = self.value(kind, name, fields)
        if macro in LETTERS:
            return self.pack(LETTERS[macro], number(value or "0"))
        if macro == "TEXT":
            return self.padded(value.encode() + b"\0")
        if macro == "WORDS":
            words = self.words(value)
            return self.pack("Q" * len(words), *words)
        if macro == "LIST":
            return self.numbers_of_list(kind, field, value, misc)
        data = bytes.fromhex(value)
        return data.ljust(int(field[2]), b"\0") if macro == "BYTES" else data

    def fields(self, kind, layout, fields, misc):
        for before, field in zip(layout, layout[1:]):
            if before[1] == "count" and field[0] in ("WORDS", "LIST"):
                fields = {"count": str(len([word for word in self.value(kind, field[1], fields).split(",") if word])), **fields}
        return b"".join(self.field(kind, field, fields, misc) for field in layout)

    def body(self, kind, fields, misc):
        if kind == "sample":
            return self.sample(fields)
        if kind == "record":
            return bytes.fromhex(fields.get("data", ""))
        kind_number, layout = RECORDS[kind]
        return self.fields(kind, layout, fields, misc) + (self.trailer(fields) if kind_number < FIRST_OF_TOOLS else b"")

    def record(self, kind, fields):
        kind = KIND_ALIASES.get(kind, kind)
        misc = number(fields.get("misc", "2"))
        if fields.get("exec") == "1" or fields.get("out") == "1":
            misc |= 1 << 13
        trace = bytes.fromhex(fields.get("trace", ""))
        body = self.body(kind, {**fields, "len": str(len(trace))} if kind == "auxtrace" else fields, misc)
        size = number(fields.get("size", str(8 + len(body))))
        record_type = number(fields["type"]) if kind == "record" else RECORDS[kind][0]
        return self.header(record_type, misc, size) + body + trace

    def data(self):
        records = [self.record(kind, fields) for kind, fields in self.records]
        offset = 0
        for (kind, _), record in zip(self.records, records):
            if kind == "auxtrace":
                self.traces.append(offset)
            offset += len(record)
        if not self.compress:
            return b"".join(records)
        packed = Zstd()
        half = len(records) // 2
        parts = (packed.feed(b"".join(records[:half])), packed.feed(b"".join(records[half:])))
        return b"".join(self.header(81, 0, 8 + len(part)) + part for part in parts)

    # ── Forms ──

    def make(self):
        if self.compress:
            self.features["compressed"] = [[]]
        return self.make_pipe() if self.pipe else self.make_file()

    def make_pipe(self):
        out = self.pack("QQ", 0x32454C4946524550, 16)
        for event in self.events:
            body = self.attr(event) + self.pack("Q" * len(event.ids), *event.ids)
            out += self.header(64, 0, 8 + len(body)) + body
        for name, uses in self.features.items():
            if name == "build_id":
                continue
            body = self.padded(self.pack("Q", FEATURES[name]) + self.feature(name, uses))
            out += self.header(80, 0, 8 + len(body)) + body
        out += b"".join(self.build_id(use, 67) for use in self.features.get("build_id", []))
        return out + self.data()

    def make_file(self):
        attr_size = max(event.size for event in self.events) + 16
        ids, attrs = b"", b""
        for event in self.events:
            attrs += (self.attr(event) + bytes(attr_size))[:attr_size - 16] + self.pack("QQ", 104 + len(ids), 8 * len(event.ids))
            ids += self.pack("Q" * len(event.ids), *event.ids)
        data = self.data()
        data_offset = 104 + len(ids) + len(attrs)
        features = sorted((FEATURES[name], self.feature(name, uses)) for name, uses in self.features.items())
        at = data_offset + len(data) + 16 * len(features)
        table, sections, bitmap = b"", b"", 0
        for bit, section in features:
            table += self.pack("QQ", at + len(sections), len(section))
            sections += section
            bitmap |= 1 << bit
        header = self.pack("QQQ", 0x32454C4946524550, 104, attr_size) + self.pack("QQ", 104 + len(ids), len(attrs))
        header += self.pack("QQQQ", data_offset, len(data), 0, 0) + self.pack("QQQQ", bitmap, 0, 0, 0)
        return header + ids + attrs + data + table + sections


class Zstd:
    """A stream that is never ended, flushed after each piece: as the kernel's perf compresses."""

    class Buffer(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        self.library.ZSTD_createCCtx.restype = ctypes.c_void_p
        self.library.ZSTD_compressStream2.restype = ctypes.c_size_t
        self.context = ctypes.c_void_p(self.library.ZSTD_createCCtx())

    def feed(self, data):
        room = ctypes.create_string_buffer(len(data) + 1024)
        source = ctypes.create_string_buffer(data, len(data))
        out = self.Buffer(ctypes.cast(room, ctypes.c_void_p), len(room), 0)
        into = self.Buffer(ctypes.cast(source, ctypes.c_void_p), len(data), 0)
        self.library.ZSTD_compressStream2(self.context, ctypes.byref(out), ctypes.byref(into), 1)
        return room.raw[:out.pos]


# No machine has a process with such a number: PID_MAX_LIMIT of include/linux/threads.h.
ABSENT = 1 << 22


def of_absent(text):
    """The text with other processes, 5 → ABSENT + 5: while one that the recording names lives here, the kernel's perf looks for files in its mount namespace, which
    needn't be that of the tests."""
    return re.sub(r"\b(p?[pt]id)=([1-9]\d*)", lambda found: f"{found[1]}={ABSENT + int(found[2])}", text)


def make(text, **options):
    """The bytes of the recording that `text` describes; options: swap, pipe, compress."""
    return Maker(text, **options).make()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipe", action="store_true")
    parser.add_argument("--swap", action="store_true")
    parser.add_argument("--compress", action="store_true")
    parser.add_argument("text")
    parser.add_argument("output")
    options = parser.parse_args()
    with sys.stdin if options.text == "-" else open(options.text, encoding="utf-8") as file:
        data = make(file.read(), swap=options.swap, pipe=options.pipe, compress=options.compress)
    with sys.stdout.buffer if options.output == "-" else open(options.output, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
