/* Where the kernel's symbols come from: a file the user names; a vmlinux whose build-id is the recorded one; the copy of kallsyms that
 * `record` put into the build-id cache; /proc/kallsyms, if the running kernel is the recorded one. Modules: their files; then
 * /proc/kallsyms before the copy.
 *
 * The kernel may have been loaded elsewhere than the list or file says (KASLR). The recording tells where its text was: symbols move by the
 * difference.
 */
#include "symbol/kernel/kernel_image.h"

#include "base/cleanup.h"
#include "base/files/mapping.h"
#include "base/log.h"
#include "base/text.h"
#include "symbol/debugfile.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/kernel/kallsyms_ahead.h"
#include "symbol/kernel/kcore_copy.h"
#include "symbol/kernel/running_kernel.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void kernel_symbols_init(struct kernel_symbols *kernel)
{
	*kernel = (struct kernel_symbols){.kernel.why_not = SYMBOLS_NO_FILE, .modules.why_not = SYMBOLS_NO_FILE};
	pthread_mutex_init(&kernel->lock, NULL);
}

void kernel_symbols_deinit(struct kernel_symbols *kernel)
{
	kallsyms_close(&kernel->kernel.kallsyms);
	kallsyms_close(&kernel->modules.kallsyms);
	free(kernel->kernel.path);
	free(kernel->modules.path);
	pthread_mutex_destroy(&kernel->lock);
}

struct map_search {
	const struct dso *dso;
	const struct map *found;
};

static bool visit_map(const struct map *map, uint64_t start, uint64_t end, void *context)
{
	struct map_search *search = context;
	(void)start, (void)end;
	if (map->dso == search->dso)
		search->found = map;
	return true;
}

/* Is the dso looked up by absolute addresses? Else its addresses count from the start of its text. */
static bool absolute_addresses(const struct machine *machine, const struct dso *dso)
{
	struct map_search search = {.dso = dso};
	if (dso->kind == DSO_BPF || dso->kind == DSO_KSYMBOL)
		return true; /* though it may be gone at the end */
	if (machine->kernel_maps)
		maps_visit(machine->kernel_maps, UINT64_MAX, visit_map, &search);
	return search.found && search.found->identity;
}

struct symtab *kernel_ksymbol_load(const struct machine *machine, const struct dso *dso)
{
	struct symbol_builder builder = {0};
	uint64_t start = kernel_module_base(machine, dso);
	symbol_builder_add(&builder, start, dso->text_end - dso->text_start, STB_LOCAL, STT_FUNC, dso->name);
	symbol_builder_settle(&builder, false);
	return symtab_build(&builder, SYMBOLS_FULL, NULL);
}

uint64_t kernel_module_base(const struct machine *machine, const struct dso *dso)
{
	return absolute_addresses(machine, dso) ? dso->text_start : 0;
}

static const char *text_symbol(const struct machine *machine)
{
	return machine->kernel_reloc_symbol && *machine->kernel_reloc_symbol ? machine->kernel_reloc_symbol : "_text";
}

/* Is the kernel that runs now the recorded one? */
static bool is_running(const struct symbol_options *options, const struct dso *dso)
{
	struct buildid running;
	if (!options->same_machine)
		return false;
	return !dso->build_id.size || !running_kernel_build_id(&running) || buildid_equal(&running, &dso->build_id);
}

static char *running_list(const struct symbol_options *options)
{
	return mem_printf("%s/kallsyms", options->proc ? options->proc : "/proc");
}

/* In the build-id cache; NULL when it can't be there. */
static char *kept_list(const struct symbol_options *options, const struct buildid *id)
{
	cleanup_free char *cache = id->size ? buildid_cache_dir(options) : NULL;
	return cache ? buildid_cache_path(cache, id, "kallsyms") : NULL;
}

char *kernel_list_path(const struct symbol_options *options, const struct buildid *id)
{
	if (options->kallsyms || options->symfs || options->vmlinux || options->kcore_dir)
		return NULL;
	cleanup_free char *kept = kept_list(options, id);
	return kept && access(kept, R_OK) == 0 ? take_pointer(kept) : options->same_machine ? running_list(options) : NULL;
}

bool kernel_is_running(const struct symbol_options *options, const struct machine *machine, uint64_t *ret_moved)
{
	uint64_t now;
	cleanup_free char *path = running_list(options);
	if (!machine->kernel || !is_running(options, machine->kernel) || !machine->kernel_reloc_address ||
	    !kallsyms_read_address(path, text_symbol(machine), &now))
		return false;
	*ret_moved = now - machine->kernel_reloc_address;
	return true;
}

