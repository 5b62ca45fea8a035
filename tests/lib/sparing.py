"""Programs that always compute, for as long as tests look at them: what is measured of them needs a small part of a processor, and the others have other tests to run."""
import contextlib
import signal
import threading


@contextlib.contextmanager
def now_and_then(process):
    """The process is stopped for three quarters of the time, and killed at the end. What it does while it runs stays what it is."""
    ended = threading.Event()

    def turns():
        while not ended.is_set():
            process.send_signal(signal.SIGSTOP)
            ended.wait(0.03)
            process.send_signal(signal.SIGCONT)
            ended.wait(0.01)

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield process
    finally:
        ended.set()
        thread.join()
        process.kill()
        process.wait()
