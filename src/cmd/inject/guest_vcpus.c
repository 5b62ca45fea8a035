/* Which thread of the hypervisor is which virtual CPU, and on which of the host's CPUs it is.
 *
 * QEMU (-name …,debug-threads=on; libvirt does that) calls them "CPU 0/KVM", "CPU 1/KVM" …, and COMM records tell. Where they run context
 * switches tell, and everything else that was recorded of them. */
#include "cmd/inject/guest.h"

#include <stdlib.h>
#include <string.h>

enum { VCPUS_MAX = 1 << 16 };

static struct inject_vcpu *get_vcpu(struct inject_guest *guest, uint32_t number)
{
	while (guest->vcpus.len <= number)
		vec_push(&guest->vcpus, (struct inject_vcpu){0});
	return &guest->vcpus.data[number];
}

/* "CPU 3/KVM". */
static bool is_vcpu_name(const char *name, uint32_t *ret)
{
	static const char begin[] = "CPU ";
	char *end;
	if (strncmp(name, begin, strlen(begin)) || name[strlen(begin)] < '0' || name[strlen(begin)] > '9')
		return false;
	unsigned long number = strtoul(name + strlen(begin), &end, 10);
	*ret = (uint32_t)number;
	return *end == '/' && number < VCPUS_MAX;
}

static void note_name(struct inject_guest *guest, const struct record_comm *comm)
{
	uint32_t number;
	if (comm->pid != guest->option->pid || !is_vcpu_name(comm->name, &number))
		return;
	get_vcpu(guest, number)->tid = comm->tid;
	*map64_insert(&guest->vcpu_by_tid, comm->tid, NULL) = number;
}

/* Who was on which CPU; false where the record doesn't tell, or tells of something that was made up afterwards. */
static bool find_place(const struct reader *host, const struct record_header *header, uint32_t *ret_tid, uint32_t *ret_cpu)
{
	const struct event *event = header->type < RECORD_USER_START ? reader_event(host, header) : NULL;
	struct sample sample;
	struct sample_id id;
	if (!event)
		return false;
	const struct sample_layout *layout = &host->layouts[event->index];
	if (header->type == RECORD_SAMPLE) {
		if (sample_decode_fixed(layout, &event->attr, header, &sample))
			return false;
		id = (struct sample_id){.tid = sample.tid, .cpu = sample.cpu, .time = sample.time};
	} else {
		sample_id_decode(layout, header, &id);
	}
	*ret_tid = id.tid;
	*ret_cpu = id.cpu;
	return id.time && id.cpu != UINT32_MAX;
}

void inject_guest_follow_vcpus(struct inject_guest *guest, const struct reader *host, const struct record_header *header)
{
	uint32_t tid, cpu;
	if (header->type == RECORD_COMM)
		note_name(guest, (const struct record_comm *)header);
	if (!guest->vcpu_by_tid.count || !find_place(host, header, &tid, &cpu))
		return;
	const uint64_t *number = map64_find(&guest->vcpu_by_tid, tid);
	if (number)
		guest->vcpus.data[*number] = (struct inject_vcpu){.tid = tid, .cpu = cpu, .placed = true};
}

/* Names first: what tells where a thread ran may lie in front of its name. */
void inject_guest_find_vcpus(struct inject_guest *guest, struct reader *host)
{
	const struct record_header *header;
	uint32_t tid, cpu;
	size_t left;
	for (uint64_t offset = host->data_offset; (header = reader_record(host, &offset, false));)
		if (header->type == RECORD_COMM)
			note_name(guest, (const struct record_comm *)header);
	left = guest->vcpu_by_tid.count;
	for (uint64_t offset = host->data_offset; left && (header = reader_record(host, &offset, false));) {
		const uint64_t *number = find_place(host, header, &tid, &cpu) ? map64_find(&guest->vcpu_by_tid, tid) : NULL;
		if (!number || guest->vcpus.data[*number].placed)
			continue;
		guest->vcpus.data[*number] = (struct inject_vcpu){.tid = tid, .cpu = cpu, .placed = true};
		left--;
	}
}

uint32_t inject_guest_place(struct inject_guest *guest, uint32_t vcpu)
{
	const struct inject_vcpu *found = vcpu < guest->vcpus.len ? &guest->vcpus.data[vcpu] : NULL;
	if (found && found->placed)
		return found->cpu;
	guest->unplaced++;
	return 0;
}
