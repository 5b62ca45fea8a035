/* Read-only file mappings that survive the file being cut short.
 *
 * Touching a page behind the end of a shrunken file raises SIGBUS. The handler maps a zero page there and returns, so the reader finds
 * zeros, which its checks reject as records. A SIGBUS anywhere else ends the program as it would without us. The list of mappings is fixed
 * in size and lock-free: the handler may run at any moment.
 */
#include "base/mapping.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MAPPINGS_WATCHED = 256 };

static struct watched {
	_Atomic uintptr_t start;
	_Atomic size_t size;
} watched[MAPPINGS_WATCHED];

static pthread_once_t handler_once = PTHREAD_ONCE_INIT;

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t address = (uintptr_t)info->si_addr;
	for (size_t i = 0; i < MAPPINGS_WATCHED; i++) {
		uintptr_t start = atomic_load(&watched[i].start);
		if (!start || address < start || address - start >= atomic_load(&watched[i].size))
			continue;
		void *page = (void *)(address & ~(page_size - 1));
		if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void install_handler(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &action, NULL);
}

static void watch(const struct mapping *mapping)
{
	pthread_once(&handler_once, install_handler);
	for (size_t i = 0; i < MAPPINGS_WATCHED; i++) {
		size_t none = 0;
		if (!atomic_compare_exchange_strong(&watched[i].size, &none, mapping->size))
			continue;
		atomic_store(&watched[i].start, (uintptr_t)mapping->data);
		return;
	}
}

static void unwatch(const struct mapping *mapping)
{
	for (size_t i = 0; i < MAPPINGS_WATCHED; i++) {
		if (atomic_load(&watched[i].start) != (uintptr_t)mapping->data)
			continue;
		atomic_store(&watched[i].start, 0);
		atomic_store(&watched[i].size, 0);
	}
}

struct error *mapping_open_fd(int fd, const char *name, struct mapping *ret)
{
	struct stat status;
	if (fstat(fd, &status))
		return error_system(errno, "%s", name);
	if (!S_ISREG(status.st_mode))
		return error_new("%s: not a regular file", name);
	struct mapping mapping = {.size = (size_t)status.st_size};
	if (mapping.size) {
		void *data = mmap(NULL, mapping.size, PROT_READ, MAP_SHARED, fd, 0);
		if (data == MAP_FAILED)
			return error_system(errno, "%s: cannot map it into memory", name);
		mapping.data = data;
		watch(&mapping);
	}
	*ret = mapping;
	return NULL;
}

struct error *mapping_open(const char *path, struct mapping *ret)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_system(errno, "%s", path);
	return mapping_open_fd(fd, path, ret);
}

void mapping_forget(const uint8_t *data, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)data + page - 1) & ~(page - 1), end = ((uintptr_t)data + size) & ~(page - 1);
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void mapping_close(struct mapping *mapping)
{
	if (mapping->data) {
		unwatch(mapping);
		munmap((void *)mapping->data, mapping->size);
	}
	*mapping = (struct mapping){0};
}

struct error *mapping_create_temporary(int *ret_fd)
{
	const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int reason = ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (!places[i] || !*places[i])
			continue;
		int fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0) {
			*ret_fd = fd;
			return NULL;
		}
		reason = errno;
	}
	int fd = memfd_create("perf-spool", MFD_CLOEXEC);
	if (fd < 0)
		return error_system(reason, "no place for a temporary file in TMPDIR, /var/tmp or /tmp");
	*ret_fd = fd;
	return NULL;
}
