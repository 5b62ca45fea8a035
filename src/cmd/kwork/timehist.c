/* perf kwork timehist: each run of a work, with its delay. */
#include "cmd/kwork/kwork.h"

#include "app/pager.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>

struct kwork_timehist_command {
	struct kwork_input shared;
	bool stacks;
	uint64_t max_stack;
	struct strbuf text;
	struct table *table; /* --format; or NULL */
};

enum { DEFAULT_STACK = 5, EXTRA_FRAMES = 2, MOST_FRAMES = 1 << 16, FLUSH = 1 << 16, NS_PER_US = 1000, US_PER_MS = 1000 };

/* ---- text ---- */

/* Rounded as printf() does with the number as a double, which decides between the two only halfway. */
static void add_ms(struct strbuf *out, uint64_t ns)
{
	enum { COLUMNS = 6, DIGITS = 3, HALF = NS_PER_US / 2 };
	const uint64_t exact = 1ull << 52; /* … below that */
	uint64_t us = (ns + HALF) / NS_PER_US;
	if (ns % NS_PER_US == HALF || ns >= exact) {
		strbuf_printf(out, "  %10.3f", (double)ns / 1e6);
		return;
	}
	strbuf_add_str(out, "  ");
	sched_add_fraction(out, us / US_PER_MS, COLUMNS, us % US_PER_MS, DIGITS);
}

/* Cut off, and padded. */
static void add_name(struct strbuf *out, const struct kwork_work *work)
{
	enum { NAME_COLUMNS = 30, NAME_BYTES = 29 };
	size_t start = out->len;
	kwork_add_name(out, work);
	if (out->len - start > NAME_BYTES)
		out->len = start + NAME_BYTES;
	strbuf_pad(out, start, NAME_COLUMNS);
}

static void add_line(struct kwork_timehist_command *command, const struct kwork_run *run)
{
	enum { TIME_COLUMNS = 18 };
	struct strbuf *out = &command->text;
	sched_add_time(out, run->begin, TIME_COLUMNS);
	strbuf_add_char(out, ' ');
	sched_add_time(out, run->end, TIME_COLUMNS);
	strbuf_add_char(out, ' ');
	sched_add_cpu(out, run->work->cpu);
	strbuf_add_char(out, ' ');
	add_name(out, run->work);
	add_ms(out, run->end - run->begin);
	if (run->delay)
		add_ms(out, run->delay);
	else
		strbuf_add_chars(out, ' ', 12);
	strbuf_add_char(out, ' ');
	if (command->stacks)
		strbuf_printf(out, "  %s", run->stack ? run->stack : "");
	strbuf_add_char(out, '\n');
	if (out->len > FLUSH) {
		fwrite(out->data, 1, out->len, stdout);
		strbuf_clear(out);
	}
}

static void add_row(struct kwork_timehist_command *command, const struct kwork_run *run)
{
	struct table *table = command->table;
	const union cell cells[] = {
		{.integer = run->begin},
		{.integer = run->end},
		{.integer = run->work->cpu},
		{.text = kwork_class_name(run->work->class)},
		{.text = kwork_name_for_table(table, run->work)},
		{.integer = run->end - run->begin},
		{.integer = run->delay},
		{.text = run->stack ? arena_strdup(&table->arena, run->stack) : ""},
	};
	table_add_row(table, cells);
}

static void take(void *context, const struct kwork_run *run)
{
	struct kwork_timehist_command *command = context;
	if (run->end < run->begin)
		return;
	if (command->table)
		add_row(command, run);
	else
		add_line(command, run);
}

static void begin_table(struct kwork_timehist_command *command)
{
	static const struct column columns[] = {
		{"start", "Start", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"end", "End", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"cpu", "CPU", COLUMN_COUNT, ALIGN_RIGHT},
		{"class", "Class", COLUMN_TEXT},
		{"name", "Name", COLUMN_TEXT},
		{"runtime", "Runtime", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"delay", "Delay", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"stack", "Stack", COLUMN_TEXT},
	};
	command->table = table_create_columns("kwork_timehist", columns, sizeof(columns) / sizeof(*columns));
}

static void begin(struct kwork_timehist_command *command)
{
	if (command->shared.common.format) {
		begin_table(command);
		return;
	}
	pager_start("kwork");
	fputs(" Runtime start      Runtime end        Cpu     Kwork name                      Runtime     Delaytime \n"
	      "                                               (TYPE)NAME:NUM                  (msec)      (msec)    \n"
	      " -----------------  -----------------  ------  ------------------------------  ----------  ----------\n",
	      stdout);
}

/* ---- */

static struct error *read_and_show(struct kwork_timehist_command *command, const struct kwork_options *wanted)
{
	struct kwork_source source = {0};
	struct kwork *kwork = NULL;
	bool done;
	struct error *error = kwork_open(&source, &command->shared, NULL, true, command->stacks ? KWORK_STACKS : KWORK_KERNEL, &done);
	if (!error && !done) {
		begin(command);
		error = kwork_create(source.opening.session, source.opening.resolver, wanted, &kwork);
	}
	fwrite(strbuf_str(&command->text), 1, command->text.len, stdout);
	if (!error && command->table) {
		error = view_print_table(command->shared.common.format, command->table, stdout);
		command->table = NULL;
	}
	if (!error)
		opening_warn(&source.opening);
	kwork_destroy(kwork);
	kwork_close(&source);
	table_destroy(command->table);
	strbuf_deinit(&command->text);
	return error;
}

/* Before `timehist` the letter is that of the kinds, behind it the kernel image's: the command line doesn't tell any more where it
 * stood. */
static struct error *parse_kinds_or_image(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kwork_input *shared = field;
	struct kwork_options kinds = {0};
	struct error *error = kwork_parse_kinds(argument, KWORK_SCHED, &kinds);
	if (error)
		shared->common.input.vmlinux = argument;
	else
		shared->kinds = argument;
	error_free(error);
	return NULL;
}

#define O struct kwork_timehist_command

static const struct option options[] = {
	OPTION_FLAG('g', "call-graph", O, stacks, "show who called, if the recording has stacks (record -g)"),
	OPTION_U64(0, "max-stack", O, max_stack, "N", "show at most N callers of a stack (default 5), after the two innermost functions"),
	OPTION_CUSTOM_FLAGS('k', "kwork", O, shared, "LIST",
			    "kinds of work: irq, softirq, workqueue (default: all); anything else is the kernel's image, as --vmlinux",
			    parse_kinds_or_image, OPTION_NO_NEGATION),
	OPTION_STRING('n', "name", O, shared.name, "NAME", "only work of this name, without its number"),
	KWORK_OPTIONS(O),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct kwork_timehist_command command = {.max_stack = DEFAULT_STACK};
	struct kwork_options wanted = {.question = KWORK_RUNS, .run = take, .context = &command};
	uint64_t cpus[SCHED_CPUS / 64] = {0};
	sched_input_init(&command.shared.common);
	struct error *error = options_parse_alone(options, argc, argv, &command, "");
	if (!error)
		error = kwork_parse_input(&command.shared, cpus, &wanted);
	if (command.stacks)
		wanted.max_stack = (unsigned int)(command.max_stack < MOST_FRAMES ? command.max_stack : MOST_FRAMES) + EXTRA_FRAMES;
	return error ? error : read_and_show(&command, &wanted);
}

static const char *const usage[] = {"[-g] [-n NAME] [-C LIST] [--time START,STOP] [-i FILE]", NULL};
const struct command cmd_kwork_timehist = {"kwork timehist", "Show each run of kernel work, with its delay", usage, options, run};
