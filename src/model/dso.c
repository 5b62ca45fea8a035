/* What code is mapped from: one dso for each file, kernel, module, JIT area or BPF program, and what it is called.
 *
 * The names are those of the kernel's perf (6.1), so that scripts that read its output find them again:
 *
 *	mapped as                   name             script prints      sort key dso shows
 *	/usr/lib/libc.so.6          the path         the path           libc.so.6
 *	//anon, [heap] … executable /tmp/perf-9.map  /tmp/perf-9.map    [JIT] tid 9
 *	//anon … not executable     //anon           //anon             anon
 *	jit-9.dump: its code        the path         the path           [JIT] tid 9
 *	[vdso]                      [vdso]; [vdso32] of a 32-bit process on a 64-bit machine
 *	/lib/modules/…/e-x.ko.xz    the path         [e_x]              [e_x]     (script: the path, when the header has a build-id for it)
 *	[kernel.kallsyms]_text      [kernel.kallsyms], or the name that the header's build-id table has for the kernel
 *
 * A file is told apart from others of the same name by device and inode, or by its build-id; a map without these belongs to whatever has
 * the name.
 */
#include "model/model_internal.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/jitdump.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define KERNEL_NAME "[kernel.kallsyms]"
#define GUEST_KERNEL_NAME "[guest.kernel.kallsyms"

/* ---- names ---- */

bool dso_name_is_anonymous(const char *name)
{
	/* Of most names, paths, the first letters say no: this is asked of each map. */
	if (name[0] != '[' && (name[0] != '/' || !name[1] || !strchr("/daS", name[1])))
		return false;
	return !strcmp(name, "//anon") || str_starts_with(name, "/dev/zero") || str_starts_with(name, "/anon_hugepage") ||
	       str_starts_with(name, "[stack") || str_starts_with(name, "/SYSV") || !strcmp(name, "[heap]");
}

static bool name_is_vdso(const char *name)
{
	return !strcmp(name, "[vdso]") || !strcmp(name, "[vdso32]") || !strcmp(name, "[vdsox32]");
}

/* As basename(3) of POSIX: without trailing slashes; "/" stays. */
static const char *base_name(struct machine *machine, const char *path)
{
	size_t end = strlen(path);
	while (end > 1 && path[end - 1] == '/')
		end--;
	size_t start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (start == end)
		return path[0] ? intern_string(&machine_host(machine)->strings, "/") : intern_string(&machine_host(machine)->strings, ".");
	return intern_bytes(&machine_host(machine)->strings, path + start, end - start);
}

/* "[name]" of a kernel module's path or bracketed name; NULL when it is no module. */
static const char *module_name(struct machine *machine, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	if (name[0] == '[') {
		bool other = str_starts_with(name, KERNEL_NAME) || str_starts_with(name, GUEST_KERNEL_NAME) ||
			     str_starts_with(name, "[vdso") || str_starts_with(name, "[vsyscall]");
		return other ? NULL : intern_string(&machine_host(machine)->strings, name);
	}
	const char *extension = strrchr(name, '.');
	static const char *const compressions[] = {".gz", ".xz", ".zst"};
	for (size_t i = 0; extension && i < sizeof(compressions) / sizeof(compressions[0]); i++)
		if (!strcmp(extension, compressions[i]) && extension > name + 3)
			extension = memrchr(name, '.', extension - name);
	if (!extension || extension == name || strncmp(extension, ".ko", 3))
		return NULL;
	char text[256];
	int length = snprintf(text, sizeof(text), "[%.*s]", (int)(extension - name), name);
	for (int i = 0; i < length && text[i]; i++)
		if (text[i] == '-')
			text[i] = '_';
	return intern_string(&machine_host(machine)->strings, text);
}

/* ---- making and finding ---- */

static struct dso *dso_create(struct machine *machine, const char *name, enum dso_kind kind)
{
	struct machine *host = machine_host(machine);
	struct dso *dso = mem_zalloc(sizeof(*dso));
	typeof(host->private->free_numbers) *free_numbers = &host->private->free_numbers;
	if (!free_numbers->len)
		vec_push(&host->dsos, NULL);
	dso->index = free_numbers->len ? free_numbers->data[--free_numbers->len] : (unsigned int)host->dsos.len - 1;
	dso->generation = host->generation;
	dso->kind = kind;
	dso->guest_pid = machine->guest_pid;
	dso->name = dso->script_name = dso->short_name = intern_string(&host->strings, name);
	host->dsos.data[dso->index] = dso;
	return dso;
}

static bool identity_is_empty(const struct map_description *id)
{
	return !id->major && !id->minor && !id->inode && !id->inode_generation && !id->build_id.size;
}

static bool dso_is_anyones(const struct dso *dso)
{
	return !dso->major && !dso->minor && !dso->inode && !dso->inode_generation && (!dso->build_id.size || dso->header_build_id);
}

