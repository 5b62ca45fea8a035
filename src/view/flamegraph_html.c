/* Flame graph as one HTML page: nothing is loaded from anywhere. */
#include "view/flamegraph_internal.h"

#include "base/text.h"

#include <string.h>

static struct error *show_calltree(const struct calltree *tree, const struct view_options *options, const struct sink *out)
{
	const char *title = options->title ? options->title : "Flame graph";
	struct strbuf text = {0};
	strbuf_add_str(&text, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
			      "style-src 'unsafe-inline'\">\n<title>");
	text_add_html(&text, title, strlen(title));
	strbuf_add_str(&text, "</title>\n<style>body{margin:0;background:#fdfcf7}svg{display:block}"
			      "@media(prefers-color-scheme:dark){body{background:#1c1c1e}}</style></head><body>\n");
	struct error *error = flamegraph_add(&text, tree, options, "</svg>\n<script>\n");
	strbuf_add_str(&text, "</script>\n</body></html>\n");
	if (!error)
		error = flamegraph_write(&text, out);
	strbuf_deinit(&text);
	return error;
}

const struct view_ops view_flamegraph_html = {
	.name = "html",
	.summary = "flame graph as one HTML page",
	.calltree = show_calltree,
};
