/* The tracker of exits (exits.h). */
#include "analysis/kvm/exits.h"

#include "analysis/sched/tasks.h"
#include "analysis/tracker.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW SIZE_MAX

/* A thread that is a virtual processor. */
struct vcpu {
	struct sched_task task;
	bool known; /* its number is */
	uint32_t number;
	uint64_t since; /* when what isn't over yet began; 0 = nothing */
	size_t row;	/* what that is, or NO_ROW: its end will tell */
};

struct kvm_exits {
	struct tracker *tracker;
	const struct kvm_options *options;
	const struct session *session;
	struct sched_tasks vcpus;
	VEC(struct kvm_row) rows;
	struct map64 index; /* hash of the key → row */
	bool amd;	    /* the recording's processor, where an exit doesn't say it */
};

static const struct {
	const char *name, *title, *tracepoints;
} events[KVM_EVENTS] = {
	[KVM_VMEXIT] = {"vmexit", "VM-EXIT", "kvm:kvm_entry,kvm:kvm_exit"},
	[KVM_MMIO] = {"mmio", "MMIO Access", "kvm:kvm_entry,kvm:kvm_exit,kvm:kvm_mmio"},
	[KVM_IOPORT] = {"ioport", "IO Port Access", "kvm:kvm_entry,kvm:kvm_pio"},
	[KVM_MSR] = {"msr", "MSR Access", "kvm:kvm_entry,kvm:kvm_msr"},
};

const char *kvm_event_name(enum kvm_event event)
{
	return events[event].name;
}

const char *kvm_event_title(enum kvm_event event)
{
	return events[event].title;
}

const char *kvm_event_tracepoints(enum kvm_event event)
{
	return events[event].tracepoints;
}

/* ---- keys ---- */

void kvm_add_key(struct strbuf *out, const struct kvm_key *key)
{
	static const char *const ways[KVM_EVENTS][2] = {[KVM_MMIO] = {"R", "W"}, [KVM_IOPORT] = {"PIN", "POUT"}, [KVM_MSR] = {"R", "W"}};
	if (key->event != KVM_VMEXIT) {
		strbuf_printf(out, "%#" PRIx64 ":%s", key->code, ways[key->event][key->write]);
		return;
	}
	const char *name = kvm_reason_name(key->kind, key->code);
	if (name)
		strbuf_add_str(out, name);
	else
		strbuf_printf(out, "UNKNOWN(%" PRIu64 ")", key->code);
}

bool kvm_is_idle(const struct kvm_key *key)
{
	const char *name = key->event == KVM_VMEXIT ? kvm_reason_name(key->kind, key->code) : NULL;
	return name && (!strcmp(name, "HLT") || !strcmp(name, "hlt") || !strcmp(name, "WFx"));
}

static size_t find_row(struct kvm_exits *exits, const struct kvm_key *key)
{
	const uint64_t words[] = {key->kind, key->code, key->write};
	bool is_new;
	uint64_t *slot = map64_insert(&exits->index, hash_words(words, sizeof(words) / sizeof(*words), 0).lo, &is_new);
	if (is_new) {
		*slot = exits->rows.len;
		vec_push(&exits->rows, (struct kvm_row){.key = *key, .number = exits->rows.len});
	}
	return *slot;
}

/* ---- begin and end ---- */

static bool is_wanted(const struct kvm_exits *exits, uint32_t pid)
{
	const struct kvm_options *options = exits->options;
	size_t i = 0;
	while (i < options->pid_count && options->pids[i] != pid)
		i++;
	return !options->pid_count || i < options->pid_count;
}

/* The virtual processor that the event is about; NULL where it isn't known or not wanted. */
static struct vcpu *vcpu_of(struct kvm_exits *exits, const struct tracker_event *event)
{
	if (!is_wanted(exits, event->pid))
		return NULL;
	struct vcpu *vcpu = sched_tasks_get(&exits->vcpus, event->tid, event->record->model_time, NULL);
	bool others = exits->options->vcpu >= 0 && exits->options->vcpu != (int64_t)vcpu->number;
	return vcpu->known && !others ? vcpu : NULL;
}

