/* Any bytes as a recording that is put through `perf inject`, with all that doesn't write files beside it. */
#include "app/command.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct command cmd_inject;

static void inject(const char *path, const char *const *options, size_t count)
{
	char input[64], output[] = "/dev/null";
	const char *words[16] = {"inject", "-q", "-f", "-i", input, "-o", output};
	int status = 0, argc = 7;
	snprintf(input, sizeof(input), "%s", path);
	for (size_t i = 0; i < count; i++)
		words[argc++] = options[i];
	error_free(cmd_inject.run(argc, (char **)words, &status));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char known[] = "--known-build-ids=0123456789abcdef0123456789abcdef01234567 /bin/true";
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	inject(path, (const char *const[]){"-b", "-B", known}, 3);
	inject(path, (const char *const[]){"--mmap2-buildid-all", "--convert-callchain"}, 2);
	inject(path, (const char *const[]){"-s", "--buildid-all"}, 2);
	close(fd);
	return 0;
}
