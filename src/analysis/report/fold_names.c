/* Fold: names and kinds of frames. */
#include "analysis/report/fold_internal.h"

#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

/* Where the parameters of a C++ or Rust name begin; its end when there are none. Go methods, as in "net/http.(*Client).Do", keep their
 * parentheses. */
static size_t parameters_begin(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *method = strstr(name, ".(");
	if (method && strstr(method, ")."))
		return strlen(name);
	for (const char *at = name; (at = strchr(at, '(')); at++)
		if (strncmp(at, anonymous, sizeof(anonymous) - 1))
			return (size_t)(at - name);
	return strlen(name);
}

/* A function's name as a label: without parameters, without quotes, and without the semicolons that separate folded frames. These are the
 * rules of the public stackcollapse scripts, so that folded stacks compare equal. */
static const char *function_label(struct intern *names, const char *name)
{
	if (!strpbrk(name, "(;\"'"))
		return intern_string(names, name);
	struct strbuf label = {0};
	size_t len = parameters_begin(name);
	for (size_t i = 0; i < len; i++)
		if (name[i] != '"' && name[i] != '\'')
			strbuf_add_char(&label, name[i] == ';' ? ':' : name[i]);
	const char *interned = intern_bytes(names, strbuf_str(&label), label.len);
	strbuf_deinit(&label);
	return interned;
}

static const char *frame_name(struct fold *fold, const struct fold_frame *frame)
{
	struct intern *names = &fold->private->names;
	if (frame->symbol)
		return function_label(names, frame->symbol->name);
	if (!frame->map)
		return intern_string(names, "[unknown]");
	const char *file = frame->map->dso->short_name;
	char text[512];
	snprintf(text, sizeof(text), file[0] == '[' ? "%s" : "[%s]", file);
	for (char *at = text; (at = strchr(at, ';')); at++)
		*at = ':';
	return intern_string(names, text);
}

const char *fold_frame_name(struct fold *fold, uint32_t frame)
{
	struct fold_private *private = fold->private;
	if (!private->frame_names)
		fold->private->frame_names = mem_zalloc_array(fold->frame_count + 1, sizeof(*private->frame_names));
	if (!private->frame_names[frame])
		fold->private->frame_names[frame] = frame_name(fold, &fold->frames[frame]);
	return private->frame_names[frame];
}

enum frame_kind fold_frame_kind(const struct fold *fold, uint32_t frame)
{
	const struct fold_frame *place = &fold->frames[frame];
	if (place->cpumode == CPUMODE_KERNEL || (place->map && place->map->dso->kernel))
		return FRAME_KERNEL;
	if (place->map && (place->map->dso->kind == DSO_ANON || place->map->dso->kind == DSO_JITDUMP))
		return FRAME_JIT;
	if (place->symbol && place->symbol->inlined)
		return FRAME_INLINED;
	return place->cpumode == CPUMODE_USER ? FRAME_USER : FRAME_OTHER;
}
