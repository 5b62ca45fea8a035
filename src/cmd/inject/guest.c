/* --guest-data: recordings that were made in guests while the host was recorded, put into the host's.
 *
 *	host    event 0: ids 1 2           COMM "CPU 0/KVM" …  INIT     switch in ───── sample ──────────
 *	guest   event 0: ids 1 2           MMAP COMM … INIT                   └── COMM ── sample ──
 *	out     events 0, 1: ids 1 2, 3 4  COMM … ID_INDEX of 3 4, MMAP COMM …  switch in ─ COMM ─ sample ─ sample …
 *
 * The guest's events come behind the host's, with ids that nobody has, and an ID_INDEX tells of which guest and VCPU they are. Its records
 * go in by the host's time, each before the first one of the host that is later; those without a time where what ran already is told of.
 *
 * How a record is changed: guest_record.c; its time: guest_time.c; where VCPUs ran: guest_vcpus.c. */
#include "cmd/inject/guest.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/synth/synth.h"
#include "perfdata/event_name.h"
#include "symbol/buildid_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the option ---- */

static bool parse_offset(const char *text, uint64_t *ret)
{
	return number_parse_u64(text, ret) || number_parse_s64(text, (int64_t *)ret);
}

struct error *inject_guest_option(const char *text, struct inject_options *options)
{
	cleanup_free char *copy = mem_strdup(text);
	char *rest = copy, *path = strsep(&rest, ","), *pid = strsep(&rest, ","), *offset = strsep(&rest, ","), *scale = strsep(&rest, ",");
	struct inject_guest_option option = {.scale = 1};
	if (!*path || !pid || rest)
		return error_new_kind(
			ERROR_USAGE,
			"expected FILE,PID[,OFFSET[,SCALE]]: the recording made in the guest, the process of its "
			"hypervisor on the host, how far the guest's time stamp counter is ahead of the host's, and how many times "
			"faster it runs");
	if (!number_parse_u32(pid, &option.pid) || !option.pid || option.pid > INT32_MAX)
		return error_new_kind(ERROR_USAGE, "\"%s\" is not the number of a process", pid);
	if (offset && !parse_offset(offset, &option.offset))
		return error_new_kind(ERROR_USAGE,
				      "\"%s\" is not a number: the offset is that of the guest's time stamp counter, such as "
				      "0xfffffa6ae070cb20",
				      offset);
	if (scale && (!number_parse_double(scale, &option.scale) || !isfinite(option.scale) || option.scale <= 0))
		return error_new_kind(ERROR_USAGE,
				      "\"%s\" is not a number above 0: the scale is how many times faster the guest's time stamp "
				      "counter runs",
				      scale);
	for (size_t i = 0; i < options->guests.len; i++)
		if (options->guests.data[i].pid == option.pid)
			return error_new_kind(ERROR_USAGE, "process %u is given twice: a guest has one recording", option.pid);
	option.path = mem_strdup(path);
	vec_push(&options->guests, option);
	return NULL;
}

void inject_guest_options_deinit(struct inject_options *options)
{
	for (size_t i = 0; i < options->guests.len; i++)
		free(options->guests.data[i].path);
	vec_deinit(&options->guests);
}

/* ---- events ---- */

static uint64_t highest_id(const struct event_list *list)
{
	uint64_t highest = 0;
	for (size_t i = 0; i < list->events.len; i++)
		for (size_t j = 0; j < list->events.data[i]->ids.len; j++)
			highest = list->events.data[i]->ids.data[j] > highest ? list->events.data[i]->ids.data[j] : highest;
	return highest;
}

static uint16_t id_place(const struct sample_layout *layout)
{
	return layout->identifier ? layout->identifier : layout->id;
}

static uint16_t trailer_id_place(const struct sample_layout *layout)
{
	return layout->trailer_identifier ? layout->trailer_identifier : layout->trailer_id;
}

