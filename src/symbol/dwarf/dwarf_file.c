/* Opening debug information with libdw. Relocatable files (kernel modules) go through libdwfl, which relocates the debug information and
 * gives each section an address of its own. */
#include "symbol/dwarf/dwarf_file.h"

#include "symbol/elf/elf.h"

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Anything but an ELF file that is linked: a module, maybe compressed. */
static bool is_relocatable(int fd)
{
	Elf64_Half type;
	unsigned char head[EI_NIDENT + sizeof(type)];
	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return true;
	memcpy(&type, head + EI_NIDENT, sizeof(type));
	return type == ET_REL || type == ET_REL << 8;
}

static int no_other_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *path, const char *link,
			 GElf_Word crc, char **ret_name)
{
	return -1;
}

static bool open_relocatable(struct dwarf_file *file, const char *path)
{
	static const Dwfl_Callbacks callbacks = {.section_address = dwfl_offline_section_address, .find_debuginfo = no_other_file};
	Dwarf_Addr bias;
	file->dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = file->dwfl ? dwfl_report_offline(file->dwfl, "", path, -1) : NULL;
	if (!module || dwfl_report_end(file->dwfl, NULL, NULL) != 0)
		return false;
	file->elf = dwfl_module_getelf(module, &bias);
	file->dwarf = dwfl_module_getdwarf(module, &bias);
	return file->elf && file->dwarf;
}

void dwarf_file_close(struct dwarf_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	else if (file->dwarf)
		dwarf_end(file->dwarf);
	if (file->fd >= 0)
		close(file->fd);
}

/* libdw inflates everything at once, whatever that takes. */
static bool may_inflate(const char *path)
{
	struct elf_file elf = {0};
	struct error *error = elf_open(path, &elf);
	bool may = !error && elf_may_inflate(&elf, path);
	error_free(error);
	elf_close(&elf);
	return may;
}

bool dwarf_file_open(const char *path, struct dwarf_file *ret)
{
	struct dwarf_file file = {.fd = may_inflate(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1};
	if (file.fd < 0)
		return false;
	bool ok = is_relocatable(file.fd) ? open_relocatable(&file, path) : (file.dwarf = dwarf_begin(file.fd, DWARF_C_READ)) != NULL;
	if (ok)
		*ret = file;
	else
		dwarf_file_close(&file);
	return ok;
}

bool dwarf_file_next_unit(const struct dwarf_file *file, Dwarf_CU **cu, Dwarf_Die *ret)
{
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die, split;

	while (dwarf_get_units(file->dwarf, *cu, cu, &version, &type, &die, &split) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		*ret = type == DW_UT_skeleton && split.addr ? split : die;
		return true;
	}
	return false;
}
