/* Fold: stacks cut at functions whose callees don't matter.
 *
 *	main → parse → vfs_stat → lookup → walk        cut at vfs_stat: main → parse → vfs_stat, sampled in vfs_stat
 *
 * Where several frames match, the outermost one counts. A piece is cut the same way for every stack that it is part of, so that it is
 * changed in place; and pieces that share frames are cut at the same one, if it is among those. */
#include "analysis/report/fold_internal.h"

enum { NOT_CUT = UINT32_MAX };

/* The depth of the outermost frame of a piece that matches. */
static uint32_t find_cut(const struct fold *fold, const struct fold_piece *piece, const bool *matching)
{
	for (uint32_t depth = piece->frame_count; depth-- > 0;)
		if (matching[*fold_piece_frame(fold, piece, depth)])
			return depth;
	return NOT_CUT;
}

static void set_leaf(const struct fold *fold, uint32_t piece, struct fold_entry *entry)
{
	entry->leaf = *fold_piece_frame(fold, &fold->pieces[piece], 0);
	entry->cpumode = fold->frames[entry->leaf].cpumode;
}

/* Leaves out the frames inside that at `depth`. */
static void cut_piece(struct fold_piece *piece, uint32_t depth)
{
	piece->frames += depth;
	piece->frame_count -= depth;
	if (piece->shared > piece->frame_count)
		piece->shared = piece->frame_count;
}

void fold_cut_callees(struct fold *fold, bool (*matches)(void *context, const struct symbol *symbol), void *context)
{
	bool *matching = mem_zalloc_array(fold->frame_count + 1, sizeof(*matching));
	uint32_t *cut = mem_alloc_array(fold->piece_count + 1, sizeof(*cut)); /* all are looked at before one changes */
	for (size_t i = 0; i < fold->frame_count; i++)
		matching[i] = fold->frames[i].symbol && matches(context, fold->frames[i].symbol);
	for (size_t i = 0; i < fold->piece_count; i++)
		cut[i] = find_cut(fold, &fold->pieces[i], matching);
	for (size_t i = 0; i < fold->piece_count; i++)
		if (cut[i] != NOT_CUT)
			cut_piece(&fold->pieces[i], cut[i]);
	for (size_t i = 0; i < fold->entry_count; i++) {
		struct fold_entry *entry = &fold->entries[i];
		if (entry->outer != FOLD_NONE && cut[entry->outer] != NOT_CUT) {
			entry->inner = FOLD_NONE;
			set_leaf(fold, entry->outer, entry);
		} else if (entry->inner != FOLD_NONE && cut[entry->inner] != NOT_CUT) {
			set_leaf(fold, entry->inner, entry);
		}
	}
	free(matching);
	free(cut);
}
