"""What counts as the same when our text of a recording is compared, line by line, with that of the kernel's perf 6.1.

Some things may differ. Linkage stubs have no names in the kernel's perf outside of .plt (.plt.got, .plt.sec), nor where a program's symbol _init seems to go on
to the end of .plt: where it says [unknown] or _init, ours may name a function's @plt. And recordings of the whole machine have programs in them that nobody
holds fast: when a frame's file is gone, one of the two may have come in time to read its symbols. And in generated code of such programs ours reads the jitdump, which
the kernel's perf does only after inject --jit. And code that the kernel has generated, as for a neighbour's BPF program, has a name for as long as it is there.
"""
import itertools
import os
import re

UNNAMED = re.compile(r"(\[unknown\]|\b_init(?:\+0x[0-9a-f]+)?(?!\S))")
STUB = r"\S.*?@plt(?:\+0x[0-9a-f]+)?"
PLACE = re.compile(r"(\t|.*:)\s+[0-9a-f]+ .*\(.*\)")
JITDUMP = re.compile(r"(\t|.*:)\s+[0-9a-f]+ .*\(\S*/jit-\d+\.dump\)")
FRAME = re.compile(r"(.*\s[0-9a-f]+) .* \((/.*)\)")
GENERATED = re.compile(r"(\s*ffff[0-9a-f]{12}) (?:bpf_\S+|\[unknown\]) \((?:bpf_\S+|\[unknown\]|\[kernel.kallsyms\])\)")
HEAD = re.compile(r"(?:\[(\d+)\] +)?(\d+\.\d+): ")


def line(theirs, ours):
    """The two lines say the same. Both are text, or both bytes."""
    if ours == theirs:
        return True
    if isinstance(theirs, bytes):
        theirs, ours = theirs.decode(errors="surrogateescape"), ours.decode(errors="surrogateescape")
    if "@plt" in ours:
        parts = UNNAMED.split(theirs)
        if re.fullmatch("".join(f"(?:{re.escape(part)}|{STUB})" if i % 2 else re.escape(part) for i, part in enumerate(parts)), ours):
            return True
    a, b = PLACE.fullmatch(theirs), JITDUMP.fullmatch(ours)
    if a and b and a[1] == b[1]:
        return True
    a, b = GENERATED.fullmatch(theirs), GENERATED.fullmatch(ours)
    if a and b and a[1] == b[1]:
        return True
    a, b = FRAME.fullmatch(theirs), FRAME.fullmatch(ours)
    return bool(a and b and a[1] == b[1] and not os.path.exists(a[2]) and not os.path.exists(b[2]))


def lines(theirs, ours, what="", same=line):
    """Asserts that the lines of two texts, or two lists of lines, are the same one after the other."""
    pairs = list(itertools.zip_longest(*(each if isinstance(each, list) else each.splitlines() for each in (theirs, ours))))
    wrong = [(i, a, b) for i, (a, b) in enumerate(pairs) if a is None or b is None or not same(a, b)]
    shown = "\n".join(f"line {i}:\n  theirs {a!r}\n  ours   {b!r}" for i, a, b in wrong[:5])
    assert not wrong, f"{what}: {len(wrong)} of {len(pairs)} lines differ\n{shown}"


def in_time(text):
    """The samples of a text as lists of lines, those of the same time by CPU; and their times, in the order of the text. Of samples that were written to
    several files at the same nanosecond the kernel's perf shows first those of the file that the directory happens to list first: print with --ns."""
    samples = [sample.splitlines() for sample in re.split(r"\n(?=[^\n\t])", text.strip("\n")) if sample]
    found = [HEAD.search(sample[0]) for sample in samples]
    keys = [(match[2].rjust(24), match[1] or "") if match else ("", "") for match in found]
    return [sample for _, sample in sorted(zip(keys, samples), key=lambda pair: pair[0])], [time for time, _ in keys]
