/* Functions by debug information. Answers are kept, because stacks pass through the same places over and over. A function that was inlined
 * into another one becomes a symbol: equal ones (same surrounding symbol, same name) are the same object, so that whoever compares symbols
 * needs to know nothing of this. A lock guards the answers; questions are asked without it, so that threads make the tables of several
 * units at a time. */
#include "symbol/dwarf/functions.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/mem.h"
#include "model/jitdump.h"
#include "symbol/carried/carried.h"
#include "symbol/dwarf/debug_info.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct answer {
	const struct code_function *functions;
	size_t count;
};

struct functions {
	pthread_mutex_t lock;
	const char *path;
	bool tried;
	struct debug_info *info;	    /* NULL = none */
	const struct jitdump *dump;	    /* instead, or NULL */
	const struct carried_file *carried; /* instead, or NULL */
	struct arena arena;
	struct intern names;
	struct map64 answer_index; /* vaddr → index + 1 */
	VEC(struct answer) answers;
	struct map64 inlined; /* hash of (surrounding symbol, name) → struct symbol * */
};

struct functions *functions_create(const char *path)
{
	struct functions *functions = mem_zalloc(sizeof(*functions));
	functions->path = path;
	pthread_mutex_init(&functions->lock, NULL);
	return functions;
}

struct functions *functions_create_jitdump(const struct jitdump *dump)
{
	struct functions *functions = functions_create(NULL);
	functions->tried = true;
	functions->dump = dump;
	return functions;
}

struct functions *functions_create_carried(const struct carried_file *file)
{
	struct functions *functions = functions_create(NULL);
	functions->tried = true;
	functions->carried = file;
	return functions;
}

void functions_destroy(struct functions *functions)
{
	if (!functions)
		return;
	debug_info_close(functions->info);
	arena_deinit(&functions->arena);
	intern_deinit(&functions->names);
	map64_deinit(&functions->answer_index);
	map64_deinit(&functions->inlined);
	vec_deinit(&functions->answers);
	pthread_mutex_destroy(&functions->lock);
	free(functions);
}

/* The symbol of an inlined function. Keys are hashes of 64 bits of two pointers: collisions are probed for. */
static const struct symbol *inlined_symbol(struct functions *functions, const struct symbol *around, const char *name)
{
	const char *kept = intern_string(&functions->names, name);
	for (uint64_t key = hash_combine((uintptr_t)around, (uintptr_t)kept);; key++) {
		uint64_t *slot = map64_insert(&functions->inlined, key, NULL);
		struct symbol *symbol = (struct symbol *)(uintptr_t)*slot;
		if (symbol && (symbol->name != kept || symbol->start != around->start))
			continue;
		if (!symbol) {
			symbol = arena_copy(&functions->arena, around, sizeof(*around));
			symbol->name = kept;
			symbol->inlined = true;
			symbol->mangled = 0;
			*slot = (uintptr_t)symbol;
		}
		return symbol;
	}
}

static struct answer look_up_jit(struct functions *functions, uint64_t offset, const struct symbol *symbol)
{
	const struct jitdump_code *code = jitdump_find(functions->dump, offset);
	struct code_function function = {.symbol = symbol};
	if (!code || !jitdump_line(functions->dump, code, offset - code->offset, &function.file, &function.line))
		return (struct answer){0};
	return (struct answer){arena_copy(&functions->arena, &function, sizeof(function)), 1};
}

/* Without a symbol only the line is told: what is between functions belongs to none. */
static struct answer make_answer(struct functions *functions, const struct debug_frame *frames, size_t count, const struct symbol *symbol)
{
	if (!symbol && count)
		count = 1;
	struct code_function *found = arena_alloc(&functions->arena, count * sizeof(*found));
	for (size_t i = 0; i < count; i++) {
		bool itself = !symbol || !frames[i].inlined || !frames[i].name || !strcmp(frames[i].name, symbol->name);
		found[i].symbol = itself ? symbol : inlined_symbol(functions, symbol, frames[i].name);
		found[i].file = frames[i].file;
		found[i].line = frames[i].line;
	}
	return (struct answer){found, count};
}

static size_t carried_frames(const struct carried_file *file, uint64_t vaddr, struct debug_frame *ret)
{
	const struct carried_answer *answer = carried_functions(file, vaddr);
	size_t count = answer ? answer->count : 0;
	for (size_t i = 0; i < count && i < DEBUG_FRAMES_MAX; i++) {
		const struct carried_function *function = &answer->functions[i];
		ret[i] = (struct debug_frame){function->name, function->file, function->line, function->name != NULL};
	}
	return count < DEBUG_FRAMES_MAX ? count : DEBUG_FRAMES_MAX;
}

static size_t find_frames(struct functions *functions, uint64_t vaddr, struct debug_frame *ret)
{
	if (functions->carried)
		return carried_frames(functions->carried, vaddr, ret);
	return debug_info_frames(functions->info, vaddr, ret);
}

size_t functions_at(struct functions *functions, uint64_t vaddr, const struct symbol *symbol, const struct code_function **ret)
{
	struct debug_frame frames[DEBUG_FRAMES_MAX];
	size_t count = 0;
	pthread_mutex_lock(&functions->lock);
	if (!functions->tried)
		functions->info = debug_info_open(functions->path);
	functions->tried = true;
	if (!map64_find(&functions->answer_index, vaddr) && (functions->info || functions->carried)) {
		pthread_mutex_unlock(&functions->lock);
		count = find_frames(functions, vaddr, frames);
		pthread_mutex_lock(&functions->lock);
	}
	uint64_t *slot = map64_insert(&functions->answer_index, vaddr, NULL);
	if (!*slot) {
		vec_push(&functions->answers,
			 functions->dump ? look_up_jit(functions, vaddr, symbol) : make_answer(functions, frames, count, symbol));
		*slot = functions->answers.len;
	}
	struct answer answer = functions->answers.data[*slot - 1];
	pthread_mutex_unlock(&functions->lock);
	*ret = answer.functions;
	return answer.count;
}
