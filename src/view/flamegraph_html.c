/* Flame graph as one HTML page: the drawing takes the window's width and nothing is loaded from anywhere. */
#include "view/flamegraph_internal.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

enum { WIDTH = 1200 };

static struct error *show_calltree(const struct calltree *tree, const struct view_options *options, FILE *out)
{
	const char *title = options->title ? options->title : "Flame graph";
	struct strbuf text = {0};
	strbuf_add_str(&text, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
			      "style-src 'unsafe-inline'\">\n<title>");
	text_add_html(&text, title, strlen(title));
	strbuf_add_str(&text, "</title>\n<style>body{margin:8px;background:#fdfcf7}svg{display:block}</style></head><body>\n");
	flamegraph_add_drawing(&text, tree, options, WIDTH);
	strbuf_add_str(&text, "</svg>\n<script>\n");
	flamegraph_add_script(&text, tree, options, WIDTH, true);
	strbuf_add_str(&text, "</script>\n</body></html>\n");
	bool written = fwrite(text.data, 1, text.len, out) == text.len;
	strbuf_deinit(&text);
	return written ? NULL : error_system(errno, "flame graph");
}

const struct view_ops view_flamegraph_html = {
	.name = "html",
	.summary = "flame graph as one HTML page",
	.calltree = show_calltree,
};
