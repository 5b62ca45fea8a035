"""perf probe against the kernel's: the same program, the same place, the same definition and the same text."""
import os
import pathlib
import shutil
import struct
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).parent / "probed.c"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The program without and with optimisation, stripped, and linked to a fixed address."""
    folder = tmp_path_factory.mktemp("probed")
    shutil.copy(SOURCE, folder / "prog.c")
    for name, flags in (("plain", ["-g", "-O0"]), ("fast", ["-g", "-O2"]), ("fixed", ["-g", "-O0", "-no-pie"]), ("bare", ["-O2", "-s", "-rdynamic"])):
        subprocess.run(["gcc", "-w", *flags, "-o", name, "prog.c"], cwd=folder, check=True)
    return folder


def both(perf, oracle, programs, name, *words):
    """Output of ours and theirs."""
    done = [program("probe", "-x", f"./{name}", *words, cwd=programs) for program in (perf, oracle)]
    assert done[1].returncode == 0, done[1].stderr
    assert done[0].returncode == 0, done[0].stderr
    return done[0].stdout, done[1].stdout


PLACES = ["weigh", "weigh%return $retval", "weigh+4", "prog.c:40", "weigh@prog.c", "weigh;counter++;", "prog.c;*counter*", "scaled", "w*", "my=weigh", "g:my=weigh x=%si",
          "weigh %di $stack $stack0 +8(%si)", "greet%return +0($retval):string", "weigh%return $retval:symbol", "weigh comm=$comm", "g:e=weigh%return", "main", "0x1314"]
VARIABLES = ["weigh item factor label", "weigh $params", "greet who", "greet who:string", "weigh factor:u8 x=factor", "main argv", "main argv[0]:string",
             "weigh item->where", "weigh item->name:string item->count item->where.x item->values[2]", "weigh item->name:ustring", "weigh item->corner->y"]


@pytest.mark.parametrize("definition", PLACES + VARIABLES)
@pytest.mark.parametrize("name", ["plain", "fast"])
def test_definitions(perf, oracle, programs, name, definition):
    ours, theirs = both(perf, oracle, programs, name, "-D", definition)
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())


@pytest.mark.parametrize("definition", ["weigh $vars", "walk $vars", "walk $params", "walk list->text list->where.y", "scaled value by result", "walk small ratio by_value",
                                        "prog.c:41 sum item->count", "weigh:5 sum i"])
def test_definitions_without_optimisation(perf, oracle, programs, definition):
    ours, theirs = both(perf, oracle, programs, "plain", "-D", definition)
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())


@pytest.mark.parametrize("definition", ["weigh", "greet%return $retval", "main+8"])
@pytest.mark.parametrize("name", ["fixed", "bare"])
def test_definitions_by_symbol(perf, oracle, programs, name, definition):
    ours, theirs = both(perf, oracle, programs, name, "-D", definition)
    assert ours == theirs


def test_definitions_of_a_library(perf, oracle, programs):
    library = subprocess.run(["gcc", "-print-file-name=libc.so.6"], capture_output=True, text=True, check=True).stdout.strip()
    for definition in ("malloc", "malloc%return $retval", "puts+10", "0x1234"):
        ours, theirs = [program("probe", "-x", library, "-D", definition) for program in (perf, oracle)]
        assert ours.stdout == theirs.stdout and "probe_libc/" in ours.stdout, ours.stderr


@pytest.mark.parametrize("words", ["-L weigh", "-L weigh:2-5", "-L weigh:2+3", "-L prog.c:35", "-L weigh@prog.c", "-L greet", "-L main:0+3", "-V main --range"])
@pytest.mark.parametrize("name", ["plain", "fast"])
def test_text(perf, oracle, programs, name, words):
    ours, theirs = both(perf, oracle, programs, name, *words.split())
    assert ours == theirs


@pytest.mark.parametrize("words", ["weigh", "weigh+12", "weigh:5", "weigh --externs", "weigh --range", "weigh --range --externs", "scaled", "walk", "weigh%return", "prog.c:41"])
def test_variables(perf, oracle, programs, words):
    ours, theirs = both(perf, oracle, programs, "plain", "-V", *words.split())
    assert ours == theirs


def test_functions(perf, oracle, programs):
    """The kernel's tool lists variables, too; no probe can be there."""
    ours, theirs = both(perf, oracle, programs, "plain", "-F")
    table = subprocess.run(["nm", programs / "plain"], capture_output=True, text=True, check=True).stdout
    data = {line.split()[-1] for line in table.splitlines() if line.split()[-2] in "bBdDrRWV"}
    assert ours.splitlines() == [name for name in theirs.splitlines() if name not in data]
    assert both(perf, oracle, programs, "plain", "-F", "(w* | greet) & !walk")[0].split() == ["greet", "weigh"]


def test_fields_of_bits(perf, programs):
    """The kernel's tool fails on them with DWARF 5. By the declaration: 3, 7 and 12 bits of one int behind `name` and `count`."""
    done = perf("probe", "-x", "./fast", "-D", "weigh item->low item->middle item->high", cwd=programs)
    assert done.stdout.split()[2:] == ["low=+12(%di):b3@0/32", "middle=+12(%di):b7@3/32", "high=+12(%di):b12@10/32"], done.stderr


