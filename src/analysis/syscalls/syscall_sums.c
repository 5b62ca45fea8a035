/* Sums of system calls and their tables, in the layout of the kernel's tool (syscall_sums.h). */
#include "analysis/syscalls/syscall_sums.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct syscall_sums {
	struct map64 by_id; /* id → index + 1 */
	VEC(struct syscall_owner) owners;
};

struct syscall_sums *syscall_sums_create(void)
{
	return mem_zalloc(sizeof(struct syscall_sums));
}

void syscall_sums_destroy(struct syscall_sums *sums)
{
	if (!sums)
		return;
	for (size_t i = 0; i < sums->owners.len; i++) {
		struct syscall_owner *owner = &sums->owners.data[i];
		for (size_t j = 0; j < owner->totals.len; j++) {
			free(owner->totals.data[j].slots);
			vec_deinit(&owner->totals.data[j].errors_by_number);
		}
		vec_deinit(&owner->totals);
		free(owner->name);
	}
	vec_deinit(&sums->owners);
	map64_deinit(&sums->by_id);
	free(sums);
}

bool syscall_sums_has(const struct syscall_sums *sums, uint64_t id)
{
	return map64_find(&sums->by_id, id);
}

struct syscall_owner *syscall_sums_owner(struct syscall_sums *sums, uint64_t id)
{
	bool is_new;
	uint64_t *slot = map64_insert(&sums->by_id, id, &is_new);

	if (is_new) {
		vec_push(&sums->owners, (struct syscall_owner){.id = id});
		*slot = sums->owners.len;
	}
	return &sums->owners.data[*slot - 1];
}

struct syscall_total *syscall_sums_total(struct syscall_owner *owner, const struct syscall_description *description)
{
	for (size_t i = 0; i < owner->totals.len; i++)
		if (owner->totals.data[i].description == description)
			return &owner->totals.data[i];
	vec_push(&owner->totals, (struct syscall_total){.description = description, .shortest = UINT64_MAX});
	return vec_last(&owner->totals);
}

void syscall_sums_name(struct syscall_sums *sums, uint64_t id, const struct untrusted *name)
{
	struct syscall_owner *owner = syscall_sums_owner(sums, id);
	struct strbuf safe = {0};

	text_add_untrusted(&safe, name);
	free(owner->name);
	owner->name = strbuf_detach(&safe);
}

void syscall_sums_inherit_name(struct syscall_sums *sums, uint64_t id, uint64_t parent_id)
{
	const char *name = syscall_sums_owner(sums, parent_id)->name;
	char *copy = name ? mem_strdup(name) : NULL;
	struct syscall_owner *owner = syscall_sums_owner(sums, id);

	free(owner->name);
	owner->name = copy;
}

void syscall_total_add_error(struct syscall_total *total, uint64_t error, uint64_t count)
{
	for (size_t i = 0; i < total->errors_by_number.len; i++)
		if (total->errors_by_number.data[i].error == error) {
			total->errors_by_number.data[i].count += count;
			return;
		}
	vec_push(&total->errors_by_number, (struct syscall_errors){error, count});
}

void syscall_sums_add(struct syscall_sums *sums, uint64_t id, const struct syscall *call, bool histogram)
{
	struct syscall_owner *owner = syscall_sums_owner(sums, id);
	struct syscall_total *total = syscall_sums_total(owner, call->description);

	owner->events += 2;
	total->calls++;
	total->total += call->duration;
	total->squares += (double)call->duration * (double)call->duration;
	if (call->duration < total->shortest)
		total->shortest = call->duration;
	if (call->duration > total->longest)
		total->longest = call->duration;
	if (histogram) {
		unsigned int slot = call->duration ? 63 - (unsigned int)__builtin_clzll(call->duration) : 0;
		if (!total->slots)
			total->slots = mem_zalloc_array(SYSCALL_SUM_SLOTS, sizeof(*total->slots));
		total->slots[slot < SYSCALL_SUM_SLOTS ? slot : SYSCALL_SUM_SLOTS - 1]++;
	}
	if (syscall_failed(call->result)) {
		total->errors++;
		syscall_total_add_error(total, (uint64_t)-call->result, 1);
	}
}

/* ---- tables ---- */

