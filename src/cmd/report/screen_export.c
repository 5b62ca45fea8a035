/* perf report on a screen: what is shown, as a file of another kind. Tables are those on the screen; stacks are those of the samples that
 * the zoom lets through. */
#include "cmd/report/screen.h"

#include "base/text.h"
#include "view/view.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* A page has no use for more. */
enum { FLAME_MOST = 300000, FLAME_DEEPEST = 500 };

static const struct export
{
	const char *line; /* of the menu */
	const char *view;
	enum print_kind kind;
	bool stacks; /* else the table */
}
exports[] = {
	{"The table as comma-separated values", "csv", PRINT_CSV, false},
	{"The table as JSON", "json", PRINT_JSON, false},
	{"The stacks, folded: for flamegraph.pl and the like", "folded", PRINT_FOLDED, true},
	{"The stacks as a flame graph, an HTML page", "html", PRINT_HTML, true},
};

enum { EXPORTS = sizeof(exports) / sizeof(*exports) };

struct calltree *screen_calltree(const struct screen *screen, size_t most, unsigned int deepest)
{
	const struct fold *fold = screen->report->fold;
	const struct fold_calltree_options options = {
		.event = (int)screen->sets.data[screen->current].list[0]->index, .by_comm = true, .most = most, .deepest = deepest};
	struct fold shown = *fold;
	shown.entry_count = 0;
	shown.entries = mem_alloc_array(fold->entry_count + 1, sizeof(*shown.entries));
	shown.details = NULL;
	for (size_t i = 0; i < fold->entry_count; i++)
		if (screen_entry_passes(screen, &fold->entries[i]))
			shown.entries[shown.entry_count++] = fold->entries[i];
	struct calltree *tree = fold_calltree(&shown, &options);
	free(shown.entries);
	return tree;
}

static struct error *write_result(const struct screen *screen, const struct export *export, struct sink *out)
{
	const struct event *event = screen->sets.data[screen->current].list[0];
	struct view_options view = {.title = event->name, .unit = event->name, .header = true};
	if (!export->stacks) {
		const struct result table = {RESULT_TABLE, .table = rows_table_result(screen->table)};
		return view_write_one(view_find(export->view), table, &view, out);
	}
	bool page = export->kind == PRINT_HTML;
	struct calltree *tree = screen_calltree(screen, page ? FLAME_MOST : 0, page ? FLAME_DEEPEST : 0);
	struct strbuf zoom = {0};
	screen_zoom_text(screen, &zoom);
	view.subtitle = zoom.len ? strbuf_str(&zoom) + strlen(", ") : NULL;
	struct error *error = view_write_one(view_find(export->view), (struct result){RESULT_CALLTREE, .calltree = tree}, &view, out);
	strbuf_deinit(&zoom);
	calltree_destroy(tree);
	return error;
}

void screen_export(struct screen *screen)
{
	const char *lines[EXPORTS];
	for (size_t i = 0; i < EXPORTS; i++)
		lines[i] = exports[i].line;
	size_t chosen = menu_choose(screen->terminal, "Write what is shown to a file", lines, EXPORTS, 0);
	if (chosen == MENU_NONE)
		return;
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	struct error *error = write_result(screen, &exports[chosen], &out);
	if (error)
		text_add_safe(&screen->note, error_message(error), strlen(error_message(error)));
	else
		print_file_tell(screen->tools.prints, exports[chosen].kind, strbuf_str(&text), text.len, &screen->note);
	error_free(error);
	strbuf_deinit(&text);
}
