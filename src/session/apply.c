/* Side-band records into the machine, and losses into the counts.
 *
 * Records come checked by the reader: of their type's least size and with a NUL behind their names; so the structures of
 * perfdata/records.def are the records themselves. A name ends where the NUL is. */
#include "session/session_internal.h"

#include <string.h>
#include <sys/mman.h>

enum { MISC_BUILD_ID_SIZE = 1 << 15, KSYMBOL_BPF = 1, KSYMBOL_UNREGISTER = 1 };

static bool is_kernel_mode(const struct record_header *header)
{
	uint16_t mode = header->misc & RECORD_MISC_CPUMODE;
	return mode == CPUMODE_KERNEL || mode == CPUMODE_GUEST_KERNEL;
}

static uint64_t map_end(uint64_t start, uint64_t length)
{
	return start + length < start ? UINT64_MAX : start + length;
}

/* What both kinds of records tell. */
#define DESCRIBE(record)                                                                                                         \
	.pid = (record)->pid, .tid = (record)->tid, .start = (record)->start, .end = map_end((record)->start, (record)->length), \
	.pgoff = (record)->pgoff, .name = (record)->name

static struct map_description describe_mmap(const struct record_header *header)
{
	bool data = header->misc & RECORD_MISC_MMAP_DATA;
	return (struct map_description){DESCRIBE((const struct record_mmap *)header), .prot = data ? 0 : PROT_EXEC};
}

static struct map_description describe_mmap2(const struct record_header *header)
{
	const struct record_mmap2 *record = (const void *)header;
	struct map_description map = {DESCRIBE(record), .prot = record->prot, .flags = record->flags};
	if (record_has_build_id(header)) {
		map.build_id.size = record->build_id_size;
		memcpy(map.build_id.data, record->build_id, map.build_id.size);
	} else {
		map.major = record->major;
		map.minor = record->minor;
		map.inode = record->inode;
		map.inode_generation = record->inode_generation;
	}
	return map;
}

static struct map_description describe_map(const struct record_header *header)
{
	return header->type == RECORD_MMAP2 ? describe_mmap2(header) : describe_mmap(header);
}

bool apply_describe_map(const struct record_header *header, struct map_description *ret, bool *ret_kernel)
{
	if (header->type != RECORD_MMAP && header->type != RECORD_MMAP2)
		return false;
	*ret = describe_map(header);
	*ret_kernel = is_kernel_mode(header);
	return true;
}

static void apply_map(struct machine *machine, const struct record_header *header, uint64_t time)
{
	const struct map_description map = describe_map(header);
	if ((header->misc & RECORD_MISC_CPUMODE) == CPUMODE_GUEST_KERNEL && !machine->host)
		return; /* addresses of another machine */
	if (is_kernel_mode(header))
		machine_add_kernel_map(machine, &map, time);
	else
		machine_add_map(machine, &map, time);
}

void apply_around_code(struct machine *machine, const struct record_header *header, uint64_t time)
{
	const struct map_description map = describe_map(header);
	machine_add_map_around_code(machine, &map, time);
}

bool apply_user_map(const struct record_header *header, struct apply_map *ret)
{
	if (is_kernel_mode(header) || (header->misc & RECORD_MISC_CPUMODE) == CPUMODE_GUEST_USER ||
	    (header->type != RECORD_MMAP && header->type != RECORD_MMAP2))
		return false;
	const struct map_description map = describe_map(header);
	*ret = (struct apply_map){.pid = map.pid, .start = map.start, .name = map.name};
	return map.prot & PROT_EXEC;
}

static void apply_namespaces(struct machine *machine, const struct record_header *header, uint64_t time)
{
	const struct record_namespaces *record = (const void *)header;
	struct process_namespaces namespaces = {.time = time};
	uint64_t fit = (header->size - sizeof(*record)) / sizeof(record->links[0]);
	uint64_t most = sizeof(namespaces.inode) / sizeof(namespaces.inode[0]);
	uint64_t count = record->count < fit ? record->count : fit;
	namespaces.count = count < most ? count : most;
	for (uint32_t i = 0; i < namespaces.count; i++) {
		namespaces.device[i] = record->links[i].device;
		namespaces.inode[i] = record->links[i].inode;
	}
	machine_add_namespaces(machine, record->pid, record->tid, &namespaces);
}

