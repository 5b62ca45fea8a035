/* perf c2c: the columns of its two tables. */
#include "cmd/c2c/c2c.h"

#include "analysis/script/sample_text.h"
#include "base/text.h"

#include <string.h>

enum { SYMBOL_WIDTH = 30 };

#define GETTER(name)                                                                                                                    \
	static union cell name(const struct c2c *c2c, size_t index, const struct sharing_line *line, const struct sharing_place *place, \
			       struct strbuf *scratch)

/* ---- of lines ---- */

GETTER(get_index)
{
	return (union cell){.integer = index};
}

GETTER(get_line_address)
{
	return (union cell){.integer = line->address};
}

/* Whether it is in the set; and a CPU of the node, where `sharing` isn't NULL. */
static bool is_in(const struct sharing_set *set, size_t index, const struct shared_lines *sharing, size_t node)
{
	return sharing_set_has(set, index) && (!sharing || sharing_node_of_cpu(sharing, index) == node);
}

/* "0-1,4". */
static void add_set(const struct sharing_set *set, const struct shared_lines *sharing, size_t node, struct strbuf *out)
{
	size_t start = out->len;
	for (size_t i = 0; i < set->count * 64; i++) {
		if (!is_in(set, i, sharing, node))
			continue;
		size_t last = i;
		while (is_in(set, last + 1, sharing, node))
			last++;
		strbuf_printf(out, last > i ? "%s%zu-%zu" : "%s%zu", out->len > start ? "," : "", i, last);
		i = last;
	}
}

GETTER(get_memory_nodes)
{
	const struct sharing_memory *memory = place ? &place->memory : &line->memory;
	if (sharing_set_size(&memory->nodes, NULL, 0))
		add_set(&memory->nodes, NULL, 0, scratch);
	else
		strbuf_add_str(scratch, "N/A");
	return (union cell){.text = strbuf_str(scratch)};
}

