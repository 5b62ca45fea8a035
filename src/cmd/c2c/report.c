/* perf c2c report: options, and the way from samples to tables. */
#include "cmd/c2c/c2c.h"

#include "app/format_option.h"
#include "app/pager.h"
#include "cmd/report/callgraph.h"

#include <linux/perf_event.h>
#include <string.h>

#define O struct c2c_report_options

/* As the kernel's tool has it: callers first, but where something is chosen without saying so. */
static struct error *parse_callgraph(const struct option *option, const char *argument, bool negated, void *field)
{
	struct callgraph_choice *choice = field;
	struct error *error = callgraph_choice_parse(option, argument, negated, field);
	if (!argument && !negated)
		choice->order_given = choice->caller = true;
	return error;
}

static const struct option options[] = {
	OPTION_STRING('d', "display", O, rank, "WHAT",
		      "rank lines by HITMs: all (tot, default), local (lcl) or remote (rmt), or by answers of other cores (peer)"),
	OPTION_STRING('c', "coalesce", O, keys, "KEY,…", "what tells places in a line apart: pid, tid, iaddr, dso (default iaddr)"),
	OPTION_COUNT('N', "node-info", O, node_detail, "show each node's number of CPUs and shares; twice: its CPUs"),
	OPTION_FLAG(0, "double-cl", O, double_line, "take two neighbouring lines for one: some processors fetch both"),
	OPTION_FLAG(0, "full-symbols", O, full_symbols, "show names of functions in full length"),
	OPTION_FLAG(0, "source", O, source, "show source lines (default; --no-source: do not, which is quicker)"),
	OPTION_FLAG(0, "show-all", O, sharing.all, "show all lines, also those that no other core had modified"),
	OPTION_FLAG(0, "stats", O, stats, "show only the statistics"),
	OPTION_FLAG(0, "stdio", O, text, "show text, the default"),
	OPTION_CUSTOM_FLAGS(0, "format", O, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_JSON('j', O, format),
	OPTION_CUSTOM_FLAGS('g', "call-graph", O, callgraph, "STYLE,…", callgraph_choice_help, parse_callgraph,
			    OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT),
	OPTION_FLAG(0, "stitch-lbr", O, stitch, "with -g: join call chains that LBR cut off to those of other samples"),
	OPTION_GROUP(input_option_group, O, input),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_SANDBOX(O, input.sandbox),
	OPTION_END,
};

static struct error *parse_rank(const char *name, enum sharing_rank *ret)
{
	static const char *const names[] = {"tot", "lcl", "rmt", "peer"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			*ret = (enum sharing_rank)i;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "-d: invalid value '%s': use tot, lcl, rmt or peer", name);
}

static struct error *check_callgraph(O *wanted)
{
	const struct callgraph_choice *choice = &wanted->callgraph;
	if (wanted->stitch && !choice->given)
		return error_new_kind(ERROR_USAGE, "--stitch-lbr is for call graphs: give -g as well");
	if (choice->given && (wanted->format || wanted->stats))
		return error_new_kind(ERROR_USAGE, "-g: call graphs are shown below the places of the text only");
	if (choice->by_address)
		return error_new_kind(ERROR_USAGE, "-g: branches are functions here, 'address' is not possible");
	if (choice->given)
		wanted->sharing.calls = choice->caller ? SHARING_CALLERS_FIRST : SHARING_CODE_FIRST;
	return NULL;
}

static struct error *check(O *wanted)
{
	enum { LINE = 64 };
	struct error *error = wanted->rank ? parse_rank(wanted->rank, &wanted->sharing.rank) : NULL;
	if (!error)
		error = check_callgraph(wanted);
	if (!error)
		error = sharing_parse_keys(wanted->keys, &wanted->sharing);
	wanted->sharing.line_size = wanted->double_line ? 2 * LINE : LINE;
	return error;
}

/* Arm's processors tell which core answered, but not HITM. */
static void choose_rank(O *wanted, const struct session *session)
{
	const char *arch = session->reader->features.arch;
	if (!wanted->rank && arch && (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64")))
		wanted->sharing.rank = SHARING_PEER;
}

static struct error *check_chains(const struct session *session)
{
	const struct event_list *events = &session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return NULL;
	return error_new("-g: the recording has no call chains; record them with 'perf c2c record -g'");
}

static struct error *check_recording(const struct session *session)
{
	const struct event_list *events = &session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.sample_type & PERF_SAMPLE_DATA_SRC)
			return NULL;
	return error_new("the recording has no memory accesses; record them with 'perf c2c record'");
}

static struct error *add_samples(struct c2c *c2c)
{
	struct record record;
	struct sample sample;
	struct error *error = NULL;
	while (session_next(c2c->opening.session, &record, &error) > 0)
		if (record.is_sample && session_decode(c2c->opening.session, &record, &sample))
			sharing_add(&c2c->sharing, record.event, &sample, record.model_time);
	return error;
}

static struct error *show(struct c2c *c2c, O *wanted)
{
	choose_rank(wanted, c2c->opening.session);
	struct error *error = check_recording(c2c->opening.session);
	if (!error && wanted->sharing.calls)
		error = check_chains(c2c->opening.session);
	if (error)
		return error;
	wanted->sharing.stitcher = wanted->stitch ? opening_stitcher(&c2c->opening) : NULL;
	c2c->lines = source_lines_create(c2c->opening.resolver, false, false);
	sharing_init(&c2c->sharing, &wanted->sharing, c2c->opening.session, c2c->opening.resolver);
	error = add_samples(c2c);
	if (error)
		return error;
	sharing_finish(&c2c->sharing);
	if (wanted->format)
		return c2c_write_tables(c2c);
	c2c_measure(c2c);
	pager_start("c2c");
	c2c_print(c2c);
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	O wanted = {.keys = "iaddr", .source = true};
	struct c2c c2c = {.options = &wanted};
	callgraph_choice_init(&wanted.callgraph);
	input_options_init(&wanted.input);
	struct error *error = options_parse_alone(options, argc, argv, &wanted, ": give the recording with -i");
	if (!error)
		error = check(&wanted);
	const struct opening_options opening = {.input = &wanted.input,
						.streaming = true,
						.confined = "c2c",
						.remembers = true,
						.itrace = &ITRACE_MEMORY,
						.recorder = "perf c2c record"};
	if (!error)
		error = opening_begin(&c2c.opening, &opening);
	if (!error)
		error = show(&c2c, &wanted);
	if (!error)
		opening_warn(&c2c.opening);
	source_lines_destroy(c2c.lines);
	sharing_deinit(&c2c.sharing);
	stitcher_destroy(wanted.sharing.stitcher);
	opening_end(&c2c.opening);
	return error;
}

static const char *const usage[] = {"[-d tot|lcl|rmt|peer] [-c KEY,…] [--stats] [-i FILE]", NULL};
const struct command cmd_c2c_report = {"c2c report", "Show cache lines that cores share, and the code that does", usage, options, run};