static void apply_build_id(struct machine *machine, const struct record_header *header)
{
	const struct record_header_build_id *record = (const void *)header;
	struct buildid id = {.size = sizeof(id.data)};
	if (!memchr(record->name, 0, header->size - sizeof(*record)))
		return;
	if (header->misc & MISC_BUILD_ID_SIZE && record->build_id_size < id.size)
		id.size = record->build_id_size;
	memcpy(id.data, record->build_id, id.size);
	if (record->pid > 0 && record_is_of_guest(header))
		machine = machine_of_guest(machine, (uint32_t)record->pid);
	apply_build_id_entry(machine, header->misc, (const char *)record->name, &id);
}

void apply_build_id_entry(struct machine *machine, uint16_t misc, const char *name, const struct buildid *id)
{
	uint16_t mode = misc & RECORD_MISC_CPUMODE;
	bool kernel = mode == CPUMODE_KERNEL || mode == CPUMODE_GUEST_KERNEL;
	if (mode == CPUMODE_UNKNOWN || mode == CPUMODE_HYPERVISOR || mode > CPUMODE_GUEST_USER)
		return;
	machine_note_build_id(machine, name, id, kernel, mode == CPUMODE_GUEST_KERNEL);
}

static void apply_ksymbol(struct machine *machine, const struct record_header *header, uint64_t time)
{
	const struct record_ksymbol *record = (const void *)header;
	machine_add_ksymbol(machine, record->address, record->length, record->name, record->type == KSYMBOL_BPF,
			    record->flags & KSYMBOL_UNREGISTER, time);
}

bool apply_is_sideband(uint32_t type)
{
	switch (type) {
	case RECORD_MMAP:
	case RECORD_MMAP2:
	case RECORD_COMM:
	case RECORD_FORK:
	case RECORD_EXIT:
	case RECORD_KSYMBOL:
	case RECORD_CGROUP:
	case RECORD_NAMESPACES:
	case RECORD_HEADER_BUILD_ID:
		return true;
	default:
		return false;
	}
}

void apply_sideband(struct machine *machine, const struct record_header *header, uint64_t time)
{
	const struct record_comm *comm = (const void *)header;
	const struct record_task *task = (const void *)header;
	const struct record_cgroup *cgroup = (const void *)header;
	switch (header->type) {
	case RECORD_MMAP:
	case RECORD_MMAP2:
		return apply_map(machine, header, time);
	case RECORD_COMM:
		return machine_add_comm(machine, comm->pid, comm->tid, comm->name, header->misc & RECORD_MISC_COMM_EXEC, time);
	case RECORD_FORK:
		return machine_add_fork(machine, task->pid, task->tid, task->ppid, task->ptid, !(header->misc & RECORD_MISC_FORK_EXEC),
					time);
	case RECORD_EXIT:
		return machine_add_exit(machine, task->tid, time);
	case RECORD_KSYMBOL:
		return apply_ksymbol(machine, header, time);
	case RECORD_CGROUP:
		return machine_add_cgroup(machine, cgroup->id, cgroup->path);
	case RECORD_NAMESPACES:
		return apply_namespaces(machine, header, time);
	case RECORD_HEADER_BUILD_ID:
		return apply_build_id(machine, header);
	default:
		return;
	}
}

enum { AUX_TRUNCATED = 1 }; /* PERF_AUX_FLAG_TRUNCATED */

void apply_loss(struct session *session, const struct record_header *header)
{
	const struct record_lost *lost = (const void *)header;
	const struct record_lost_samples *lost_samples = (const void *)header;
	const struct record_throttle *throttle = (const void *)header;
	struct event *event = header->type == RECORD_LOST	? reader_event_by_id(session->reader, lost->id)
			      : header->type == RECORD_THROTTLE ? reader_event_by_id(session->reader, throttle->id)
								: NULL;
	if (!event)
		event = reader_event(session->reader, header);
	struct event_counts *counts = event ? &session->event_counts[event->index] : NULL;
	switch (header->type) {
	case RECORD_LOST:
		session->lost += lost->count;
		session->lost_chunks++;
		if (counts)
			counts->lost += lost->count;
		break;
	case RECORD_LOST_SAMPLES:
		session->lost_samples += lost_samples->count;
		if (counts)
			counts->lost_samples += lost_samples->count;
		break;
	case RECORD_THROTTLE:
		if (counts)
			counts->throttles++;
		break;
	case RECORD_AUX:
		session->full_traces += ((const struct record_aux *)header)->flags & AUX_TRUNCATED;
		break;
	}
}
