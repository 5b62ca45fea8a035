"""Programs on a screen: tmux is the terminal, so that what stands on it can be read, and keys be typed. Each has a tmux server of its own."""
import contextlib
import fcntl
import itertools
import os
import pathlib
import shlex
import shutil
import signal
import struct
import subprocess
import termios

import pytest

import started

NUMBERS = itertools.count()


class Screen:
    """with Screen([perf, "report"], cwd=folder) as screen: screen.until("main"); screen.keys("Down", "+"); …"""

    def __init__(self, command, cwd, columns=100, lines=30, **environment):
        if not shutil.which("tmux"):
            pytest.skip("tmux is not installed")
        self.typed = 0  # characters
        self.name = f"perf-{os.getpid()}-{next(NUMBERS)}"
        self.tmux = ["tmux", "-L", self.name, "-f", "/dev/null"]
        # What stays when the program has ended can be read, too. Ctrl-C may come as a signal to all of the terminal: the shell outlives it.
        words = shlex.join(map(str, command))
        shell = f"trap : INT; {words}; echo ended with $?; exec sleep 1000"
        names = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
        subprocess.run([*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(lines), shell], check=True, cwd=cwd,
                       env={**names, "LC_ALL": "C.UTF-8", **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self.tmux, "kill-server"], check=False, capture_output=True)
        pathlib.Path(f"/tmp/tmux-{os.getuid()}/{self.name}").unlink(missing_ok=True)

    def lines(self, *how):
        """The screen; "-e": with escape sequences for colours."""
        return subprocess.run([*self.tmux, "capture-pane", "-p", *how], check=True, capture_output=True, text=True).stdout.splitlines()

    def run(self, *words):
        """What a command of tmux says."""
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True, text=True).stdout.strip()

    def processes(self):
        """Those of the command."""
        def children(pid):
            return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
        found = children(self.run("display-message", "-p", "#{pane_pid}"))
        for pid in found:
            found += children(pid)
        return found

    def text(self):
        return "\n".join(self.lines())

    def keys(self, *keys):
        """Names as tmux has them (Down, PageUp, Enter), or characters."""
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def type(self, text):
        self.typed += len(text)
        subprocess.run([*self.tmux, "send-keys", "-l", text], check=True)

    def choose(self, title, line, *wanted, without=()):
        """Takes the line of the menu that is open; gives the screen that it leads to."""
        lines = self.until(title, line)
        first = next(i for i, text in enumerate(lines) if title in text) + 1
        at = next(i for i, text in enumerate(lines) if i >= first and line in text)
        return self.after(" ".join(["Home", *["Down"] * (at - first), "Enter"]), *wanted, without=without)

    def click(self, line, column):
        """The left button of the mouse, at a place that is counted from 0."""
        self.mouse(0, line, column)
        self.mouse(3, line, column)

    def mouse(self, button, line, column):
        """As a terminal reports it: 0 is the left button, 3 that it is let go, 64 the wheel up, 65 down."""
        self.type(f"\x1b[M{chr(32 + button)}{chr(33 + column)}{chr(33 + line)}")

    @contextlib.contextmanager
    def held(self):
        """What is typed meanwhile the program gets all at once."""
        processes = self.processes()
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        self.typed = 0
        with open(os.open(f"/proc/{processes[0]}/fd/0", os.O_RDONLY | os.O_NOCTTY), "rb", buffering=0) as terminal:
            yield
            started.until(lambda: struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))[0] >= self.typed, "what was typed is in the terminal")
        for pid in processes:
            os.kill(pid, signal.SIGCONT)

    def resize(self, columns, lines):
        subprocess.run([*self.tmux, "resize-window", "-x", str(columns), "-y", str(lines)], check=True)

    def until(self, *wanted, without=()):
        """Waits for a screen with all these texts, and none of the others, that isn't being drawn any more; gives its lines."""
        seen = [self.text()]

        def there():
            seen.append(self.text())
            return seen[-1] == seen[-2] and all(word in seen[-1] for word in wanted) and not any(word in seen[-1] for word in without)
        try:
            started.until(there, f"the screen has {wanted} without {without}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{seen[-1]}") from None
        return seen[-1].splitlines()

    def after(self, keys, *wanted, without=()):
        """The lines of the screen that these keys lead to."""
        self.keys(*keys.split())
        return self.until(*wanted, without=without)
