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

#define KALLSYMS "/proc/kallsyms"
#define TYPES "/sys/kernel/btf/vmlinux"

/* The address that _text was linked to: what debug information counts from; 0 = unknown. */
static uint64_t linked_text(const char *path)
{
	struct elf_file elf;
	uint64_t address = 0;
	struct error *error = elf_open(path, &elf);

	if (!error)
		kernel_linked_address(&elf, "_text", &address);
	if (!error)
		elf_close(&elf);
	error_free(error);
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
	target->path = options->vmlinux ? mem_strdup(options->vmlinux) : kernel_image_running(&target->symbol_options, true);
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
	char *name = kernel_module_name(options->module);

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