/* The relative standard deviation of the mean, in percent: how far the average can be trusted. */
static double deviation(const struct syscall_total *total)
{
	double calls = (double)total->calls, mean = (double)total->total / calls, variance;

	if (total->calls < 2 || mean <= 0)
		return 0;
	variance = (total->squares - calls * mean * mean) / (calls - 1);
	return variance > 0 ? 100 * sqrt(variance / calls) / mean : 0;
}

static int compare_totals(const void *a, const void *b)
{
	const struct syscall_total *first = a, *second = b;

	if (first->total != second->total)
		return first->total < second->total ? 1 : -1;
	return strcmp(first->description->name, second->description->name);
}

static int compare_owners(const void *a, const void *b)
{
	const struct syscall_owner *first = *(const struct syscall_owner *const *)a, *second = *(const struct syscall_owner *const *)b;

	if (first->events != second->events)
		return first->events < second->events ? 1 : -1;
	return first->id < second->id ? -1 : first->id > second->id;
}

static int compare_errors(const void *a, const void *b)
{
	const struct syscall_errors *first = a, *second = b;

	return first->error < second->error ? -1 : first->error > second->error;
}

static void add_errors(struct syscall_total *total, struct strbuf *out)
{
	if (total->errors_by_number.len)
		qsort(total->errors_by_number.data, total->errors_by_number.len, sizeof(*total->errors_by_number.data), compare_errors);
	for (size_t i = 0; i < total->errors_by_number.len; i++) {
		const struct syscall_errors *errors = &total->errors_by_number.data[i];
		const char *name = syscall_error_name((int64_t)errors->error);
		if (name)
			strbuf_printf(out, "\t\t\t\t%s: %llu\n", name, (unsigned long long)errors->count);
		else
			strbuf_printf(out, "\t\t\t\t%llu: %llu\n", (unsigned long long)errors->error, (unsigned long long)errors->count);
	}
}

static const char *slot_unit(unsigned int slot, uint64_t *value)
{
	static const char *const units[] = {"ns", "us", "ms", "s "};
	unsigned int unit = slot / 10;

	*value = 1ull << (slot - unit * 10);
	return units[unit < 3 ? unit : 3];
}

/* A bar for each power of two, from the first that has calls to the last. */
static void add_histogram(const struct syscall_total *total, struct strbuf *out)
{
	enum { BAR = 40 };
	unsigned int first = SYSCALL_SUM_SLOTS, last = 0;
	uint64_t most = 0;

	for (unsigned int i = 0; total->slots && i < SYSCALL_SUM_SLOTS; i++)
		if (total->slots[i]) {
			first = first < i ? first : i;
			last = i;
			most = most > total->slots[i] ? most : total->slots[i];
		}
	for (unsigned int i = first; i <= last && most; i++) {
		uint64_t from, to;
		const char *from_unit = slot_unit(i, &from), *to_unit = slot_unit(i + 1, &to);
		size_t length = (size_t)(total->slots[i] * BAR / most);
		strbuf_printf(out, "      %4llu %s - %4llu %s %10llu |", (unsigned long long)from, from_unit, (unsigned long long)to,
			      to_unit, (unsigned long long)total->slots[i]);
		strbuf_add_chars(out, '#', total->slots[i] && !length ? 1 : length);
		strbuf_add_chars(out, ' ', BAR - (total->slots[i] && !length ? 1 : length));
		strbuf_add_str(out, "|\n");
	}
}

static void add_total(struct syscall_total *total, const struct syscall_sums_style *style, struct strbuf *out)
{
	const double ms = 1e6;

	strbuf_printf(out, "   %-15s %8llu %6llu %9.3f %9.3f %9.3f %9.3f %9.2f%%\n", total->description->name,
		      (unsigned long long)total->calls, (unsigned long long)total->errors, (double)total->total / ms,
		      total->calls ? (double)total->shortest / ms : 0, total->calls ? (double)total->total / (double)total->calls / ms : 0,
		      (double)total->longest / ms, deviation(total));
	if (style->errors)
		add_errors(total, out);
	if (style->histograms)
		add_histogram(total, out);
}

static void add_table_head(struct strbuf *out)
{
	strbuf_add_str(out, "\n   syscall            calls  errors  total       min       avg       max       stddev\n"
			    "                                     (msec)    (msec)    (msec)    (msec)        (%)\n"
			    "   --------------- --------  ------ -------- --------- --------- ---------     ------\n");
}

