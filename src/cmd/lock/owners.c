/* perf lock contention -o: who holds the locks that others wait for (bpf/lock_owners.h). */
#include "cmd/lock/lock.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/text.h"
#include "bpf/lock_owners.h"
#include "capture/counting/measurement.h"

#include <inttypes.h>
#include <string.h>

struct owners {
	struct arena arena;
	struct lock_rows rows;
};

static void take(void *context, uint32_t tid, const struct lock_owner_sums *sums)
{
	struct owners *owners = context;
	struct lock_row *row = arena_alloc(&owners->arena, sizeof(*row));
	*row = (struct lock_row){
		.owner = tid,
		.name = tid ? arena_strndup(&owners->arena, sums->name, strnlen(sums->name, sizeof(sums->name))) : "Unknown",
		.symbol = "",
		.contended = sums->contended,
		.acquired = sums->ended,
		.waited = sums->ended,
		.total = sums->total,
		.max = sums->max,
		.min = sums->ended ? sums->min : 0,
	};
	vec_push(&owners->rows.all, row);
}

static void print(const struct lock_owners_options *options, struct lock_row *const *rows, size_t count, FILE *file)
{
	const char *separator = options->separator;
	struct strbuf out = {0};
	if (!options->common->output.quiet) {
		strbuf_add_str(&out, separator ? "# output: " : "");
		lock_columns_add_titles(&out, options->columns, separator);
		strbuf_printf(&out, separator ? "pid%s owner\n" : "         pid%s   owner\n\n", separator ? separator : "");
	}
	for (size_t i = 0; i < count; i++) {
		lock_columns_add_row(&out, options->columns, rows[i], separator);
		if (separator)
			strbuf_printf(&out, "%u%s ", rows[i]->owner, separator);
		else
			strbuf_printf(&out, "  %10u   ", rows[i]->owner);
		text_add_safe(&out, rows[i]->name, strlen(rows[i]->name));
		strbuf_add_char(&out, '\n');
	}
	fwrite(strbuf_str(&out), 1, out.len, file);
	strbuf_deinit(&out);
}

static struct error *show(const struct lock_owners_options *options, struct lock_rows *rows)
{
	lock_rows_sort(rows, options->key);
	size_t count = options->entries && options->entries < rows->all.len ? options->entries : rows->all.len;
	if (!count)
		log_warning("There were no waits for locks of the kernel%s.", options->types.chosen ? " that pass the filters" : "");
	FILE *file;
	struct error *error = lock_output_open(options->common, false, &file);
	if (error)
		return error;
	if (options->format)
		error = lock_print_table(options->format, NULL, rows->all.data, count, LOCK_SUBJECT_OWNER, file);
	else
		print(options, rows->all.data, count, file);
	return lock_output_close(options->common, file, error);
}

static void begin(void *context)
{
	bpf_lock_owners_switch(context, true);
}

/* Until the workload ends, or a signal comes. */
static struct error *measure(const struct lock_owners_options *options, struct bpf_lock_owners *bpf)
{
	struct workload workload = {0};
	struct measurement measurement;
	const struct measurement_options measured = {.workload = options->command ? &workload : NULL, .begin = begin, .context = bpf};
	struct error *error = options->command ? workload_start(&workload, options->command, options->format != NULL) : NULL;
	if (error)
		return error;
	error = measurement_open(&measured, &measurement);
	if (!error)
		error = bpf_lock_owners_start(bpf);
	if (!error)
		error = measurement_run(&measurement);
	measurement_close(&measurement);
	workload_stop(&workload);
	workload_deinit(&workload);
	return error;
}

struct error *lock_owners_run(const struct lock_owners_options *options)
{
	struct owners owners = {0};
	struct bpf_lock_owners *bpf = NULL;
	struct lock_owners_config config;
	for (uint64_t flags = 0; flags < LOCK_OWNERS_FLAGS; flags++)
		config.wanted[flags] = lock_types_have(&options->types, flags);
	struct error *error = lock_check_kernel();
	if (!error)
		error = bpf_lock_owners_open(&config, options->room, &bpf);
	if (!error)
		error = measure(options, bpf);
	if (!error) {
		bpf_lock_owners_read(bpf, take, &owners);
		error = show(options, &owners.rows);
	}
	uint64_t missed = error ? 0 : bpf_lock_owners_missed(bpf);
	if (missed)
		log_warning("%" PRIu64 " waits are not counted: too many threads waited, or too many were waited for; -M makes more room.",
			    missed);
	bpf_lock_owners_close(bpf);
	lock_rows_deinit(&owners.rows);
	arena_deinit(&owners.arena);
	return error;
}
