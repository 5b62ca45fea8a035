/* Probes in the kernel. Names come from /proc/kallsyms; parameters and types from debug information where a vmlinux or a module's file with
 * it is given or found, else from the kernel itself (BTF).
 *
 * A place is written to the kernel as "_text+DISTANCE": a name alone is refused when several functions have it. */
#include "probe/kernel.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/fix.h"
#include "symbol/kernel/kallsyms.h"
#include "symbol/kernel/kernel_image.h"
#include "symbol/kernel/kernel_types.h"
#include "symbol/kernel/running_kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KALLSYMS "/proc/kallsyms"
#define TYPES "/sys/kernel/btf/vmlinux"

/* "ext4" of "/lib/modules/…/ext4.ko.xz" or of itself, with _ for -. */
static char *module_name(const char *text)
{
	const char *slash = strrchr(text, '/');
	char *name = mem_strdup(slash ? slash + 1 : text), *dot = strstr(name, ".ko");

	if (dot)
		*dot = '\0';
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	return name;
}

/* Where a vmlinux of the running kernel with debug information may be, by its release. */
static char *find_vmlinux(const struct probe_target *target)
{
	static const char *const places[] = {"/usr/lib/debug/boot/vmlinux-%s", "/usr/lib/debug/lib/modules/%s/vmlinux",
					     "/lib/modules/%s/build/vmlinux", "/boot/vmlinux-%s"};
	struct utsname name;

	if (uname(&name) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct strbuf path = {0};
		const char *at = strstr(places[i], "%s");
		strbuf_printf(&path, "%s%.*s%s%s", target->symbol_options.symfs ? target->symbol_options.symfs : "", (int)(at - places[i]),
			      places[i], name.release, at + 2);
		if (access(strbuf_str(&path), R_OK) == 0)
			return strbuf_detach(&path);
		strbuf_deinit(&path);
	}
	return NULL;
}

/* The address that _text was linked to: what debug information counts from. */
static uint64_t linked_text(const char *path)
{
	struct elf_file elf;
	struct elf_symbol symbol;
	uint64_t address = 0;
	struct error *error = elf_open(path, &elf);

	if (error) {
		error_free(error);
		return 0;
	}
	for (uint32_t i = 0; i < elf.section_count; i++)
		for (uint64_t at = 0; elf.sections[i].type == 2 /* SHT_SYMTAB */ && elf_symbol_at(&elf, &elf.sections[i], at, &symbol);
		     at++)
			if (!strcmp(symbol.name, "_text"))
				address = symbol.value;
	elf_close(&elf);
	return address;
}

/* Is the file of the kernel that runs? Also true when one of them doesn't say. */
static bool is_of_running_kernel(const char *path)
{
	struct buildid running, own;

	return !running_kernel_build_id(&running) || !elf_read_build_id(path, &own) || buildid_equal(&running, &own);
}

static struct error *open_image(const struct probe_target_options *options, struct probe_target *target)
{
	target->path = options->vmlinux ? mem_strdup(options->vmlinux) : find_vmlinux(target);
	if (target->path && !options->vmlinux && !is_of_running_kernel(target->path)) {
		free(target->path);
		target->path = NULL;
	}
	if (!target->path)
		return NULL;
	if (!is_of_running_kernel(target->path))
		log_warning("-k %s is not the running kernel (its build-id differs): addresses may be wrong", target->path);
	target->debug = debug_program_open(target->path, target->path, true);
	target->linked_text = linked_text(target->path);
	if (target->debug && target->linked_text)
		return NULL;
	debug_program_close(target->debug);
	target->debug = NULL;
	return options->vmlinux ? error_new("-k %s has no kernel debug information, or no symbol _text", options->vmlinux) : NULL;
}

static struct error *open_module(const struct probe_target_options *options, struct probe_target *target)
{
	char *name = module_name(options->module);

	target->module = name;
	if (!strchr(options->module, '/'))
		return NULL;
	target->path = mem_strdup(options->module);
	target->debug = debug_program_open(target->path, target->path, true);
	return NULL;
}

struct error *probe_kernel_open(const struct probe_target_options *options, struct probe_target *target)
{
	struct error *error = options->module ? open_module(options, target) : open_image(options, target);

	if (error)
		return error;
	target->types = kernel_types_open(TYPES);
	if ((error = function_names_of_kernel(KALLSYMS, target->module, &target->names)))
		return error;
	if (target->module && !target->names.items.len && !target->debug)
		return error_new("module %s is not loaded: load it first, or give its file (-m /lib/modules/…/%s.ko)", target->module,
				 target->module);
	if (!kallsyms_read_address(KALLSYMS, "_text", &target->text) && !target->debug)
		return fix_error_of_hidden_addresses();
	return NULL;
}

void probe_kernel_close(struct probe_target *target)
{
	kernel_types_close(target->types);
	free((char *)target->module);
}

/* ---- places ---- */

static const char *name_of(const struct probe_point *point)
{
	return point->linked ? point->linked : point->function;
}

struct error *probe_kernel_add_place(const struct probe_target *target, const struct probe_spec *spec, const struct probe_point *point,
				     struct strbuf *out)
{
	const char *name = point->outer ? point->outer : name_of(point);
	uint64_t base = target->debug && !target->module ? target->linked_text : target->text;

	if (spec->is_address)
		strbuf_printf(out, "0x%llx", (unsigned long long)point->address);
	else if (target->module)
		strbuf_printf(out, "%s:%s+%llu", target->module, name, (unsigned long long)(point->address - point->entry));
	else if (!base)
		strbuf_printf(out, "%s+%llu", name, (unsigned long long)(point->address - point->entry));
	else
		strbuf_printf(out, "_text+%llu", (unsigned long long)(point->address - base));
	return NULL;
}

/* ---- variables ---- */

struct error *probe_kernel_fetch(struct probe_target *target, const struct probe_point *point, const struct debug_fetch_query *query,
				 struct strbuf *out)
{
	if (!target->types)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "'%s': this kernel does not describe its types (" TYPES
				      "), and its debug information was not found (-k VMLINUX)",
				      query->name);
	if (!point->function || point->address != point->entry)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "'%s': parameters are available at function entry only; elsewhere they require the kernel's "
				      "debug information (-k VMLINUX)",
				      query->name);
	return kernel_types_fetch(target->types, name_of(point), query, out);
}

void probe_kernel_parameters(struct probe_target *target, const struct probe_point *point, struct debug_variables *ret)
{
	if (target->types && point->function && point->address == point->entry)
		kernel_types_parameters(target->types, name_of(point), ret);
}
