/* Checks of reading: names of events, formats in sysfs and tracefs, symbols of files, of the kernel and of generated code. */
#include "cmd/test/test.h"

#include "base/cleanup.h"
#include "event/catalog.h"
#include "event/parse/parse.h"
#include "event/tracepoint/tracepoint.h"
#include "kernel/measure.h"
#include "kernel/tracing/tracefs.h"
#include "symbol/code/code_file.h"
#include "symbol/code/disasm.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/elf/elf.h"
#include "symbol/jit.h"
#include "symbol/kernel/kallsyms.h"
#include "symbol/kernel/kernel_image.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRONG_SHARE = 100 };

/* ---- events ---- */

static void event_names(struct check *check)
{
	static const struct {
		const char *text;
		uint32_t type;
		uint64_t config;
		bool exclude_kernel;
	} rows[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
		{"instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true},
		{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false},
		{"minor-faults:u", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, true},
		/* cache, operation << 8, result << 16 */
		{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 1 << 16, false},
		{"dTLB-stores", PERF_TYPE_HW_CACHE, 3 | 1 << 8, false},
		{"mem:0x1000:w", PERF_TYPE_BREAKPOINT, 0, false},
	};
	static const char *const wrong[] = {"cycels", "cycles:q", "{cycles", "mem:"};
	struct event_catalog *catalog = event_catalog_create("");
	struct event_list list = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error *error = event_parse(&list, catalog, rows[i].text);
		if (error) {
			check_fail(check, "%s: %s", rows[i].text, error_message(error));
			error_free(error);
			continue;
		}
		const struct event_attr *attr = &(*vec_last(&list.events))->attr;
		check_log(check, "%s: type %u, config 0x%llx", rows[i].text, attr->type, (unsigned long long)attr->config);
		if (attr->type != rows[i].type || attr->config != rows[i].config || attr->exclude_kernel != rows[i].exclude_kernel)
			check_fail(check, "%s is read incorrectly", rows[i].text);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error *error = event_parse(&list, catalog, wrong[i]);
		if (error)
			error_free(error);
		else
			check_fail(check, "%s is accepted", wrong[i]);
	}
	event_list_deinit(&list);
	event_catalog_destroy(catalog);
}

/* Every named event of every PMU in sysfs can be written as it is listed. */
static void pmu_events(struct check *check)
{
	struct event_catalog *catalog = event_catalog_create("");
	struct pmu_list *pmus = event_catalog_pmus(catalog);
	size_t count = 0;

	for (size_t i = 0; i < pmus->pmus.len; i++) {
		struct pmu *pmu = pmus->pmus.data[i];
		pmu_load(pmus, pmu);
		check_log(check, "%s: type %u, %zu formats, %zu events", pmu->name, pmu->type, pmu->formats.len, pmu->aliases.len);
		for (size_t k = 0; k < pmu->aliases.len; k++, count++) {
			struct event_list list = {0};
			cleanup_free char *text = mem_printf("%s/%s/", pmu->name, pmu->aliases.data[k].name);
			struct error *error = event_parse(&list, catalog, text);
			if (error)
				check_fail(check, "%s: %s", text, error_message(error));
			if (error)
				error_free(error);
			event_list_deinit(&list);
		}
	}
	if (!pmus->pmus.len)
		check_skip(check, "no PMU in /sys/bus/event_source/devices");
	check_log(check, "%zu events", count);
	event_catalog_destroy(catalog);
}

/* Fields that every record of the kernel begins with, and all within the record. */
static size_t look_at_fields(struct check *check, const struct tracepoint *tracepoint)
{
	if (tracepoint->field_count < 4 || !tracepoint_field(tracepoint, "common_pid"))
		check_fail(check, "%s:%s has no common fields", tracepoint->system, tracepoint->name);
	return tracepoint->field_count;
}

struct formats_seen {
	struct tracepoint_formats *formats;
	size_t count, fields;
};

static void add_formats(struct check *check, struct formats_seen *seen, const char *system)
{
	const char *tracefs = check->probes->tracefs;
	struct tracefs_names events = {0};
	struct error *error = tracefs_events(tracefs, system, &events);

	for (size_t i = 0; !error && i < events.names.len; i++) {
		struct strbuf text = {0};
		error = tracefs_event_format(tracefs, system, events.names.data[i], &text);
		if (!error)
			error = tracepoint_formats_add(seen->formats, system, text.data, text.len);
		if (!error)
			seen->fields += look_at_fields(check, tracepoint_by_index(seen->formats, seen->count++));
		else
			check_fail(check, "%s:%s: %s", system, events.names.data[i], error_message(error));
		if (error)
			error_free(take_pointer(error));
		strbuf_deinit(&text);
	}
	if (error)
		error_free(error);
	tracefs_names_deinit(&events);
}

