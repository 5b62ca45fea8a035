/* Address → frame. The machine says which map covers an address; the map's dso has a symbol table, loaded when it is first needed.
 *
 * Loading: many threads may ask for the same table at once. One of a few locks, chosen by the dso's number, is held while a table loads, so
 * different files load in parallel and each only once; the finished table is published by a store with release order and never changes.
 */
#include "symbol/resolve.h"

#include "base/mem.h"
#include "symbol/carried/carried.h"
#include "symbol/debugfile.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/minidebug.h"
#include "symbol/elf/vdso.h"
#include "symbol/jit.h"
#include "symbol/kernel/guest_kernel.h"
#include "symbol/kernel/kernel_image.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LOAD_LOCKS = 64 };

struct resolver {
	struct machine *machine;
	struct symbol_options options;
	struct kernel_symbols kernel;
	pthread_mutex_t load_locks[LOAD_LOCKS];
	void (*_Atomic destroy_attachment)(void *attachment);
	uint64_t let_go; /* attachments so far */
};

struct resolver *resolver_create(struct machine *machine, const struct symbol_options *options)
{
	struct resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->machine = machine;
	resolver->options = *options;
	kernel_symbols_init(&resolver->kernel);
	for (size_t i = 0; i < LOAD_LOCKS; i++)
		pthread_mutex_init(&resolver->load_locks[i], NULL);
	return resolver;
}

static void drop_attachment(struct resolver *resolver, struct dso *dso)
{
	void *attachment = atomic_exchange(&dso->unwind, NULL);
	if (!attachment)
		return;
	resolver->let_go++;
	atomic_load (&resolver->destroy_attachment)(attachment);
}

static void drop(struct resolver *resolver, struct dso *dso)
{
	drop_attachment(resolver, dso);
	symtab_destroy(atomic_exchange(&dso->symtab, NULL));
}

void resolver_forget(struct resolver *resolver)
{
	const struct machine *machine = resolver->machine;
	machine_each_dso (dso, machine)
		if (!machine_saw_map_lately(machine, machine->generation, dso))
			drop(resolver, dso);
}

struct loaded {
	struct symtab *symtab;
	size_t bytes;
};

