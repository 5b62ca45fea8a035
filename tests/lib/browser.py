"""A page in headless Chromium, spoken to through a pipe: what a script in the page returns, once its promises are kept."""
import itertools
import json
import os
import shutil
import subprocess

import pytest


class Page:
    def __init__(self, path, folder):
        program = shutil.which("chromium")
        if not program:
            pytest.skip("no browser (package chromium)")
        self.folder = folder
        command_read, self.write = os.pipe()
        self.read, answer_write = os.pipe()
        # The protocol is spoken on the descriptors 3 and 4.
        shell = f'exec "$@" 3<&{command_read} 4>&{answer_write}'
        with open(folder / "browser.log", "w", encoding="utf8") as log:
            self.process = subprocess.Popen(["bash", "-c", shell, "-", program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                                             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                                             "--remote-debugging-pipe", f"--user-data-dir={folder / 'browser'}", "about:blank"],
                                            pass_fds=(command_read, answer_write), stdout=log, stderr=log)
        os.close(command_read)
        os.close(answer_write)
        self.input = os.fdopen(self.read, "rb")
        self.numbers = itertools.count(1)
        self.rest = b""
        self.events = []  # their names
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self.events:
            self.answer()

    def answer(self):
        while b"\0" not in self.rest:
            more = os.read(self.input.fileno(), 1 << 16)
            assert more, "the browser ended: " + (self.folder / "browser.log").read_text()[-2000:]
            self.rest += more
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        self.events += [message["method"]] if "method" in message else []
        return message

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.answer()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, script):
        """The value of an expression; of a promise, what it is kept with."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.input.close()
        os.close(self.write)