static void begin(struct kvm_exits *exits, const struct tracker_event *event, const struct kvm_key *key)
{
	struct vcpu *vcpu = vcpu_of(exits, event);
	if (!vcpu)
		return;
	vcpu->since = event->time;
	vcpu->row = key ? find_row(exits, key) : NO_ROW;
}

static void add_visit(struct kvm_exits *exits, struct kvm_row *row, const struct vcpu *vcpu, const struct tracker_event *event,
		      uint64_t length)
{
	row->shortest = !row->count || length < row->shortest ? length : row->shortest;
	row->longest = length > row->longest ? length : row->longest;
	row->count++;
	row->time += length;
	statistics_add(&row->times, (double)length);
	if (exits->options->visit)
		exits->options->visit(
			exits->options->context,
			&(struct kvm_visit){
				.key = &row->key, .time = event->time, .length = length, .pid = event->pid, .vcpu = vcpu->number});
}

/* `key`, where what began didn't say what it is. */
static void end(struct kvm_exits *exits, const struct tracker_event *event, const struct kvm_key *key)
{
	struct vcpu *vcpu = vcpu_of(exits, event);
	if (!vcpu || !vcpu->since || (vcpu->row == NO_ROW && !key))
		return;
	size_t row = vcpu->row == NO_ROW ? find_row(exits, key) : vcpu->row;
	uint64_t since = vcpu->since;
	vcpu->since = 0;
	vcpu->row = NO_ROW;
	if (event->time >= since)
		add_visit(exits, &exits->rows.data[row], vcpu, event, event->time - since);
}

/* ---- events ---- */

static void on_enter(void *context, const struct tracker_event *event)
{
	struct kvm_exits *exits = context;
	struct vcpu *vcpu = sched_tasks_get(&exits->vcpus, event->tid, event->record->model_time, NULL);
	if (!vcpu->known) {
		vcpu->known = true;
		vcpu->number = (uint32_t)event->values[0];
		vcpu->row = NO_ROW;
	}
	end(exits, event, NULL);
}

/* arm64 says what brought it back, and of traps their class; x86 which extension's reason it is, but for old kernels. */
static void on_leave(void *context, const struct tracker_event *event)
{
	enum { REASON, ISA, RET, CLASS };
	enum { ISA_SVM = 2, ARM_TRAP = 2 };
	struct kvm_exits *exits = context;
	struct kvm_key key = {
		.event = KVM_VMEXIT, .kind = exits->amd ? KVM_REASON_SVM : KVM_REASON_VMX, .code = (uint32_t)event->values[REASON]};
	if (event->fields[ISA])
		key.kind = event->values[ISA] == ISA_SVM ? KVM_REASON_SVM : KVM_REASON_VMX;
	if (event->fields[CLASS]) {
		bool trap = event->values[RET] == ARM_TRAP;
		key.kind = trap ? KVM_REASON_ARM_CLASS : KVM_REASON_ARM;
		key.code = (uint32_t)event->values[trap ? CLASS : RET];
	}
	begin(exits, event, exits->options->event == KVM_VMEXIT ? &key : NULL);
}

static void on_mmio(void *context, const struct tracker_event *event)
{
	enum { READ = 1, WRITE = 2 }; /* 0: a read that has no answer yet */
	const struct kvm_key key = {.event = KVM_MMIO, .code = event->values[1], .write = event->values[0] == WRITE};
	if (event->values[0] == WRITE)
		begin(context, event, &key);
	else if (event->values[0] == READ)
		end(context, event, &key);
}

static void on_port(void *context, const struct tracker_event *event)
{
	begin(context, event, &(struct kvm_key){.event = KVM_IOPORT, .code = (uint32_t)event->values[1], .write = event->values[0]});
}

static void on_register(void *context, const struct tracker_event *event)
{
	begin(context, event, &(struct kvm_key){.event = KVM_MSR, .code = (uint32_t)event->values[1], .write = event->values[0]});
}

