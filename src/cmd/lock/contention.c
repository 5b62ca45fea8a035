/* perf lock contention: waits for locks of the kernel, or of programs, by who called, by thread, by lock or by owner; of a recording, or
 * live. */
#include "cmd/lock/lock.h"

#include "analysis/lock/user.h"
#include "app/ending.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/attached.h"
#include "capture/live.h"
#include "cmd/name_list.h"
#include "cmd/sched/sched.h"
#include "cmd/targets.h"
#include "event/catalog.h"
#include "event/parse/parse.h"
#include "kernel/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct contention_options {
	struct lock_input common;
	struct targets targets;
	bool live; /* -b */
	bool user; /* locks of programs */
	bool by_thread, by_address, by_cgroup, by_owner;
	const char *format, *separator;
	const char *key;
	struct lock_columns columns;
	uint64_t entries; /* 0 = all */
	uint32_t room;	  /* of the BPF program; 0 = the default */
	uint64_t stack_skip, max_stack;
	struct lock_types types;
	struct name_list locks, functions, cgroups;
};

struct contention {
	struct contention_options *options;
	struct lock_options wanted;
	enum lock_value key;
	uint64_t cpus[SCHED_CPUS / 64];
	VEC(uint64_t) addresses;
	VEC(const char *) names;
	struct workload workload;
	struct event_list events; /* as asked for; live_open() takes them */
	struct sampling sampling;
	struct targets_place place;
	struct live *live; /* NULL = a recording is read */
	struct opening opening;
	struct lock_contention *waits; /* either */
	struct lock_user *user_waits;
};

/* ---- options ---- */

static struct error *parse_types(const struct option *option, const char *argument, bool negated, void *field)
{
	return lock_types_parse(argument, field);
}

static struct error *parse_room(const struct option *option, const char *argument, bool negated, void *field)
{
	enum { MOST = 1 << 24 };
	uint32_t room;
	if (!number_parse_u32(argument, &room) || !room || room > MOST)
		return error_new_kind(ERROR_USAGE, "invalid number '%s': expected 1 to %d", argument, MOST);
	*(uint32_t *)field = room;
	return NULL;
}

static struct error *parse_fields(const struct option *option, const char *argument, bool negated, void *field)
{
	return lock_columns_parse(argument, false, field);
}

#define O struct contention_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

