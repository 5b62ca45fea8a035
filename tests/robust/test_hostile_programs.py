"""Programs that anybody on the machine can run: what is in their files takes bounded time and memory, and never ends a command."""
import resource
import subprocess

import pytest


def run_bounded(perf, *words, memory=1 << 30, seconds=60):
    """Runs a command that may take so much address space and processor time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    return perf(*words, preexec_fn=limit)


def doubled_name(levels):
    """A C++ name whose each argument is made of two of the one before it: A<int, int>, A<A<int, int>, A<int, int>>, …"""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    back = ["S" + (digits[i // 36] if i >= 36 else "") + digits[i % 36] + "_" for i in range(levels)]
    return "_Z1fI1AIiiE" + "".join(f"S_I{name}{name}E" for name in back) + "EvT_"


@pytest.mark.parametrize("levels, ending", [(12, None), (22, "...[cut]"), (40, "[too complex to demangle]")])
def test_names_that_stand_for_too_much(perf, tmp_path, levels, ending):
    name = doubled_name(levels)
    (tmp_path / "x.c").write_text(f'int f(void) __asm__("{name}"); int f(void) {{ return 1; }} int main(void) {{ return f(); }}\n')
    subprocess.run(["gcc", "-g0", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    done = run_bounded(perf, "probe", "-x", tmp_path / "x", "-F", "--filter", "*")
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if "A<int, int>" in line or name in line]
    assert len(found) == 1
    if ending:
        assert found[0].endswith(ending) and len(found[0]) < 20000
    else:
        assert found[0] == subprocess.run(["c++filt", "-p", name], capture_output=True, text=True, check=True).stdout.strip()
