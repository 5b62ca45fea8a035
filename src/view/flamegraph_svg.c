/* Flame graph as one SVG file: a picture without scripts, zoom and search with them. */
#include "view/flamegraph_internal.h"

static struct error *show_calltree(const struct calltree *tree, const struct view_options *options, const struct sink *out)
{
	struct strbuf text = {0};
	strbuf_add_str(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	struct error *error = flamegraph_add(&text, tree, options, "<script><![CDATA[\n");
	strbuf_add_str(&text, "]]></script>\n</svg>\n");
	if (!error)
		error = flamegraph_write(&text, out);
	strbuf_deinit(&text);
	return error;
}

const struct view_ops view_flamegraph_svg = {
	.name = "svg",
	.summary = "flame graph as one SVG file",
	.calltree = show_calltree,
};