char *kernel_code_copy(const struct symbol_options *options, const struct machine *machine)
{
	const struct dso *dso = machine->kernel;
	if (options->kcore_dir)
		return mem_strdup(options->kcore_dir);
	cleanup_free char *cache = dso && dso->build_id.size && machine->kernel_reloc_address ? buildid_cache_dir(options) : NULL;
	return cache ? kcore_copy_find(cache, &dso->build_id, text_symbol(machine), machine->kernel_reloc_address) : NULL;
}

/* Opens the list at `path` if it is any good. */
static bool open_list(struct kernel_list *list, const struct symbol_options *options, const char *path)
{
	struct kallsyms found = {0};
	struct error *error = kallsyms_ahead_take(options->ahead, path, &found);
	bool denied = error ? error_errno(error) == EACCES || error_errno(error) == EPERM : found.restricted;
	if (error)
		error_free(error);
	if (denied)
		list->why_not = SYMBOLS_FORBIDDEN;
	if (denied || !found.settled.symbols.len) {
		kallsyms_close(&found);
		return false;
	}
	list->kallsyms = found;
	free(list->path);
	list->path = mem_strdup(path);
	return true;
}

static bool open_running(struct kernel_list *list, const struct symbol_options *options, const struct dso *dso)
{
	cleanup_free char *path = running_list(options);
	return is_running(options, dso) && open_list(list, options, path);
}

/* The copy in the build-id cache; not one that was cut off. */
static bool open_kept(struct kernel_list *list, const struct symbol_options *options, const struct dso *dso)
{
	uint64_t address;
	cleanup_free char *path = kept_list(options, &dso->build_id);
	if (!path || !open_list(list, options, path))
		return false;
	bool begins = kallsyms_address(&list->kallsyms, "_text", &address) || kallsyms_address(&list->kallsyms, "_stext", &address);
	if (begins && kallsyms_address(&list->kallsyms, "_etext", &address))
		return true;
	kallsyms_close(&list->kallsyms);
	free(take_pointer(list->path));
	return false;
}

/* The list beside the kernel's code, of the same boot. */
static bool open_beside_code(struct kernel_list *list, const struct symbol_options *options, const struct machine *machine)
{
	cleanup_free char *folder = kernel_code_copy(options, machine);
	cleanup_free char *path = folder ? mem_printf("%s/kallsyms", folder) : NULL;
	return path && !kcore_copy_is_trap(folder, "kallsyms") && open_list(list, options, path);
}

static bool find_list(struct kernel_list *list, const struct symbol_options *options, const struct machine *machine, bool for_modules)
{
	const struct dso *dso = machine->kernel;
	if (options->kallsyms)
		return open_list(list, options, options->kallsyms);
	if (options->kcore_dir && open_beside_code(list, options, machine))
		return true;
	if (options->symfs)
		return false;
	if (for_modules)
		return open_running(list, options, dso) || open_beside_code(list, options, machine) || open_kept(list, options, dso);
	return open_kept(list, options, dso) || open_running(list, options, dso) || open_beside_code(list, options, machine);
}

/* The list for the kernel, or for its modules; read on the first call. NULL when there is none: why_not of the one asked for tells. The
 * lock is held. */
static const struct kernel_list *list_for(struct kernel_symbols *kernel, const struct symbol_options *options,
					  const struct machine *machine, bool for_modules)
{
	struct kernel_list *list = for_modules ? &kernel->modules : &kernel->kernel;
	const struct dso *dso = machine->kernel;
	uint64_t listed;
	if (!list->tried && dso && find_list(list, options, machine, for_modules) && machine->kernel_reloc_address &&
	    kallsyms_address(&list->kallsyms, text_symbol(machine), &listed))
		list->moved = machine->kernel_reloc_address - listed;
	list->tried = true;
	return list->kallsyms.text ? list : NULL;
}

/* ---- vmlinux ---- */

bool kernel_linked_address(const struct elf_file *elf, const char *name, uint64_t *ret)
{
	const struct elf_section *table = elf_section(elf, ".symtab");
	struct elf_symbol symbol;
	for (uint64_t i = 0; table && elf_symbol_at(elf, table, i, &symbol); i++) {
		if (strcmp(symbol.name, name) != 0)
			continue;
		*ret = symbol.value;
		return true;
	}
	return false;
}

