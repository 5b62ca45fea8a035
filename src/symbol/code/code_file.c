/* Code files. Dso addresses are turned into addresses in the file and back, by the kind of file:
 *
 *	mapped file     file offset        ↔ virtual address, by the loadable segments
 *	vmlinux         absolute address   ↔ linked address, moved by KASLR
 *	module          place in memory    ↔ address in its section; calls to elsewhere are relocations
 *	/proc/kcore     absolute address   ↔ the same, moved when the machine was booted since
 *	jitdump         offset in it       ↔ where the code was in memory at first
 */
#include "symbol/code/code_file.h"

#include "arch/arch.h"
#include "base/buildid.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/jitdump.h"
#include "symbol/carried/carried.h"
#include "symbol/debugfile.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/plt.h"
#include "symbol/elf/vdso.h"
#include "symbol/kernel/kcore.h"
#include "symbol/kernel/kernel_image.h"

#include <elf.h>
#include <string.h>

enum code_place { CODE_NONE, CODE_MAPPED, CODE_VMLINUX, CODE_MODULE, CODE_KCORE, CODE_JITDUMP };

struct code_file {
	struct resolver *resolver;
	struct dso *dso;
	enum code_place place;
	struct elf_file elf;	 /* of files */
	uint64_t base;		 /* CODE_VMLINUX, CODE_MODULE: dso address minus address in the file; CODE_KCORE: the other way round */
	uint64_t *layout;	 /* CODE_MODULE: elf_module_layout() */
	struct plt_slots *slots; /* CODE_MAPPED, NULL until first asked for */
	/* CODE_MODULE: those of one section, sorted, and the section with their symbols. */
	VEC(struct elf_relocation) relocations;
	uint32_t relocated_section, relocation_symbols;
	struct kcore kcore;
	uint8_t *buffer;		    /* what was read from kcore */
	const struct carried_file *carried; /* what the recording brought: it is looked at first; or NULL */
};

const char *code_file_path(const struct code_file *file)
{
	if (file->carried)
		return file->carried->code_path ? file->carried->code_path : file->dso->name;
	return file->place == CODE_VMLINUX ? resolver_symtab(file->resolver, file->dso)->path : file->dso->name;
}

const char *code_arch_name(uint16_t machine, bool big_endian)
{
	const struct arch *arch = arch_of_elf(machine, big_endian);
	return arch ? arch->name : "another processor";
}

const char *code_file_arch(const struct code_file *file)
{
	const struct elf_file *elf = &file->elf;
	uint16_t machine = elf->data ? elf->machine : 0;
	if (file->carried)
		return file->carried->code_arch;
	if (file->place == CODE_JITDUMP && !file->dso->jitdump->swap)
		machine = file->dso->jitdump->machine;
	if (!machine)
		return resolver_machine(file->resolver)->arch;
	return code_arch_name(machine, elf->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__));
}

/* ---- opening ---- */

static struct error *no_code(const struct dso *dso, const char *reason)
{
	struct strbuf name = {0};
	text_add_safe(&name, dso->name, strlen(dso->name));
	struct error *error = error_new("no machine code for %s: %s", strbuf_str(&name), reason);
	strbuf_deinit(&name);
	return error;
}

static struct error *no_file(const struct code_file *file)
{
	switch (resolver_source(file->resolver, file->dso)) {
	case SYMBOLS_WRONG_FILE:
		return no_code(file->dso, "the file has changed since the recording (its build-id differs); 'perf buildid-cache -a "
					  "FILE' adds the right one, --symfs gives the directory of copies");
	case SYMBOLS_FORBIDDEN:
		return no_code(file->dso, "no permission to read the file");
	default:
		return no_code(file->dso, "the file does not exist, or its build-id differs; --symfs gives the directory of copies");
	}
}

static struct error *no_kernel(const struct code_file *file)
{
	char id[41];
	const struct buildid *build_id = &file->dso->build_id;
	struct strbuf text = {0};
	strbuf_add_str(&text, "no vmlinux");
	if (build_id->size)
		strbuf_printf(&text, " with build-id %s", buildid_format(build_id, id));
	strbuf_add_str(&text,
		       " was found; give one with -k, or run as root on the recorded machine before it reboots, if it has /proc/kcore");
	struct error *error = no_code(file->dso, strbuf_str(&text));
	strbuf_deinit(&text);
	return error;
}

/* `folder` may be NULL. */
static bool open_memory(struct code_file *file, const char *folder)
{
	cleanup_free char *path = folder ? mem_printf("%s/kcore", folder) : NULL;
	struct error *error = path ? kcore_open(path, &file->kcore) : NULL;
	bool open = path && !error;
	error_free(error);
	return open;
}

