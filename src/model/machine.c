/* The machine as a whole: its life, the kernel's own address space, control groups. Threads are in thread.c, address spaces in maps.c,
 * files in dso.c. */
#include "model/machine.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/jitdump.h"
#include "model/model_internal.h"

#include <string.h>
#include <sys/mman.h>

#define KERNEL_MAP_NAME "[kernel.kallsyms]"

/* The values of enum cpumode in perfdata/records.h, which this layer doesn't see: PERF_RECORD_MISC_KERNEL and so on of the kernel's
 * interface. */
enum { MODE_KERNEL = 1, MODE_USER = 2, MODE_GUEST_KERNEL = 4, MODE_GUEST_USER = 5 };

static struct machine *machine_alloc(void)
{
	struct machine *machine = mem_zalloc(sizeof(*machine));
	machine->private = mem_zalloc(sizeof(*machine->private));
	machine->strings.forgets = true;
	pthread_mutex_init(&machine->private->placeholders.lock, NULL);
	return machine;
}

static void machine_begin(struct machine *machine)
{
	machine->kernel_maps = maps_create(machine);
	machine->guest_maps = maps_create(machine);
	machine->kernel_start = (uint64_t)1 << 63;
	machine_add_comm(machine, 0, 0, "swapper", false, 0);
}

struct machine *machine_create(void)
{
	struct machine *machine = machine_alloc();
	machine_begin(machine);
	return machine;
}

void machine_destroy(struct machine *machine)
{
	if (!machine)
		return;
	struct machine_private *private = machine->private;
	map64_each (slot, &machine->guests)
		machine_destroy(map64_pointer(slot));
	placeholders_drop(&private->placeholders);
	pthread_mutex_destroy(&private->placeholders.lock);
	map64_deinit(&private->dsos_by_name);
	map64_deinit(&private->dsos_by_id);
	map64_deinit(&private->modules);
	map64_deinit(&private->cgroups);
	map64_deinit(&machine->threads_by_tid);
	map64_deinit(&machine->guests);
	for (size_t i = 0; i < machine->dsos.len; i++)
		dso_destroy(machine->dsos.data[i]);
	vec_deinit(&private->free_numbers);
	vec_deinit(&machine->threads);
	vec_deinit(&machine->dsos);
	intern_deinit(&machine->strings);
	intern_deinit(&machine->names);
	arena_deinit(&machine->arena);
	free(private);
	free(machine);
}

struct machine *machine_add_guest(struct machine *host, uint32_t pid)
{
	uint64_t *slot = map64_insert(&host->guests, pid, NULL);
	struct machine *guest = (struct machine *)(uintptr_t)*slot;
	if (guest)
		return guest;
	guest = machine_alloc();
	*slot = (uintptr_t)guest;
	guest->host = host;
	guest->guest_pid = pid;
	guest->arch = host->arch;
	machine_begin(guest);
	return guest;
}

void machine_finish(struct machine *machine)
{
	map64_each (slot, &machine->guests)
		machine_finish(map64_pointer(slot));
	machine->private->finished = true;
}

uint64_t machine_advance(struct machine *machine, uint64_t time)
{
	if (time > machine->private->time)
		machine->private->time = time;
	return machine->private->time;
}

/* ---- maps ---- */

static struct map *map_create_at(struct machine *machine, const struct map_description *description, struct dso *dso, uint64_t time)
{
	struct map *map = arena_alloc(&machine->arena, sizeof(*map));
	*map = (struct map){
		.start = description->start,
		.end = description->end,
		.pgoff = description->pgoff,
		.time = time,
		.dso = dso,
		.prot = description->prot,
		.flags = description->flags,
		.major = description->major,
		.minor = description->minor,
		.inode = description->inode,
		.inode_generation = description->inode_generation,
	};
	return map;
}

static struct map *map_create(struct machine *machine, const struct map_description *description, struct dso *dso, uint64_t time)
{
	return map_create_at(machine, description, dso, machine_advance(machine, time));
}

void machine_make_map(struct maps *maps, const struct map_description *description, uint64_t time)
{
	struct machine *machine = maps->machine;
	struct dso *dso = dso_for_map(machine, description);
	struct map *map = map_create_at(machine, description, dso, time);
	map->identity = dso_name_is_anonymous(description->name) || description->flags & MAP_HUGETLB;
	dso->generation = machine->generation;
	if (description->inode)
		dso->place = (struct dso_place){.pid = description->pid, .start = description->start, .end = description->end};
	if (dso->kind == DSO_VDSO)
		map->pgoff = 0;
	maps_insert(maps, map);
}

void machine_add_map(struct machine *machine, const struct map_description *description, uint64_t time)
{
	struct maps *maps = machine_current_thread(machine, description->pid, description->tid)->process->maps;
	time = machine_advance(machine, time);
	if (machine->maps_wait)
		maps_note_map(maps, description, time);
	else
		machine_make_map(maps, description, time);
}