/* Readers look for the ids of all records in the same place. */
static struct error *check_ids(const struct inject_guest *guest, const struct sample_layout *host, const struct sample_layout *layout)
{
	const char *path = guest->option->path;
	const struct sample_layout *from = &guest->session->reader->layouts[guest->layouts.len - 1];
	if (!host->sample_id_all || !layout->sample_id_all)
		return error_new("%s: the side-band of %s has no ids", path, host->sample_id_all ? "the guest" : "the host");
	if (!id_place(from) || !trailer_id_place(from))
		return error_new(
			"%s: the guest's records have no ids, which tell of their VCPUs; record the guest with --sample-identifier", path);
	if (!id_place(host) || !trailer_id_place(host))
		return error_new(
			"%s: the records of the host have no ids by which the guest's could be told from them; record the host with "
			"--sample-identifier",
			path);
	if (id_place(host) != id_place(layout) || trailer_id_place(host) != trailer_id_place(layout))
		return error_new("%s: records of the guest have their ids elsewhere than those of the host; record both with "
				 "--sample-identifier",
				 path);
	return layout->time ? NULL : error_new("%s: its records have no times; record the guest without -n and --no-timestamp", path);
}

/* What the attribute says where that is enough, as the kernel's tool has it: it is known that the event is a guest's. */
static void name_event(struct event_list *list, struct event *event)
{
	struct strbuf name = {0};
	if (event->attr.type != PERF_TYPE_HARDWARE && event->attr.type != PERF_TYPE_SOFTWARE && event->attr.type != PERF_TYPE_HW_CACHE)
		return;
	event_name_from_attr(&event->attr, &name);
	event->name = arena_strdup(&list->arena, strbuf_str(&name));
	strbuf_deinit(&name);
}

static void number_ids(struct inject_guest *guest, const struct event *from, struct event *event, uint64_t *highest)
{
	for (size_t i = 0; i < from->ids.len; i++) {
		bool is_new;
		uint64_t *slot = map64_insert(&guest->ids, from->ids.data[i], &is_new);
		if (!is_new)
			continue; /* the same id twice: both are the first one's */
		*slot = ++*highest;
		vec_push(&event->ids, *slot);
	}
}

static struct error *add_event(struct inject *inject, struct inject_guest *guest, const struct event *from, uint64_t *highest)
{
	const struct sample_layout *host = &inject->session->reader->layouts[0];
	struct event *event = event_list_add(&inject->events, from->name);
	event->attr = from->attr;
	event->attr.exclude_host = 1;
	event->attr.exclude_guest = 0;
	if (host->identifier)
		event->attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	event->leader = guest->first_event + from->leader;
	event->members = from->members;
	event->group_name = from->group_name;
	name_event(&inject->events, event);
	if (from->ids.len > UINT64_MAX - *highest)
		return error_new("the ids of the host's events leave none for those of %s", guest->option->path);
	number_ids(guest, from, event, highest);
	sample_layout_init(vec_add(&guest->layouts), &event->attr);
	return check_ids(guest, host, vec_last(&guest->layouts));
}

static struct error *add_events(struct inject *inject, struct inject_guest *guest, uint64_t *highest)
{
	const struct event_list *list = &guest->session->reader->events;
	struct error *error = NULL;
	guest->first_event = (unsigned int)inject->events.events.len;
	if (!list->events.len)
		return error_new("%s: this recording has no events", guest->option->path);
	for (size_t i = 0; i < list->events.len && !error; i++)
		error = add_event(inject, guest, list->events.data[i], highest);
	if (!error && !list->events.data[0]->ids.len)
		error = error_new("%s: its events have no ids; record the guest with --sample-identifier", guest->option->path);
	return error;
}

/* ---- opening ---- */

/* What the recording says of its ids and its clock, wherever that is in it. */
static void look_around(struct inject_guest *guest)
{
	struct reader *reader = guest->session->reader;
	const struct record_header *header;
	for (uint64_t offset = reader->data_offset; (header = reader_record(reader, &offset, false));) {
		const struct record_id_index *index = (const void *)header;
		if (header->type == RECORD_TIME_CONV)
			guest_time_take(&guest->time.guest, (const struct record_time_conv *)header);
		if (header->type != RECORD_ID_INDEX)
			continue;
		uint64_t fit = (header->size - sizeof(*index)) / sizeof(index->entries[0]);
		for (uint64_t i = 0; i < index->count && i < fit; i++)
			*map64_insert(&guest->cpu_by_id, index->entries[i].id, NULL) = index->entries[i].cpu;
	}
}

static struct error *check_mount(const struct inject_options *options, uint32_t pid)
{
	cleanup_free char *root = options->guest_mount ? mem_printf("%s/%u", options->guest_mount, pid) : NULL;
	return root && access(root, R_OK) ? error_system(errno, "--guestmount: %s", root) : NULL;
}