/* What was kept of the recorded kernel's code; else the kernel that runs now, if it is the recorded one. */
static bool open_kcore(struct code_file *file)
{
	const struct symbol_options *options = resolver_options(file->resolver);
	const struct machine *machine = resolver_machine(file->resolver);
	uint64_t moved = 0;
	cleanup_free char *copy = kernel_code_copy(options, machine);
	bool kept = open_memory(file, copy);
	bool running = !kept && kernel_is_running(options, machine, &moved) && (!moved || file->dso->kind == DSO_KERNEL);
	if (!kept && !(running && open_memory(file, options->proc ? options->proc : "/proc")))
		return false;
	file->place = CODE_KCORE;
	file->base = moved;
	if (file->dso->kind != DSO_KERNEL)
		file->base = file->dso->text_start - kernel_module_base(machine, file->dso);
	return true;
}

/* The vmlinux that the symbols are from: they, and not the list of the kernel's symbols, bring a relocation. */
static bool open_vmlinux(struct code_file *file)
{
	const struct symtab *symtab = resolver_symtab(file->resolver, file->dso);
	if (!symtab->path || !symtab->segment_count)
		return false;
	struct error *error = elf_open(symtab->path, &file->elf);
	if (error) {
		error_free(error);
		return false;
	}
	file->place = CODE_VMLINUX;
	file->base = 0 - symtab->segments[0].vaddr;
	return true;
}

static bool open_module(struct code_file *file)
{
	if (file->dso->name[0] != '/' || !runtime_file_open(resolver_options(file->resolver), file->dso, &file->elf))
		return false;
	file->place = CODE_MODULE;
	file->base = kernel_module_base(resolver_machine(file->resolver), file->dso);
	file->layout = elf_module_layout(&file->elf);
	return true;
}

static struct error *open_kind(struct code_file *file)
{
	const struct symbol_options *options = resolver_options(file->resolver);
	resolver_symtab(file->resolver, file->dso); /* so that resolver_source() knows */
	file->place = CODE_MAPPED;
	switch (file->dso->kind) {
	case DSO_KERNEL:
		return open_vmlinux(file) || open_kcore(file) ? NULL : no_kernel(file);
	case DSO_GUEST_KERNEL:
		return open_vmlinux(file)
			       ? NULL
			       : no_code(file->dso, "--guestvmlinux names the guest's kernel image; where the guest was booted with KASLR, "
						    "add --guestkallsyms");
	case DSO_GUEST_MODULE:
		return no_code(file->dso, "code of guests' modules can't be read from here; record and annotate inside of the guest");
	case DSO_KERNEL_MODULE:
		return open_module(file) || open_kcore(file) ? NULL : no_file(file);
	case DSO_BPF:
	case DSO_KSYMBOL:
		return open_kcore(file) ? NULL
					: no_code(file->dso, "it exists only in the kernel, which is not the recorded one, or "
							     "/proc/kcore cannot be read (root can)");
	case DSO_VDSO:
		if (options->same_machine && vdso_open(&file->dso->build_id, &file->elf))
			return NULL;
		break;
	case DSO_JITDUMP:
		file->place = CODE_JITDUMP;
		return NULL;
	case DSO_ANON:
		return no_code(file->dso, "a perf map contains names of JIT-compiled code but not the code; a jitdump contains both");
	default:
		break;
	}
	return runtime_file_open(options, file->dso, &file->elf) ? NULL : no_file(file);
}

struct error *code_file_open(struct resolver *resolver, struct dso *dso, struct code_file **ret)
{
	struct code_file *file = mem_zalloc(sizeof(*file));
	const struct carried_file *carried = carried_find(resolver_options(resolver)->carried, dso);
	*file = (struct code_file){.resolver = resolver, .dso = dso, .carried = carried && carried->code_count ? carried : NULL};
	struct error *error = open_kind(file);
	if (error && file->carried) {
		file->place = CODE_NONE;
		error_free(error);
		error = NULL;
	}
	if (error) {
		code_file_close(file);
		return error;
	}
	*ret = file;
	return NULL;
}

void code_file_close(struct code_file *file)
{
	if (!file)
		return;
	plt_slots_destroy(file->slots);
	vec_deinit(&file->relocations);
	kcore_close(&file->kcore);
	elf_close(&file->elf);
	free(file->layout);
	free(file->buffer);
	free(file);
}

/* ---- bytes ---- */

/* The section with code at a virtual address, 0 = none. */
static uint32_t section_at(const struct elf_file *elf, uint64_t vaddr)
{
	for (uint32_t i = 1; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		if ((section->flags & SHF_ALLOC) && section->type != SHT_NOBITS && vaddr >= section->addr &&
		    vaddr - section->addr < section->size)
			return i;
	}
	return 0;
}