static bool is_code(const struct map *map)
{
	return map && map->dso->kind == DSO_JITDUMP;
}

void machine_add_map_around_code(struct machine *machine, const struct map_description *description, uint64_t time)
{
	const struct maps_state state = maps_state_at(machine_process(machine, description->pid)->maps, UINT64_MAX);
	VEC(struct map_description) pieces = {0};
	struct map_description piece = *description;
	uint64_t start, end;
	for (uint64_t at = description->start; at < description->end; at = end) {
		bool code = is_code(maps_state_find(&state, at, &start, &end));
		end = end < description->end ? end : description->end;
		piece.end = code ? at : end;
		if ((code || end == description->end) && piece.end > piece.start)
			vec_push(&pieces, piece);
		if (code)
			piece.start = end;
	}
	for (size_t i = 0; i < pieces.len; i++) {
		pieces.data[i].pgoff = description->pgoff + (pieces.data[i].start - description->start);
		machine_add_map(machine, &pieces.data[i], time);
	}
	vec_deinit(&pieces);
}

struct dso *machine_add_jitdump(struct machine *machine, uint32_t pid, const struct jitdump *dump)
{
	return dso_for_jitdump(machine, dump, pid);
}

struct process *machine_process(struct machine *machine, uint32_t pid)
{
	return machine_current_thread(machine, pid, pid)->process;
}

void machine_add_jit_code(struct machine *machine, struct process *process, struct dso *dso, uint64_t address,
			  const struct jitdump_code *code, uint64_t time)
{
	const struct map_description description = {
		.start = address,
		.end = address + code->size < address ? UINT64_MAX : address + code->size,
		.pgoff = code->offset,
		.prot = PROT_EXEC,
	};
	maps_insert(process->maps, map_create(machine, &description, dso, time));
}

static void add_kernel_text(struct machine *machine, const struct map_description *description, uint64_t time)
{
	struct dso *kernel = dso_for_kernel(machine, description);
	struct map *map = map_create(machine, description, kernel, time);
	map->identity = true;
	map->pgoff = 0;
	if (!map->start && !map->end) /* what a recorder writes that isn't allowed to know the addresses */
		map->end = UINT64_MAX;
	if (kernel->text_end)
		maps_remove(machine->kernel_maps, kernel->text_start, kernel->text_end, map->time);
	kernel->text_start = map->start;
	kernel->text_end = map->end;
	maps_insert(machine->kernel_maps, map);
	if (description->pgoff) {
		machine->kernel_reloc_symbol = intern_string(&machine_host(machine)->strings, description->name + strlen(KERNEL_MAP_NAME));
		machine->kernel_reloc_address = description->pgoff;
	}
	const struct arch *arch = machine->arch ? arch_find(machine->arch) : NULL;
	if (map->start && (machine->arch ? !arch || !arch->has_code_below_kernel : map->start >> 63 == 0))
		machine->kernel_start = map->start;
}

/* Since Linux 6.4 /proc/modules gives where a module's text begins, but the size of all its parts, which lie elsewhere: such a map reaches
 * into the modules behind it. It ends where the next one begins, in whatever order they come. */
static void add_module(struct machine *machine, const struct map_description *description, uint64_t time)
{
	struct dso *dso = dso_for_module(machine, description);
	struct map *map = map_create(machine, description, dso, time);
	const struct map *next = maps_next(machine->kernel_maps, map->start);
	if (next && next->start > map->start && next->start < map->end)
		map->end = next->start;
	map->pgoff = 0;
	map->identity = machine->host; /* its own list of symbols tells of it, by addresses */
	dso->text_start = map->start;
	dso->text_end = map->end;
	maps_insert(machine->kernel_maps, map);
}

void machine_add_kernel_map(struct machine *machine, const struct map_description *description, uint64_t time)
{
	const char *name = description->name;
	if (str_starts_with(name, KERNEL_MAP_NAME))
		add_kernel_text(machine, description, time);
	else if (str_starts_with(name, "[guest.kernel.kallsyms"))
		; /* addresses of another machine */
	else if (name[0] == '/' || name[0] == '[')
		add_module(machine, description, time);
}

/* `machine`: the guest, or the host for any of its guests. */
static void add_guest_map(struct machine *machine, struct dso *dso, uint64_t start, uint64_t end)
{
	const struct map_description description = {.start = start, .end = end, .name = dso->name};
	struct map *map = map_create(machine, &description, dso, 0);
	map->identity = true;
	dso->kernel = true;
	dso->text_start = start;
	dso->text_end = end;
	maps_insert(machine->host ? machine->kernel_maps : machine->guest_maps, map);
}

