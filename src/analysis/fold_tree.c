/* Fold: names of frames, and the whole fold as one call tree (flame graphs). */
#include "analysis/fold_internal.h"

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

/* A thread's label; spaces become underscores, as in the public scripts: a folded line has one space, before its count. */
static const char *root_label(struct fold *fold, const struct fold_actor *actor, const struct fold_calltree_options *options)
{
	char text[96];
	if (options->by_thread)
		snprintf(text, sizeof(text), "%s-%u/%u", untrusted_raw(actor->comm), actor->thread->pid, actor->thread->tid);
	else
		snprintf(text, sizeof(text), "%s", untrusted_raw(actor->comm));
	for (char *at = text; *at; at++)
		if (*at == ' ' || *at == ';')
			*at = *at == ' ' ? '_' : ':';
	return intern_string(&fold->private->names, text);
}

static void add_entry(struct fold *fold, struct calltree *tree, const struct fold_entry *entry, const struct fold_calltree_options *options)
{
	struct calltree_node *node = &tree->root;
	uint64_t weight = options->count ? entry->count : entry->period;
	node->total += weight;
	node->total_count += entry->count;
	if (options->by_comm || options->by_thread) {
		node = calltree_child(tree, node, root_label(fold, &fold->actors[entry->actor], options), FRAME_OTHER);
		node->total += weight;
		node->total_count += entry->count;
	}
	uint32_t depth = fold_depth(fold, entry);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t frame = fold_frame_id(fold, entry, options->reverse ? i : depth - 1 - i);
		node = calltree_child(tree, node, fold_frame_name(fold, frame), (uint8_t)fold_frame_kind(fold, frame));
		const struct map *map = fold->frames[frame].map;
		if (map && !node->module)
			node->module = map->dso->short_name;
		node->total += weight;
		node->total_count += entry->count;
	}
	node->self += weight;
	node->self_count += entry->count;
}

struct calltree *fold_calltree(struct fold *fold, const struct fold_calltree_options *options)
{
	struct calltree *tree = calltree_create();
	for (size_t i = 0; i < fold->entry_count; i++)
		if (options->event < 0 || fold->entries[i].event == options->event)
			add_entry(fold, tree, &fold->entries[i], options);
	calltree_sort(&tree->root, calltree_by_label);
	return tree;
}
