/* Addresses of the guest's kernel are as its own list has them, which is of the boot that was recorded: nothing is moved. An image without
 * the list is taken to be where it was linked (nokaslr). */
#include "symbol/kernel/guest_kernel.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/kernel/kallsyms.h"
#include "symbol/kernel/kernel_image.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const BEGINNINGS[] = {"_text", "_stext"};
enum { BEGINNING_COUNT = sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]) };

static struct error *find_beginning(const struct symbol_options *options, uint64_t *ret)
{
	struct elf_file elf = {0};
	struct error *error = NULL;

	for (size_t i = 0; options->guest_kallsyms && i < BEGINNING_COUNT; i++)
		if (kallsyms_read_address(options->guest_kallsyms, BEGINNINGS[i], ret))
			return NULL;
	if (options->guest_kallsyms && access(options->guest_kallsyms, R_OK) < 0)
		return error_system(errno, "%s", options->guest_kallsyms);
	if (options->guest_kallsyms)
		return error_new("%s: no address of _text: this isn't a copy of /proc/kallsyms, or not one that root has made",
				 options->guest_kallsyms);
	error = elf_open(options->guest_vmlinux, &elf);
	bool found = false;
	for (size_t i = 0; !error && !found && i < BEGINNING_COUNT; i++)
		found = kernel_linked_address(&elf, BEGINNINGS[i], ret);
	elf_close(&elf);
	if (!error && !found)
		error = error_new("%s is not a kernel image with a symbol table", options->guest_vmlinux);
	return error;
}

/* Lines of "NAME SIZE USERS DEPENDENCIES STATE ADDRESS". The kernel ends where the first module behind it begins. */
static struct error *add_modules(struct machine *machine, uint32_t pid, const char *path, uint64_t begin, uint64_t *ret_end)
{
	cleanup_fclose FILE *file = fopen(path, "r");
	cleanup_free char *line = NULL;
	size_t room = 0;
	bool has_some = false, has_places = false;

	if (!file)
		return error_system(errno, "%s", path);
	while (getline(&line, &room, file) > 0) {
		char name[64];
		uint64_t size, address;
		has_some = true;
		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &address) != 3 || !address)
			continue;
		has_places = true;
		if (address > begin && address < *ret_end)
			*ret_end = address;
		machine_add_guest_module(machine, pid, name, address, address + size < address ? UINT64_MAX : address + size);
	}
	return has_some && !has_places
		       ? error_new("%s: no addresses of modules: this isn't a copy of /proc/modules, or not one that root has made", path)
		       : NULL;
}

/* One kernel, with what `options` name. */
static struct error *add_one(struct machine *machine, uint32_t pid, const struct symbol_options *options, const char *modules)
{
	uint64_t begin, end = UINT64_MAX;
	struct error *error = find_beginning(options, &begin);

	if (!error && modules)
		error = add_modules(machine, pid, modules, begin, &end);
	if (!error)
		machine_add_guest_kernel(machine, pid, begin, end);
	return error;
}

static char *path_in_guest(const char *mount, uint32_t pid, const char *name)
{
	return mem_printf("%s/%u/proc/%s", mount, pid, name);
}

/* A guest may put anything there: devices and pipes would never end. */
static struct error *check_regular(const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return error_system(errno, "%s", path);
	return S_ISREG(status.st_mode) ? NULL : error_new("%s is not a regular file", path);
}

/* Of a guest whose files can't be read, or don't tell, nothing is known: others' are of use all the same. A kernel may have no modules. */
static void add_mounted(struct machine *machine, const char *mount, uint32_t pid)
{
	cleanup_free char *list = path_in_guest(mount, pid, "kallsyms"), *modules = path_in_guest(mount, pid, "modules");
	const struct symbol_options options = {.guest_kallsyms = list};
	const bool has_modules = !access(modules, F_OK) || errno != ENOENT;
	struct error *error = check_regular(list);
	if (!error && has_modules)
		error = check_regular(modules);
	if (!error)
		error = add_one(machine, pid, &options, has_modules ? modules : NULL);
	if (error)
		log_warning("guest of process %u has no symbols: %s", pid, error_message(error));
	error_free(error);
}