static struct error *open_guest(struct inject *inject, const struct inject_guest_option *option, struct inject_guest *guest)
{
	const struct session_options options = {.input = {.path = option->path, .force = inject->options->force},
						.threadless = true,
						.kernel_only = true,
						.whole_groups = true};
	guest->option = option;
	guest->time = (struct guest_time){.offset = option->offset, .scale = option->scale};
	struct error *error = check_mount(inject->options, option->pid);
	error = error ? error : session_open(&options, &guest->session);
	if (error)
		return error;
	if (guest->session->reader->guests.count)
		return error_new("%s: this recording has guests of its own", option->path);
	if (features_has(&guest->session->reader->features, FEATURE_AUXTRACE))
		log_warning("%s: its hardware trace is left out", option->path);
	look_around(guest);
	return NULL;
}

struct error *inject_guests_open(struct inject *inject)
{
	const struct inject_options *options = inject->options;
	uint64_t highest = highest_id(&inject->events);
	struct error *error = NULL;
	if (!options->guests.len)
		return NULL;
	if (!inject->events.events.len)
		return error_new("--guest-data: the host's recording has no events");
	inject->guests = mem_zalloc(sizeof(*inject->guests));
	for (size_t i = 0; i < options->guests.len && !error; i++) {
		struct inject_guest *guest = mem_zalloc(sizeof(*guest));
		vec_push(&inject->guests->guests, guest);
		error = open_guest(inject, &options->guests.data[i], guest);
		error = error ? error : add_events(inject, guest, &highest);
	}
	return error_wrap(error, "--guest-data");
}

/* ---- what is put in before the first record ---- */

static uint32_t vcpu_of(const struct inject_guest *guest, uint64_t id)
{
	const uint64_t *cpu = map64_find(&guest->cpu_by_id, id);
	return cpu && (int64_t)*cpu >= 0 ? (uint32_t)*cpu : 0;
}

/* One record for so many ids as it holds: first of all of them the entries, then the guests. */
static struct error *put_index(struct inject *inject, const struct inject_guest *guest, const struct map64_slot *const *ids, size_t count)
{
	struct record_id_index record = {.header.type = RECORD_ID_INDEX, .count = count};
	struct strbuf out = {0}, machines = {0};
	strbuf_add(&out, &record, sizeof(record));
	for (size_t i = 0; i < count; i++) {
		const uint64_t vcpu = vcpu_of(guest, ids[i]->key);
		const __typeof__(record.entries[0]) entry = {
			.id = ids[i]->value,
			.cpu = UINT64_MAX,
			.tid = vcpu < guest->vcpus.len ? guest->vcpus.data[vcpu].tid : 0,
		};
		const uint64_t machine[] = {guest->option->pid, vcpu};
		strbuf_add(&out, &entry, sizeof(entry));
		strbuf_add(&machines, machine, sizeof(machine));
	}
	strbuf_add(&out, machines.data, machines.len);
	((struct record_header *)out.data)->size = (uint16_t)out.len;
	struct error *error = inject_write(inject, (const struct record_header *)out.data);
	strbuf_deinit(&machines);
	strbuf_deinit(&out);
	return error;
}

static int compare_ids(const void *a, const void *b)
{
	const struct map64_slot *const *left = a, *const *right = b;
	return (*left)->value < (*right)->value ? -1 : (*left)->value > (*right)->value;
}

static struct error *put_indexes(struct inject *inject, struct inject_guest *guest)
{
	enum { PER_ID = 48, PER_RECORD = (SYNTH_RECORD_MAX - sizeof(struct record_id_index)) / PER_ID };
	VEC(const struct map64_slot *) ids = {0};
	struct error *error = NULL;
	map64_each (slot, &guest->ids)
		vec_push(&ids, slot);
	if (ids.len)
		qsort(ids.data, ids.len, sizeof(ids.data[0]), compare_ids);
	for (size_t at = 0; at < ids.len && !error; at += PER_RECORD)
		error = put_index(inject, guest, ids.data + at, ids.len - at < PER_RECORD ? ids.len - at : PER_RECORD);
	vec_deinit(&ids);
	return error;
}

/* --guestmount: a file that is there with that build-id goes into the cache, where readers find it. The guest may have put anything there:
 * links are followed inside, and only files are opened. */
