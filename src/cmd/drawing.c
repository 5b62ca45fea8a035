/* What the commands that draw flame graphs share. */
#include "cmd/drawing.h"

#include "base/files/replacement.h"
#include "base/text.h"

/* Pictures of dots and pages are for programs that make them of an SVG. */
struct error *drawing_check(const char *path)
{
	static const char *const pictures[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".pdf", ".ps", ".eps"};
	for (size_t i = 0; path && i < sizeof(pictures) / sizeof(*pictures); i++)
		if (str_ends_with(path, pictures[i]))
			return error_new(
				"%s: only .html, .svg and .folded can be written; for a %s, convert an SVG with rsvg-convert or a browser",
				path, pictures[i] + 1);
	return NULL;
}

bool drawing_is_folded(const char *path)
{
	return str_ends_with(path, ".folded") || str_ends_with(path, ".txt");
}

const struct view_ops *drawing_view(const char *path)
{
	if (drawing_is_folded(path))
		return view_find("folded");
	return view_find(str_ends_with(path, ".svg") ? "svg" : "html");
}

struct error *drawing_write(const struct calltree *tree, const struct view_ops *view, const struct view_options *options, const char *path)
{
	struct replacement file;
	struct error *error = replacement_begin(path, &file);
	if (error)
		return error;
	struct sink out = sink_to_file(file.file);
	return replacement_end(&file, view_write_one(view, (struct result){RESULT_CALLTREE, .calltree = tree}, options, &out));
}