static struct machine *guest_of(struct machine *machine, uint32_t pid)
{
	return pid ? machine_add_guest(machine, pid) : machine;
}

void machine_add_guest_kernel(struct machine *machine, uint32_t pid, uint64_t start, uint64_t end)
{
	struct machine *guest = guest_of(machine, pid);
	add_guest_map(guest, dso_for_guest_kernel(guest), start, end);
}

void machine_add_guest_module(struct machine *machine, uint32_t pid, const char *name, uint64_t start, uint64_t end)
{
	struct machine *guest = guest_of(machine, pid);
	cleanup_free char *bracketed = mem_printf("[%s]", name);
	add_guest_map(guest, dso_for_guest(guest, bracketed, DSO_GUEST_MODULE), start, end);
}

static bool is_of_ksymbol(const struct map *map)
{
	return map->dso->kind == DSO_BPF || map->dso->kind == DSO_KSYMBOL;
}

static bool is_begun(const struct map *map, uint64_t address, const char *name)
{
	return map && map->start == address && is_of_ksymbol(map) && !strcmp(map->dso->name, name);
}

/* Such a record may come late, when its place is another one's: that one stays. */
static void remove_ksymbol(struct machine *machine, uint64_t address, uint32_t length, const char *name, uint64_t time)
{
	const struct map *first = maps_find(machine->kernel_maps, address, UINT64_MAX);
	const struct map *last = maps_find(machine->kernel_maps, address + length - 1, UINT64_MAX);
	const struct map *map = is_begun(first, address, name) ? first : is_begun(last, address, name) ? last : NULL;
	if (map)
		maps_remove(machine->kernel_maps, map == first || !first ? map->start : first->end, map->end, time);
}

void machine_add_ksymbol(struct machine *machine, uint64_t address, uint32_t length, const char *name, bool bpf, bool unregister,
			 uint64_t time)
{
	time = machine_advance(machine, time);
	if (!length || address + length < address)
		return;
	if (unregister)
		return remove_ksymbol(machine, address, length, name, time);
	/* The kernel has given the place of a program whose end wasn't told of, or will be; the image and modules keep theirs. */
	const struct map *there = maps_find(machine->kernel_maps, address, UINT64_MAX);
	if (there && !is_of_ksymbol(there))
		return;
	if (there && there->start == address && there->end == address + length && !strcmp(there->dso->name, name))
		return; /* told of again */
	struct dso *dso = dso_for_ksymbol(machine, name, bpf);
	dso->text_start = address;
	dso->text_end = address + length;
	struct map_description description = {.start = address, .end = address + length, .name = name};
	struct map *map = map_create(machine, &description, dso, time);
	map->identity = true;
	maps_insert(machine->kernel_maps, map);
}

/* The guest that a thread is of, or that it runs as the hypervisor; NULL = none that is known. */
static const struct machine *guest_by_thread(const struct machine *machine, const struct thread *thread)
{
	if (!thread || !machine->guests.count)
		return NULL;
	if (thread->process->machine->host)
		return thread->process->machine;
	const uint64_t *slot = map64_find(&machine->guests, thread->pid);
	return slot ? (const struct machine *)(uintptr_t)*slot : NULL;
}

static bool is_guests(const struct thread *thread)
{
	return thread && thread->process->machine->host;
}

static const struct maps *guest_kernel_maps(const struct machine *machine, const struct thread *thread)
{
	const struct machine *guest = guest_by_thread(machine, thread);
	return guest && guest->kernel_maps->count ? guest->kernel_maps : machine->guest_maps;
}

const struct maps *machine_maps(const struct machine *machine, const struct thread *thread, uint8_t cpumode)
{
	switch (cpumode) {
	case MODE_KERNEL:
		return machine->guests.count && is_guests(thread) ? guest_kernel_maps(machine, thread) : machine->kernel_maps;
	case MODE_USER:
		return thread_maps(thread);
	case MODE_GUEST_KERNEL:
		return machine->guest_code ? thread_maps(thread) : guest_kernel_maps(machine, thread);
	case MODE_GUEST_USER:
		return machine->guest_code || is_guests(thread) ? thread_maps(thread) : NULL;
	default:
		return NULL;
	}
}

/* ---- control groups ---- */

void machine_add_cgroup(struct machine *machine, uint64_t id, const char *path)
{
	bool is_new;
	uint64_t *slot = map64_insert(&machine->private->cgroups, id, &is_new);
	if (is_new)
		*slot = (uintptr_t)intern_string(&machine_host(machine)->strings, path);
}

const struct untrusted *machine_cgroup(const struct machine *machine, uint64_t id)
{
	const uint64_t *slot = map64_find(&machine->private->cgroups, id);
	return untrusted(slot ? (const char *)(uintptr_t)*slot : NULL);
}