/* Maps that the recorder made up from /proc don't know the inode's generation: 0 there agrees with any. */
static bool dso_is(const struct dso *dso, const char *name, const struct map_description *id)
{
	if (dso->name != name)
		return false;
	if (id->build_id.size)
		return buildid_equal(&dso->build_id, &id->build_id);
	if (dso->inode_generation && id->inode_generation && dso->inode_generation != id->inode_generation)
		return false;
	return dso->major == id->major && dso->minor == id->minor && dso->inode == id->inode;
}

static uint64_t identity_hash(const char *name, const struct map_description *id)
{
	uint64_t hash = (uintptr_t)name;
	if (id->build_id.size)
		return hash_combine(hash, hash_bytes(id->build_id.data, id->build_id.size));
	return hash_combine(hash_combine(hash, (uint64_t)id->major << 32 | id->minor), id->inode);
}

static void dso_set_identity(struct dso *dso, const struct map_description *id)
{
	if (id->build_id.size) {
		dso->build_id = id->build_id;
		dso->header_build_id = false;
		return;
	}
	dso->major = id->major;
	dso->minor = id->minor;
	dso->inode = id->inode;
	dso->inode_generation = id->inode_generation;
}

static struct dso *dso_by_name(struct machine *machine, const char *name)
{
	const uint64_t *slot = map64_find(&machine->private->dsos_by_name, (uintptr_t)name);
	return slot ? (struct dso *)(uintptr_t)*slot : NULL;
}

static const char *jit_name(struct machine *machine, uint32_t pid)
{
	char name[32];
	snprintf(name, sizeof(name), "[JIT] tid %d", (int)pid);
	return intern_string(&machine_host(machine)->strings, name);
}

/* A new one that is found by its name; the oldest of a name is `first`. */
static struct dso *dso_add_named(struct machine *machine, const char *name, enum dso_kind kind)
{
	struct dso *dso = dso_create(machine, name, kind);
	unsigned int tid;
	dso->short_name = sscanf(name, "/tmp/perf-%u.map", &tid) == 1 ? jit_name(machine, tid) : base_name(machine, name);
	uint64_t *slot = map64_insert(&machine->private->dsos_by_name, (uintptr_t)dso->name, NULL);
	struct dso *first = (struct dso *)(uintptr_t)*slot;
	if (!first) {
		*slot = (uintptr_t)dso;
	} else {
		dso->next_same_name = first->next_same_name;
		first->next_same_name = dso;
	}
	return dso;
}

/* By name and identity: the very one; else one of that name of which nothing is known, which then is known to be this one; else a new one.
 */
static struct dso *dso_find_or_add(struct machine *machine, const char *text, const struct map_description *id, enum dso_kind kind)
{
	const char *name = intern_string(&machine_host(machine)->strings, text);
	struct dso *first = dso_by_name(machine, name);
	if (identity_is_empty(id))
		return first ? first : dso_add_named(machine, name, kind);
	uint64_t hash = identity_hash(name, id);
	uint64_t *slot = map64_insert(&machine->private->dsos_by_id, hash, NULL);
	struct dso *dso = (struct dso *)(uintptr_t)*slot;
	if (dso && dso->name == name && !dso_is(dso, name, id)) { /* the inode was used again */
		slot = map64_insert(&machine->private->dsos_by_id, hash_combine(hash, id->inode_generation), NULL);
		dso = (struct dso *)(uintptr_t)*slot;
	}
	if (dso && dso_is(dso, name, id))
		return dso;
	dso = first && dso_is_anyones(first) ? first : dso_add_named(machine, name, kind);
	dso_set_identity(dso, id);
	if (dso != first && first && first->header_build_id && !dso->build_id.size) {
		dso->build_id = first->build_id;
		dso->header_build_id = true;
	}
	*slot = (uintptr_t)dso;
	return dso;
}

/* ---- for maps ---- */

/* Of a 32-bit process on a 64-bit machine: the kernel calls both alike, but this one lies where such processes can see it. It is another
 * file, and none that we have. */
static bool is_vdso32(const struct machine *machine, const struct map_description *description)
{
	return description->start <= UINT32_MAX && machine->arch && strstr(machine->arch, "64");
}

static struct dso *dso_for_vdso(struct machine *machine)
{
	struct dso **vdso = &machine->private->vdso;
	if (!*vdso) {
		const char *name = intern_string(&machine_host(machine)->strings, "[vdso]");
		struct dso *known = dso_by_name(machine, name);
		*vdso = known ? known : dso_add_named(machine, name, DSO_VDSO);
		(*vdso)->kind = DSO_VDSO;
	}
	return *vdso;
}

