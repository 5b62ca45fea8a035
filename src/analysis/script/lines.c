/* Lines by address: a direct-mapped table, whose slots tell where in one piece of memory their text is. A slot that changes its owner has
 * room for another text of about the same length; when the memory is used up, all are forgotten. */
#include "analysis/script/lines.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

enum {
	SLOTS = 1 << 14,
	TEXT_LIMIT = 4 << 20, /* bytes */
};

struct line {
	struct script_line_key key;
	uint32_t offset;
	uint16_t length; /* of the text; 0: empty */
	uint16_t room;	 /* for the text of another owner */
};

struct script_lines {
	struct line *slots;
	char *text;
	size_t used;
};

struct script_lines *script_lines_create(void)
{
	struct script_lines *lines = mem_zalloc(sizeof(*lines));
	lines->slots = mem_zalloc_table(SLOTS, sizeof(*lines->slots));
	lines->text = mem_alloc_array(TEXT_LIMIT, 1);
	return lines;
}

void script_lines_destroy(struct script_lines *lines)
{
	if (!lines)
		return;
	free(lines->slots);
	free(lines->text);
	free(lines);
}

static struct line *slot_for(const struct script_lines *lines, const struct script_line_key *key)
{
	uint64_t hash = hash_combine(hash_combine(key->address, key->shown), (uint64_t)key->file << 32 | key->look);
	return &lines->slots[hash & (SLOTS - 1)];
}

static bool same_key(const struct script_line_key *a, const struct script_line_key *b)
{
	return a->address == b->address && a->shown == b->shown && a->file == b->file && a->look == b->look;
}

bool script_lines_add(const struct script_lines *lines, const struct script_line_key *key, struct strbuf *out)
{
	const struct line *line = slot_for(lines, key);
	if (!line->length || !same_key(&line->key, key))
		return false;
	script_add_wide(out, lines->text + line->offset, line->length);
	return true;
}

static void forget_all(struct script_lines *lines)
{
	memset(lines->slots, 0, SLOTS * sizeof(*lines->slots));
	lines->used = 0;
}

void script_lines_keep(struct script_lines *lines, const struct script_line_key *key, const char *text, size_t length)
{
	struct line *line = slot_for(lines, key);
	size_t room = (length + SCRIPT_WIDE - 1) & ~(size_t)(SCRIPT_WIDE - 1);
	if (room > UINT16_MAX)
		return;
	if (room > line->room) {
		if (lines->used + room + SCRIPT_WIDE > TEXT_LIMIT)
			forget_all(lines);
		line->offset = (uint32_t)lines->used;
		line->room = (uint16_t)room;
		lines->used += room;
	}
	line->key = *key;
	line->length = (uint16_t)length;
	memcpy(lines->text + line->offset, text, length);
}