static void keep_file(const struct inject *inject, const struct feature_build_id *entry, uint32_t pid)
{
	if (!inject->options->guest_mount || entry->filename[0] != '/' || !entry->id.size)
		return;
	cleanup_free char *root = mem_printf("%s/%u", inject->options->guest_mount, pid);
	cleanup_free char *path = process_root_path(root, entry->filename, NULL);
	struct stat status;
	cleanup_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1; /* no pipe or terminal holds us up */
	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return;
	cleanup_free char *opened = mem_printf("/proc/self/fd/%d", fd); /* what was looked at, whatever has its name by now */
	struct error *error = buildid_cache_add(inject->buildid_dir, &entry->id, entry->filename, opened);
	if (error)
		log_info("%s of the guest of process %u isn't put into the cache: %s", entry->filename, pid, error_message(error));
	error_free(error);
}

static struct error *put_build_ids(struct inject *inject, const struct inject_guest *guest)
{
	const struct features *features = &guest->session->reader->features;
	struct error *error = NULL;
	for (size_t i = 0; i < features->build_ids.len && !error; i++) {
		struct feature_build_id entry = features->build_ids.data[i];
		entry.misc = inject_guest_mode(entry.misc);
		entry.pid = (int32_t)guest->option->pid;
		if (str_starts_with(entry.filename, "[kernel.kallsyms]"))
			entry.filename = arena_printf(&inject->features.arena, "[guest.kernel.kallsyms.%u]", guest->option->pid);
		error = inject_put_build_id(inject, &entry);
		keep_file(inject, &features->build_ids.data[i], guest->option->pid);
	}
	return error;
}

/* ---- records ---- */

static struct error *look_ahead(struct inject_guest *guest)
{
	struct error *error = NULL;
	guest->has_next = session_next(guest->session, &guest->next, &error) > 0;
	guest->next_time = guest->has_next ? guest_time_on_host(&guest->time, guest->next.time) : 0;
	return error_wrap(error, "%s", guest->option->path);
}

/* A time that came to be 0 is none. */
static bool is_outside(const struct inject_guests *guests, const struct inject_guest *guest)
{
	const uint64_t time = guest->next_time;
	return guest->next.time && (!time || time < guests->first_time || time > guests->last_time);
}

static struct error *put_next(struct inject *inject, struct inject_guest *guest)
{
	struct error *error = NULL;
	switch (inject_guest_convert(guest)) {
	case GUEST_PUT:
		guest->outside += is_outside(inject->guests, guest);
		error = inject_write(inject, (const struct record_header *)guest->record.data);
		break;
	case GUEST_UNKNOWN:
		guest->unknown++;
		break;
	case GUEST_TRACEPOINT:
		guest->tracepoints++;
		break;
	case GUEST_NOT_MEANT:
		break;
	}
	return error ? error : look_ahead(guest);
}

/* The guest whose next record is the earliest; NULL: none has any left. */
static struct inject_guest *first_guest(const struct inject_guests *guests)
{
	struct inject_guest *first = NULL;
	for (size_t i = 0; i < guests->guests.len; i++) {
		struct inject_guest *guest = guests->guests.data[i];
		if (guest->has_next && (!first || guest->next_time < first->next_time))
			first = guest;
	}
	return first;
}

/* All that is earlier, of all guests in turn. */
static struct error *put_until(struct inject *inject, uint64_t time)
{
	struct inject_guest *first;
	struct error *error = NULL;
	while (!error && (first = first_guest(inject->guests)) && first->next_time < time)
		error = put_next(inject, first);
	return error;
}

/* All that is left, whatever its time: wrong offsets and scales make any of it. */
static struct error *put_rest(struct inject *inject)
{
	struct inject_guest *first;
	struct error *error = NULL;
	while (!error && (first = first_guest(inject->guests)))
		error = put_next(inject, first);
	return error;
}

static struct error *start_guest(struct inject *inject, struct inject_guest *guest)
{
	if (inject->session->reader->stable)
		inject_guest_find_vcpus(guest, inject->session->reader);
	if (!guest->vcpu_by_tid.count)
		return error_new(
			"--guest-data: process %u of the host's recording has no threads that are called \"CPU 0/KVM\" and so on: start "
			"QEMU with -name NAME,debug-threads=on (libvirt does that), and check the number",
			guest->option->pid);
	struct error *error = put_indexes(inject, guest);
	error = error ? error : put_build_ids(inject, guest);
	return error ? error : look_ahead(guest);
}