static const struct option options[] = {
	OPTION_HEADING("What is measured, instead of reading a recording"),
	OPTION_FLAG(
		'b', "use-bpf", O, live,
		"measure now (the default with a command, -a, -p or --tid): waits are added up as they happen, nothing is written; BPF is "
		"not needed for it"),
	OPTION_FLAG('a', "all-cpus", O, targets.system_wide, "all threads of the system (default with -b)"),
	OPTION_STRING('p', "pid", O, targets.pids, "PIDS", "existing processes with all their threads (comma-separated)"),
	OPTION_STRING(0, "tid", O, targets.tids, "TIDS", "existing threads (comma-separated)"),

	OPTION_HEADING("Which waits"),
	OPTION_FLAG(0, "user", O, user,
		    "waits for locks of programs (mutexes, conditions and whatever else uses futex) instead of the kernel's; recordings "
		    "need 'perf lock record --user'"),
	OPTION_STRING('C', "cpu", O, targets.cpus, "LIST", "only waits that begin on these CPUs, such as 0-3,7"),
	CUSTOM('Y', "type-filter", types, "TYPE,…",
	       "only waits for these types of locks, such as mutex, spinlock, rwsem or rwsem:W; with --user mutex, rwlock or condition",
	       parse_types),
	CUSTOM('L', "lock-filter", locks, "LOCK,…", "only waits for these locks: addresses, or names of symbols", name_list_option),
	CUSTOM('S', "callstack-filter", functions, "NAME,…", "only waits with a function on the stack whose name contains one of these",
	       name_list_option),
	CUSTOM('G', "cgroup-filter", cgroups, "CGROUP,…", "only waits of threads in these cgroups or below them, such as system.slice",
	       name_list_option),

	OPTION_HEADING("Output"),
	OPTION_FLAG('t', "threads", O, by_thread, "one row per thread that waited"),
	OPTION_FLAG('l', "lock-addr", O, by_address, "one row per lock"),
	OPTION_FLAG(
		'o', "lock-owner", O, by_owner,
		"one row per thread that held a mutex, or a semaphore to write, when others began to wait for it; on the whole system, with "
		"BPF. With --user: that let the others go on; also of recordings"),
	OPTION_FLAG(0, "lock-cgroup", O, by_cgroup, "one row per cgroup; recordings need 'perf lock record --all-cgroups'"),
	OPTION_STRING('k', "key", O, key, "FIELD", "sort by: contended, wait_total (default), wait_max, wait_min or avg_wait"),
	CUSTOM('F', "field", columns, "FIELD,…", "fields to show, as for -k (default contended,wait_total,wait_max,avg_wait)",
	       parse_fields),
	OPTION_U64('E', "entries", O, entries, "N", "show only the first N rows"),
	OPTION_U64(0, "max-stack", O, max_stack, "N", "use at most N frames of a stack (default 8)"),
	OPTION_U64(0, "stack-skip", O, stack_skip, "N",
		   "leave out the first N frames when looking for the caller (default 3); lock functions are left out anyway"),
	OPTION_STRING('x', "field-separator", O, separator, "SEPARATOR", "fields separated by this, times in nanoseconds"),
	OPTION_CUSTOM_FLAGS(0, "format", O, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_JSON(0, O, format),

	LOCK_INPUT_OPTIONS(O),
	CUSTOM('M', "map-nr-entries", room, "N",
	       "with -o: room for N waits at a time and N owners, in the BPF program (default 16384); all else has no limit", parse_room),
	OPTION_END,
};

static bool is_live(const struct contention_options *command, bool workload)
{
	return workload || command->live || targets_are_tasks(&command->targets) || command->targets.system_wide;
}

/* What doesn't go with -o. */
static struct error *check_owner(const struct contention_options *command)
{
	const struct targets *targets = &command->targets;
	if (targets_are_tasks(targets) || targets->cpus || command->locks.names.len || command->functions.names.len ||
	    command->cgroups.names.len)
		return error_new_kind(ERROR_USAGE, "-o measures the whole system: it cannot be combined with -p, --tid, -C, -L, -S or -G");
	if (command->max_stack != LOCK_MAX_STACK || command->stack_skip != LOCK_STACK_SKIP || command->common.input.symfs ||
	    command->common.input.vmlinux || command->common.input.kallsyms)
		return error_new_kind(ERROR_USAGE, "-o needs no stacks and symbols: it cannot be combined with --max-stack, --stack-skip, "
						   "--symfs, --vmlinux and --kallsyms");
	if (command->common.input.input || command->common.input.force || command->common.dump)
		return error_new_kind(ERROR_USAGE,
				      "recordings do not contain the owners of locks: -o cannot be combined with -i, -f and -D");
	return NULL;
}

static struct error *check(struct contention *contention, bool live)
{
	struct contention_options *command = contention->options;
	const char *key = command->key ? command->key : "wait_total";
	if (live && (command->common.input.input || command->common.dump))
		return error_new_kind(ERROR_USAGE,
				      "-i and -D read a recording: they cannot be combined with a command or -b, -a, -p, --tid");
	if (command->by_thread + command->by_address + command->by_cgroup + command->by_owner > 1)
		return error_new_kind(ERROR_USAGE, "-t, -l, -o and --lock-cgroup cannot be combined");
	if (command->separator && command->format)
		return error_new_kind(ERROR_USAGE, "-x and --format cannot be combined");
	if (command->separator && !*command->separator)
		return error_new_kind(ERROR_USAGE, "-x: the separator is empty");
	if (command->user && command->stack_skip != LOCK_STACK_SKIP)
		return error_new_kind(ERROR_USAGE, "--user leaves out the C library's frames: it cannot be combined with --stack-skip");
	if (command->max_stack < 1 || command->max_stack > 1024 || command->stack_skip > 1024)
		return error_new_kind(ERROR_USAGE, "--max-stack and --stack-skip: expected numbers from 1 and from 0 to 1024");
	struct error *error = command->by_owner && !command->user ? check_owner(command) : NULL;
	if (!error)
		error = lock_columns_sort(&command->columns, key, false, &contention->key);
	if (!error)
		error = sched_parse_bits("-C", command->targets.cpus, SCHED_CPUS, contention->cpus);
	return error;
}

static void settle(struct contention *contention)
{
	const struct contention_options *command = contention->options;
	for (size_t i = 0; i < command->locks.names.len; i++) {
		uint64_t address;
		if (number_parse_hex(command->locks.names.data[i], &address))
			vec_push(&contention->addresses, address);
		else
			vec_push(&contention->names, command->locks.names.data[i]);
	}
	contention->wanted = (struct lock_options){
		.by = command->by_thread    ? LOCK_BY_THREAD
		      : command->by_address ? LOCK_BY_ADDRESS
		      : command->by_cgroup  ? LOCK_BY_CGROUP
		      : command->by_owner   ? LOCK_BY_OWNER
					    : LOCK_BY_CALLER,
		.stack_skip = (unsigned int)command->stack_skip,
		.max_stack = (unsigned int)command->max_stack,
		.types = command->types,
		.addresses = contention->addresses.data,
		.address_count = contention->addresses.len,
		.names = contention->names.data,
		.name_count = contention->names.len,
		.functions = command->functions.names.data,
		.function_count = command->functions.names.len,
		.cgroups = command->cgroups.names.data,
		.cgroup_count = command->cgroups.names.len,
		.cpus = command->targets.cpus ? contention->cpus : NULL,
		.cpu_words = SCHED_CPUS / 64,
	};
}

/* ---- live ---- */

/* The kernel's stacks are short and complete. Those of programs are unwound, when they call: then the others need none. */
static struct error *choose_events(struct contention *contention, struct event_catalog *catalog)
{
	struct sampling *sampling = &contention->sampling;
	if (!contention->options->user) {
		struct error *error = lock_check_kernel();
		return error ? error : event_parse(&contention->events, catalog, "lock:contention_begin,lock:contention_end");
	}
	sampling->callgraph = CALLCHAIN_AUTO;
	sampling->stack_grows = true;
	sampling->max_stack = 0;
	sampling->address = true; /* what is mapped beside code */
	return event_parse(&contention->events, catalog, LOCK_USER_EVENTS);
}

/* All CPUs are measured even with -C: a wait may end on another one. */
static struct error *open_live(struct contention *contention, struct event_catalog *catalog, bool workload)
{
	struct targets targets = contention->options->targets;
	struct sampling *sampling = &contention->sampling;
	targets.system_wide |= targets.cpus && !targets_are_tasks(&targets);
	targets.cpus = NULL;
	targets_settle(&targets, workload);
	*sampling = (struct sampling){
		.period = 1,
		.callgraph = CALLCHAIN_FP,
		.max_stack = contention->wanted.max_stack,
		.by_cpu = targets_are_cpus(&targets),
		.no_inherit = targets.tids != NULL,
		.cgroups = contention->wanted.by == LOCK_BY_CGROUP || contention->wanted.cgroup_count,
	};
	sampling->workload = workload && !targets_are_tasks(&targets) && !sampling->by_cpu;
	struct error *error = choose_events(contention, catalog);
	if (!error)
		error = targets_place(&targets, sampling, contention->workload.pid, &contention->place);
	if (error)
		return error;
	const struct live_options live = {
		.name = "lock",
		.events = &contention->events,
		.catalog = catalog,
		.sampling = sampling,
		.target = &contention->place.target,
		.workload = contention->workload.pid ? &contention->workload : NULL,
	};
	attached_warn(&contention->events, NULL);
	return live_open(&live, &contention->live);
}

/* ---- text ---- */

static void add_title(struct strbuf *out, const struct contention *contention)
{
	static const struct {
		const char *aligned, *separated; /* each %s is the separator */
	} titles[] = {
		[LOCK_BY_CALLER] = {"        type   caller", "type%s caller"},
		[LOCK_BY_THREAD] = {"         pid   comm", "pid%s comm"},
		[LOCK_BY_ADDRESS] = {"           address   symbol", "address%s symbol%s type"},
		[LOCK_BY_CGROUP] = {"  cgroup", "cgroup"},
		[LOCK_BY_OWNER] = {"         pid   owner", "pid%s owner"},
	};
	const struct contention_options *command = contention->options;
	const char *separator = command->separator;
	enum lock_by by = contention->wanted.by;
	if (separator)
		strbuf_add_str(out, "# output: ");
	lock_columns_add_titles(out, &command->columns, separator);
	for (const char *c = separator ? titles[by].separated : titles[by].aligned; *c; c += *c == '%' ? 2 : 1)
		if (*c == '%')
			strbuf_add_str(out, separator);
		else
			strbuf_add_char(out, *c);
	if (separator && command->common.output.verbose && by == LOCK_BY_CALLER)
		strbuf_printf(out, "%s stacktrace", separator);
	if (separator && command->user && by == LOCK_BY_ADDRESS)
		strbuf_printf(out, "%s owner", separator);
	strbuf_add_str(out, separator ? "\n" : "\n\n");
}

static void add_text(struct strbuf *out, const char *text)
{
	text_add_safe(out, text, strlen(text));
}

static void add_stack(struct strbuf *out, const struct lock_frame *stack, size_t len, const char *separator)
{
	for (size_t i = 0; i < len; i++) {
		const struct lock_frame *frame = &stack[i];
		strbuf_printf(out, separator ? "%s%#" PRIx64 " " : "%s%#" PRIx64 "  ", !separator ? "\t\t\t" : i ? ":" : " ", frame->ip);
		add_text(out, frame->name);
		if (!separator)
			strbuf_add_char(out, '\n');
	}
}

/* Who released the lock after most of the time. */
static void add_owner(struct strbuf *out, const struct lock_row *row, const char *separator)
{
	const struct thread *owner = lock_row_owner(row);
	if (!owner)
		return;
	strbuf_add_str(out, separator ? " " : ", released by ");
	lock_add_comm(out, owner);
	strbuf_printf(out, "/%u", owner->tid);
}

/* What -v shows of locks of programs: who waited where, and who let them go on. */
static void add_parts(struct strbuf *out, const struct lock_parts *parts, const char *what)
{
	for (size_t i = 0; i < parts->all.len; i++) {
		const struct lock_part *part = &parts->all.data[i];
		strbuf_printf(out, "\t\t%s ", what);
		if (part->thread)
			lock_add_comm(out, part->thread);
		else
			strbuf_add_str(out, "not seen (a timeout, a signal, the end of a thread)");
		if (part->thread)
			strbuf_printf(out, "/%u", part->thread->tid);
		strbuf_printf(out, ": %" PRIu64 " time%s, ", part->count, part->count == 1 ? "" : "s");
		lock_add_time(out, part->ns);
		strbuf_add_char(out, '\n');
		add_stack(out, part->stack, part->stack_len, NULL);
	}
}

/* The name that was added from `begin` on becomes a field of its own, quoted where it holds the separator. */
static void end_name(struct strbuf *out, size_t begin, const char *separator)
{
	if (!separator)
		return;
	cleanup_free char *name = mem_strdup(strbuf_str(out) + begin);
	out->len = begin;
	text_add_csv(out, name, strlen(name), separator);
}

/* Who or what a row is about. */
static void add_subject(struct strbuf *out, const struct contention *contention, const struct lock_row *row)
{
	const char *separator = contention->options->separator, *gap = separator ? " " : "   ";
	const char *between = separator ? separator : "", *indent = separator ? "" : "  ";
	size_t begin;
	switch (contention->wanted.by) {
	case LOCK_BY_CALLER:
		strbuf_printf(out, "%s%*s%s%s", indent, separator ? 0 : 10, lock_type_name(row->flags), between, gap);
		begin = out->len;
		add_text(out, row->name);
		end_name(out, begin, separator);
		break;
	case LOCK_BY_THREAD:
		strbuf_printf(out, "%s%*u%s%s", indent, separator ? 0 : 10, row->thread->tid, between, gap);
		begin = out->len;
		lock_add_comm(out, row->thread);
		end_name(out, begin, separator);
		break;
	case LOCK_BY_ADDRESS:
		strbuf_printf(out, "%s%016" PRIx64 "%s%s", indent, row->address, between, gap);
		begin = out->len;
		add_text(out, row->symbol);
		end_name(out, begin, separator);
		strbuf_printf(out, separator ? "%s %s" : "%s (%s)", between, lock_type_family(row->flags));
		if (contention->options->user) {
			strbuf_add_str(out, separator ? separator : "");
			add_owner(out, row, separator);
		}
		break;
	case LOCK_BY_CGROUP:
		strbuf_add_str(out, indent);
		begin = out->len;
		lock_add_cgroup(out, contention->opening.session->machine, row->cgroup);
		end_name(out, begin, separator);
		break;
	case LOCK_BY_OWNER:
		strbuf_printf(out, "%s%*u%s%s", indent, separator ? 0 : 10, row->owner, between, gap);
		begin = out->len;
		add_text(out, row->name);
		end_name(out, begin, separator);
		break;
	}
}

static void print_text(const struct contention *contention, struct lock_row *const *rows, size_t count, FILE *file)
{
	const struct contention_options *command = contention->options;
	bool with_parts = command->common.output.verbose && command->user && !command->separator;
	bool with_stack = command->common.output.verbose && contention->wanted.by == LOCK_BY_CALLER && !with_parts;
	struct strbuf out = {0};
	if (!command->common.output.quiet)
		add_title(&out, contention);
	for (size_t i = 0; i < count; i++) {
		lock_columns_add_row(&out, &command->columns, rows[i], command->separator);
		add_subject(&out, contention, rows[i]);
		strbuf_add_str(&out, with_stack && command->separator ? command->separator : "\n");
		if (with_stack)
			add_stack(&out, rows[i]->stack, rows[i]->stack_len, command->separator);
		if (with_stack && command->separator)
			strbuf_add_char(&out, '\n');
		if (with_parts) {
			add_parts(&out, &rows[i]->waiters, "waited:");
			add_parts(&out, &rows[i]->owners, "released by");
		}
		fwrite(strbuf_str(&out), 1, out.len, file);
		strbuf_clear(&out);
	}
	fwrite(strbuf_str(&out), 1, out.len, file);
	strbuf_deinit(&out);
}

static bool has_filters(const struct lock_options *options)
{
	return options->types.chosen || options->address_count || options->name_count || options->function_count || options->cgroup_count ||
	       options->cpus;
}

static enum lock_subject subject_of(const struct contention *contention)
{
	if (contention->wanted.by == LOCK_BY_OWNER)
		return LOCK_SUBJECT_OWNER;
	if (contention->wanted.by == LOCK_BY_ADDRESS && contention->options->user)
		return LOCK_SUBJECT_USER_LOCK;
	return (enum lock_subject)contention->wanted.by;
}

static struct error *show(struct contention *contention)
{
	const struct contention_options *command = contention->options;
	struct lock_rows *rows = command->user ? lock_user_rows(contention->user_waits) : lock_contention_rows(contention->waits);
	size_t count = rows->all.len;
	lock_rows_sort(rows, contention->key);
	if (command->entries && command->entries < count)
		count = command->entries;
	if (!count)
		log_warning("There were no waits for locks of %s%s.", command->user ? "programs" : "the kernel",
			    has_filters(&contention->wanted) ? " that pass the filters" : "");
	FILE *file;
	struct error *error = lock_output_open(&command->common, !contention->live && !command->format, &file);
	if (error)
		return error;
	if (command->format)
		error = lock_print_table(command->format, contention->opening.session->machine, rows->all.data, count,
					 subject_of(contention), file);
	else
		print_text(contention, rows->all.data, count, file);
	return lock_output_close(&command->common, file, error);
}

/* ---- */

static struct error *read_waits(struct contention *contention)
{
	struct opening *opening = &contention->opening;
	contention->waits = lock_contention_create(opening->session, opening->resolver, &contention->wanted);
	struct error *error = lock_contention_run(contention->waits);
	return error ? error : lock_contention_require(contention->waits);
}

static struct error *read_user_waits(struct contention *contention)
{
	struct opening *opening = &contention->opening;
	struct record record;
	struct error *error = NULL;
	contention->user_waits = lock_user_create(opening->session, opening->resolver, &contention->wanted);
	while (session_next_sample(opening->session, &record, &error) > 0)
		lock_user_take(contention->user_waits, &record);
	return error ? error : lock_user_require(contention->user_waits);
}

static struct error *follow(struct contention *contention)
{
	struct opening *opening = &contention->opening;
	bool done = false;
	struct error *error = lock_open(opening, &contention->options->common, contention->live ? live_take_reader(contention->live) : NULL,
					contention->wanted.by == LOCK_BY_THREAD || contention->options->user);
	if (!error)
		error = lock_dump(opening, &contention->options->common, &done);
	if (!error && !done)
		error = contention->options->user ? read_user_waits(contention) : read_waits(contention);
	workload_stop(&contention->workload);
	if (!error && !done)
		error = show(contention);
	if (!error)
		opening_warn(opening);
	return error;
}

static void deinit(struct contention *contention)
{
	lock_contention_destroy(contention->waits);
	lock_user_destroy(contention->user_waits);
	opening_end(&contention->opening);
	live_close(contention->live, true);
	event_list_deinit(&contention->events);
	targets_place_deinit(&contention->place);
	workload_deinit(&contention->workload);
	vec_deinit(&contention->addresses);
	vec_deinit(&contention->names);
}

static struct error *run_owners(const struct contention *contention, char **command)
{
	const struct contention_options *given = contention->options;
	return lock_owners_run(&(struct lock_owners_options){
		.room = given->room,
		.common = &given->common,
		.columns = &given->columns,
		.key = contention->key,
		.entries = given->entries,
		.format = given->format,
		.separator = given->separator,
		.types = given->types,
		.command = command,
	});
}

static struct error *run_waits(struct contention *contention, bool live, char **command, int *ret_status)
{
	struct event_catalog *catalog = event_catalog_create("");
	struct error *error = NULL;
	settle(contention);
	if (command)
		error = workload_start(&contention->workload, command, contention->options->format != NULL);
	if (!error && live)
		error = open_live(contention, catalog, command != NULL);
	if (!error)
		error = follow(contention);
	workload_stop(&contention->workload);
	if (!error && contention->live)
		*ret_status = ending_status(ENDING_TRACE, &contention->workload, live_signal(contention->live));
	deinit(contention);
	event_catalog_destroy(catalog);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct contention_options command = {
		.stack_skip = LOCK_STACK_SKIP,
		.max_stack = LOCK_MAX_STACK,
		.columns = {{LOCK_CONTENDED, LOCK_TOTAL, LOCK_MAX, LOCK_AVERAGE}, 4},
	};
	struct contention contention = {.options = &command};
	int words;
	lock_input_init(&command.common);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &command, &words);
	bool live = !error && is_live(&command, words > 0);
	if (!error)
		error = check(&contention, live);
	if (!error)
		error = command.by_owner && !command.user ? run_owners(&contention, words ? argv : NULL)
							  : run_waits(&contention, live, words ? argv : NULL, ret_status);
	name_list_deinit(&command.locks);
	name_list_deinit(&command.functions);
	name_list_deinit(&command.cgroups);
	return error;
}

static const char *const usage[] = {"[-t | -l] [-k FIELD] [-F FIELD,…] [-Y TYPE,…] [-L LOCK,…] [-S NAME,…] [-i FILE]",
				    "[OPTIONS] {-a | -b | -p PIDS | --tid TIDS} [--] [COMMAND]",
				    "[OPTIONS] [--] COMMAND",
				    "-o [-k FIELD] [-F FIELD,…] [--] [COMMAND]",
				    "--user [-t | -l | -o] [OPTIONS] [-p PIDS] [--] [COMMAND]",
				    NULL};
const struct command cmd_lock_contention = {"lock contention", "Show who waited for locks of the kernel or of programs, and for how long",
					    usage, options, run};
