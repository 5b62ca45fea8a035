/* The export to databases: when a script sets perf_db_export_mode, its *_table() functions get rows of numbers that refer to each other,
 * instead of process_event() getting dictionaries. A row comes before the first one that refers to it.
 *
 *	machine ◄─ thread ◄─ comm, comm_thread        evsel, dso ◄─ symbol ◄─ call_path ◄─ sample, context_switch
 *
 * Facts: the kernel tool's export-to-sqlite.py names the columns; which rows come when was observed. Calls and returns (call_return_table)
 * come from decoded hardware traces only: there are none. The kernel tool makes one of them for each thread whose samples have addresses,
 * which says that neither a call nor a return was seen; it is left out. */
#include "language/python_internal.h"

#include "analysis/script/sample_text.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 25 };

enum exported_table {
	TABLE_EVSEL,
	TABLE_MACHINE,
	TABLE_THREAD,
	TABLE_COMM,
	TABLE_COMM_THREAD,
	TABLE_DSO,
	TABLE_SYMBOL,
	TABLE_BRANCH_TYPE,
	TABLE_SAMPLE,
	TABLE_CALL_PATH,
	TABLE_CONTEXT_SWITCH,
	TABLE_COUNT
};

static const char *const table_names[TABLE_COUNT] = {"evsel_table",	  "machine_table",   "thread_table",	    "comm_table",
						     "comm_thread_table", "dso_table",	     "symbol_table",	    "branch_type_table",
						     "sample_table",	  "call_path_table", "context_switch_table"};

struct python_export {
	struct python *python;
	python_object *functions[TABLE_COUNT]; /* borrowed; NULL = the script has none */
	bool callchains;
	struct map64 ids[TABLE_COUNT]; /* what a row is about → its id */
	uint64_t last[TABLE_COUNT];
	struct stack stack; /* scratch */
	struct error *error;
};

/* A row on its way. */
struct exported_row {
	python_object *cells[MOST_COLUMNS];
	size_t count;
};

/* A cell of the row; databases have signed numbers alone. */
static void add(struct python_export *export, struct exported_row *row, uint64_t value)
{
	row->cells[row->count++] = python_s64(export->python, (int64_t)value);
}

/* A cell with text. */
static void add_text(struct python_export *export, struct exported_row *row, const char *text)
{
	row->cells[row->count++] = python_text(export->python, text, strlen(text));
}

/* Takes over the cells. After an error, or the end of the script, rows are dropped: the first error is the one that is told. */
static void send(struct python_export *export, enum exported_table table, struct exported_row *row)
{
	struct python *python = export->python;
	if (export->functions[table] && !export->error && !python->base.ended)
		export->error = python_call(python, export->functions[table], row->cells, row->count);
	else
		for (size_t i = 0; i < row->count; i++)
			python->api.Py_DecRef(row->cells[i]);
}

/* The id of what `key` stands for; *ret_new: it has just got one, and its row is to be sent. */
static uint64_t id_of(struct python_export *export, enum exported_table table, uint64_t key, bool *ret_new)
{
	uint64_t *id = map64_insert(&export->ids[table], key, ret_new);
	if (*ret_new)
		*id = ++export->last[table];
	return *id;
}

/* ---- who ---- */

/* The id of the host (0), or of the guest of a process, whose row is sent when it is first met. */
static uint64_t export_machine(struct python_export *export, uint32_t guest_pid)
{
	bool is_new;
	uint64_t id = id_of(export, TABLE_MACHINE, guest_pid, &is_new);
	struct exported_row row = {0};
	if (!is_new)
		return id;
	add(export, &row, id);
	add(export, &row, guest_pid ? guest_pid : (uint64_t)-1);
	add_text(export, &row, "");
	send(export, TABLE_MACHINE, &row);
	return id;
}

/* The id of a thread, whose row is sent when it is first met. `leader` is the id of its main thread; 0 = it is one. */
static uint64_t export_thread(struct python_export *export, const struct thread *thread, uint64_t leader)
{
	bool is_new;
	uint64_t id = id_of(export, TABLE_THREAD, (uintptr_t)thread, &is_new);
	struct exported_row row = {0};
	if (!is_new)
		return id;
	uint64_t machine = export_machine(export, thread->process->machine->guest_pid);
	add(export, &row, id);
	add(export, &row, machine);
	add(export, &row, leader ? leader : id);
	add(export, &row, (uint64_t)(int32_t)thread->pid);
	add(export, &row, (uint64_t)(int32_t)thread->tid);
	send(export, TABLE_THREAD, &row);
	return id;
}