GETTER(get_memory_changes)
{
	return (union cell){.integer = place ? place->memory.changes : line->memory.changes};
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

GETTER(get_share)
{
	const struct shared_lines *sharing = &c2c->sharing;
	enum sharing_rank rank = sharing->options.rank;
	return (union cell){.real = percent(sharing_ranked(rank, &line->counts), sharing_ranked(rank, &sharing->total))};
}

GETTER(get_snoops)
{
	return (union cell){.integer =
				    c2c->options->sharing.rank == SHARING_PEER ? access_peers(&line->counts) : access_hitms(&line->counts)};
}

GETTER(get_records)
{
	return (union cell){.integer = access_placed(place ? &place->counts : &line->counts)};
}

GETTER(get_loads)
{
	return (union cell){.integer = access_placed_loads(&line->counts)};
}

#define TITLES(list, ...)                                                        \
	do {                                                                     \
		const struct c2c_column added_[] = {__VA_ARGS__};                \
		for (size_t i_ = 0; i_ < sizeof(added_) / sizeof(*added_); i_++) \
			vec_push(list, added_[i_]);                              \
	} while (0)

void c2c_line_columns(const struct c2c *c2c, struct c2c_columns *ret)
{
	static const char *const ranks[] = {"Tot", "Lcl", "Rmt", "Peer"};
	enum sharing_rank rank = c2c->options->sharing.rank;
	bool peer = rank == SHARING_PEER;
	TITLES(&ret->list, {"index", NULL, 1, "Index", 5, COLUMN_COUNT, .get = get_index},
	       {"address", "----------- Cacheline ----------", 3, "Address", 18, COLUMN_ADDRESS, .get = get_line_address},
	       {"node", NULL, 0, "Node", 4, COLUMN_TEXT, .get = get_memory_nodes},
	       {"address_changes", NULL, 0, "PA cnt", 6, COLUMN_COUNT, .get = get_memory_changes},
	       {"share", ranks[rank], 1, peer ? "Snoop" : "Hitm", 7, COLUMN_PERCENT, .get = get_share},
	       {"snoops", peer ? "------- Load Peer -------" : "------- Load Hitm -------", 3, "Total", 7, COLUMN_COUNT, .get = get_snoops},
	       {peer ? "local_peer" : "local_hitm", NULL, 0, peer ? "Local" : "LclHitm", 7, COLUMN_COUNT,
		.count = peer ? ACCESS_LOCAL_PEER : ACCESS_LOCAL_HITM},
	       {peer ? "remote_peer" : "remote_hitm", NULL, 0, peer ? "Remote" : "RmtHitm", 7, COLUMN_COUNT,
		.count = peer ? ACCESS_REMOTE_PEER : ACCESS_REMOTE_HITM},
	       {"records", "Total", 1, "records", 7, COLUMN_COUNT, .get = get_records},
	       {"loads", "Total", 1, "Loads", 7, COLUMN_COUNT, .get = get_loads},
	       {"stores", "Total", 1, "Stores", 7, COLUMN_COUNT, .count = ACCESS_STORES},
	       {"store_l1_hit", "--------- Stores --------", 3, "L1Hit", 7, COLUMN_COUNT, .count = ACCESS_STORE_L1_HIT},
	       {"store_l1_miss", NULL, 0, "L1Miss", 7, COLUMN_COUNT, .count = ACCESS_STORE_L1_MISS},
	       {"store_no_level", NULL, 0, "N/A", 7, COLUMN_COUNT, .count = ACCESS_STORE_NO_LEVEL},
	       {"load_fill_buffer", "----- Core Load Hit -----", 3, "FB", 7, COLUMN_COUNT, .count = ACCESS_LOAD_FILL_BUFFER},
	       {"load_l1", NULL, 0, "L1", 7, COLUMN_COUNT, .count = ACCESS_LOAD_L1},
	       {"load_l2", NULL, 0, "L2", 7, COLUMN_COUNT, .count = ACCESS_LOAD_L2},
	       {"load_llc", "- LLC Load Hit --", 2, "LclHit", 8, COLUMN_COUNT, .count = ACCESS_LOAD_LLC},
	       {"load_llc_hitm", NULL, 0, "LclHitm", 7, COLUMN_COUNT, .count = ACCESS_LOCAL_HITM},
	       {"remote_hit", "- RMT Load Hit --", 2, "RmtHit", 8, COLUMN_COUNT, .count = ACCESS_REMOTE_HIT},
	       {"load_remote_hitm", NULL, 0, "RmtHitm", 7, COLUMN_COUNT, .count = ACCESS_REMOTE_HITM},
	       {"local_ram", "--- Load Dram ----", 2, "Lcl", 8, COLUMN_COUNT, .count = ACCESS_LOCAL_RAM},
	       {"remote_ram", NULL, 0, "Rmt", 8, COLUMN_COUNT, .count = ACCESS_REMOTE_RAM});
}

/* ---- of places ---- */

#define SHARE_GETTER(name, which)                                                                      \
	GETTER(name)                                                                                   \
	{                                                                                              \
		return (union cell){.real = percent(place->counts.of[which], line->counts.of[which])}; \
	}
SHARE_GETTER(get_remote_hitm_share, ACCESS_REMOTE_HITM)
SHARE_GETTER(get_local_hitm_share, ACCESS_LOCAL_HITM)
SHARE_GETTER(get_remote_peer_share, ACCESS_REMOTE_PEER)
SHARE_GETTER(get_local_peer_share, ACCESS_LOCAL_PEER)
SHARE_GETTER(get_l1_hit_share, ACCESS_STORE_L1_HIT)
SHARE_GETTER(get_l1_miss_share, ACCESS_STORE_L1_MISS)
SHARE_GETTER(get_no_level_share, ACCESS_STORE_NO_LEVEL)

#define COST_GETTER(name, which)                                       \
	GETTER(name)                                                   \
	{                                                              \
		return (union cell){.real = place->costs[which].mean}; \
	}
COST_GETTER(get_remote_hitm_cost, SHARING_COST_REMOTE_HITM)
COST_GETTER(get_local_hitm_cost, SHARING_COST_LOCAL_HITM)
COST_GETTER(get_remote_peer_cost, SHARING_COST_REMOTE_PEER)
COST_GETTER(get_local_peer_cost, SHARING_COST_LOCAL_PEER)
COST_GETTER(get_load_cost, SHARING_COST_LOAD)

GETTER(get_offset)
{
	return (union cell){.integer = place->offset};
}

GETTER(get_pid)
{
	return (union cell){.integer = place->thread->pid};
}

GETTER(get_thread)
{
	strbuf_printf(scratch, "%7d:", (int)place->thread->tid);
	text_add_untrusted(scratch, thread_comm_settled(place->thread, place->thread_time));
	while (scratch->len < c2c->comm_width)
		strbuf_add_char(scratch, ' ');
	return (union cell){.text = strbuf_str(scratch)};
}

GETTER(get_code)
{
	return (union cell){.integer = place->code.ip};
}

GETTER(get_cpus)
{
	return (union cell){.integer = sharing_set_size(&place->cpus, NULL, 0)};
}

GETTER(get_symbol)
{
	strbuf_printf(scratch, "[%c] ", sample_text_mode(place->code.cpumode));
	if (place->code.symbol)
		text_add_safe(scratch, place->code.symbol->name, strlen(place->code.symbol->name));
	else
		strbuf_printf(scratch, "%#.16lx", place->code.ip);
	return (union cell){.text = strbuf_str(scratch)};
}

GETTER(get_file)
{
	const char *name = place->code.map ? place->code.map->dso->short_name : "[unknown]";
	text_add_safe(scratch, name, strlen(name));
	return (union cell){.text = strbuf_str(scratch)};
}

GETTER(get_source)
{
	const struct fold_frame frame = {
		.ip = place->code.ip, .map = place->code.map, .symbol = place->code.symbol, .cpumode = place->code.cpumode};
	const char *source = source_lines_line(c2c->lines, &frame, false);
	text_add_safe(scratch, source, strlen(source));
	return (union cell){.text = strbuf_str(scratch)};
}

static void add_share(struct strbuf *out, uint64_t part, uint64_t whole, const char *end)
{
	if (whole)
		strbuf_printf(out, "%5.1f%%%s", percent(part, whole), end);
	else
		strbuf_printf(out, "%6s%s", "n/a", end);
}

static void add_node(const struct c2c *c2c, const struct sharing_place *place, const struct sharing_node *node, struct strbuf *out)
{
	const struct shared_lines *sharing = &c2c->sharing;
	enum sharing_rank rank = sharing->options.rank;
	strbuf_printf(out, "%2zu", node->node);
	if (c2c->options->node_detail == 1) {
		strbuf_printf(out, "{%2u ", sharing_set_size(&place->cpus, sharing, node->node));
		add_share(out, sharing_ranked(rank, &node->counts), sharing_ranked(rank, &place->counts), " ");
		add_share(out, node->counts.of[ACCESS_STORES], place->counts.of[ACCESS_STORES], "}");
	} else if (c2c->options->node_detail > 1) {
		strbuf_add_char(out, '{');
		add_set(&place->cpus, sharing, node->node, out);
		strbuf_add_char(out, '}');
	}
}

/* In columns where there are shares: nodes that have no part leave room. */
GETTER(get_nodes)
{
	enum { ROOM = 20 };
	size_t next = 0, start = scratch->len;
	for (const struct sharing_node *node = place->nodes; node; node = node->next) {
		if (!sharing_set_size(&place->cpus, &c2c->sharing, node->node))
			continue;
		for (; c2c->options->node_detail == 1 && next < node->node; next++)
			strbuf_add_chars(scratch, ' ', ROOM + 1);
		if (next++)
			strbuf_add_chars(scratch, ' ', scratch->len > start && scratch->data[scratch->len - 1] != ' ');
		add_node(c2c, place, node, scratch);
	}
	return (union cell){.text = strbuf_str(scratch)};
}

static void add_shares(const struct c2c *c2c, struct c2c_columns *ret)
{
	bool peer = c2c->options->sharing.rank == SHARING_PEER;
	if (peer)
		TITLES(&ret->list, {"remote_peer_share", "-- Peer Snoop --", 2, "Rmt", 7, COLUMN_PERCENT, .get = get_remote_peer_share},
		       {"local_peer_share", NULL, 0, "Lcl", 7, COLUMN_PERCENT, .get = get_local_peer_share});
	else
		TITLES(&ret->list, {"remote_hitm_share", "----- HITM -----", 2, "RmtHitm", 7, COLUMN_PERCENT, .get = get_remote_hitm_share},
		       {"local_hitm_share", NULL, 0, "LclHitm", 7, COLUMN_PERCENT, .get = get_local_hitm_share});
	TITLES(&ret->list, {"store_l1_hit_share", "------- Store Refs ------", 3, "L1 Hit", 7, COLUMN_PERCENT, .get = get_l1_hit_share},
	       {"store_l1_miss_share", NULL, 0, "L1 Miss", 7, COLUMN_PERCENT, .get = get_l1_miss_share},
	       {"store_no_level_share", NULL, 0, "N/A", 7, COLUMN_PERCENT, .get = get_no_level_share});
}

static void add_costs(const struct c2c *c2c, struct c2c_columns *ret)
{
	if (c2c->options->sharing.rank == SHARING_PEER)
		TITLES(&ret->list,
		       {"remote_peer_cycles", "---------- cycles ----------", 3, "rmt peer", 8, COLUMN_REAL, .get = get_remote_peer_cost},
		       {"local_peer_cycles", NULL, 0, "lcl peer", 8, COLUMN_REAL, .get = get_local_peer_cost});
	else
		TITLES(&ret->list,
		       {"remote_hitm_cycles", "---------- cycles ----------", 3, "rmt hitm", 8, COLUMN_REAL, .get = get_remote_hitm_cost},
		       {"local_hitm_cycles", NULL, 0, "lcl hitm", 8, COLUMN_REAL, .get = get_local_hitm_cost});
	TITLES(&ret->list, {"load_cycles", NULL, 0, "load", 8, COLUMN_REAL, .get = get_load_cost},
	       {"records", "Total", 1, "records", 7, COLUMN_COUNT, .get = get_records},
	       {"cpus", "cpu", 1, "cnt", 8, COLUMN_COUNT, .get = get_cpus});
}

void c2c_place_columns(const struct c2c *c2c, struct c2c_columns *ret)
{
	static const char *const nodes[] = {"Node", "Node{cpus %hitms %stores}", "Node{cpu list}"};
	int detail = c2c->options->node_detail;
	bool code = sharing_has_key(&c2c->options->sharing, SHARING_CODE), peer = c2c->options->sharing.rank == SHARING_PEER;
	add_shares(c2c, ret);
	TITLES(&ret->list, {"offset", "--------- Data address ---------", 3, "Offset", 18, COLUMN_ADDRESS, .get = get_offset},
	       {"node", NULL, 0, "Node", 4, COLUMN_TEXT, .get = get_memory_nodes},
	       {"address_changes", NULL, 0, "PA cnt", 6, COLUMN_COUNT, .get = get_memory_changes});
	if (sharing_has_key(&c2c->options->sharing, SHARING_PID))
		TITLES(&ret->list, {"pid", NULL, 1, "Pid", 7, COLUMN_COUNT, .get = get_pid});
	if (sharing_has_key(&c2c->options->sharing, SHARING_TID))
		TITLES(&ret->list, {"thread", NULL, 1, "Tid", c2c->comm_width, COLUMN_TEXT, .get = get_thread});
	if (code)
		TITLES(&ret->list, {"code_address", NULL, 1, "Code address", 18, COLUMN_ADDRESS, .get = get_code});
	add_costs(c2c, ret);
	if (code)
		TITLES(&ret->list, {"symbol", NULL, 1, "Symbol", c2c->symbol_width, COLUMN_TEXT, true, .get = get_symbol});
	if (code || sharing_has_key(&c2c->options->sharing, SHARING_FILE))
		TITLES(&ret->list, {"dso", "Shared", 1, "Object", c2c->file_width, COLUMN_TEXT, true, .get = get_file});
	if (code && c2c->options->source)
		TITLES(&ret->list, {"source", NULL, 1, "Source:Line", c2c->source_width, COLUMN_TEXT, true, .get = get_source});
	TITLES(&ret->list, {"cpu_nodes", NULL, 1, detail == 1 && peer ? "Node{cpus %peers %stores}" : nodes[detail > 2 ? 2 : detail], 4,
			    COLUMN_TEXT, true, .get = get_nodes});
}

void c2c_heading_columns(const struct c2c *c2c, struct c2c_columns *ret)
{
	bool peer = c2c->options->sharing.rank == SHARING_PEER;
	TITLES(&ret->list, {"line", NULL, 1, "Num", 5, COLUMN_COUNT, .get = get_index},
	       {"remote", NULL, 1, NULL, 7, COLUMN_COUNT, .count = peer ? ACCESS_REMOTE_PEER : ACCESS_REMOTE_HITM},
	       {"local", NULL, 1, NULL, 7, COLUMN_COUNT, .count = peer ? ACCESS_LOCAL_PEER : ACCESS_LOCAL_HITM},
	       {"store_l1_hit", NULL, 1, NULL, 7, COLUMN_COUNT, .count = ACCESS_STORE_L1_HIT},
	       {"store_l1_miss", NULL, 1, NULL, 7, COLUMN_COUNT, .count = ACCESS_STORE_L1_MISS},
	       {"store_no_level", NULL, 1, NULL, 7, COLUMN_COUNT, .count = ACCESS_STORE_NO_LEVEL},
	       {"line_address", NULL, 1, NULL, 18, COLUMN_ADDRESS, .get = get_line_address});
}

union cell c2c_cell(const struct c2c *c2c, const struct c2c_column *column, size_t index, const struct sharing_line *line,
		    const struct sharing_place *place, struct strbuf *scratch)
{
	strbuf_clear(scratch);
	if (!column->get)
		return (union cell){.integer = line->counts.of[column->count]};
	return column->get(c2c, index, line, place, scratch);
}

static void measure_place(struct c2c *c2c, const struct sharing_place *place, struct strbuf *text)
{
	const struct {
		unsigned int *width;
		union cell (*get)(const struct c2c *, size_t, const struct sharing_line *, const struct sharing_place *, struct strbuf *);
		bool wanted;
	} texts[] = {{&c2c->comm_width, get_thread, sharing_has_key(&c2c->options->sharing, SHARING_TID)},
		     {&c2c->symbol_width, get_symbol, sharing_has_key(&c2c->options->sharing, SHARING_CODE)},
		     {&c2c->file_width, get_file,
		      sharing_has_key(&c2c->options->sharing, SHARING_CODE) || sharing_has_key(&c2c->options->sharing, SHARING_FILE)},
		     {&c2c->source_width, get_source, sharing_has_key(&c2c->options->sharing, SHARING_CODE) && c2c->options->source}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!texts[i].wanted)
			continue;
		strbuf_clear(text);
		texts[i].get(c2c, 0, NULL, place, text);
		if (text->len > *texts[i].width)
			*texts[i].width = (unsigned int)text->len;
	}
}

void c2c_measure(struct c2c *c2c)
{
	struct strbuf text = {0};
	c2c->source_width = (unsigned int)strlen("Source:Line");
	for (size_t i = 0; i < c2c->sharing.lines.len; i++)
		for (size_t j = 0; j < c2c->sharing.lines.data[i]->places.len; j++)
			measure_place(c2c, c2c->sharing.lines.data[i]->places.data[j], &text);
	if (!c2c->options->full_symbols && c2c->symbol_width > SYMBOL_WIDTH)
		c2c->symbol_width = SYMBOL_WIDTH;
	strbuf_deinit(&text);
}