static bool give(const struct elf_file *elf, uint64_t offset, uint64_t address, uint64_t size, uint32_t section, struct code_range *ret)
{
	if (offset >= elf->size)
		return false;
	if (size > elf->size - offset)
		size = elf->size - offset;
	*ret = (struct code_range){.bytes = elf->data + offset, .size = size, .address = address, .section_index = section};
	if (section)
		ret->section = elf->sections[section].name;
	return true;
}

static bool read_mapped(const struct elf_file *elf, uint64_t offset, uint64_t size, struct code_range *ret)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (segment->type != PT_LOAD || offset < segment->offset || offset - segment->offset >= segment->filesz)
			continue;
		uint64_t address = offset - segment->offset + segment->vaddr;
		return give(elf, offset, address, size, section_at(elf, address), ret);
	}
	return false;
}

static bool read_linked(const struct elf_file *elf, uint64_t address, uint64_t size, struct code_range *ret)
{
	uint32_t section = section_at(elf, address);
	const struct elf_segment *segment = elf_segment_of(elf, address);
	if (section)
		return give(elf, elf->sections[section].offset + (address - elf->sections[section].addr), address, size, section, ret);
	return segment && give(elf, segment->offset + (address - segment->vaddr), address, size, 0, ret);
}

static bool read_module(const struct code_file *file, uint64_t place, uint64_t size, struct code_range *ret)
{
	const struct elf_file *elf = &file->elf;
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		if (file->layout[i] == ELF_NOT_PLACED || place < file->layout[i] || place - file->layout[i] >= section->size)
			continue;
		uint64_t address = place - file->layout[i];
		return section->type != SHT_NOBITS && give(elf, section->offset + address, address, size, i, ret);
	}
	return false;
}

enum { KCORE_READ_MAX = 1 << 24 };

static bool read_kcore(struct code_file *file, uint64_t address, uint64_t size, struct code_range *ret)
{
	if (size > KCORE_READ_MAX)
		return false;
	file->buffer = mem_resize(file->buffer, size + 1);
	if (!kcore_read(&file->kcore, address, file->buffer, size))
		return false;
	*ret = (struct code_range){.bytes = file->buffer, .size = size, .address = address};
	return true;
}

static bool read_jitdump(const struct jitdump *dump, uint64_t offset, uint64_t size, struct code_range *ret)
{
	const struct jitdump_code *code = jitdump_find(dump, offset);
	if (!code)
		return false;
	uint64_t distance = offset - code->offset, left = code->size - distance;
	*ret = (struct code_range){
		.bytes = dump->mapping.data + offset, .size = size < left ? size : left, .address = code->address + distance};
	return true;
}

static bool read_carried(const struct carried_code *code, uint64_t dso_addr, uint64_t size, struct code_range *ret)
{
	uint64_t distance = dso_addr - code->dso_addr, left = code->size - distance;
	*ret = (struct code_range){
		.bytes = code->bytes + distance,
		.size = size < left ? size : left,
		.address = code->address + distance,
		.section = code->section,
		.section_index = code->section_index,
		.carried = code,
	};
	return true;
}

bool code_file_read(struct code_file *file, uint64_t dso_addr, uint64_t size, struct code_range *ret)
{
	const struct carried_code *carried = carried_code_at(file->carried, dso_addr);
	if (carried)
		return read_carried(carried, dso_addr, size, ret);
	switch (file->place) {
	case CODE_NONE:
		return false;
	case CODE_MAPPED:
		return read_mapped(&file->elf, dso_addr, size, ret);
	case CODE_VMLINUX:
		return read_linked(&file->elf, dso_addr - file->base, size, ret);
	case CODE_MODULE:
		return read_module(file, dso_addr - file->base, size, ret);
	case CODE_JITDUMP:
		return read_jitdump(file->dso->jitdump, dso_addr, size, ret);
	default:
		return read_kcore(file, dso_addr + file->base, size, ret);
	}
}

/* ---- names ---- */

/* The newest code that was generated at an address in memory. */
static bool jit_address(const struct jitdump *dump, uint64_t address, uint64_t *ret)
{
	for (size_t i = dump->codes.len; i-- > 0;) {
		const struct jitdump_code *code = &dump->codes.data[i];
		if (address < code->address || address - code->address >= code->size)
			continue;
		*ret = code->offset + (address - code->address);
		return true;
	}
	return false;
}

