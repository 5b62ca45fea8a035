/* perf diff --flamegraph: the stacks of the new recording as a flame graph, red where a function's share has grown, blue where it has
 * shrunk. */
#include "analysis/diff/tree.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/diff/diff.h"
#include "cmd/drawing.h"
#include "view/flame_data.h"

#include <stdio.h>
#include <string.h>

struct error *diff_check_flamegraph(const struct diff_options *options)
{
	const char *path = options->flamegraph;
	if (!str_ends_with(path, ".html") && !str_ends_with(path, ".svg"))
		return error_new_kind(ERROR_USAGE, "--flamegraph %s: the name must end with .html or .svg", path);
	if (options->report.sort || options->report.format || options->fails || options->significance)
		return error_new_kind(
			ERROR_USAGE,
			"--flamegraph draws instead of making a table: -s, --format, --significance and --fail-above do not go with it");
	return NULL;
}

/* The stacks of an event, of samples that pass the filters. */
static struct error *grow_tree(struct diff_file *file, struct calltree **ret)
{
	struct report *report = &file->report;
	const struct fold_options options = {.chains = true, .by_file = true, .inlines = STACK_INLINES_ALL};
	struct error *error = fold_of_session(report->session, report->opening.resolver, &options, &report->fold);
	if (error)
		return error;
	report_keep_shown(report);
	const struct fold_calltree_options tree = {
		.event = (int)file->event->index, .by_comm = true, .most = FLAME_MOST, .deepest = FLAME_DEEPEST};
	*ret = fold_calltree(report->fold, &tree);
	return NULL;
}

/* "old.data → new.data, cpu-clock" */
static void add_subtitle(const struct diff *diff, struct strbuf *out)
{
	char before[32], after[32];
	const struct diff_file *old = &diff->files[0], *new = &diff->files[1];
	uint64_t counts[] = {old->report.session->event_counts[old->event->index].samples,
			     new->report.session->event_counts[new->event->index].samples};
	strbuf_printf(out, "%s, %s samples in %s, then %s in %s: red is more, blue is less", new->event->name,
		      number_format_grouped(counts[0], before), old->path, number_format_grouped(counts[1], after), new->path);
}

static struct error *write_picture(const struct diff *diff, const struct calltree *tree)
{
	const char *path = diff->options->flamegraph;
	struct strbuf subtitle = {0};
	add_subtitle(diff, &subtitle);
	const struct view_options view = {.title = "Differential flame graph",
					  .subtitle = strbuf_str(&subtitle),
					  .unit = diff->files[1].event->name,
					  .changes = true};
	struct error *error = drawing_write(tree, drawing_view(path), &view, path);
	if (!error && log_level() >= LOG_WARNING)
		fprintf(stderr, "[ perf diff: drawn in %s ]\n", path);
	strbuf_deinit(&subtitle);
	return error;
}

struct error *diff_draw(struct diff *diff)
{
	struct calltree *trees[2] = {0};
	struct error *error = NULL;
	for (size_t i = 0; !error && i < 2; i++)
		error = grow_tree(&diff->files[i], &trees[i]);
	if (!error && !trees[1]->root.total)
		error = error_new("%s has no samples of %s that pass the filters: nothing to draw", diff->files[1].path,
				  diff->files[1].event->name);
	if (!error) {
		struct intern names = {0};
		struct calltree *both = tree_compare(trees[0], trees[1], &names);
		error = write_picture(diff, both);
		calltree_destroy(both);
		intern_deinit(&names);
	}
	calltree_destroy(trees[0]);
	calltree_destroy(trees[1]);
	return error;
}