/* All formats of this kernel are understood. */
static void tracepoint_format(struct check *check)
{
	struct tracefs_names systems = {0};
	struct formats_seen seen = {.formats = tracepoint_formats_create()};

	if (check_has(check, "tracefs")) {
		error_free(tracefs_systems(check->probes->tracefs, &systems));
		for (size_t i = 0; i < systems.names.len; i++)
			if (strcmp(systems.names.data[i], "ftrace") != 0)
				add_formats(check, &seen, systems.names.data[i]);
		check_range(check, "formats", seen.count, 1, SIZE_MAX);
	}
	check_log(check, "%zu fields", seen.fields);
	tracefs_names_deinit(&systems);
	tracepoint_formats_destroy(seen.formats);
}

/* A record of a system call is read by its format: it is the one we made. */
static void tracepoint_fields(struct check *check)
{
	struct tracepoint_formats *formats = tracepoint_formats_create();
	struct strbuf text = {0}, records = {0};
	size_t at = 0, calls = 1;
	uint32_t size;
	const char *tracefs = check->probes->tracefs;

	if (!check_has(check, "tracepoints"))
		goto out;
	struct error *error = tracefs_event_format(tracefs, "syscalls", "sys_enter_getppid", &text);
	if (!error)
		error = tracepoint_formats_add(formats, "syscalls", text.data, text.len);
	if (error) {
		check_skip(check, "%s", error_message(error));
		error_free(error);
		goto out;
	}
	const struct tracepoint *tracepoint = tracepoint_by_name(formats, "syscalls", "sys_enter_getppid");
	const struct tracepoint_field *number = tracepoint_field(tracepoint, "__syscall_nr"),
				      *pid = tracepoint_field(tracepoint, "common_pid");
	struct perf_event_attr attr = measure_attr(PERF_TYPE_TRACEPOINT, (uint64_t)tracepoint->id, check_is_ok(check, "kernel-code"));
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	int status = measure_records(&attr, -1, 8, measure_call_getppid, &calls, &records);
	if (!check_opened(check, status, &attr, "syscalls:sys_enter_getppid"))
		goto out;
	const struct perf_event_header *sample = measure_find(&records, &at, PERF_RECORD_SAMPLE);
	if (!sample || !number || !pid) {
		check_fail(check, sample ? "the format lacks fields" : "no sample arrived");
		goto out;
	}
	memcpy(&size, sample + 1, sizeof(size));
	const char *raw = (const char *)(sample + 1) + sizeof(size);
	check_equal(check, "number of the system call", tracepoint_read(number, raw, size), SYS_getppid);
	check_equal(check, "pid", tracepoint_read(pid, raw, size), (uint64_t)getpid());
out:
	strbuf_deinit(&text);
	strbuf_deinit(&records);
	tracepoint_formats_destroy(formats);
}

/* ---- symbols ---- */

static struct dso own_dso(char path[4096])
{
	ssize_t length = readlink("/proc/self/exe", path, 4095);

	path[length > 0 ? length : 0] = '\0';
	return (struct dso){.kind = DSO_FILE, .name = path, .pid = (uint32_t)getpid()};
}

/* One function, from its first byte to its last: each byte belongs to an instruction that the processor has. */
static bool function_is_code(struct check *check, struct disasm *disasm, const struct elf_symbol *symbol, struct code code)
{
	struct instruction instruction;
	uint64_t end = symbol->value + code.size, at = symbol->value;

	while (disasm_next(disasm, &code, &instruction)) {
		if (instruction.kind == INSTRUCTION_BAD) {
			check_log(check, "%s+0x%llx: not an instruction", symbol->name, (unsigned long long)(at - symbol->value));
			return false;
		}
		at += instruction.size;
	}
	return at == end;
}

