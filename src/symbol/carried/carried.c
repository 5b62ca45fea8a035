/* Looking up what a recording carries. Of files that share a name, device, inode and build-id tell which is which, as far as both know
 * them: the header's table of build-ids may have been written later than this one. */
#include "symbol/carried/carried_internal.h"

#include "base/mem.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

void carried_destroy(struct carried *carried)
{
	if (!carried)
		return;
	map64_deinit(&carried->file_index);
	map64_deinit(&carried->source_index);
	arena_deinit(&carried->arena);
	free(carried);
}

/* ---- files ---- */

/* Beyond what the key has. Where the inode is known the build-id says no more: the header's table of them goes by name alone. */
static bool is_of(const struct carried_file *file, const struct dso *dso)
{
	if (file->kind != dso->kind || (dso->kind != DSO_KERNEL && strcmp(file->name, dso->name) != 0))
		return false;
	return dso->inode || !file->build_id.size || !dso->build_id.size || buildid_equal(&file->build_id, &dso->build_id);
}

/* The kernel can be called by another name once its build-id is in the header. */
static uint64_t file_key(unsigned int kind, const char *name, uint32_t major, uint32_t minor, uint64_t inode, uint64_t generation)
{
	const uint64_t words[] = {kind, (uint64_t)major << 32 | minor, inode, generation};
	return kind == DSO_KERNEL ? kind : hash_words(words, 4, hash_bytes(name, strlen(name))).lo;
}

static uint64_t key_of_dso(const struct dso *dso)
{
	return file_key(dso->kind, dso->name, dso->major, dso->minor, dso->inode, dso->inode_generation);
}

/* Those that differ in their build-ids only have keys behind each other; more than a few of them nobody has. */
enum { SAME_KEY_MAX = 64 };

static void index_files(struct carried *carried)
{
	for (size_t i = 0; i < carried->file_count; i++) {
		const struct carried_file *file = &carried->files[i];
		uint64_t key = file_key(file->kind, file->name, file->major, file->minor, file->inode, file->inode_generation);
		for (unsigned int n = 0; n < SAME_KEY_MAX; n++) {
			bool fresh;
			uint64_t *slot = map64_insert(&carried->file_index, key + n, &fresh);
			if (!fresh)
				continue;
			*slot = i + 1;
			break;
		}
	}
}

const struct carried_file *carried_find(const struct carried *carried, const struct dso *dso)
{
	uint64_t key = carried ? key_of_dso(dso) : 0;
	for (unsigned int n = 0; carried && n < SAME_KEY_MAX; n++) {
		const uint64_t *number = map64_find(&carried->file_index, key + n);
		if (!number)
			return NULL;
		if (is_of(&carried->files[*number - 1], dso))
			return &carried->files[*number - 1];
	}
	return NULL;
}

const struct carried_answer *carried_functions(const struct carried_file *file, uint64_t vaddr)
{
	size_t behind = partition_point(i, file->place_count, file->places[i].vaddr <= vaddr);
	uint32_t answer = behind ? file->places[behind - 1].answer : 0;
	return answer ? &file->answers[answer - 1] : NULL;
}

/* ---- code ---- */

const struct carried_code *carried_code_at(const struct carried_file *file, uint64_t dso_addr)
{
	if (!file)
		return NULL;
	size_t behind = partition_point(i, file->code_count, file->codes[i].dso_addr <= dso_addr);
	const struct carried_code *code = behind ? &file->codes[behind - 1] : NULL;
	return code && dso_addr - code->dso_addr < code->size ? code : NULL;
}

/* The first name of the kind that isn't before the address: relocations come behind the others. */
static const struct carried_name *name_from(const struct carried_code *code, uint64_t address, bool relocation)
{
	size_t first = partition_point(i, code->name_count,
				       code->names[i].relocation < relocation ||
					       (code->names[i].relocation == relocation && code->names[i].address < address));
	return first < code->name_count && code->names[first].relocation == relocation ? &code->names[first] : NULL;
}

const struct carried_name *carried_code_name(const struct carried_code *code, uint64_t address)
{
	const struct carried_name *name = name_from(code, address, false);
	return name && name->address == address ? name : NULL;
}

const struct carried_name *carried_code_relocation(const struct carried_code *code, uint64_t address, unsigned int size)
{
	const struct carried_name *name = name_from(code, address, true);
	return name && name->address - address < size ? name : NULL;
}

/* ---- source text ---- */

static void index_sources(struct carried *carried)
{
	for (size_t i = 0; i < carried->source_count; i++)
		*map64_insert(&carried->source_index, hash_bytes(carried->sources[i].path, strlen(carried->sources[i].path)), NULL) = i + 1;
}

const char *carried_source_line(const struct carried *carried, const char *path, uint32_t number)
{
	const uint64_t *found = carried ? map64_find(&carried->source_index, hash_bytes(path, strlen(path))) : NULL;
	const struct carried_source *source = found ? &carried->sources[*found - 1] : NULL;
	if (!source || strcmp(source->path, path) != 0)
		return NULL;
	size_t first = partition_point(i, source->line_count, source->lines[i].number < number);
	return first < source->line_count && source->lines[first].number == number ? source->lines[first].text : NULL;
}

void carried_index(struct carried *carried)
{
	index_files(carried);
	index_sources(carried);
}