static void add_owner(struct syscall_owner *owner, const struct syscall_sums_style *style, uint64_t all_events, struct strbuf *out)
{
	double share = all_events ? 100.0 * (double)owner->events / (double)all_events : 0;

	if (style->by_id)
		strbuf_printf(out, " %s (%llu), ", owner->name ? owner->name : "?", (unsigned long long)owner->id);
	else
		strbuf_printf(out, " %s, ", owner->name ? owner->name : "total");
	strbuf_printf(out, "%llu events, %.1f%%", (unsigned long long)owner->events, share);
	if (owner->major_faults)
		strbuf_printf(out, ", %llu majfaults", (unsigned long long)owner->major_faults);
	if (owner->minor_faults)
		strbuf_printf(out, ", %llu minfaults", (unsigned long long)owner->minor_faults);
	if (style->runtime)
		strbuf_printf(out, ", %.3f msec", (double)owner->runtime / 1e6);
	strbuf_add_char(out, '\n');
	if (!owner->totals.len)
		return;
	qsort(owner->totals.data, owner->totals.len, sizeof(*owner->totals.data), compare_totals);
	add_table_head(out);
	for (size_t i = 0; i < owner->totals.len; i++)
		add_total(&owner->totals.data[i], style, out);
	strbuf_add_str(out, "\n\n");
}

static void add_json_errors(const struct syscall_total *total, struct json *json)
{
	json_name(json, "errnos");
	json_begin_object(json);
	for (size_t i = 0; i < total->errors_by_number.len; i++) {
		const struct syscall_errors *errors = &total->errors_by_number.data[i];
		const char *name = syscall_error_name((int64_t)errors->error);
		char number[24];
		snprintf(number, sizeof(number), "%llu", (unsigned long long)errors->error);
		json_add_u64(json, name ? name : number, errors->count);
	}
	json_end_object(json);
}

static void add_json_total(const struct syscall_owner *owner, const struct syscall_total *total, const struct syscall_sums_style *style,
			   struct strbuf *out)
{
	struct json json = {.out = out};
	json_begin_object(&json);
	json_add_u64(&json, style->kind, owner->id);
	if (owner->name)
		json_add_string(&json, "name", owner->name);
	json_add_string(&json, "call", total->description->name);
	json_add_u64(&json, "calls", total->calls);
	json_add_u64(&json, "errors", total->errors);
	json_add_u64(&json, "total_ns", total->total);
	json_add_u64(&json, "min_ns", total->calls ? total->shortest : 0);
	json_add_u64(&json, "max_ns", total->longest);
	json_name(&json, "stddev_percent");
	json_value(&json, "%.2f", deviation(total));
	if (total->errors_by_number.len)
		add_json_errors(total, &json);
	if (style->histograms && total->slots) {
		json_name(&json, "log2_ns");
		json_begin_array(&json);
		for (unsigned int i = 0; i < SYSCALL_SUM_SLOTS; i++)
			json_u64(&json, total->slots[i]);
		json_end_array(&json);
	}
	json_end_object(&json);
	strbuf_add_char(out, '\n');
}

void syscall_sums_add_text(struct syscall_sums *sums, const struct syscall_sums_style *style, struct strbuf *out)
{
	const struct syscall_owner **order = mem_alloc_array(sums->owners.len + 1, sizeof(*order));
	uint64_t events = 0;

	for (size_t i = 0; i < sums->owners.len; i++) {
		order[i] = &sums->owners.data[i];
		events += sums->owners.data[i].events;
	}
	qsort(order, sums->owners.len, sizeof(*order), compare_owners);
	if (!style->json)
		strbuf_add_str(out, "\n Summary of events:\n\n");
	for (size_t i = 0; i < sums->owners.len; i++) {
		struct syscall_owner *owner = (struct syscall_owner *)order[i];
		if (!owner->events && !owner->major_faults && !owner->minor_faults)
			continue;
		if (!style->json)
			add_owner(owner, style, events, out);
		for (size_t j = 0; style->json && j < owner->totals.len; j++)
			add_json_total(owner, &owner->totals.data[j], style, out);
	}
	free(order);
}