def test_reasons(perf, programs):
    """What can't be had is explained in a sentence."""
    def reason(name, *words):
        done = perf("probe", "-x", f"./{name}", *words, cwd=programs)
        assert done.returncode in (129, 254, 255) and not done.stdout, done.stdout
        return done.stderr

    assert "optimised out" in reason("fast", "-D", "weigh:5 i")
    assert "no variable 'nothing'" in reason("plain", "-D", "weigh nothing") and "label" in reason("plain", "-D", "weigh nothing")
    assert "no member 'nothing'" in reason("plain", "-D", "weigh item->nothing")
    assert "write ->" in reason("plain", "-D", "weigh item.count")
    assert "no such function" in reason("plain", "-D", "nothing")
    assert "beyond the end" in reason("plain", "-D", "weigh+9999")
    assert "require debug information" in reason("bare", "-D", "weigh item")
    assert "no debug information" in reason("bare", "-L", "weigh")
    assert "are inlined" in reason("fast", "-D", "scaled%return")
    assert "the next line with code is 26" in reason("plain", "-D", "prog.c:25")
    assert "%return" not in reason("plain", "-D", "weigh%retur")
    for joined in ("weigh%return+0($retval)", "weigh%return$retval", "weigh+4(%ax)"):
        assert "a space is missing before the argument" in reason("plain", "-D", joined)
    assert "not available when a function returns" in reason("plain", "-D", "weigh%return item")
    assert "unknown type 'u9'" in reason("plain", "-D", "weigh factor:u9")
    assert "--max-probes" in reason("plain", "--max-probes", "1", "-D", "w*")
    assert "is not a string" in reason("plain", "-D", "weigh item:string")


def test_image_of_a_kernel(perf, oracle, programs):
    """By the debug information of a vmlinux: here a program with the kernel's landmarks. Where it is, we always say by the distance from _text."""
    subprocess.run(["gcc", "-w", "-g", "-O2", "-no-pie", "-Wl,--defsym=_text=0x401000", "-Wl,--defsym=_stext=0x401000", "-o", "vmlinux", "prog.c"], cwd=programs, check=True)
    table = subprocess.run(["nm", programs / "vmlinux"], capture_output=True, text=True, check=True).stdout
    distance = next(int(line.split()[0], 16) for line in table.splitlines() if line.endswith(" weigh")) - 0x401000
    for definition in ("weigh item->count counter label:string", "weigh+4 %di", "weigh%return $retval"):
        ours, theirs = [program("probe", "-k", "vmlinux", "-D", definition, cwd=programs) for program in (perf, oracle)]
        event, place, *arguments = ours.stdout.split()
        assert [event, *arguments] == [theirs.stdout.split()[0], *theirs.stdout.split()[2:]], ours.stderr
        assert place == f"_text+{distance + (4 if '+4' in definition else 0)}"
        assert "is not the running kernel" in ours.stderr
    ours, theirs = [program("probe", "-k", "vmlinux", "-L", "weigh", cwd=programs) for program in (perf, oracle)]
    assert ours.stdout == theirs.stdout and "counter++" in ours.stdout


def running_build_id():
    notes, at = pathlib.Path("/sys/kernel/notes").read_bytes(), 0
    while at < len(notes):
        name_size, size, kind = struct.unpack_from("=III", notes, at)
        name = notes[at + 12:at + 12 + name_size]
        start = at + 12 + (name_size + 3 & ~3)
        if kind == 3 and name == b"GNU\0":
            return notes[start:start + size].hex()
        at = start + (size + 3 & ~3)
    pytest.skip("this kernel tells no build-id")


def test_image_is_found(perf, programs):
    """The image of the running kernel that is installed: the one with debug information, though one without it comes first."""
    release, running = os.uname().release, running_build_id()
    system, landmarks = programs / "system", ["-no-pie", "-Wl,--defsym=_text=0x401000", "-Wl,--defsym=_stext=0x401000"]
    last = f"usr/lib/debug/lib/modules/{release}/vmlinux"
    for place, build_id, flags in ((f"boot/vmlinux-{release}", running, []), (f"usr/lib/debug/boot/vmlinux-{release}", running, []),
                                   (f"lib/modules/{release}/build/vmlinux", "12" * 20, ["-g"]), (last, running, ["-g"])):
        (system / place).parent.mkdir(parents=True)
        subprocess.run(["gcc", "-w", *flags, "-O2", *landmarks, f"-Wl,--build-id=0x{build_id}", "-o", system / place, "prog.c"], cwd=programs, check=True)
    done = perf("probe", "--symfs", system, "-D", "weigh item->count", cwd=programs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("p:probe/weigh _text+") and "count=+" in done.stdout
    (system / last).unlink()
    done = perf("probe", "--symfs", system, "-D", "weigh item->count", cwd=programs)
    assert done.returncode != 0 and "no such function" in done.stderr


def test_file_of_a_module(perf, programs):
    """Not linked: sections of their own. The kernel's tool finds no variables there."""
    subprocess.run(["gcc", "-w", "-g", "-O2", "-c", "-o", "parts.ko", "prog.c"], cwd=programs, check=True)
    done = perf("probe", "-m", "./parts.ko", "-D", "weigh item->count", "-D", "weigh+4", cwd=programs)
    assert done.stdout.splitlines() == ["p:probe/weigh parts:weigh+0 count=+8(%di):s32", "p:probe/weigh parts:weigh+4"], done.stderr
