/* Branch records: FROM/TO/predicted/transaction/abort/cycles, newest first, with addresses, functions or offsets in files. */
#include "analysis/script/internal.h"

#include <stdbool.h>

enum { FLAG_MISPREDICTED = 1, FLAG_PREDICTED = 2, FLAG_TRANSACTION = 4, FLAG_ABORT = 8 };

static void add_flags(const struct branch_entry *branch, struct strbuf *out)
{
	uint64_t flags = branch->flags;
	char predicted = flags & FLAG_MISPREDICTED ? 'M' : flags & FLAG_PREDICTED ? 'P' : '-';
	const char text[] = {'/', predicted, '/', flags & FLAG_TRANSACTION ? 'X' : '-', '/', flags & FLAG_ABORT ? 'A' : '-', '/'};
	strbuf_add(out, text, sizeof(text));
	strbuf_add_u64(out, branch_cycles(branch), 0);
	strbuf_add_char(out, '/');
}

static void add_file(const struct script_text *text, const struct script_sample *at, const struct frame *frame, struct strbuf *out)
{
	if (!script_shows(at->plan, SCRIPT_DSO))
		return;
	strbuf_add_char(out, '(');
	script_add_dso(text, frame->map, out);
	strbuf_add_char(out, ')');
}

typedef void add_end_fn(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out);

static void add_address(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out)
{
	strbuf_add(out, "0x", 2);
	strbuf_add_hex(out, addr, 0);
	if (!script_shows(at->plan, SCRIPT_DSO))
		return;
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	add_file(text, at, &frame, out);
}

static void add_function(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out)
{
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	script_add_symbol(&frame, script_shows(at->plan, SCRIPT_SYMOFF), out);
	add_file(text, at, &frame, out);
}

static void add_offset(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out)
{
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	strbuf_add(out, "0x", 2);
	strbuf_add_hex(out, frame.map ? addr - frame.map->start + frame.map->pgoff : addr, 0);
	add_file(text, at, &frame, out);
}

static void add_branches(struct script_text *text, const struct script_sample *at, const char *before, add_end_fn *add_end,
			 const char *after, struct strbuf *out)
{
	for (uint64_t i = 0; i < at->sample->branch_count; i++) {
		const struct branch_entry *branch = &at->sample->branches[i];
		strbuf_add_str(out, before);
		add_end(text, at, branch->from, out);
		strbuf_add_char(out, '/');
		add_end(text, at, branch->to, out);
		add_flags(branch, out);
		strbuf_add_str(out, after);
	}
}

void script_print_brstack(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_branches(text, at, " ", add_address, " ", out);
}

void script_print_brstacksym(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_branches(text, at, "", add_function, " ", out);
}

void script_print_brstackoff(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_branches(text, at, " ", add_offset, " ", out);
}
