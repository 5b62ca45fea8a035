/* Last stacks, direct-mapped by address space. A stack's text lies at the end of its slot's memory, so that the lines of the outer frames
 * stay where they are while inner ones come and go:
 *
 *	├──── unused ────┤ f4 │ f3 │ f2 │ f1 │ main ┤
 *	                 from_end[5] …       from_end[1]
 *
 * Text is only put there where that pays: when half of the stack is that of the last one. */
#include "analysis/script/recent.h"

#include "analysis/script/lines.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS = 16,
	TEXT_SIZE = 32 << 10,
};

struct script_recent {
	uint64_t space;
	size_t count;				     /* frames; 0: empty */
	size_t textual;				     /* so many outer ones have text */
	uint64_t words[SCRIPT_RECENT_FRAMES];	     /* outermost first */
	uint32_t from_end[SCRIPT_RECENT_FRAMES + 1]; /* bytes of the text of so many outer frames */
	char text[TEXT_SIZE + SCRIPT_WIDE];
};

struct script_recents {
	struct script_recent *slots[SLOTS]; /* NULL until needed */
};

struct script_recents *script_recents_create(void)
{
	return mem_zalloc(sizeof(struct script_recents));
}

void script_recents_destroy(struct script_recents *recents)
{
	for (size_t i = 0; recents && i < SLOTS; i++)
		free(recents->slots[i]);
	free(recents);
}

static struct script_recent *slot_for(struct script_recents *recents, uint64_t space)
{
	struct script_recent **slot = &recents->slots[hash_u64(space) % SLOTS];
	if (!*slot)
		*slot = mem_zalloc(sizeof(**slot));
	if ((*slot)->space != space) {
		(*slot)->space = space;
		(*slot)->count = (*slot)->textual = 0;
	}
	return *slot;
}

/* How many outer frames are those of the last stack. Its innermost one is an address where the program was, the others are such to return
 * to: it counts as the same only in the same stack. */
static size_t common_frames(const struct script_recent *recent, const uint64_t *words, size_t count)
{
	size_t most = count < recent->count ? count : recent->count, same = 0;
	while (same < most && recent->words[same] == words[count - 1 - same])
		same++;
	if (same == most && same && count != recent->count)
		same--;
	return same;
}

struct script_recent *script_recents_take(struct script_recents *recents, uint64_t space, const uint64_t *words, size_t count,
					  size_t *ret_new)
{
	struct script_recent *recent = slot_for(recents, space);
	size_t same = common_frames(recent, words, count);
	for (size_t i = same; i < count; i++)
		recent->words[i] = words[count - 1 - i];
	recent->count = count;
	if (recent->textual > same)
		recent->textual = same;
	*ret_new = count - recent->textual;
	return same >= (count + 1) / 2 ? recent : NULL;
}

void script_recent_finish(struct script_recent *recent, size_t start, const size_t *ends, size_t count, struct strbuf *out)
{
	size_t known = recent->textual, size = out->len - start, before = recent->from_end[known];
	if (known)
		script_add_wide(out, recent->text + TEXT_SIZE - before, before);
	if (before + size > TEXT_SIZE)
		return;
	memcpy(recent->text + TEXT_SIZE - before - size, out->data + start, size);
	for (size_t i = count; i-- > 0;)
		recent->from_end[++known] = (uint32_t)(before + start + size - (i ? ends[i - 1] : start));
	recent->textual = known;
}
