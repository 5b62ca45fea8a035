/* Rows as a table, flat and in levels: columns, the lines that are heavy enough, and their cells. */
#include "analysis/report/table/rows_table.h"
#include "analysis/report/fold_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ACTORS = 4, TEAM = 2 };

/* Four threads, two in each team: 10, 20, 30 and 40 of 100. */
struct teams {
	struct fold fold;
	struct fold_private private;
	struct fold_actor actors[ACTORS];
	struct fold_frame frame;
	struct fold_entry entries[ACTORS];
	struct event event;
	const struct event *events[1];
	struct key_context context;
	struct key sum, team, member;
	const struct key *identity[2], *sort[3];
	bool skipped[3];
};

static const struct fold_actor *first_actor;

static int64_t member_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return source->actor - first_actor;
}

static int64_t team_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (source->actor - first_actor) / TEAM;
}

static void identify_member(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uint64_t)(source->actor - first_actor);
}

static void identify_team(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uint64_t)(source->actor - first_actor) / TEAM;
}

static struct rows *make_rows(struct teams *teams)
{
	*teams = (struct teams){
		.sum = {.name = "overhead", .title = "Overhead", .domain = KEY_TOTAL, .total = TOTAL_OVERHEAD, .kind = COLUMN_PERCENT},
		.team = {.name = "team",
			 .title = "Team",
			 .domain = KEY_ACTOR,
			 .kind = COLUMN_COUNT,
			 .words = 1,
			 .identify = identify_team,
			 .number = team_number},
		.member = {.name = "member",
			   .title = "Member",
			   .domain = KEY_ACTOR,
			   .kind = COLUMN_COUNT,
			   .words = 1,
			   .identify = identify_member,
			   .number = member_number},
	};
	for (uint32_t i = 0; i < ACTORS; i++)
		teams->entries[i] = (struct fold_entry){
			.actor = i, .inner = FOLD_NONE, .outer = FOLD_NONE, .count = i + 1, .period = 10 * ((uint64_t)i + 1)};
	first_actor = teams->actors;
	teams->private.options.jobs = 1;
	teams->fold = (struct fold){.entries = teams->entries,
				    .entry_count = ACTORS,
				    .actors = teams->actors,
				    .actor_count = ACTORS,
				    .frames = &teams->frame,
				    .frame_count = 1,
				    .private = &teams->private};
	teams->events[0] = &teams->event;
	teams->context.fold = &teams->fold;
	teams->identity[0] = &teams->team;
	teams->identity[1] = &teams->member;
	teams->sort[0] = &teams->sum;
	teams->sort[1] = &teams->team;
	teams->sort[2] = &teams->member;
	struct rows_options options = {.events = teams->events,
				       .event_count = 1,
				       .keys = teams->identity,
				       .key_count = 2,
				       .sort = teams->sort,
				       .sort_skipped = teams->skipped,
				       .sort_count = 3,
				       .jobs = 1};
	return rows_create(&teams->fold, &teams->context, &options);
}

static void flat_tables_leave_out_light_rows(void **state)
{
	struct teams teams;
	struct rows *rows = make_rows(&teams);
	struct rows_table_options options = {
		.columns = teams.sort, .column_count = 3, .event_count = 1, .self_title = "Self", .widths = "7,8", .least_percent = 20};
	struct rows_table *made = rows_table_create(rows, &options);
	const struct table *table = rows_table_result(made);
	struct row_scratch scratch;
	struct row row;

	assert_int_equal(table->columns.len, 3);
	assert_string_equal(table->columns.data[0].title, "Self");
	assert_string_equal(table->columns.data[2].title, "Member");
	assert_int_equal(table->columns.data[1].width, 8);
	assert_int_equal(table->columns.data[2].width, 0);
	assert_int_equal(table_row_count(table), 3);
	row_scratch_init(&scratch, table);
	for (size_t i = 0; i < 3; i++) {
		const union cell *cells = table_row(table, i, &scratch, &row)->cells;
		assert_true(cells[0].real == 40 - 10 * (double)i);
		assert_int_equal(cells[1].integer, (3 - i) / TEAM);
		assert_int_equal(cells[2].integer, 3 - i);
	}
	row_scratch_deinit(&scratch);
	rows_table_destroy(made);
	rows_destroy(rows);
}

static void levels_add_up(void **state)
{
	static const struct {
		const char *name;
		double percent;
		unsigned int depth;
	} wanted[] = {{"1", 70, 0}, {"3", 40, 1}, {"2", 30, 1}, {"0", 30, 0}, {"no entry >= 25.00%", 0, 0}};
	struct teams teams;
	struct rows *rows = make_rows(&teams);
	struct rows_table_options options = {.columns = teams.sort,
					     .column_count = 3,
					     .in_levels = true,
					     .levels = teams.sort,
					     .level_count = 3,
					     .event_count = 1,
					     .least_percent = 25};
	struct rows_table *made = rows_table_create(rows, &options);
	const struct table *table = rows_table_result(made);
	struct row_scratch scratch;
	struct row row;

	assert_int_equal(table->columns.len, 2);
	assert_string_equal(table->columns.data[1].title, "Team / Member");
	assert_int_equal(table->levels, 2);
	assert_int_equal(table_row_count(table), sizeof(wanted) / sizeof(wanted[0]));
	row_scratch_init(&scratch, table);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct row *found = table_row(table, i, &scratch, &row);
		assert_memory_equal(found->cells[1].text, wanted[i].name, strlen(wanted[i].name)); /* and spaces */
		assert_int_equal(found->note, !wanted[i].percent);
		assert_int_equal(found->depth, wanted[i].depth);
		assert_true(found->note || found->cells[0].real == wanted[i].percent);
	}
	row_scratch_deinit(&scratch);
	rows_table_destroy(made);
	options.most_lines = 2;
	made = rows_table_create(rows, &options);
	assert_int_equal(table_row_count(rows_table_result(made)), 2);
	rows_table_destroy(made);
	rows_destroy(rows);
}

int analysis_rows_table_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flat_tables_leave_out_light_rows),
		cmocka_unit_test(levels_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
