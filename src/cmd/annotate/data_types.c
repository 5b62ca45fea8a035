/* Types of data that samples access, and statistics of how they were found. Statistics as text are written as the kernel's tool does, which
 * people's scripts read. */
#include "cmd/annotate/data_types.h"

#include "base/mem.h"
#include "base/text.h"
#include "cmd/code/code_screen.h"
#include "event/event_set.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct showing {
	const struct data_types_options *options;
	const struct data_profile *profile;
	uint64_t shown;
};

static struct error *write_result(const struct showing *showing, struct result result)
{
	const struct data_types_options *options = showing->options;
	struct view_options view = {.separator = options->separator, .header = !showing->shown, .color = options->color};
	struct sink out = sink_to_file(stdout);
	return view_write_one(view_find(options->format ?: "stdio"), result, &view, &out);
}

static struct error *write_table(const struct showing *showing, struct table *table)
{
	struct error *error = write_result(showing, (struct result){RESULT_TABLE, .table = table});
	table_destroy(table);
	return error;
}

/* ---- statistics ---- */

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void add_total(struct strbuf *out, uint64_t good, uint64_t bad)
{
	strbuf_printf(out, "total %" PRIu64 ", ok %" PRIu64 " (%.1f%%), bad %" PRIu64 " (%.1f%%)\n", good + bad, good,
		      percent(good, good + bad), bad, percent(bad, good + bad));
}

static const char RULE[] = "-----------------------------------------------------------\n";

static void print(struct strbuf *out)
{
	fwrite(out->data, 1, out->len, stdout);
	strbuf_deinit(out);
}

static void print_outcomes(const struct data_profile *profile)
{
	struct strbuf out = {0};
	uint64_t good = 0, bad = 0;
	for (unsigned int i = 0; i < DATA_OUTCOMES; i++)
		*(i <= DATA_CANARY ? &good : &bad) += profile->outcomes[i];
	strbuf_add_str(&out, "Annotate data type stats:\n");
	add_total(&out, good, bad);
	strbuf_add_str(&out, RULE);
	for (unsigned int i = DATA_CANARY + 1; i < DATA_OUTCOMES; i++)
		if (profile->outcomes[i])
			strbuf_printf(&out, "%10" PRIu64 " : %s\n", profile->outcomes[i], data_outcome_name(i));
	if (profile->tracked)
		strbuf_printf(&out, "%10" PRIu64 " : insn_track\n", profile->tracked);
	strbuf_add_char(&out, '\n');
	print(&out);
}

static void print_instructions(const struct data_profile *profile)
{
	struct strbuf out = {0};
	uint64_t good = 0, bad = 0;
	for (size_t i = 0; i < profile->instruction_count; i++) {
		good += profile->instructions[i].good;
		bad += profile->instructions[i].bad;
	}
	strbuf_add_str(&out, "Annotate Instruction stats\n");
	add_total(&out, good, bad);
	strbuf_printf(&out, "\n  %-20s: %5s %5s\n%s", "Name/opcode", "Good", "Bad", RULE);
	for (size_t i = 0; i < profile->instruction_count; i++) {
		const struct profiled_instruction *instruction = &profile->instructions[i];
		strbuf_printf(&out, "  %-20s: %5" PRIu64 " %5" PRIu64 "\n", instruction->mnemonic, instruction->good, instruction->bad);
	}
	strbuf_add_char(&out, '\n');
	print(&out);
}

static struct table *outcome_table(const struct data_profile *profile)
{
	static const struct column columns[] = {{.id = "outcome", .title = "Outcome"},
						{.id = "samples", .title = "Samples", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT}};
	struct table *table = table_create_columns("type-stat", columns, 2);
	uint64_t counts[DATA_OUTCOMES] = {0};
	for (unsigned int i = 0; i < DATA_OUTCOMES; i++)
		counts[i <= DATA_CANARY ? DATA_FOUND : i] += profile->outcomes[i];
	for (unsigned int i = 0; i < DATA_OUTCOMES; i++)
		if (counts[i])
			table_add_row(table, (union cell[]){{.text = data_outcome_name(i)}, {.integer = counts[i]}});
	if (profile->tracked)
		table_add_row(table, (union cell[]){{.text = "insn_track"}, {.integer = profile->tracked}});
	return table;
}

