/* The dictionary that process_event() gets: keys, order and values as the kernel tool's manual page "perf-script-python" describes them and
 * its program has them. */
#include "language/python_internal.h"

#include "analysis/script/sample_text.h"

#include <linux/perf_event.h>
#include <string.h>

enum { FLAG_MISPREDICTED = 1, FLAG_PREDICTED = 2, FLAG_TRANSACTION = 4, FLAG_ABORT = 8 };

/* Most values of samples are 0: they share one object. */
static void set_u64(struct python *python, python_object *dict, enum python_key key, uint64_t value)
{
	python_set(python, dict, key, value ? python_u64(python, value) : python_share(python, python->zero));
}

/* (id, value), or (id, value, lost) where the event's read_format has that. */
static python_object *make_counter(struct python *python, bool lost_too, const struct sample_counter *counter)
{
	python_object *tuple = python->api.PyTuple_New(lost_too ? 3 : 2);
	python->api.PyTuple_SetItem(tuple, 0, python_u64(python, counter->id));
	python->api.PyTuple_SetItem(tuple, 1, python_u64(python, counter->value));
	if (lost_too)
		python->api.PyTuple_SetItem(tuple, 2, python_u64(python, counter->lost));
	return tuple;
}

/* Counters of the group; without them one that is all zero. */
static void set_counters(struct python *python, const struct language_sample *at, python_object *dict)
{
	const struct event *event = at->record->event;
	const struct sample *sample = at->sample;
	uint64_t format = event->attr.read_format;
	bool read = event->attr.sample_type & PERF_SAMPLE_READ;
	uint64_t count = read ? sample->counter_count : 1;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		set_u64(python, dict, KEY_time_enabled, sample->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		set_u64(python, dict, KEY_time_running, sample->time_running);
	python_object *list = python->api.PyList_New((python_size)count);
	for (uint64_t i = 0; i < count; i++) {
		struct sample_counter counter = {0};
		if (read)
			counter = sample_counter(&python->session->reader->layouts[event->index], sample, i);
		python->api.PyList_SetItem(list, (python_size)i, make_counter(python, format & EVENT_FORMAT_LOST, &counter));
	}
	python_set(python, dict, KEY_values, list);
}

/* The data source in words. Borrowed: few different ones come, and each is kept. */
static python_object *source_text(struct python *python, uint64_t source)
{
	bool is_new;
	uint64_t *slot = map64_insert(&python->sources, source, &is_new);
	if (is_new) {
		strbuf_clear(&python->text);
		sample_text_add_data_source(source, &python->text);
		*slot = (uintptr_t)python_text(python, strbuf_str(&python->text), python->text.len);
	}
	return (python_object *)(uintptr_t)*slot;
}

/* Where a map begins and ends. The kernel's is as large as its symbols reach: its record tells the code's size only. */
static void bounds_of(struct python *python, const struct map *map, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = map->start;
	*ret_end = map->end;
	if (map->dso->kind != DSO_KERNEL)
		return;
	uint64_t start, end;
	if (symtab_bounds(resolver_symtab(python->resolver, map->dso), &start, &end))
		*ret_end = end;
}

/* A file: its name, build-id and where it is mapped, under these keys. */
static void set_map(struct python *python, python_object *dict, const struct map *map, enum python_key name, enum python_key build_id,
		    enum python_key start, enum python_key end)
{
	char digits[41];
	uint64_t begins, ends;
	if (!map)
		return;
	bounds_of(python, map, &begins, &ends);
	python_put(python, dict, name, python_lasting_text(python, map->dso->script_name));
	buildid_format(&map->dso->build_id, digits);
	python_set_text(python, dict, build_id, digits, strlen(digits));
	set_u64(python, dict, start, begins);
	set_u64(python, dict, end, ends);
}

/* Name and distance from its beginning; neither where there is no symbol. */
static void set_symbol(struct python *python, python_object *dict, const struct frame *frame, enum python_key name, enum python_key offset)
{
	if (!frame->symbol)
		return;
	python_put(python, dict, name, python_lasting_text(python, frame->symbol->name));
	set_u64(python, dict, offset, frame->dso_addr - frame->symbol->start);
}

/* What the sample's data address stands for; only events whose addresses have symbols get these keys. */
static void set_address(struct python *python, const struct language_sample *at, python_object *dict)
{
	struct frame frame;
	sample_resolve_data(python->resolver, at->thread, at->sample->cpumode, at->sample->addr, at->record->model_time, &frame);
	python_put(python, dict, KEY_addr_correlates_sym, python->yes);
	set_map(python, dict, frame.map, KEY_addr_dso, KEY_addr_dso_bid, KEY_addr_dso_map_start, KEY_addr_dso_map_end);
	set_symbol(python, dict, &frame, KEY_addr_symbol, KEY_addr_symoff);
}

/* 'sample' of the dictionary: numbers as they were recorded, 0 where they weren't. */
static python_object *make_sample(struct python *python, const struct language_sample *at)
{
	const struct sample *sample = at->sample;
	const struct event_attr *attr = &at->record->event->attr;
	uint64_t source = sample_data_source(attr, sample);
	python_object *dict = python->api.PyDict_New();
	python_set(python, dict, KEY_pid, python_s64(python, (int32_t)sample->pid));
	python_set(python, dict, KEY_tid, python_s64(python, (int32_t)sample->tid));
	set_u64(python, dict, KEY_cpu, sample->cpu);
	set_u64(python, dict, KEY_ip, sample->ip);
	set_u64(python, dict, KEY_time, sample->time);
	set_u64(python, dict, KEY_period, sample->period);
	set_u64(python, dict, KEY_phys_addr, sample->phys_addr);
	set_u64(python, dict, KEY_addr, sample->addr);
	set_counters(python, at, dict);
	set_u64(python, dict, KEY_weight, sample->weight);
	set_u64(python, dict, KEY_transaction, sample->transaction);
	set_u64(python, dict, KEY_datasrc, source);
	python_put(python, dict, KEY_datasrc_decode, source_text(python, source));
	if (sample->guest.machine_pid) {
		set_u64(python, dict, KEY_machine_pid, sample->guest.machine_pid);
		set_u64(python, dict, KEY_vcpu, sample->guest.vcpu);
	}
	set_u64(python, dict, KEY_cpumode, sample->cpumode);
	if (attr->sample_type & PERF_SAMPLE_ADDR && sample_addr_is_symbol(attr))
		set_address(python, at, dict);
	return dict;
}

/* Whether any bit is set. */
static void set_flag(struct python *python, python_object *dict, enum python_key key, uint64_t flag)
{
	python_put(python, dict, key, flag ? python->yes : python->no);
}

/* No key where nothing is mapped. */
static void set_file_name(struct python *python, python_object *dict, const struct map *map, enum python_key key)
{
	if (map)
		python_put(python, dict, key, python_lasting_text(python, map->dso->script_name));
}

/* An entry of 'brstack': addresses, flags, cycles and files. */
static python_object *make_branch(struct python *python, const struct branch_entry *branch, const struct frame *from,
				  const struct frame *to)
{
	python_object *dict = python->api.PyDict_New();
	set_u64(python, dict, KEY_from, branch->from);
	set_u64(python, dict, KEY_to, branch->to);
	set_flag(python, dict, KEY_mispred, branch->flags & FLAG_MISPREDICTED);
	set_flag(python, dict, KEY_predicted, branch->flags & FLAG_PREDICTED);
	set_flag(python, dict, KEY_in_tx, branch->flags & FLAG_TRANSACTION);
	set_flag(python, dict, KEY_abort, branch->flags & FLAG_ABORT);
	set_u64(python, dict, KEY_cycles, branch_cycles(branch));
	set_file_name(python, dict, from->map, KEY_from_dsoname);
	set_file_name(python, dict, to->map, KEY_to_dsoname);
	return dict;
}

/* "symbol+0x1c" */
static void set_place(struct python *python, python_object *dict, enum python_key key, const struct frame *frame)
{
	strbuf_clear(&python->text);
	if (frame->symbol)
		strbuf_printf(&python->text, "%s+0x%llx", frame->symbol->name,
			      (unsigned long long)(frame->dso_addr - frame->symbol->start));
	else
		strbuf_add_str(&python->text, "[unknown]");
	python_set_text(python, dict, key, python->text.data, python->text.len);
}

/* An entry of 'brstacksym': the same as words and letters. */
static python_object *make_branch_names(struct python *python, const struct branch_entry *branch, const struct frame *from,
					const struct frame *to)
{
	python_object *dict = python->api.PyDict_New();
	uint64_t flags = branch->flags;
	set_place(python, dict, KEY_from, from);
	set_place(python, dict, KEY_to, to);
	python_set_text(python, dict, KEY_pred, flags & FLAG_MISPREDICTED ? "M" : flags & FLAG_PREDICTED ? "P" : "-", 1);
	python_set_text(python, dict, KEY_in_tx, flags & FLAG_TRANSACTION ? "X" : "-", 1);
	python_set_text(python, dict, KEY_abort, flags & FLAG_ABORT ? "A" : "-", 1);
	return dict;
}

/* Both lists, newest branch first. */
static void set_branches(struct python *python, const struct language_sample *at, python_object *dict)
{
	const struct sample *sample = at->sample;
	python_size count = (python_size)sample->branch_count;
	python_object *branches = python->api.PyList_New(count), *names = python->api.PyList_New(count);
	for (python_size i = 0; i < count; i++) {
		const struct branch_entry *branch = &sample->branches[i];
		struct frame from, to;
		sample_resolve_data(python->resolver, at->thread, sample->cpumode, branch->from, at->record->model_time, &from);
		sample_resolve_data(python->resolver, at->thread, sample->cpumode, branch->to, at->record->model_time, &to);
		python->api.PyList_SetItem(branches, i, make_branch(python, branch, &from, &to));
		python->api.PyList_SetItem(names, i, make_branch_names(python, branch, &from, &to));
	}
	python_set(python, dict, KEY_brstack, branches);
	python_set(python, dict, KEY_brstacksym, names);
}

/* One text "AX:0x1 BX:0x2 …"; an empty one without registers. */
static void set_registers(struct python *python, python_object *dict, enum python_key key, const struct sample_regs *regs)
{
	if (!regs->values) {
		python_put(python, dict, key, python->empty_text);
		return;
	}
	strbuf_clear(&python->text);
	sample_text_add_registers(regs, python->machine->arch, &python->text);
	python_set_text(python, dict, key, strbuf_str(&python->text), python->text.len);
}

python_object *python_sample_dict(struct python *python, const struct language_sample *at)
{
	const struct sample *sample = at->sample;
	const struct event *event = at->record->event;
	python_object *dict = python->api.PyDict_New();
	struct frame frame;
	sample_resolve(python->resolver, at->thread, sample->cpumode, sample->ip, at->record->model_time, &frame);
	python_put(python, dict, KEY_ev_name, python_lasting_text(python, event->name));
	python_put(python, dict, KEY_attr, python_event_attr(python_event_of(python, event)));
	python_set(python, dict, KEY_sample, make_sample(python, at));
	python_set(python, dict, KEY_raw_buf,
		   sample->raw_size ? python->api.PyBytes_FromStringAndSize(sample->raw, sample->raw_size)
				    : python_share(python, python->empty_bytes));
	python_put(python, dict, KEY_comm, python_lasting_text(python, untrusted_raw(thread_comm(at->thread, at->record->model_time))));
	set_map(python, dict, frame.map, KEY_dso, KEY_dso_bid, KEY_dso_map_start, KEY_dso_map_end);
	set_symbol(python, dict, &frame, KEY_symbol, KEY_symoff);
	python_set(python, dict, KEY_callchain, python_callchain(python, at));
	set_branches(python, at, dict);
	set_registers(python, dict, KEY_iregs, &sample->regs_intr);
	set_registers(python, dict, KEY_uregs, &sample->regs_user);
	return dict;
}