/* A folder for each process. */
static struct error *add_all_mounted(struct machine *machine, const char *mount)
{
	DIR *folder = opendir(mount);
	struct dirent *entry;
	bool any = false;

	if (!folder)
		return error_system(errno, "--guestmount: %s", mount);
	while ((entry = readdir(folder))) {
		char *end;
		const unsigned long pid = strtoul(entry->d_name, &end, 10);
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || *end || pid > INT32_MAX)
			continue;
		add_mounted(machine, mount, (uint32_t)pid);
		any = true;
	}
	closedir(folder);
	return any ? NULL
		   : error_new("--guestmount: %s has no folder that is called by the number of a process, such as %s/8888/proc", mount,
			       mount);
}

struct error *guest_kernel_add(struct machine *machine, const struct symbol_options *options, const char *modules)
{
	struct error *error = options->guest_mount ? add_all_mounted(machine, options->guest_mount) : NULL;

	if (error)
		return error;
	if (options->guest_kallsyms || options->guest_vmlinux)
		return add_one(machine, 0, options, modules);
	return modules ? error_new_kind(ERROR_USAGE, "--guestmodules tells where modules are: add --guestkallsyms, which has their symbols")
		       : NULL;
}

static struct symtab *load_image(const struct symbol_options *options)
{
	struct elf_symbols_options how = {.addressing = ELF_VIRTUAL, .demangle = options->demangle_kernel};
	struct symbol_builder builder = {0};
	struct elf_file elf = {0};
	uint64_t linked, listed;
	struct error *error = elf_open(options->guest_vmlinux, &elf);

	if (!error && options->guest_kallsyms && kernel_linked_address(&elf, BEGINNINGS[0], &linked) &&
	    kallsyms_read_address(options->guest_kallsyms, BEGINNINGS[0], &listed))
		how.relocation = listed - linked;
	if (!error)
		elf_symbols_add(&elf, &elf, &how, &builder);
	struct symtab *symtab = symtab_build(&builder, error ? SYMBOLS_NO_FILE : SYMBOLS_FULL, options->guest_vmlinux);
	symtab_set_relocation(symtab, how.relocation);
	error_free(error);
	elf_close(&elf);
	return symtab;
}

/* `path`: the guest's list, or NULL. */
static struct symtab *load(const char *path, const struct dso *dso)
{
	struct symbol_builder builder = {0};
	struct kallsyms list = {0};
	bool is_module = dso->kind == DSO_GUEST_MODULE;

	struct error *error = path ? kallsyms_open(path, &list) : error_new("none is named");
	bool opened = !error;
	error_free(error);
	if (!opened)
		return symtab_build(&builder, SYMBOLS_NO_FILE, path);
	if (!is_module) {
		kallsyms_give(&list, 0, &builder);
		return symtab_build(&builder, SYMBOLS_FULL, path);
	}
	cleanup_free char *name = kernel_module_name(dso->name);
	kallsyms_pick(&list, name, 0, &builder);
	struct symtab *symtab = symtab_build(&builder, builder.symbols.len ? SYMBOLS_FULL : SYMBOLS_NO_FILE, path);
	kallsyms_close(&list);
	return symtab;
}

struct symtab *guest_kernel_load(const struct symbol_options *options, const struct dso *dso)
{
	cleanup_free char *mounted =
		options->guest_mount && dso->guest_pid ? path_in_guest(options->guest_mount, dso->guest_pid, "kallsyms") : NULL;

	if (!mounted && options->guest_vmlinux && dso->kind != DSO_GUEST_MODULE)
		return load_image(options);
	if (!mounted)
		return load(options->guest_kallsyms, dso);
	struct error *error = check_regular(mounted);
	const bool is_list = !error;
	error_free(error);
	return load(is_list ? mounted : NULL, dso);
}