/* Functions of a table of symbols whose bytes the file has. */
static void look_at_functions(struct check *check, const struct elf_file *file, const struct elf_section *table, struct disasm *disasm,
			      size_t *functions, size_t *wrong)
{
	struct elf_symbol symbol;

	for (uint64_t i = 0; i < elf_symbol_count(file, table); i++) {
		if (!elf_symbol_at(file, table, i, &symbol) || ELF64_ST_TYPE(symbol.info) != STT_FUNC || !symbol.size ||
		    symbol.section == SHN_UNDEF || symbol.section >= file->section_count)
			continue;
		const struct elf_section *section = &file->sections[symbol.section];
		const uint8_t *bytes = elf_section_data(file, section);
		uint64_t offset = symbol.value - (file->type == ET_REL ? 0 : section->addr);
		if (!bytes || !(section->flags & SHF_EXECINSTR) || offset > section->size || section->size - offset < symbol.size)
			continue;
		++*functions;
		*wrong += !function_is_code(check, disasm, &symbol,
					    (struct code){.bytes = bytes + offset, .size = symbol.size, .address = symbol.value});
	}
}

/* The code of a file that somebody names (--dso). Hand-written code has data between its instructions: few functions may be wrong. */
static void object_code_of_file(struct check *check, const char *path)
{
	struct elf_file file = {0};
	struct disasm *disasm = NULL;
	size_t functions = 0, wrong = 0;
	struct error *error = elf_open(path, &file);

	if (!error)
		error = disasm_open(code_arch_name(file.machine, file.swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)), DISASM_ATT,
				    &disasm);
	if (error) {
		if (error_kind(error) == ERROR_UNSUPPORTED)
			check_skip(check, "%s", error_message(error));
		else
			check_fail(check, "%s", error_message(error));
		error_free(error);
		elf_close(&file);
		return;
	}
	const struct elf_section *table = elf_section(&file, ".symtab");
	if (!table)
		table = elf_section(&file, ".dynsym");
	if (table)
		look_at_functions(check, &file, table, disasm, &functions, &wrong);
	check_log(check, "%s: %zu functions, %zu do not disassemble completely", path, functions, wrong);
	if (!functions)
		check_skip(check, "%s has no symbols of functions with their code", path);
	else if (wrong * WRONG_SHARE > functions)
		check_fail(check, "%zu of %zu functions do not disassemble completely", wrong, functions);
	disasm_close(disasm);
	elf_close(&file);
}

/* The bytes of our own code in memory are those of the file: what is disassembled is what runs. */
static void object_code(struct check *check)
{
	const struct symbol_options options = {.same_machine = true};
	char path[4096];
	const struct dso dso = own_dso(path);
	struct elf_file file = {0};
	Elf64_Addr address = (uintptr_t)object_code;
	extern const char __executable_start[];

	if (check->dso) {
		object_code_of_file(check, check->dso);
		return;
	}
	if (!runtime_file_open(&options, &dso, &file)) {
		check_fail(check, "cannot open %s", path);
		return;
	}
	uint64_t vaddr = file.type == ET_EXEC ? address : address - (uintptr_t)__executable_start;
	const struct elf_segment *segment = elf_segment_of(&file, vaddr);
	uint64_t offset = segment ? vaddr - segment->vaddr + segment->offset : UINT64_MAX;
	check_log(check, "%s: address 0x%llx, offset 0x%llx", path, (unsigned long long)address, (unsigned long long)offset);
	if (offset > file.size || file.size - offset < 256)
		check_fail(check, "the code was not found in the file");
	else if (memcmp(file.data + offset, (const void *)(uintptr_t)object_code, 256) != 0)
		check_fail(check, "the code in memory differs from the file's");
	elf_close(&file);
}

