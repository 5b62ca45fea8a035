/* Read-only file mappings that survive the file being cut short.
 *
 * Touching a page behind the end of a shrunken file raises SIGBUS. The handler maps a zero page there and returns, so the reader finds
 * zeros, which its checks reject as records. A SIGBUS anywhere else ends the program as it would without us. The list of mappings is
 * lock-free, since the handler may run at any moment, on any thread; it only grows, by blocks whose slots are used again.
 */
#include "base/files/mapping.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A slot is free (start 0), being filled (SLOT_TAKEN), or that of the mapping that begins at `start`. */
struct watched_mapping {
	_Atomic uintptr_t start;
	_Atomic size_t size;
	_Atomic bool lost_pages;
	_Atomic bool held; /* nobody else unmaps it, or forgets its pages */
};

enum { SLOT_TAKEN = 1, BLOCK_SLOTS = 256 };

static struct watched_block {
	struct watched_mapping slots[BLOCK_SLOTS];
	struct watched_block *_Atomic next;
} watched;

static pthread_once_t handler_once = PTHREAD_ONCE_INIT;

/* The slot of the mapping that the address lies in. */
static struct watched_mapping *slot_of(uintptr_t address)
{
	for (struct watched_block *block = &watched; block; block = atomic_load(&block->next))
		for (size_t i = 0; i < BLOCK_SLOTS; i++) {
			uintptr_t start = atomic_load(&block->slots[i].start);
			if (start > SLOT_TAKEN && address >= start && address - start < atomic_load(&block->slots[i].size))
				return &block->slots[i];
		}
	return NULL;
}

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t address = (uintptr_t)info->si_addr;
	struct watched_mapping *found = slot_of(address);
	int saved = errno;
	void *page = (void *)(address & ~(page_size - 1));
	if (found && mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
		atomic_store(&found->lost_pages, true);
		errno = saved;
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

static struct watched_mapping *take_slot(void)
{
	struct watched_block *block = &watched;
	for (;;) {
		for (size_t i = 0; i < BLOCK_SLOTS; i++) {
			uintptr_t none = 0;
			if (atomic_compare_exchange_strong(&block->slots[i].start, &none, SLOT_TAKEN))
				return &block->slots[i];
		}
		struct watched_block *next = atomic_load(&block->next);
		if (!next) {
			struct watched_block *fresh = mem_zalloc(sizeof(*fresh));
			if (atomic_compare_exchange_strong(&block->next, &next, fresh))
				next = fresh;
			else
				free(fresh);
		}
		block = next;
	}
}

static void watch(struct mapping *mapping)
{
	pthread_once(&handler_once, install_handler);
	mapping->watched = take_slot();
	atomic_store(&mapping->watched->size, mapping->size);
	atomic_store(&mapping->watched->lost_pages, false);
	atomic_store(&mapping->watched->start, (uintptr_t)mapping->data);
}

/* What the processor maps at once (x86-64, arm64 with pages of 4 KB). Filesystems keep what was written or read in one go in such pieces
 * (ext4 from Linux 6.16 on, XFS, btrfs), and a file that begins at a multiple is mapped with as many. */
enum { HUGE_PAGE = 2 << 20 };

/* Address space that begins at a multiple of `unit`, a power of two; `size` is of whole pages. */
static void *reserve(size_t size, size_t unit)
{
	uint8_t *room = mmap(NULL, size + unit, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return room;
	size_t before = -(uintptr_t)room & (unit - 1);
	if (before)
		munmap(room, before);
	munmap(room + before + size, unit - before);
	return room + before;
}

/* The file with the guard behind it: room for both first, then the file into it. */
static void *map_guarded(int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room_size = (size + MAPPING_GUARD + page - 1) & ~(page - 1);
	if (size > SIZE_MAX - MAPPING_GUARD - 2 * HUGE_PAGE)
		return MAP_FAILED;
	void *room = size >= HUGE_PAGE ? reserve(room_size, HUGE_PAGE)
				       : mmap(NULL, room_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return room;
	void *data = mmap(room, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	if (data == MAP_FAILED) {
		int reason = errno;
		munmap(room, room_size);
		errno = reason;
	}
	return data;
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
		void *data = map_guarded(fd, mapping.size);
		if (data == MAP_FAILED)
			return error_system(errno, "cannot map %s into memory", name);
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

/* Advice for the whole pages within. */
static bool advise(const uint8_t *data, size_t size, int advice)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)data + page - 1) & ~(page - 1), end = ((uintptr_t)data + size) & ~(page - 1);
	return begin >= end || !madvise((void *)begin, end - begin, advice);
}

void mapping_forget(const uint8_t *data, size_t size)
{
	advise(data, size, MADV_DONTNEED);
}

static void hold(struct watched_mapping *slot)
{
	while (atomic_exchange(&slot->held, true))
		sched_yield();
}

static void forget_slot(struct watched_mapping *slot)
{
	hold(slot);
	uintptr_t start = atomic_load(&slot->start);
	if (start > SLOT_TAKEN)
		mapping_forget((const uint8_t *)start, atomic_load(&slot->size));
	atomic_store(&slot->held, false);
}

void mapping_forget_all(void)
{
	for (struct watched_block *block = &watched; block; block = atomic_load(&block->next))
		for (size_t i = 0; i < BLOCK_SLOTS; i++)
			if (atomic_load(&block->slots[i].start) > SLOT_TAKEN)
				forget_slot(&block->slots[i]);
}

bool mapping_populate(const uint8_t *data, size_t size)
{
	enum {
		POPULATE_READ = 22, /* MADV_POPULATE_READ of asm-generic/mman-common.h, which older headers lack */
		AROUND = 64 << 10   /* what the kernel maps with a page that is touched (fault_around_bytes), if it is in memory */
	};
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)data & ~(page - 1), end = (uintptr_t)data + size;
	for (; at < end; at = (at | (AROUND - 1)) + 1)
		if (madvise((void *)at, page, POPULATE_READ))
			return false;
	return true;
}

void mapping_close(struct mapping *mapping)
{
	struct watched_mapping *slot = mapping->watched;
	if (mapping->data) {
		hold(slot);
		atomic_store(&slot->start, 0);
		munmap((void *)mapping->data, mapping->size + MAPPING_GUARD);
		atomic_store(&slot->held, false);
	}
	*mapping = (struct mapping){0};
}

bool mapping_lost_pages(const struct mapping *mapping)
{
	return mapping->watched && atomic_load(&mapping->watched->lost_pages);
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
		return error_system(reason, "cannot create a temporary file in TMPDIR, /var/tmp or /tmp");
	*ret_fd = fd;
	return NULL;
}
