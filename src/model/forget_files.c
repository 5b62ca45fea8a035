/* Files that nothing maps any more, when an epoch has ended: programs that are built, run and removed come for ever.
 *
 * Dsos don't move, since symbols and caches point to them; so each has memory of its own, as have names, and goes alone. One goes when
 * nothing has had a map of it for a whole epoch (four where maps wait, which tell of it only when somebody asks), and the symbol layer,
 * which lets go of its tables then (resolver_forget()), has none:
 *
 *	epoch      1              2              3
 *	           mapped         not mapped     its tables go          it goes, and its number is given to the next one
 *
 * Numbers are used again, as arrays would grow for ever otherwise. Who knows files by them begins anew then (machine->drops).
 */
#include "model/model_internal.h"

#include "model/jitdump.h"

#include <stdlib.h>

/* Fewer aren't worth that caches begin anew. */
enum { DROPPED_LEAST = 256 };

/* In an epoch of the machine. */
static bool is_kept_in(const struct machine *machine, uint64_t generation, const struct dso *dso)
{
	bool kind = dso->kind == DSO_FILE || dso->kind == DSO_ANON || dso->kind == DSO_JITDUMP || dso->kind == DSO_BPF ||
		    dso->kind == DSO_KSYMBOL;
	return !kind || dso->header_build_id || machine_saw_map_lately(machine, generation, dso) || dso->symtab || dso->unwind;
}

static bool is_kept(const struct machine *machine, const struct dso *dso)
{
	return is_kept_in(machine, machine->generation, dso);
}

void dso_destroy(struct dso *dso)
{
	if (dso)
		jitdump_close((struct jitdump *)dso->jitdump);
	free(dso);
}

/* What is left of the dsos of a name; the oldest is the first one. */
static struct dso *keep_of_name(const struct machine *machine, struct dso *first)
{
	struct dso **link = &first;
	while (*link) {
		if (is_kept(machine, *link))
			link = &(*link)->next_same_name;
		else
			*link = (*link)->next_same_name;
	}
	return first;
}

static void forget_names(struct machine *machine)
{
	struct machine_private *private = machine->private;
	struct map64 by_name = {0}, by_id = {0};
	map64_each (slot, &private->dsos_by_name) {
		struct dso *first = keep_of_name(machine, map64_pointer(slot));
		if (first)
			*map64_insert(&by_name, slot->key, NULL) = (uintptr_t)first;
	}
	map64_each (slot, &private->dsos_by_id)
		if (is_kept(machine, map64_pointer(slot)))
			*map64_insert(&by_id, slot->key, NULL) = slot->value;
	map64_deinit(&private->dsos_by_name);
	map64_deinit(&private->dsos_by_id);
	private->dsos_by_name = by_name;
	private->dsos_by_id = by_id;
}

static void forget_strings(struct machine *machine)
{
	struct map64 kept = {0};
	machine_each_dso (dso, machine) {
		map64_insert(&kept, (uintptr_t)dso->name, NULL);
		map64_insert(&kept, (uintptr_t)dso->script_name, NULL);
		map64_insert(&kept, (uintptr_t)dso->short_name, NULL);
	}
	map64_each (slot, &machine->private->cgroups)
		map64_insert(&kept, slot->value, NULL);
	map64_each (slot, &machine->private->modules)
		map64_insert(&kept, slot->key, NULL);
	map64_insert(&kept, (uintptr_t)machine->kernel_reloc_symbol, NULL);
	intern_forget(&machine->strings, &kept);
	map64_deinit(&kept);
}

void machine_forget_files(struct machine *machine)
{
	struct machine_private *private = machine->private;
	size_t count = 0;
	machine_each_dso (dso, machine)
		count += !is_kept(machine, dso);
	if (count < DROPPED_LEAST)
		return;
	machine->drops++;
	forget_names(machine);
	for (size_t i = 0; i < machine->dsos.len; i++) {
		struct dso *dso = machine->dsos.data[i];
		if (!dso || is_kept(machine, dso))
			continue;
		dso_destroy(dso);
		machine->dsos.data[i] = NULL;
		vec_push(&private->free_numbers, (unsigned int)i);
	}
	forget_strings(machine);
}

void machine_carry_file(struct carrying *carrying, const struct dso *dso)
{
	if (dso)
		((struct dso *)dso)->generation = carrying->machine->generation + 1;
}

bool machine_keeps_file(const struct carrying *carrying, const struct dso *dso)
{
	const struct machine *machine = carrying->machine;
	return !machine->drops_files || is_kept_in(machine, machine->generation + 1, dso);
}
