"""tools/check-hardening finds each protection that a program was built without, and none that is there."""
import pathlib
import platform
import shutil
import subprocess

import pytest

CHECK = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/check-hardening"
# Functions that copy into arrays of sizes that the compiler does not know, one of them with a large frame.
FIRST = """
__attribute__((noinline)) void copy_0(const char *from, char *to, long size)
{
	char part[40], whole[9000];
	memcpy(part, from, size); memmove(whole, part, size); memset(part, 0, size); strcpy(part, to); strcat(whole, part);
	snprintf(to, size, "%s %s", part, whole); sprintf(part, "%s", to); read(0, part, size);
}
"""
NEXT = """
__attribute__((noinline)) void copy_{n}(const char *from, char *to, long size) {{ char part[40]; memcpy(part, from, size); memcpy(to, part, {n}); }}
"""
PROGRAM = "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n" + FIRST + "".join(NEXT.format(n=n) for n in range(1, 220)) + \
    "int main(int argc, char **argv) { copy_0(argv[0], argv[1], argc); }\n"
COMPILER = {"x86_64": ["gcc", "-fcf-protection=full"], "aarch64": ["aarch64-linux-gnu-gcc", "-mbranch-protection=standard"]}
ON = ["-fpie", "-pie", "-fstack-protector-strong", "-fstack-clash-protection", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"]
OFF = ["-fno-pie", "-no-pie", "-fno-stack-protector", "-fno-stack-clash-protection", "-U_FORTIFY_SOURCE", "-Wl,-z,lazy", "-Wl,-z,execstack"]
PROTECTIONS = {"read-only relocations", "a stack that is not executable", "position independence", "a stack protector", "fortified functions",
               "marks where branches may go", "probes of large stack frames"}


@pytest.mark.parametrize("machine", COMPILER)
@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_each_protection(tmp_path, machine, on):
    if platform.machine() != "x86_64":
        pytest.skip("the compilers are those of x86-64 machines")
    program, mark = COMPILER[machine]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run([program, "-O1", "-w", *([*ON, mark] if on else OFF), "-o", "program", "program.c"], cwd=tmp_path, check=True)
    done = subprocess.run([CHECK, tmp_path / "program"], capture_output=True, text=True, check=False)
    missing = {line.split(": without ")[1] for line in done.stdout.splitlines() if ": without " in line}
    wanted = PROTECTIONS - ({"probes of large stack frames"} if machine == "aarch64" else set())
    assert missing == (set() if on else wanted) and done.returncode == (not on), done.stdout + done.stderr