/* Back from an address to the dso's; false where the file has nothing. */
static bool dso_address(const struct code_file *file, const struct code_range *range, uint64_t address, uint64_t *ret)
{
	const struct elf_file *elf = &file->elf;
	const struct elf_segment *segment;
	switch (file->place) {
	case CODE_MAPPED:
		segment = elf_segment_of(elf, address);
		if (!segment)
			return false;
		*ret = address - segment->vaddr + segment->offset;
		return true;
	case CODE_VMLINUX:
		*ret = address + file->base;
		return true;
	case CODE_MODULE:
		if (address >= elf->sections[range->section_index].size)
			return false;
		*ret = address + file->layout[range->section_index] + file->base;
		return true;
	case CODE_JITDUMP:
		return jit_address(file->dso->jitdump, address, ret);
	default:
		*ret = address - file->base;
		return true;
	}
}

/* NULL where there is none at the address. */
static const struct plt_slots *slots_at(struct code_file *file, uint64_t address)
{
	uint32_t section = file->place == CODE_MAPPED ? section_at(&file->elf, address) : 0;
	if (!section || !str_starts_with(file->elf.sections[section].name, ".got"))
		return NULL;
	if (!file->slots)
		file->slots = plt_slots_create(&file->elf);
	return file->slots;
}

bool code_file_slot(struct code_file *file, uint64_t address, uint64_t *ret)
{
	const struct plt_slots *slots = slots_at(file, address);
	return slots && plt_slot_target(slots, address, ret);
}

static bool slot_name(struct code_file *file, uint64_t address, struct code_name *ret)
{
	const struct plt_slots *slots = slots_at(file, address);
	if (!slots)
		return false;
	const char *name = plt_slot_name(slots, address);
	if (name)
		*ret = (struct code_name){.name = name, .slot = true};
	return name != NULL;
}

bool code_file_name(struct code_file *file, const struct code_range *range, uint64_t address, struct code_name *ret)
{
	uint64_t at, start;
	const struct carried_name *carried = range->carried ? carried_code_name(range->carried, address) : NULL;
	if (carried)
		*ret = (struct code_name){.name = carried->name, .offset = carried->offset, .slot = carried->slot};
	if (range->carried)
		return carried != NULL;
	if (slot_name(file, address, ret))
		return true;
	if (!dso_address(file, range, address, &at))
		return false;
	const struct symbol *symbol = resolver_symbol(file->resolver, file->dso, at);
	if (symbol)
		start = symbol->start;
	else if (file->dso->kernel && file->place != CODE_MODULE)
		symbol = resolver_kernel_symbol(file->resolver, at, &start);
	if (!symbol)
		return false;
	*ret = (struct code_name){.name = symbol->name, .offset = at - start};
	return true;
}

static int compare_relocations(const void *a, const void *b)
{
	const struct elf_relocation *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Those of one section of a module, sorted. */
static void gather_relocations(struct code_file *file, uint32_t section_index)
{
	const struct elf_file *elf = &file->elf;
	struct elf_relocation relocation;
	file->relocated_section = section_index;
	file->relocations.len = 0;
	for (uint32_t i = 1; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		if ((section->type != SHT_RELA && section->type != SHT_REL) || section->info != section_index)
			continue;
		file->relocation_symbols = section->link < elf->section_count ? section->link : 0;
		for (uint64_t k = 0; elf_relocation_at(elf, section, k, &relocation); k++)
			vec_push(&file->relocations, relocation);
	}
	if (file->relocations.len)
		qsort(file->relocations.data, file->relocations.len, sizeof(relocation), compare_relocations);
}

/* The first that is not before `address`, or NULL. */
static const struct elf_relocation *relocation_from(const struct code_file *file, uint64_t address)
{
	size_t first = partition_point(i, file->relocations.len, file->relocations.data[i].offset < address);
	return first < file->relocations.len ? &file->relocations.data[first] : NULL;
}

bool code_file_relocation(struct code_file *file, const struct code_range *range, uint64_t address, unsigned int size,
			  struct code_name *ret)
{
	const struct elf_file *elf = &file->elf;
	struct elf_symbol symbol;
	const struct carried_name *carried = range->carried ? carried_code_relocation(range->carried, address, size) : NULL;
	if (carried)
		*ret = (struct code_name){.name = carried->name};
	if (range->carried || file->place != CODE_MODULE)
		return carried != NULL;
	if (file->relocated_section != range->section_index)
		gather_relocations(file, range->section_index);
	const struct elf_relocation *found = relocation_from(file, address);
	if (!found || found->offset - address >= size ||
	    !elf_symbol_at(elf, &elf->sections[file->relocation_symbols], found->symbol, &symbol))
		return false;
	bool of_section = !*symbol.name && symbol.section < elf->section_count;
	*ret = (struct code_name){.name = of_section ? elf->sections[symbol.section].name : symbol.name};
	return *ret->name != '\0';
}