static struct symtab *load_vmlinux(const char *path, const struct symbol_options *options, const struct machine *machine,
				   const struct dso *dso, bool any_build)
{
	struct elf_file elf = {0};
	struct error *error = elf_open(path, &elf);
	if (error) {
		error_free(error);
		return NULL;
	}
	struct symtab *symtab = NULL;
	bool right = any_build || (dso->build_id.size && buildid_equal(&elf.build_id, &dso->build_id));
	if (right && elf_has_symtab(&elf)) {
		struct elf_symbols_options how = {.addressing = ELF_VIRTUAL, .demangle = options->demangle_kernel};
		struct symbol_builder builder = {.file = &elf.mapping, .sparing = options->sparing};
		uint64_t linked;
		if (machine->kernel_reloc_address && kernel_linked_address(&elf, text_symbol(machine), &linked))
			how.relocation = machine->kernel_reloc_address - linked;
		elf_symbols_add(&elf, &elf, &how, &builder);
		symtab = symtab_build(&builder, SYMBOLS_FULL, path);
		symtab_set_relocation(symtab, how.relocation);
	}
	elf_close(&elf);
	return symtab;
}

/* Of the candidates for an image, those from here on are where kernels are installed; the ones before are taken only by their build-id. */
enum { INSTALLED = 2 };

/* Where an image may be: candidate number `i`, freed by the caller; NULL when there are no more. */
static char *vmlinux_candidate(const struct symbol_options *options, const struct buildid *id, const char *release, size_t i)
{
	static const struct {
		const char *before, *behind; /* the release */
	} places[] = {
		{"/boot/vmlinux-", ""},
		{"/usr/lib/debug/boot/vmlinux-", ""},
		{"/lib/modules/", "/build/vmlinux"},
		{"/usr/lib/debug/lib/modules/", "/vmlinux"},
		{"/usr/lib/debug/boot/vmlinux-", ".debug"},
	};
	cleanup_free char *cache = i == 0 && id->size ? buildid_cache_dir(options) : NULL;

	if (i == 0)
		return cache ? buildid_cache_path(cache, id, "elf") : mem_strdup("");
	if (i == 1)
		return mem_strdup(id->size ? "vmlinux" : "");
	i -= INSTALLED;
	if (!release || i >= sizeof(places) / sizeof(places[0]))
		return NULL;
	return mem_printf("%s%s%s%s", options->symfs ? options->symfs : "", places[i].before, release, places[i].behind);
}

static struct symtab *find_vmlinux(const struct symbol_options *options, const struct machine *machine, const struct dso *dso)
{
	struct utsname name;
	const char *release = machine->os_release;
	struct symtab *symtab = NULL;

	if (!release && !uname(&name))
		release = name.release;
	for (size_t i = 0; !symtab; i++) {
		cleanup_free char *path = vmlinux_candidate(options, &dso->build_id, release, i);
		if (!path)
			break;
		if (*path)
			symtab = load_vmlinux(path, options, machine, dso, !dso->build_id.size);
	}
	return symtab;
}

static bool has_debug_info(const struct elf_file *elf)
{
	return elf_section(elf, ".debug_info") || elf_section(elf, ".zdebug_info");
}

char *kernel_image_running(const struct symbol_options *options, bool debug)
{
	struct utsname name;
	struct buildid id;

	if (!running_kernel_build_id(&id) || uname(&name))
		return NULL;
	for (size_t i = debug ? INSTALLED : 0;; i++) {
		struct elf_file elf = {0};
		cleanup_free char *path = vmlinux_candidate(options, &id, name.release, i);
		if (!path)
			return NULL;
		struct error *error = *path ? elf_open(path, &elf) : error_new("none");
		bool right = !error && buildid_equal(&elf.build_id, &id) && elf_has_symtab(&elf) && (!debug || has_debug_info(&elf));
		if (error)
			error_free(error);
		else
			elf_close(&elf);
		if (right)
			return take_pointer(path);
	}
}

static struct symtab *empty_table(enum symbol_source source)
{
	struct symbol_builder builder = {0};
	return symtab_build(&builder, source, NULL);
}

/* For what runs for days. NULL: another way is to be found, or why there is none. */
static struct symtab *packed_table(const struct symbol_options *options, const struct machine *machine, const struct dso *dso)
{
	cleanup_free char *path = options->sparing ? kernel_list_path(options, &dso->build_id) : NULL;
	cleanup_free char *running = running_list(options);
	if (!path || (!strcmp(path, running) && !is_running(options, dso)))
		return NULL;
	return kallsyms_packed(path, text_symbol(machine), machine->kernel_reloc_address, SYMBOLS_FULL);
}