/* That a thread runs a program; these rows have ids that nothing refers to. */
static void export_comm_thread(struct python_export *export, uint64_t comm, uint64_t thread)
{
	struct exported_row row = {0};
	add(export, &row, ++export->last[TABLE_COMM_THREAD]);
	add(export, &row, comm);
	add(export, &row, thread);
	send(export, TABLE_COMM_THREAD, &row);
}

/* The id of the thread's name number `index`. */
static uint64_t export_comm(struct python_export *export, const struct thread *thread, uint64_t thread_id, uint32_t index, bool *ret_new)
{
	const struct thread_comm *comm = &thread->comms[index];
	uint64_t id = id_of(export, TABLE_COMM, hash_combine((uintptr_t)thread, index), ret_new);
	struct exported_row row = {0};
	if (!*ret_new)
		return id;
	add(export, &row, id);
	add_text(export, &row, comm->name);
	add(export, &row, thread_id);
	add(export, &row, comm->time);
	add(export, &row, comm->exec);
	send(export, TABLE_COMM, &row);
	return id;
}

/* How many names it has had by then. */
static uint32_t names_until(const struct thread *thread, uint64_t time)
{
	uint32_t count = 0;
	while (count < thread->comm_count && thread->comms[count].time <= time)
		count++;
	return count;
}

/* The name of a process: that of its newest exec, else its first one. */
static uint32_t name_of_program(const struct thread *leader, uint32_t count)
{
	uint32_t first = 0;
	/* Of names from before the recording the last one counts: a child is first called like its parent. */
	while (first + 1 < count && !leader->comms[first + 1].time)
		first++;
	for (uint32_t i = count; i-- > first;)
		if (leader->comms[i].exec)
			return i;
	return first;
}

struct who {
	uint64_t thread, comm;
};

/* Both ids of a thread at a time of the model. Order: the process' main thread, its name, then the thread, since rows refer to those
 * before them. */
static struct who export_who(struct python_export *export, const struct thread *thread, uint64_t time)
{
	const struct thread *leader = thread->process ? thread->process->leader : NULL;
	uint64_t leader_id = leader ? export_thread(export, leader, 0) : 0;
	uint32_t leader_names = leader ? names_until(leader, time) : 0, names = names_until(thread, time);
	struct who who = {0};
	bool is_new;
	if (leader_names) {
		who.comm = export_comm(export, leader, leader_id, name_of_program(leader, leader_names), &is_new);
		if (is_new)
			export_comm_thread(export, who.comm, leader_id);
	}
	bool first = !map64_find(&export->ids[TABLE_THREAD], (uintptr_t)thread);
	who.thread = export_thread(export, thread, leader_id);
	if (first && who.comm)
		export_comm_thread(export, who.comm, who.thread);
	if (names)
		export_comm(export, thread, who.thread, names - 1, &is_new);
	return who;
}

/* ---- where ---- */

struct where {
	uint64_t dso, symbol, offset;
};

/* The id of a file; the kernel has one name for both columns. */
static uint64_t export_dso(struct python_export *export, const struct dso *dso)
{
	bool is_new;
	char digits[41];
	uint64_t id = id_of(export, TABLE_DSO, (uintptr_t)dso, &is_new);
	struct exported_row row = {0};
	if (!is_new)
		return id;
	uint64_t machine = export_machine(export, dso->guest_pid);
	add(export, &row, id);
	add(export, &row, machine);
	add_text(export, &row, dso->kind == DSO_KERNEL ? dso->script_name : dso->short_name);
	add_text(export, &row, dso->kind == DSO_KERNEL ? dso->script_name : dso->name);
	add_text(export, &row, buildid_format(&dso->build_id, digits));
	send(export, TABLE_DSO, &row);
	return id;
}

/* A place without a symbol gets one of its own, called "unknown". */
static struct where export_where(struct python_export *export, const struct frame *frame)
{
	const struct symbol *symbol = frame->symbol;
	struct where where = {0};
	struct exported_row row = {0};
	bool is_new;
	if (!frame->map)
		return where;
	where.dso = export_dso(export, frame->map->dso);
	uint64_t key = symbol ? (uintptr_t)symbol : hash_combine((uintptr_t)frame->map->dso, frame->dso_addr);
	where.symbol = id_of(export, TABLE_SYMBOL, key, &is_new);
	where.offset = symbol ? frame->dso_addr - symbol->start : 0;
	if (!is_new)
		return where;
	add(export, &row, where.symbol);
	add(export, &row, where.dso);
	add(export, &row, symbol ? symbol->start : frame->dso_addr);
	add(export, &row, symbol ? symbol->end : frame->dso_addr);
	add(export, &row, symbol ? symbol->binding : 0);
	add_text(export, &row, symbol ? symbol->name : "unknown");
	send(export, TABLE_SYMBOL, &row);
	return where;
}

