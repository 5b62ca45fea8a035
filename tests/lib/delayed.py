"""perf trace --delay: a program that tells the time by its calls, until the trace shows them."""
import re
import time

from traced import build, traced

# Calls lseek with the microseconds of the clock that the delay is measured by, and writes them; ten more times when there is something in the file.
PROGRAM = r"""
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words)
{
	struct stat status;
	for (int more = 10; more; more -= stat(words[1], &status) == 0 && status.st_size > 0) {
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		long long micros = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
		lseek(99, micros, SEEK_SET);
		printf("%lld\n", micros);
		usleep(1000);
	}
	return 0;
}
"""


def check(perf, folder, seconds, *words):
    """Calls are shown that begin so many seconds after the start or later, from one on all of them. Returns the lines."""
    program = build(folder, PROGRAM)
    begin = time.monotonic() + seconds
    done, lines = traced(perf, folder, "-D", round(seconds * 1000), *words, program, folder / "trace.txt")
    assert done.returncode == 0, done.stderr
    made = done.stdout.split()
    shown = re.findall(r" lseek\(fd: 99, offset: (\d+)", "\n".join(lines))
    assert len(shown) >= 10 and shown == made[-len(shown):]
    assert int(shown[0]) >= begin * 1e6 - 1
    return lines
