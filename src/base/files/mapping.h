/* A whole file, mapped read-only. Others may write to it and cut it short at any moment, and neither kills us: pages that went away read as
 * zero (a SIGBUS handler, installed on first use, puts zero pages in their place), and MAPPING_GUARD zero bytes follow the mapping. So a
 * 16-bit size that was checked and has changed since leads no further than there. What is used as a count or a size after it was checked is
 * read by mapping_u64() and its kin. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
	const uint8_t *data; /* NULL when the file is empty */
	size_t size;
	struct watched_mapping *watched; /* private */
};

/* Bytes behind a mapping that can be read and are zero: more than the largest record. */
enum { MAPPING_GUARD = 64 << 10 };

struct error *mapping_open(const char *path, struct mapping *ret);
/* Maps `fd`, which may be closed afterwards. */
struct error *mapping_open_fd(int fd, const char *name, struct mapping *ret);
void mapping_close(struct mapping *mapping);
/* Whether the file became shorter since it was mapped, and a page that went away was read. May be asked while other threads read. */
bool mapping_lost_pages(const struct mapping *mapping);
/* Whole pages within `size` bytes at `data`, which lie in a mapping, leave this process's memory; whoever reads them again gets them back
 * from the file. For readers that go through large files once. */
void mapping_forget(const uint8_t *data, size_t size);

/* The same of all that is mapped by these functions: for who runs for days, and looks into large files now and then. Other threads may
 * open and close mappings, and read them, meanwhile. */
void mapping_forget_all(void);

/* Maps the pages around `size` bytes at `data`, which lie in a mapping, so that touching them costs no fault. It asks for one page of each
 * group of those in memory that the kernel maps together: to ask for all of them makes it look at each, for a third more time. Where the
 * file isn't in memory it is read, and a group may cost a fault all the same. False: not possible here (Linux before 5.14, or the file
 * became shorter). */
bool mapping_populate(const uint8_t *data, size_t size);

/* A value in a mapping, read once: the compiler must not read it again after it was checked. */
static inline uint64_t mapping_u64(const void *at)
{
	return *(const volatile uint64_t *)at;
}

static inline uint32_t mapping_u32(const void *at)
{
	return *(const volatile uint32_t *)at;
}

static inline uint16_t mapping_u16(const void *at)
{
	return *(const volatile uint16_t *)at;
}

/* A nameless file that vanishes when closed, in TMPDIR, /var/tmp or /tmp; what does not fit in memory is put there. */
struct error *mapping_create_temporary(int *ret_fd);