/* The id of a node of the tree of calls: its caller's id, the function, and for places without one the address. */
static uint64_t export_call_path(struct python_export *export, uint64_t parent, uint64_t symbol, uint64_t ip)
{
	bool is_new;
	uint64_t id = id_of(export, TABLE_CALL_PATH, hash_combine(hash_combine(parent, symbol), ip), &is_new);
	struct exported_row row = {0};
	if (!is_new)
		return id;
	add(export, &row, id);
	add(export, &row, parent);
	add(export, &row, symbol);
	add(export, &row, ip);
	send(export, TABLE_CALL_PATH, &row);
	return id;
}

/* The id of the sample's path from the outermost function in, 0 = it has no stack, or the script wants none. */
static uint64_t export_stack(struct python_export *export, const struct language_sample *at)
{
	struct python *python = export->python;
	struct stack *stack = &export->stack;
	VEC(uint64_t) symbols = {0};
	stack->frames.len = 0;
	if (!export->callchains || !(at->record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	stack_resolve(python->resolver, python->machine, at->thread, at->record->event, at->sample, at->record->model_time,
		      &python->stack_options, stack);
	for (size_t i = stack->frames.len; i-- > 0;)
		vec_push(&symbols, export_where(export, &stack->frames.data[i]).symbol);
	uint64_t path = stack->frames.len ? export_call_path(export, 0, 0, 0) : 0;
	for (size_t i = 0; i < symbols.len; i++)
		path = export_call_path(export, path, symbols.data[i],
					symbols.data[i] ? 0 : stack->frames.data[stack->frames.len - 1 - i].ip);
	vec_deinit(&symbols);
	return path;
}

/* ---- rows of events ---- */

/* The id of an event. */
static uint64_t export_event(struct python_export *export, const struct event *event)
{
	bool is_new;
	uint64_t id = id_of(export, TABLE_EVSEL, (uintptr_t)event, &is_new);
	struct exported_row row = {0};
	if (!is_new)
		return id;
	add(export, &row, id);
	add_text(export, &row, event->name);
	send(export, TABLE_EVSEL, &row);
	return id;
}

/* Columns that only hardware traces fill are 0. */
struct error *python_export_sample(struct python_export *export, const struct language_sample *at)
{
	struct python *python = export->python;
	const struct sample *sample = at->sample;
	const struct event_attr *attr = &at->record->event->attr;
	struct where to = {0};
	struct frame frame;
	uint64_t event = export_event(export, at->record->event);
	export_machine(export, 0);
	uint64_t machine = export_machine(export, sample->guest.machine_pid);
	struct who who = export_who(export, at->thread, at->record->model_time);
	sample_resolve(python->resolver, at->thread, sample->cpumode, sample->ip, at->record->model_time, &frame);
	struct where where = export_where(export, &frame);
	uint64_t path = export_stack(export, at);
	if (attr->sample_type & PERF_SAMPLE_ADDR && sample_addr_is_symbol(attr)) {
		sample_resolve_data(python->resolver, at->thread, sample->cpumode, sample->addr, at->record->model_time, &frame);
		to = export_where(export, &frame);
	}
	const uint64_t values[MOST_COLUMNS] = {
		++export->last[TABLE_SAMPLE],
		event,
		machine,
		who.thread,
		who.comm,
		where.dso,
		where.symbol,
		where.offset,
		sample->ip,
		sample->time,
		(uint64_t)(int32_t)sample->cpu,
		to.dso,
		to.symbol,
		to.offset,
		sample->addr,
		sample->period,
		sample->weight,
		sample->transaction,
		sample_data_source(attr, sample),
		0,
		0,
		path,
		0,
		0,
		0,
	};
	struct exported_row row = {0};
	for (size_t i = 0; i < MOST_COLUMNS; i++)
		add(export, &row, values[i]);
	send(export, TABLE_SAMPLE, &row);
	return take_pointer(export->error);
}

/* Zeros for a thread that the recording doesn't know. */
static struct who who_of(struct python_export *export, const struct machine *machine, uint32_t tid, uint64_t time)
{
	const struct thread *thread = machine_thread(machine, tid, time);
	return thread ? export_who(export, thread, time) : (struct who){0};
}

/* From whom to whom; somebody who isn't known has the ids 0. */
struct error *python_export_switch(struct python_export *export, const struct python_switch *at)
{
	struct exported_row row = {0};
	export_machine(export, 0);
	uint64_t machine = export_machine(export, at->guest.machine_pid);
	struct machine *of = machine_of_guest(export->python->machine, at->guest.machine_pid);
	struct who own = who_of(export, of, at->tid, at->model_time), other = {0};
	if (at->other_tid != (uint32_t)-1)
		other = who_of(export, of, at->other_tid, at->model_time);
	const struct who *from = at->out ? &own : &other, *to = at->out ? &other : &own;
	const uint64_t values[] = {++export->last[TABLE_CONTEXT_SWITCH],
				   machine,
				   at->time,
				   (uint64_t)(int32_t)at->cpu,
				   from->thread,
				   from->comm,
				   to->thread,
				   to->comm,
				   (uint64_t)at->out | (uint64_t)at->preempted << 1};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		add(export, &row, values[i]);
	send(export, TABLE_CONTEXT_SWITCH, &row);
	return take_pointer(export->error);
}

/* ---- life ---- */

/* Names of kinds of branches, by the bits that decoders of hardware traces give them. */
static void export_branch_types(struct python_export *export)
{
	enum {
		BRANCH = 1,
		CALL = 2,
		RETURN = 4,
		CONDITIONAL = 8,
		SYSCALL = 16,
		ASYNCHRONOUS = 32,
		INTERRUPT = 64,
		ABORT = 128,
		BEGIN = 256,
		END = 512,
		VM_ENTRY = 2048,
		VM_EXIT = 4096
	};
	static const struct {
		uint32_t bits;
		const char *name;
		bool alone; /* doesn't come with the beginning or end of a trace */
	} kinds[] = {{0, "no branch", false},
		     {BRANCH | CALL, "call", false},
		     {BRANCH | RETURN, "return", false},
		     {BRANCH | CONDITIONAL, "conditional jump", false},
		     {BRANCH, "unconditional jump", true},
		     {BRANCH | CALL | INTERRUPT, "software interrupt", false},
		     {BRANCH | RETURN | INTERRUPT, "return from interrupt", false},
		     {BRANCH | CALL | SYSCALL, "system call", false},
		     {BRANCH | RETURN | SYSCALL, "return from system call", false},
		     {BRANCH | ASYNCHRONOUS, "asynchronous branch", false},
		     {BRANCH | CALL | ASYNCHRONOUS | INTERRUPT, "hardware interrupt", false},
		     {BRANCH | ABORT, "transaction abort", false},
		     {BRANCH | BEGIN, "trace begin", true},
		     {BRANCH | END, "trace end", true},
		     {BRANCH | CALL | VM_ENTRY, "vm entry", false},
		     {BRANCH | CALL | VM_EXIT, "vm exit", false}};
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	for (size_t i = 0; i < KINDS; i++) {
		struct exported_row row = {0};
		add(export, &row, kinds[i].bits);
		add_text(export, &row, kinds[i].name);
		send(export, TABLE_BRANCH_TYPE, &row);
	}
	for (size_t i = 0; i < KINDS; i++) {
		for (int end = 0; end < 2 && !kinds[i].alone; end++) {
			cleanup_free char *name =
				end ? mem_printf("%s / trace end", kinds[i].name) : mem_printf("trace begin / %s", kinds[i].name);
			struct exported_row row = {0};
			add(export, &row, kinds[i].bits | (end ? END : BEGIN));
			add_text(export, &row, name);
			send(export, TABLE_BRANCH_TYPE, &row);
		}
	}
}

/* Whether the script has a global variable of that name that is true. */
static bool is_set(struct python *python, const char *name)
{
	python_object *value = python->api.PyDict_GetItemString(python->globals, name);
	return value && python->api.PyObject_IsTrue(value) > 0;
}

/* Looks at the script's variables, so its top level must have run. */
struct python_export *python_export_create(struct python *python)
{
	if (!is_set(python, "perf_db_export_mode"))
		return NULL;
	struct python_export *export = mem_zalloc(sizeof(*export));
	export->python = python;
	export->callchains = is_set(python, "perf_db_export_callchains");
	for (size_t i = 0; i < TABLE_COUNT; i++)
		export->functions[i] = python_function(python, table_names[i]);
	return export;
}

struct error *python_export_begin(struct python_export *export)
{
	export_branch_types(export);
	return take_pointer(export->error);
}

void python_export_destroy(struct python_export *export)
{
	if (!export)
		return;
	for (size_t i = 0; i < TABLE_COUNT; i++)
		map64_deinit(&export->ids[i]);
	stack_deinit(&export->stack);
	free(export);
}