static const struct tracker_handler *handlers_of(enum kvm_event event)
{
	static const struct tracker_handler visits[] = {
		{"kvm:kvm_entry", {"vcpu_id"}, on_enter}, {"kvm:kvm_exit", {"exit_reason", "isa", "ret", "esr_ec"}, on_leave}, {0}};
	static const struct tracker_handler mmio[] = {{"kvm:kvm_entry", {"vcpu_id"}, on_enter},
						      {"kvm:kvm_exit", {"exit_reason", "isa", "ret", "esr_ec"}, on_leave},
						      {"kvm:kvm_mmio", {"type", "gpa"}, on_mmio},
						      {0}};
	static const struct tracker_handler ports[] = {
		{"kvm:kvm_entry", {"vcpu_id"}, on_enter}, {"kvm:kvm_pio", {"rw", "port"}, on_port}, {0}};
	static const struct tracker_handler registers[] = {
		{"kvm:kvm_entry", {"vcpu_id"}, on_enter}, {"kvm:kvm_msr", {"write", "ecx"}, on_register}, {0}};
	static const struct tracker_handler *const tables[KVM_EVENTS] = {
		[KVM_VMEXIT] = visits, [KVM_MMIO] = mmio, [KVM_IOPORT] = ports, [KVM_MSR] = registers};
	return tables[event];
}

struct error *kvm_exits_create(struct session *session, const struct kvm_options *options, struct kvm_exits **ret)
{
	struct kvm_exits *exits = mem_zalloc(sizeof(*exits));
	const struct tracker_handler *handlers = handlers_of(options->event);
	struct error *error = NULL;
	exits->options = options;
	exits->session = session;
	const char *cpuid = session->reader->features.cpuid;
	exits->amd = cpuid && (strstr(cpuid, "AMD") || strstr(cpuid, "Hygon"));
	sched_tasks_init(&exits->vcpus, session->machine, sizeof(struct vcpu));
	exits->tracker = tracker_create(session, handlers, exits);
	for (size_t i = 0; !error && handlers[i].event; i++)
		error = tracker_require(exits->tracker, handlers[i].event, "perf kvm stat record");
	if (error)
		kvm_exits_destroy(exits);
	else
		*ret = exits;
	return error;
}

void kvm_exits_destroy(struct kvm_exits *exits)
{
	if (!exits)
		return;
	tracker_destroy(exits->tracker);
	sched_tasks_deinit(&exits->vcpus);
	vec_deinit(&exits->rows);
	map64_deinit(&exits->index);
	free(exits);
}

struct error *kvm_exits_run(struct kvm_exits *exits)
{
	return tracker_run(exits->tracker);
}

void kvm_exits_give(struct kvm_exits *exits, const struct record *record)
{
	tracker_give(exits->tracker, record);
}

/* ---- rows ---- */

/* What has as many: as the kernel's tool finds them in its table, by the last twelve bits, and there what was met later first. */
static int compare_places(const struct kvm_row *a, const struct kvm_row *b)
{
	enum { PLACE = 0xfff };
	uint64_t x = a->key.code & PLACE, y = b->key.code & PLACE;
	if (x != y)
		return x < y ? -1 : 1;
	return a->number > b->number ? -1 : 1;
}

static int compare_counts(const void *one, const void *other)
{
	const struct kvm_row *a = one, *b = other;
	return a->count != b->count ? a->count < b->count ? 1 : -1 : compare_places(a, b);
}

static int compare_means(const void *one, const void *other)
{
	const struct kvm_row *a = one, *b = other;
	uint64_t x = (uint64_t)a->times.mean, y = (uint64_t)b->times.mean;
	return x != y ? x < y ? 1 : -1 : compare_places(a, b);
}

struct kvm_row *kvm_exits_rows(const struct kvm_exits *exits, size_t *ret_count)
{
	struct kvm_row *rows = mem_alloc_array(exits->rows.len + 1, sizeof(*rows));
	*ret_count = 0;
	for (size_t i = 0; i < exits->rows.len; i++)
		if (exits->rows.data[i].count)
			rows[(*ret_count)++] = exits->rows.data[i];
	qsort(rows, *ret_count, sizeof(*rows), exits->options->by_time ? compare_means : compare_counts);
	return rows;
}

void kvm_exits_clear(struct kvm_exits *exits)
{
	for (size_t i = 0; i < exits->rows.len; i++)
		exits->rows.data[i] = (struct kvm_row){.key = exits->rows.data[i].key, .number = exits->rows.data[i].number};
}