static int least_used_last(const void *a, const void *b)
{
	const struct loaded *x = a, *y = b;
	if (x->symtab->idle != y->symtab->idle)
		return x->symtab->idle < y->symtab->idle ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

void resolver_shed(struct resolver *resolver, size_t keep)
{
	VEC(struct loaded) tables = {0};
	size_t kept = 0;
	machine_each_dso (dso, resolver->machine) {
		struct symtab *symtab = atomic_load(&dso->symtab);
		if (dso->kernel)
			continue;
		drop_attachment(resolver, dso);
		if (!symtab)
			continue;
		symtab->idle = atomic_exchange(&symtab->used, false) ? 0 : symtab->idle + 1;
		vec_push(&tables, (struct loaded){symtab, symtab_bytes(symtab)});
	}
	if (tables.len)
		qsort(tables.data, tables.len, sizeof(*tables.data), least_used_last);
	for (size_t i = 0; i < tables.len; i++) {
		kept += tables.data[i].bytes;
		if (kept > keep)
			drop(resolver, tables.data[i].symtab->dso);
	}
	vec_deinit(&tables);
}

void resolver_destroy(struct resolver *resolver)
{
	if (!resolver)
		return;
	machine_each_dso (dso, resolver->machine)
		drop(resolver, dso);
	kernel_symbols_deinit(&resolver->kernel);
	for (size_t i = 0; i < LOAD_LOCKS; i++)
		pthread_mutex_destroy(&resolver->load_locks[i]);
	free(resolver);
}

/* ---- loading ---- */

static struct symtab *empty_table(enum symbol_source source)
{
	struct symbol_builder builder = {0};
	return symtab_build(&builder, source, NULL);
}

static enum symbol_source why_nothing(const struct symbol_files *files)
{
	if (files->forbidden)
		return SYMBOLS_FORBIDDEN;
	if (files->wrong_build)
		return SYMBOLS_WRONG_FILE;
	return files->present ? SYMBOLS_NONE : SYMBOLS_NO_FILE;
}

static struct symtab *load_file(const struct symbol_options *options, const struct dso *dso)
{
	struct symbol_files files;
	symbol_files_find(options, dso, &files);
	if (!files.symbols) {
		struct symtab *nothing = empty_table(why_nothing(&files));
		symbol_files_close(&files);
		return nothing;
	}
	struct elf_symbols_options how = {.addressing = ELF_FILE_OFFSET, .demangle = options->demangle};
	struct symbol_builder builder = {.file = symbol_files_mapping(&files), .sparing = options->sparing};
	struct elf_file mini = {0};
	enum symbol_source source = elf_has_symtab(files.symbols) ? SYMBOLS_FULL : SYMBOLS_DYNAMIC_ONLY;
	if (source == SYMBOLS_DYNAMIC_ONLY && minidebug_open(files.runtime, &mini)) {
		elf_symbols_add_table(&mini, files.runtime, &how, &builder);
		source = SYMBOLS_FULL;
	}
	elf_symbols_add(files.symbols, files.runtime, &how, &builder);
	if (source == SYMBOLS_DYNAMIC_ONLY && elf_has_go_functions(files.runtime))
		source = SYMBOLS_FULL;
	if (!builder.symbols.len)
		source = SYMBOLS_NONE;
	struct symtab *symtab = symtab_build(&builder, source, files.path);
	symtab_set_segments(symtab, files.runtime, files.symbols);
	elf_close(&mini);
	symbol_files_close(&files);
	return symtab;
}

static struct symtab *load_vdso(const struct symbol_options *options, const struct dso *dso)
{
	struct elf_file elf = {0};
	if (!options->same_machine || (dso->guest_pid && !dso->build_id.size) || !vdso_open(&dso->build_id, &elf))
		return load_file(options, dso);
	struct elf_symbols_options how = {.addressing = ELF_FILE_OFFSET, .demangle = options->demangle};
	struct symbol_builder builder = {0};
	elf_symbols_add(&elf, &elf, &how, &builder);
	struct symtab *symtab = symtab_build(&builder, SYMBOLS_FULL, NULL);
	elf_close(&elf);
	return symtab;
}

static struct symtab *load_here(struct resolver *resolver, const struct dso *dso)
{
	const struct symbol_options *options = &resolver->options;
	if (jit_dso(dso))
		return jit_load(options, dso);
	switch (dso->kind) {
	case DSO_KERNEL:
		return kernel_image_load(&resolver->kernel, options, resolver->machine, dso);
	case DSO_KERNEL_MODULE:
		return kernel_module_load(&resolver->kernel, options, resolver->machine, dso);
	case DSO_GUEST_KERNEL:
	case DSO_GUEST_MODULE:
		return guest_kernel_load(options, dso);
	case DSO_BPF:
	case DSO_KSYMBOL:
		return kernel_ksymbol_load(resolver->machine, dso);
	case DSO_VDSO:
		return load_vdso(options, dso);
	case DSO_FILE:
		return load_file(options, dso);
	case DSO_JITDUMP:
		return jit_load_dump(dso);
	default:
		return empty_table(SYMBOLS_NONE);
	}
}

/* What the recording brought. */
static struct symtab *load_carried(const struct symbol_options *options, const struct carried_file *file, const struct dso *dso)
{
	struct symbol_builder builder = {0};
	for (size_t i = 0; i < file->symbol_count; i++) {
		const struct carried_symbol *symbol = &file->symbols[i];
		symbol_builder_add(&builder, symbol->start, symbol->size, symbol->binding, symbol->type, symbol->name);
		vec_last(&builder.symbols)->ifunc_alias = symbol->ifunc_alias;
	}
	symbol_builder_settle(&builder, false);
	struct symtab *symtab = symtab_build(&builder, file->source, file->path);
	symtab_set_carried(symtab, file, dso->kernel ? options->demangle_kernel : options->demangle);
	return symtab;
}

/* A file here that is the recorded one for sure and tells more: debug information came later. */
static bool is_better(const struct symtab *here, const struct dso *dso, const struct carried_file *file)
{
	bool more_names = here->source == SYMBOLS_FULL && file->source != SYMBOLS_FULL;
	bool more_lines = here->has_functions && !file->has_functions;
	bool is_same = file->build_id.size && buildid_equal(&dso->build_id, &file->build_id);
	return (is_same || dso->kind != DSO_FILE) && here->source == SYMBOLS_FULL && (more_names || more_lines);
}

/* Places in this order: the kernel image of the options; a file with the recorded build-id that tells more than the recorder knew; what the
 * recording brought; any file. */
static struct symtab *load(struct resolver *resolver, const struct dso *dso)
{
	const struct symbol_options *options = &resolver->options;
	const struct carried_file *file = carried_find(options->carried, dso);
	if (!file || (dso->kernel && (options->vmlinux || options->kallsyms)))
		return load_here(resolver, dso);
	if (file->source == SYMBOLS_FULL && (file->has_functions || dso->kind != DSO_FILE))
		return load_carried(options, file, dso);
	struct symtab *here = load_here(resolver, dso);
	if (is_better(here, dso, file))
		return here;
	symtab_destroy(here);
	return load_carried(options, file, dso);
}

static const struct symtab *table_of(struct resolver *resolver, struct dso *dso)
{
	struct symtab *symtab = atomic_load_explicit(&dso->symtab, memory_order_acquire);
	if (symtab) {
		if (!atomic_load_explicit(&symtab->used, memory_order_relaxed))
			atomic_store_explicit(&symtab->used, true, memory_order_relaxed);
		return symtab;
	}
	pthread_mutex_t *lock = &resolver->load_locks[dso->index % LOAD_LOCKS];
	pthread_mutex_lock(lock);
	symtab = atomic_load_explicit(&dso->symtab, memory_order_acquire);
	if (!symtab) {
		symtab = load(resolver, dso);
		symtab->dso = dso;
		atomic_store_explicit(&symtab->used, true, memory_order_relaxed);
		atomic_store_explicit(&dso->symtab, symtab, memory_order_release);
	}
	pthread_mutex_unlock(lock);
	return symtab;
}

void *resolver_attachment(struct resolver *resolver, struct dso *dso,
			  void *(*make)(const struct symbol_options *options, const struct dso *dso), void (*destroy)(void *attachment))
{
	void *attachment = atomic_load_explicit(&dso->unwind, memory_order_acquire);
	if (attachment)
		return attachment;
	pthread_mutex_t *lock = &resolver->load_locks[dso->index % LOAD_LOCKS];
	pthread_mutex_lock(lock);
	attachment = atomic_load_explicit(&dso->unwind, memory_order_acquire);
	if (!attachment) {
		attachment = make(&resolver->options, dso);
		atomic_store(&resolver->destroy_attachment, destroy);
		atomic_store_explicit(&dso->unwind, attachment, memory_order_release);
	}
	pthread_mutex_unlock(lock);
	return attachment;
}

uint64_t resolver_let_go(const struct resolver *resolver)
{
	return resolver->let_go;
}

const struct symbol_options *resolver_options(const struct resolver *resolver)
{
	return &resolver->options;
}

const struct machine *resolver_machine(const struct resolver *resolver)
{
	return resolver->machine;
}

/* ---- lookup ---- */

const struct symtab *resolver_symtab(struct resolver *resolver, struct dso *dso)
{
	return table_of(resolver, dso);
}

const struct symbol *resolver_symbol(struct resolver *resolver, struct dso *dso, uint64_t dso_addr)
{
	return symtab_find(table_of(resolver, dso), dso_addr);
}

const struct symbol *resolver_symbol_around(struct resolver *resolver, struct dso *dso, uint64_t dso_addr, uint64_t *ret_start,
					    uint64_t *ret_end)
{
	return symtab_find_around(table_of(resolver, dso), dso_addr, ret_start, ret_end);
}

void resolver_symbols(struct resolver *resolver, struct dso *dso, const uint64_t *dso_addrs, size_t count, const struct symbol **ret)
{
	symtab_find_many(table_of(resolver, dso), dso_addrs, count, ret);
}

/* The kernel's code reaches further than its map tells: initialisation code lies behind what is recorded as the end. Its symbols say how
 * far. */
static const struct map *find_kernel_image(struct resolver *resolver, const struct maps *maps, uint64_t ip, uint64_t time)
{
	struct dso *kernel = resolver->machine->kernel;
	const struct map *map = kernel ? maps_find(maps, kernel->text_start, time) : NULL;
	if (!map || map->dso != kernel)
		return NULL;
	const struct symtab *symtab = table_of(resolver, kernel);
	uint64_t start, end;
	return symtab_bounds(symtab, &start, &end) && ip >= start && ip < end ? map : NULL;
}

void resolver_frame(struct resolver *resolver, const struct maps *maps, uint8_t cpumode, uint64_t ip, uint64_t time, struct frame *ret)
{
	*ret = (struct frame){.ip = ip, .dso_addr = ip, .cpumode = cpumode};
	ret->map = maps ? maps_find(maps, ip, time) : NULL;
	if (!ret->map && maps && maps == resolver->machine->kernel_maps)
		ret->map = find_kernel_image(resolver, maps, ip, time);
	if (!ret->map)
		return;
	ret->dso_addr = map_to_dso(ret->map, ip);
	ret->symbol = resolver_symbol(resolver, ret->map->dso, ret->dso_addr);
}

const struct symbol *resolver_kernel_symbol(struct resolver *resolver, uint64_t address, uint64_t *ret_start)
{
	struct frame frame;
	resolver_frame(resolver, resolver->machine->kernel_maps, 0, address, UINT64_MAX, &frame);
	if (frame.symbol)
		*ret_start = address - (frame.dso_addr - frame.symbol->start);
	return frame.symbol;
}

size_t resolver_functions(struct resolver *resolver, const struct frame *frame, const struct code_function **ret)
{
	if (!frame->map)
		return 0;
	bool in_call = frame->returns_here && !(frame->symbol && frame->dso_addr == frame->symbol->start);
	return symtab_functions(table_of(resolver, frame->map->dso), frame->dso_addr - in_call, frame->symbol, ret);
}

bool resolver_has_functions(struct resolver *resolver, struct dso *dso)
{
	return table_of(resolver, dso)->has_functions;
}

/* ---- reasons ---- */

enum symbol_source resolver_source(struct resolver *resolver, const struct dso *dso)
{
	const struct symtab *symtab = atomic_load_explicit(&((struct dso *)dso)->symtab, memory_order_acquire);
	(void)resolver;
	return symtab ? (enum symbol_source)symtab->source : SYMBOLS_NOT_LOADED;
}

const char *resolver_origin(struct resolver *resolver, const struct dso *dso, bool *ret_carried)
{
	const struct symtab *symtab = atomic_load_explicit(&((struct dso *)dso)->symtab, memory_order_acquire);
	(void)resolver;
	*ret_carried = symtab && symtab->is_carried;
	return symtab ? symtab->path : NULL;
}

const char *symbol_source_text(enum symbol_source source)
{
	static const char *const texts[] = {
		[SYMBOLS_NOT_LOADED] = "not searched",
		[SYMBOLS_FULL] = "complete",
		[SYMBOLS_DYNAMIC_ONLY] = "stripped: only exported names",
		[SYMBOLS_NO_FILE] = "file not found",
		[SYMBOLS_WRONG_FILE] = "the file has changed since the recording (build-id differs)",
		[SYMBOLS_NONE] = "the file has no names",
		[SYMBOLS_FORBIDDEN] = "permission denied",
		[SYMBOLS_NO_JIT_MAP] = "JIT-compiled code without a perf-PID.map",
	};
	return (size_t)source < sizeof(texts) / sizeof(texts[0]) ? texts[source] : "";
}