static void kernel_symbols(struct check *check)
{
	struct kallsyms kallsyms = {0};

	if (!check_has(check, "kernel-addresses"))
		return;
	struct error *error = kallsyms_open("/proc/kallsyms", &kallsyms);
	if (error) {
		check_fail(check, "%s", error_message(error));
		error_free(error);
		return;
	}
	check_range(check, "symbols", kallsyms.settled.symbols.len, 1000, UINT64_MAX);
	check_log(check, "%zu modules", kallsyms.modules.len - 1);
	if (kallsyms.restricted || !kallsyms.stext || kallsyms.stext >= kallsyms.etext)
		check_fail(check, "the limits of the kernel's text are not known");
	for (size_t i = 1; i < kallsyms.settled.symbols.len; i++)
		if (kallsyms.settled.symbols.data[i].start < kallsyms.settled.symbols.data[i - 1].start) {
			check_fail(check, "the symbols are not sorted");
			break;
		}
	kallsyms_close(&kallsyms);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The addresses of all symbols, sorted; that of _stext in *ret_stext. By addresses, since of several names of one address kallsyms keeps
 * one. */
static uint64_t *sorted_addresses(const struct elf_file *file, size_t *ret_count, uint64_t *ret_stext)
{
	const struct elf_section *table = elf_section(file, ".symtab");
	VEC(uint64_t) addresses = {0};
	struct elf_symbol symbol;

	for (uint64_t i = 0; table && elf_symbol_at(file, table, i, &symbol); i++) {
		vec_push(&addresses, symbol.value);
		if (!strcmp(symbol.name, "_stext"))
			*ret_stext = symbol.value;
	}
	if (addresses.len)
		qsort(addresses.data, addresses.len, sizeof(*addresses.data), compare_u64);
	*ret_count = addresses.len;
	return addresses.data;
}

/* Each function of kallsyms is in the kernel's file, moved by one distance (KASLR). */
static void compare_symbols(struct check *check, const struct elf_file *file, const struct kallsyms *kallsyms)
{
	size_t count = 0, compared = 0, wrong = 0;
	uint64_t stext = 0;
	cleanup_free uint64_t *addresses = sorted_addresses(file, &count, &stext);

	for (size_t i = 0; count && i < kallsyms->settled.symbols.len; i++) {
		const struct symbol *symbol = &kallsyms->settled.symbols.data[i];
		uint64_t address = symbol->start - kallsyms->stext + stext;
		if (symbol->index || symbol->start < kallsyms->stext || symbol->start >= kallsyms->etext)
			continue;
		compared++;
		wrong += !bsearch(&address, addresses, count, sizeof(*addresses), compare_u64);
	}
	check_log(check, "%zu functions compared, %zu not found", compared, wrong);
	if (!compared || wrong * WRONG_SHARE > compared)
		check_fail(check, "%zu of %zu functions of kallsyms are not in vmlinux", wrong, compared);
}

static void vmlinux_matches(struct check *check)
{
	const struct symbol_options options = {0};
	cleanup_free char *path = kernel_image_running(&options, false);
	struct elf_file file = {0};
	struct kallsyms kallsyms = {0};

	if (!path) {
		check_skip(check, "no vmlinux of this kernel");
		return;
	}
	if (!check_has(check, "kernel-addresses"))
		return;
	check_log(check, "%s", path);
	struct error *error = elf_open(path, &file);
	if (!error)
		error = kallsyms_open("/proc/kallsyms", &kallsyms);
	if (!error) {
		compare_symbols(check, &file, &kallsyms);
	} else {
		check_fail(check, "%s", error_message(error));
		error_free(error);
	}
	kallsyms_close(&kallsyms);
	elf_close(&file);
}

static void demangling(struct check *check)
{
	static const char *const names[][2] = {
		{"_ZN4llvm9PassTimer4stopEv", "llvm::PassTimer::stop"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cleanup_free char *readable = demangle(names[i][0], DEMANGLE_LIMIT);
		check_log(check, "%s: %s", names[i][0], readable ? readable : "-");
		if (!readable || strcmp(readable, names[i][1]) != 0)
			check_fail(check, "%s becomes '%s'", names[i][0], readable ? readable : "");
	}
	if (demangle_candidate("main"))
		check_fail(check, "'main' is taken for a mangled name");
}

/* A map of our own pid in /tmp, as run-time compilers write it. */
static void perf_map(struct check *check)
{
	const struct symbol_options options = {.same_machine = true};
	const struct dso dso = {.kind = DSO_ANON, .name = "//anon", .pid = (uint32_t)getpid()};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *file = fopen(path, "wxe");
	if (!file) {
		check_skip(check, "cannot write %s", path);
		return;
	}
	fputs("1000 10 first function\n1010 20 second\n", file);
	fclose(file);
	struct symtab *symtab = jit_load(&options, &dso);
	const struct symbol *first = symtab_find(symtab, 0x100f), *second = symtab_find(symtab, 0x1010);
	if (!first || !second || strcmp(first->name, "first function") != 0 || strcmp(second->name, "second") != 0 ||
	    symtab_find(symtab, 0x1030))
		check_fail(check, "the names differ from the map");
	symtab_destroy(symtab);
	unlink(path);
}

const struct check_row name_checks[] = {
	{"vmlinux symtab matches kallsyms", vmlinux_matches},
	{"Kernel symbols", kernel_symbols},
	{"Parse event definition strings", event_names},
	{"Parsing of all PMU events from sysfs", pmu_events},
	{"Formats of all tracepoints", tracepoint_format},
	{"Fields of a system call's record", tracepoint_fields},
	{"Object code reading", object_code},
	{"Demangling", demangling},
	{"Names of generated code", perf_map},
	{NULL, NULL},
};
