"""Hashes are keyed by numbers that each process draws anew: nothing that is shown depends on them."""
import pytest

from test_changing_file import make, text


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    return make(tmp_path_factory.mktemp("hashes"), text())


@pytest.mark.parametrize("words", [["report", "--stdio", "--sort", "comm,pid,dso,sym"], ["report", "--stdio", "--jobs", "4"], ["report", "--hierarchy", "--stdio"],
                                   ["flamegraph", "--folded"], ["script"], ["inject", "-b", "-o", "-"]], ids=" ".join)
def test_each_process_says_the_same(perf, recording, words):
    first, *others = (perf(*words, "-i", recording, text=False) for _ in range(4))
    assert first.returncode == 0 and first.stdout, first.stderr
    assert all(other.stdout == first.stdout for other in others)
