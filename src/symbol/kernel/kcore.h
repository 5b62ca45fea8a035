/* The memory of the running kernel as /proc/kcore shows it: code as it is, patched at boot and since, with modules and BPF programs. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_segment;

/* All zero is a closed one. */
struct kcore {
	int fd; /* valid where there are segments */
	struct elf_segment *segments;
	uint32_t segment_count;
	uint16_t machine;  /* EM_* */
	uint8_t ident[16]; /* e_ident */
};

/* A file like /proc/kcore: an ELF core whose segments are pieces of memory. It can't be mapped, and its size means nothing. */
struct error *kcore_open(const char *path, struct kcore *ret);
void kcore_close(struct kcore *kcore);
/* Copies memory from `address` on; false unless all of it is there. */
bool kcore_read(const struct kcore *kcore, uint64_t address, void *buffer, size_t size);