/* The list becomes the table: it would be read again, should there be another kernel's dso. */
static struct symtab *table_from_list(struct kernel_symbols *kernel, const struct symbol_options *options, const struct machine *machine)
{
	struct symtab *symtab = machine->kernel ? packed_table(options, machine, machine->kernel) : NULL;
	if (symtab)
		return symtab;
	pthread_mutex_lock(&kernel->lock);
	const struct kernel_list *list = list_for(kernel, options, machine, false);
	if (list) {
		struct symbol_builder builder = {0};
		kallsyms_give(&kernel->kernel.kallsyms, list->moved, &builder);
		symtab = symtab_build(&builder, SYMBOLS_FULL, list->path);
		kernel->kernel.tried = false;
	} else {
		symtab = empty_table(kernel->kernel.why_not);
	}
	pthread_mutex_unlock(&kernel->lock);
	return symtab;
}

/* The image of -k is taken whatever its build-id says, but not without a word. */
static struct symtab *load_named(const struct symbol_options *options, const struct machine *machine, const struct dso *dso)
{
	struct symtab *symtab = load_vmlinux(options->vmlinux, options, machine, dso, true);
	struct buildid id;

	if (!symtab)
		log_warning("-k %s is not an ELF file with a symbol table; looking for kernel symbols elsewhere", options->vmlinux);
	else if (dso->build_id.size && elf_read_build_id(options->vmlinux, &id) && !buildid_equal(&id, &dso->build_id))
		log_warning("-k %s is not the recorded kernel (its build-id differs): names may be wrong", options->vmlinux);
	return symtab;
}

struct symtab *kernel_image_load(struct kernel_symbols *kernel, const struct symbol_options *options, const struct machine *machine,
				 const struct dso *dso)
{
	struct symtab *symtab = NULL;
	if (options->kallsyms)
		return table_from_list(kernel, options, machine);
	if (options->vmlinux)
		symtab = load_named(options, machine, dso);
	else if (dso->name[0] == '/')
		symtab = load_vmlinux(dso->name, options, machine, dso, !dso->build_id.size);
	if (!symtab && !options->ignore_vmlinux)
		symtab = find_vmlinux(options, machine, dso);
	return symtab ? symtab : table_from_list(kernel, options, machine);
}

/* ---- modules ---- */

char *kernel_module_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	const char *end = strstr(name, ".ko");
	char *module = *name == '[' ? mem_strndup(name + 1, strcspn(name + 1, "]"))
		       : end	    ? mem_strndup(name, (size_t)(end - name))
				    : mem_strdup(name);
	for (char *c = module; *c; c++)
		if (*c == '-')
			*c = '_';
	return module;
}

static struct symtab *module_from_file(const struct symbol_options *options, const struct dso *dso, uint64_t base)
{
	struct symbol_files files;
	struct symtab *symtab = NULL;
	symbol_files_find(options, dso, &files);
	if (files.symbols && elf_has_symtab(files.symbols)) {
		struct elf_symbols_options how = {.addressing = ELF_MODULE, .relocation = base, .demangle = options->demangle_kernel};
		struct symbol_builder builder = {.file = symbol_files_mapping(&files), .sparing = options->sparing};
		elf_symbols_add(files.symbols, files.runtime, &how, &builder);
		symtab = symtab_build(&builder, SYMBOLS_FULL, files.path);
		cleanup_free uint64_t *layout = elf_module_layout(files.symbols);
		symtab_set_layout(symtab, files.symbols, layout, base);
	}
	symbol_files_close(&files);
	return symtab;
}

struct symtab *kernel_module_load(struct kernel_symbols *kernel, const struct symbol_options *options, const struct machine *machine,
				  const struct dso *dso)
{
	uint64_t base = kernel_module_base(machine, dso);
	struct symtab *symtab = dso->name[0] == '/' ? module_from_file(options, dso, base) : NULL;
	if (symtab)
		return symtab;
	pthread_mutex_lock(&kernel->lock); /* the list stays then */
	const struct kernel_list *list = options->load_modules ? NULL : list_for(kernel, options, machine, true);
	pthread_mutex_unlock(&kernel->lock);
	struct symbol_builder builder = {0};
	if (!list)
		return empty_table(kernel->modules.why_not);
	cleanup_free char *name = kernel_module_name(dso->name);
	kallsyms_pick(&list->kallsyms, name, base - dso->text_start, &builder);
	enum symbol_source source = builder.symbols.len ? SYMBOLS_FULL : SYMBOLS_NO_FILE;
	return symtab_build(&builder, source, list->path);
}