struct dso *dso_for_map(struct machine *machine, const struct map_description *description)
{
	const char *name = description->name;
	if (name_is_vdso(name) && is_vdso32(machine, description))
		return dso_find_or_add(machine, "[vdso32]", &(const struct map_description){0}, DSO_UNKNOWN);
	if (name_is_vdso(name))
		return dso_for_vdso(machine);
	struct map_description id = *description;
	enum dso_kind kind = DSO_FILE;
	char jit[32];
	if (dso_name_is_anonymous(name) || description->flags & MAP_HUGETLB) {
		kind = DSO_ANON;
		if (description->prot & PROT_EXEC) {
			snprintf(jit, sizeof(jit), "/tmp/perf-%d.map", (int)description->pid);
			name = jit;
		}
	} else if (!strcmp(name, "[vsyscall]")) {
		kind = DSO_UNKNOWN;
	}
	struct dso *dso = dso_find_or_add(machine, name, &id, kind);
	if (!dso->pid)
		dso->pid = description->pid;
	return dso;
}

struct dso *machine_file(struct machine *machine, const struct map_description *description)
{
	return dso_for_map(machine, description);
}

struct dso *dso_for_module(struct machine *machine, const struct map_description *description)
{
	const char *short_name = module_name(machine, description->name);
	if (!short_name)
		short_name = base_name(machine, description->name);
	uint64_t *slot = map64_insert(&machine->private->modules, (uintptr_t)short_name, NULL);
	struct dso *dso = (struct dso *)(uintptr_t)*slot;
	if (!dso) {
		dso = dso_create(machine, description->name, machine->host ? DSO_GUEST_MODULE : DSO_KERNEL_MODULE);
		dso->short_name = dso->script_name = short_name;
		*slot = (uintptr_t)dso;
	}
	dso->kernel = true;
	if (description->build_id.size)
		dso->build_id = description->build_id;
	return dso;
}

struct dso *dso_for_guest(struct machine *machine, const char *name, enum dso_kind kind)
{
	return dso_create(machine, name, kind);
}

struct dso *dso_for_guest_kernel(struct machine *machine)
{
	char name[48];
	if (!machine->host)
		return dso_for_guest(machine, GUEST_KERNEL_NAME "]", DSO_GUEST_KERNEL);
	snprintf(name, sizeof(name), GUEST_KERNEL_NAME ".%u]", machine->guest_pid);
	if (!machine->kernel)
		machine->kernel = dso_for_guest(machine, name, DSO_GUEST_KERNEL);
	return machine->kernel;
}

struct dso *dso_for_kernel(struct machine *machine, const struct map_description *description)
{
	struct dso *kernel = machine->kernel;
	if (!kernel && machine->host)
		kernel = dso_for_guest_kernel(machine);
	if (!kernel)
		machine_each_dso (dso, machine)
			kernel = !kernel && dso->kind == DSO_KERNEL ? dso : kernel;
	if (!kernel)
		kernel = dso_add_named(machine, KERNEL_NAME, DSO_KERNEL);
	kernel->kernel = true;
	if (strstr(kernel->name, "vmlinux"))
		kernel->short_name = intern_string(&machine_host(machine)->strings, "[kernel.vmlinux]");
	if (description->build_id.size)
		kernel->build_id = description->build_id;
	return machine->kernel = kernel;
}

struct dso *dso_for_jitdump(struct machine *machine, const struct jitdump *dump, uint32_t pid)
{
	struct dso *dso = dso_create(machine, dump->path, DSO_JITDUMP);
	dso->short_name = jit_name(machine, pid);
	dso->pid = pid;
	dso->jitdump = dump;
	return dso;
}

struct dso *dso_for_ksymbol(struct machine *machine, const char *name, bool bpf)
{
	struct dso *dso = dso_create(machine, name, bpf ? DSO_BPF : DSO_KSYMBOL);
	dso->kernel = true;
	return dso;
}

void machine_note_build_id(struct machine *machine, const char *filename, const struct buildid *id, bool kernel, bool guest)
{
	const char *name = intern_string(&machine_host(machine)->strings, filename);
	struct dso *dso =
		machine->host && kernel && !module_name(machine, filename) ? dso_for_guest_kernel(machine) : dso_by_name(machine, name);
	if (!dso)
		dso = dso_add_named(machine, name, name_is_vdso(filename) ? DSO_VDSO : DSO_FILE);
	dso->build_id = *id;
	dso->header_build_id = true;
	if (!kernel)
		return;
	const char *module = module_name(machine, filename);
	dso->kernel = true;
	if (module) {
		dso->kind = machine->host ? DSO_GUEST_MODULE : DSO_KERNEL_MODULE;
		dso->short_name = module;
		uint64_t *slot = map64_insert(&machine->private->modules, (uintptr_t)module, NULL);
		if (!*slot)
			*slot = (uintptr_t)dso;
	} else {
		dso->kind = guest ? DSO_GUEST_KERNEL : DSO_KERNEL;
	}
}