static struct error *start(struct inject *inject)
{
	struct inject_guests *guests = inject->guests;
	struct error *error = NULL;
	guests->started = true;
	if (inject->session->reader->guests.count)
		return error_new("--guest-data: the host's recording has guests already: put all of them in at once");
	for (size_t i = 0; i < guests->guests.len && !error; i++)
		error = start_guest(inject, guests->guests.data[i]);
	return error ? error : put_until(inject, 1);
}

/* What ran already when recording began is told of by then. */
static bool begins(const struct record *record)
{
	return record->header->type == RECORD_FINISHED_INIT || record->header->type == RECORD_FINISHED_ROUND || record->time;
}

struct error *inject_guests_before(struct inject *inject, const struct record *record)
{
	struct inject_guests *guests = inject->guests;
	struct error *error = NULL;
	if (!guests)
		return NULL;
	for (size_t i = 0; i < guests->guests.len && record->header->type == RECORD_TIME_CONV; i++)
		guest_time_take(&guests->guests.data[i]->time.host, (const struct record_time_conv *)record->header);
	if (!guests->started && begins(record))
		error = start(inject);
	if (!error && record->time) {
		guests->first_time = guests->first_time ? guests->first_time : record->time;
		guests->last_time = record->time;
		error = put_until(inject, record->time);
	}
	for (size_t i = 0; i < guests->guests.len; i++)
		inject_guest_follow_vcpus(guests->guests.data[i], inject->session->reader, record->header);
	return error;
}

static void join_times(struct inject *inject, const struct inject_guest *guest)
{
	struct session *session = inject->session;
	if (!guest->first_time)
		return;
	if (!session->first_time || guest->first_time < session->first_time)
		session->first_time = guest->first_time;
	if (guest->last_time > session->last_time)
		session->last_time = guest->last_time;
}

struct error *inject_guests_finish(struct inject *inject)
{
	struct inject_guests *guests = inject->guests;
	if (!guests)
		return NULL;
	struct error *error = guests->started ? NULL : start(inject);
	error = error ? error : put_rest(inject);
	for (size_t i = 0; i < guests->guests.len; i++)
		join_times(inject, guests->guests.data[i]);
	return error;
}

/* ---- the end ---- */

static void tell(const struct inject_guest *guest)
{
	const char *path = guest->option->path;
	struct strbuf text = {0};
	session_diagnostics_text(guest->session, &text);
	if (text.len)
		log_warning("%s: %s", path, strbuf_str(&text));
	strbuf_deinit(&text);
	if (guest->unknown)
		log_warning("%s: %llu records were left out: they are of no event that the recording describes, or are broken", path,
			    (unsigned long long)guest->unknown);
	if (guest->tracepoints)
		log_warning("%s: %llu samples of tracepoints were left out: the host's recording has no place for the guest's formats",
			    path, (unsigned long long)guest->tracepoints);
	if (guest->outside)
		log_warning(
			"%s: %llu records of the guest of process %u are from before or after the host's recording: check OFFSET and SCALE",
			path, (unsigned long long)guest->outside, guest->option->pid);
	if (guest->unplaced)
		log_warning(
			"%s: %llu records have CPU 0, because nothing tells where their VCPUs ran: record the host with -a --switch-events",
			path, (unsigned long long)guest->unplaced);
}

void inject_guests_tell(const struct inject *inject)
{
	for (size_t i = 0; inject->guests && i < inject->guests->guests.len; i++)
		tell(inject->guests->guests.data[i]);
}

void inject_guests_close(struct inject *inject)
{
	struct inject_guests *guests = inject->guests;
	for (size_t i = 0; guests && i < guests->guests.len; i++) {
		struct inject_guest *guest = guests->guests.data[i];
		session_close(guest->session);
		map64_deinit(&guest->ids);
		map64_deinit(&guest->cpu_by_id);
		map64_deinit(&guest->vcpu_by_tid);
		vec_deinit(&guest->vcpus);
		vec_deinit(&guest->layouts);
		strbuf_deinit(&guest->record);
		free(guest);
	}
	if (guests)
		vec_deinit(&guests->guests);
	free(take_pointer(inject->guests));
}