static struct table *instruction_table(const struct data_profile *profile)
{
	static const struct column columns[] = {{.id = "instruction", .title = "Instruction"},
						{.id = "good", .title = "Good", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
						{.id = "bad", .title = "Bad", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT}};
	struct table *table = table_create_columns("insn-stat", columns, 3);
	for (size_t i = 0; i < profile->instruction_count; i++) {
		const struct profiled_instruction *instruction = &profile->instructions[i];
		table_add_row(
			table,
			(union cell[]){{.text = instruction->mnemonic}, {.integer = instruction->good}, {.integer = instruction->bad}});
	}
	return table;
}

static struct error *show_statistics(const struct showing *showing)
{
	const struct data_types_options *options = showing->options;
	struct error *error = NULL;
	if (options->format) {
		if (options->outcomes)
			error = write_table(showing, outcome_table(showing->profile));
		if (!error && options->instructions)
			error = write_table(showing, instruction_table(showing->profile));
		return error;
	}
	if (options->outcomes)
		print_outcomes(showing->profile);
	if (options->instructions)
		print_instructions(showing->profile);
	return NULL;
}

/* ---- types ---- */

/* As it is shown, or without "struct". */
static bool is_named(const char *wanted, const char *name)
{
	const char *space = strchr(name, ' ');
	if (!wanted || !strcmp(wanted, name) || (space && !strcmp(wanted, space + 1)))
		return true;
	return str_has_glob(wanted) && str_glob_match(wanted, name);
}

static bool has_samples(const struct profiled_type *type, const struct event_set *set)
{
	bool has = false;
	for (size_t i = 0; i < set->events.len; i++)
		has |= type->values[set->events.data[i]->index].samples > 0;
	return has;
}

static struct error *show_type(const struct showing *showing, const struct profiled_type *type, const struct event_set *set)
{
	const struct data_types_options *options = showing->options;
	unsigned int *indices = mem_alloc_array(set->events.len, sizeof(*indices));
	for (size_t i = 0; i < set->events.len; i++)
		indices[i] = set->events.data[i]->index;
	struct type_layout *layout = data_profile_layout(showing->profile, type, indices, set->events.len);
	struct strbuf name = {0};
	event_set_add_name(set->events.data, set->events.len, &name);
	layout->events_name = arena_strdup(&layout->arena, strbuf_str(&name));
	for (size_t i = 0; i < set->events.len; i++)
		layout->events[i].name = set->events.data[i]->name;
	layout->says_events = showing->profile->event_count > 1;
	layout->show = options->show;
	layout->global = options->global;
	layout->hits = options->hits;
	struct error *error = options->format ? write_table(showing, type_layout_table(layout))
					      : write_result(showing, (struct result){RESULT_TYPE_LAYOUT, .type_layout = layout});
	type_layout_destroy(layout);
	strbuf_deinit(&name);
	free(indices);
	return error;
}

static struct error *show_set(struct showing *showing, struct event_set *set)
{
	const struct data_profile *profile = showing->profile;
	if (showing->options->skip_empty)
		code_events_with_samples(profile->totals, set);
	const unsigned int first = set->events.data[0]->index;
	struct error *error = NULL;
	for (size_t i = 0; i < profile->type_count && !error; i++) {
		const struct profiled_type *type = &profile->types[i];
		double share = percent(type->values[first].period, profile->totals[first].period);
		if (!has_samples(type, set) || !is_named(showing->options->name, type->type->name) ||
		    share < showing->options->percent_limit)
			continue;
		error = show_type(showing, type, set);
		showing->shown++;
	}
	return error;
}

/* Why, with the nearest name where a type was asked for. */
static struct error *nothing_found(const struct showing *showing)
{
	const struct data_profile *profile = showing->profile;
	const char *wanted = showing->options->name;
	if (!profile->type_count)
		return error_new("no sample accesses data whose type is known; --type-stat shows why (no_dbginfo: compile with -g)");
	if (!wanted)
		return error_new("no type has samples above the limit");
	const char **names = mem_alloc_array(profile->type_count, sizeof(*names));
	for (size_t i = 0; i < profile->type_count; i++)
		names[i] = profile->types[i].type->name;
	const char *nearest = str_nearest_part(wanted, names, profile->type_count);
	struct strbuf text = {0};
	if (nearest)
		text_add_safe(&text, nearest, strlen(nearest));
	struct error *error =
		error_new("no type named '%s' has samples%s%s%s", wanted, nearest ? "; did you mean '" : "",
			  nearest ? strbuf_str(&text) : "; 'perf report -s type' lists the types that do", nearest ? "'?" : "");
	strbuf_deinit(&text);
	free(names);
	return error;
}

static struct error *show_types(struct showing *showing, struct opening *opening)
{
	const struct event_list *list = &opening->session->reader->events;
	const bool together = event_sets_together(list, showing->options->group);
	struct event_set set = {0};
	struct error *error = NULL;
	while (!error && event_set_next(list, together, &set))
		error = show_set(showing, &set);
	event_set_deinit(&set);
	return error || showing->shown ? error : nothing_found(showing);
}

struct error *data_types_show(struct opening *opening, const struct data_types_options *options)
{
	struct data_profile *profile;
	struct error *error = data_profile_create(opening->session, opening->resolver, &options->functions, &profile);
	if (error)
		return error;
	struct showing showing = {.options = options, .profile = profile};
	error = show_statistics(&showing);
	if (!error && options->types)
		error = show_types(&showing, opening);
	fflush(stdout);
	data_profile_destroy(profile);
	return error;
}
