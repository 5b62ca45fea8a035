"""What tests of screens share."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import screened
from screens import Screen


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the program prog."""
    folder = tmp_path_factory.mktemp("screen")
    screened.compile_in(folder)
    return folder


@pytest.fixture
def show(perf, folder):
    """show("report", …): perf on a screen, in the folder, until the test has ended."""
    screens = []

    def start(*words, before=(), **arguments):
        if perf("check", "feature", "-q", "libncurses").returncode:
            pytest.skip("this build has no screens")
        arguments.setdefault("cwd", folder)
        screens.append(Screen([*before, perf, *words], **arguments))
        return screens[-1]
    yield start
    for screen in screens:
        screen.__exit__()
