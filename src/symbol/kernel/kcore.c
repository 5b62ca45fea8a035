/* /proc/kcore. Only its ELF header and program headers are read at first: the segments are the memory itself, up to the size of the address
 * space. */
#include "symbol/kernel/kcore.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "symbol/elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool read_at(int fd, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;
	for (ssize_t n; done < size; done += (size_t)n) {
		n = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

static bool is_core(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_CORE &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

struct error *kcore_open(const char *path, struct kcore *ret)
{
	Elf64_Ehdr header;
	/* In a recording's directory it may be a pipe, to which nobody writes. */
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_system(errno, "%s", path);
	if (!read_at(fd, 0, &header, sizeof(header)) || !is_core(&header))
		return error_new_kind(ERROR_FORMAT, "%s is not an image of the kernel's memory", path);
	cleanup_free Elf64_Phdr *headers = mem_alloc_array(header.e_phnum, sizeof(*headers));
	if (!read_at(fd, header.e_phoff, headers, header.e_phnum * sizeof(*headers)))
		return error_new_kind(ERROR_FORMAT, "%s: cannot read its segment table", path);
	struct elf_segment *segments = mem_alloc_array(header.e_phnum, sizeof(*segments));
	uint32_t count = 0;
	for (uint32_t i = 0; i < header.e_phnum; i++)
		if (headers[i].p_type == PT_LOAD)
			segments[count++] = (struct elf_segment){.type = PT_LOAD,
								 .flags = headers[i].p_flags,
								 .offset = headers[i].p_offset,
								 .vaddr = headers[i].p_vaddr,
								 .filesz = headers[i].p_filesz,
								 .memsz = headers[i].p_memsz};
	*ret = (struct kcore){.fd = take_fd(fd), .segments = segments, .segment_count = count, .machine = header.e_machine};
	memcpy(ret->ident, header.e_ident, sizeof(ret->ident));
	return NULL;
}

void kcore_close(struct kcore *kcore)
{
	if (!kcore->segments)
		return;
	close(kcore->fd);
	free(kcore->segments);
	*kcore = (struct kcore){0};
}

bool kcore_read(const struct kcore *kcore, uint64_t address, void *buffer, size_t size)
{
	for (uint32_t i = 0; i < kcore->segment_count; i++) {
		const struct elf_segment *segment = &kcore->segments[i];
		uint64_t offset = address - segment->vaddr;
		if (address >= segment->vaddr && offset < segment->filesz && size <= segment->filesz - offset)
			return read_at(kcore->fd, segment->offset + offset, buffer, size);
	}
	return false;
}
