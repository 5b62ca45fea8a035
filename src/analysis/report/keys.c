/* The table of keys and how names find them. Values are made in keys_place.c, keys_extra.c and keys_trace.c. */
#include "analysis/report/keys_internal.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define TOTAL(n, a, t, which, k, w)                                                                                                 \
	{                                                                                                                           \
		.name = n, .alias = a, .title = t, .domain = KEY_TOTAL, .total = which, .kind = k, .align = ALIGN_RIGHT, .width = w \
	}
#define ACTOR(n, t, w, ...)                                                                     \
	{                                                                                       \
		.name = n, .title = t, .domain = KEY_ACTOR, .width = w, .words = 1, __VA_ARGS__ \
	}
#define PLACE(n, a, t, f, ident, nwords, ...)                                                                                       \
	{                                                                                                                           \
		.name = n, .alias = a, .title = t, .domain = KEY_PLACE, .flags = f, .identify = ident, .words = nwords, __VA_ARGS__ \
	}
#define EXTRA(n, t, w, f, ext, ...)                                                                                         \
	{                                                                                                                   \
		.name = n, .title = t, .domain = KEY_EXTRA, .width = w, .flags = f, .extract = ext, .words = 1, __VA_ARGS__ \
	}

const struct key key_table[] = {
	TOTAL("overhead", NULL, "Overhead", TOTAL_OVERHEAD, COLUMN_PERCENT, 8),
	TOTAL("overhead_sys", NULL, "sys", TOTAL_OVERHEAD_SYS, COLUMN_PERCENT, 8),
	TOTAL("overhead_us", NULL, "usr", TOTAL_OVERHEAD_US, COLUMN_PERCENT, 8),
	TOTAL("overhead_guest_sys", NULL, "guest sys", TOTAL_OVERHEAD_GUEST_SYS, COLUMN_PERCENT, 9),
	TOTAL("overhead_guest_us", NULL, "guest usr", TOTAL_OVERHEAD_GUEST_US, COLUMN_PERCENT, 9),
	TOTAL("overhead_children", NULL, "Children", TOTAL_OVERHEAD_CHILDREN, COLUMN_PERCENT, 8),
	TOTAL("sample", NULL, "Samples", TOTAL_SAMPLES, COLUMN_COUNT, 12),
	TOTAL("period", NULL, "Period", TOTAL_PERIOD, COLUMN_COUNT, 12),

	ACTOR("pid", "    Pid:Command", 15, .identify = key_tid_identify, .number = key_tid_number, .text = key_pid_text,
	      .flags = KEY_THREADS, .width_rule = KEY_WIDTH_NAMES, .name_room = 8),
	ACTOR("tgid", "Pid", 7, .identify = key_tgid_identify, .number = key_tgid_number, .align = ALIGN_RIGHT, .kind = COLUMN_COUNT,
	      .flags = KEY_THREADS),
	ACTOR("tid", "Tid", 7, .identify = key_tid_identify, .number = key_tid_number, .align = ALIGN_RIGHT, .kind = COLUMN_COUNT,
	      .flags = KEY_THREADS),
	ACTOR("comm", "Command", 0, .identify = key_comm_identify, .string = key_comm_string, .width_rule = KEY_WIDTH_NAMES,
	      .filter = KEY_FILTER_COMM),
	ACTOR("cgroup_id", "cgroup id (dev/inode)", 20, .identify = key_cgroup_id_identify, .number = key_cgroup_id_number,
	      .text = key_cgroup_id_text, .flags = KEY_THREADS),
	PLACE("dso", NULL, "Shared Object", KEY_HAS_DSO, key_dso_identify, 1, .string = key_dso_string, .text = key_dso_text,
	      .length = key_dso_length, .width_rule = KEY_WIDTH_FILES, .filter = KEY_FILTER_DSO),
	PLACE("symbol", "sym", "Symbol", KEY_HAS_SYM | KEY_RAGGED, key_sym_identify, 5, .string = key_sym_string, .text = key_sym_text,
	      .length = key_sym_length, .filter = KEY_FILTER_SYMBOL),
	PLACE("symoff", NULL, "Symbol Offset", KEY_BY_ADDRESS, key_symoff_identify, 2, .number = key_symoff_number,
	      .text = key_symoff_text),
	PLACE("symbol_size", NULL, "Symbol size", 0, key_symbol_size_identify, 1, .number = key_symbol_size_number,
	      .text = key_symbol_size_text, .align = ALIGN_RIGHT),
	PLACE("dso_size", NULL, "DSO size", 0, key_dso_size_identify, 1, .number = key_dso_size_number, .text = key_dso_size_text,
	      .align = ALIGN_RIGHT),
	PLACE("srcline", NULL, "Source:Line", KEY_BY_ADDRESS | KEY_RAGGED, key_srcline_identify, 1, .string = key_srcline_string),
	PLACE("srcfile", NULL, "Source File", KEY_BY_ADDRESS | KEY_RAGGED, key_srcfile_identify, 1, .string = key_srcfile_string),
	PLACE("ipc_null", NULL, "IPC   [IPC Coverage]", KEY_HIDDEN, key_null_identify, 0, .number = key_null_number, .text = key_null_text),
	{.name = "parent",
	 .title = "Parent symbol",
	 .domain = KEY_STACK,
	 .words = 1,
	 .identify = key_parent_identify,
	 .string = key_parent_string,
	 .text = key_parent_text},

	EXTRA("cpu", "CPU", 3, 0, key_cpu_extract, .number = key_word_number, .text = key_cpu_text, .align = ALIGN_RIGHT,
	      .width_rule = KEY_WIDTH_FIXED),
	EXTRA("socket", "Socket", 6, 0, key_socket_extract, .number = key_word_number, .text = key_socket_text, .align = ALIGN_RIGHT,
	      .width_rule = KEY_WIDTH_FIXED),
	EXTRA("local_weight", "Local Weight", 12, KEY_DESCENDING, key_weight_extract, .number = key_word_number, .kind = COLUMN_COUNT),
	EXTRA("weight", "Weight", 12, KEY_DESCENDING, key_weight_extract, .number = key_word_number, .text = key_weight_text,
	      .kind = COLUMN_COUNT),
	EXTRA("local_ins_lat", "Local INSTR Latency", 12, KEY_DESCENDING, key_ins_lat_extract, .number = key_word_number,
	      .kind = COLUMN_COUNT),
	EXTRA("ins_lat", "INSTR Latency", 12, KEY_DESCENDING, key_ins_lat_extract, .number = key_word_number, .text = key_weight_text,
	      .kind = COLUMN_COUNT),
	EXTRA("local_p_stage_cyc", "Local Pipeline Stage Cycle", 12, KEY_DESCENDING, key_p_stage_extract, .number = key_word_number,
	      .kind = COLUMN_COUNT),
	EXTRA("p_stage_cyc", "Pipeline Stage Cycle", 12, KEY_DESCENDING, key_p_stage_extract, .number = key_word_number,
	      .kind = COLUMN_COUNT),
	EXTRA("local_retire_lat", "Local Retire Latency", 12, KEY_DESCENDING, key_p_stage_extract, .number = key_word_number,
	      .kind = COLUMN_COUNT),
	EXTRA("retire_lat", "Retire Latency", 12, KEY_DESCENDING, key_p_stage_extract, .number = key_word_number, .text = key_weight_text,
	      .kind = COLUMN_COUNT),
	EXTRA("weight1", "Weight1", 8, KEY_DESCENDING, key_weight_extract, .number = key_word_number, .kind = COLUMN_COUNT),
	EXTRA("weight2", "Weight2", 8, KEY_DESCENDING, key_ins_lat_extract, .number = key_word_number, .kind = COLUMN_COUNT),
	EXTRA("weight3", "Weight3", 8, KEY_DESCENDING, key_p_stage_extract, .number = key_word_number, .kind = COLUMN_COUNT),
	EXTRA("transaction", "Transaction                ", 0, KEY_DESCENDING, key_transaction_extract, .number = key_word_number,
	      .text = key_transaction_text),
	EXTRA("trace", "Trace output", 0, KEY_RAGGED, key_trace_extract, .string = key_trace_string),
	EXTRA("cgroup", "Cgroup", 6, KEY_RAGGED, key_cgroup_extract, .number = key_word_number, .text = key_cgroup_text),
	EXTRA("time", "Time", 12, KEY_RAGGED, key_time_extract, .number = key_word_number, .text = key_time_text, .exact_width = 16),
	EXTRA("code_page_size", "Code Page Size", 0, KEY_DESCENDING, key_code_page_extract, .number = key_word_number,
	      .text = key_page_size_text),
	PLACE("addr", NULL, "Address", KEY_BY_ADDRESS, key_addr_identify, 1, .width = 18, .number = key_addr_number, .text = key_addr_text),
	EXTRA("event", "Event", 0, 0, key_event_extract, .string = key_event_string),

	PLACE("dso_from", NULL, "Source Shared Object", KEY_BRANCH | KEY_DESCENDING, key_dso_from_identify, 1,
	      .string = key_dso_from_string, .text = key_dso_from_text),
	PLACE("dso_to", NULL, "Target Shared Object", KEY_BRANCH | KEY_DESCENDING, key_dso_identify, 1, .string = key_dso_string,
	      .text = key_dso_text),
	PLACE("symbol_from", "sym_from", "Source Symbol", KEY_BRANCH | KEY_HAS_SYM, key_sym_from_identify, 5, .number = key_sym_from_number,
	      .text = key_sym_from_text),
	PLACE("symbol_to", "sym_to", "Target Symbol", KEY_BRANCH | KEY_HAS_SYM | KEY_RAGGED, key_sym_to_identify, 5,
	      .number = key_sym_to_number, .text = key_sym_to_text),
	PLACE("addr_from", NULL, "Source Address", KEY_BRANCH | KEY_BY_ADDRESS, key_addr_from_identify, 1, .number = key_addr_from_number,
	      .text = key_addr_from_text),
	PLACE("addr_to", NULL, "Target Address", KEY_BRANCH | KEY_BY_ADDRESS | KEY_RAGGED, key_addr_identify, 1, .number = key_addr_number,
	      .text = key_addr_to_text),
	PLACE("srcline_from", NULL, "From Source:Line", KEY_BRANCH | KEY_BY_ADDRESS, key_srcline_from_identify, 1,
	      .string = key_srcline_from_string),
	PLACE("srcline_to", NULL, "To Source:Line", KEY_BRANCH | KEY_BY_ADDRESS, key_srcline_identify, 1, .string = key_srcline_string),
	EXTRA("mispredict", "Branch Mispredicted", 0, KEY_BRANCH, key_mispredict_extract, .number = key_word_number,
	      .text = key_mispredict_text),
	EXTRA("abort", "Transaction abort", 0, KEY_BRANCH, key_abort_extract, .number = key_word_number, .text = key_flag_text),
	EXTRA("in_tx", "Branch in transaction", 0, KEY_BRANCH, key_in_tx_extract, .number = key_word_number, .text = key_in_tx_text),
	EXTRA("cycles", "Basic Block Cycles", 0, KEY_BRANCH | KEY_DESCENDING, key_cycles_extract, .number = key_word_number,
	      .text = key_cycles_text),
	EXTRA("ipc_lbr", "IPC   [IPC Coverage]", 0, KEY_BRANCH | KEY_HIDDEN, key_null_extract, .number = key_word_number,
	      .text = key_cycles_text),

	EXTRA("symbol_daddr", "Data Symbol", 22, KEY_MEMORY, key_daddr_extract, .number = key_data_place_number,
	      .text = key_data_place_text),
	EXTRA("dso_daddr", "Data Object", 16, KEY_MEMORY | KEY_DESCENDING, key_dso_daddr_extract, .string = key_dso_daddr_string),
	EXTRA("locked", "Locked", 6, KEY_MEMORY, key_locked_extract, .number = key_word_number, .text = key_locked_text),
	EXTRA("tlb", "TLB access", 22, KEY_MEMORY, key_tlb_extract, .number = key_word_number, .text = key_tlb_text),
	EXTRA("mem", "Memory access", 24, KEY_MEMORY, key_mem_level_extract, .number = key_source_part_number, .text = key_mem_level_text),
	EXTRA("snoop", "Snoop", 12, KEY_MEMORY, key_snoop_extract, .number = key_source_part_number, .text = key_snoop_text),
	EXTRA("dcacheline", "Data Cacheline", 24, KEY_MEMORY, key_line_extract, .number = key_line_number, .text = key_line_text),
	EXTRA("symbol_iaddr", "Code Symbol", 22, KEY_MEMORY, key_iaddr_extract, .number = key_data_place_number,
	      .text = key_data_place_text),
	EXTRA("phys_daddr", "Data Physical Address", 22, KEY_MEMORY, key_phys_extract, .number = key_word_number, .text = key_phys_text),
	EXTRA("data_page_size", "Data Page Size", 22, KEY_MEMORY | KEY_DESCENDING, key_data_page_extract, .number = key_word_number,
	      .text = key_page_size_text),
	EXTRA("blocked", "Blocked", 10, KEY_MEMORY, key_blocked_extract, .number = key_word_number, .text = key_blocked_text),
	{.name = NULL},
};

static bool name_matches(const struct key *key, const char *name)
{
	size_t length = strlen(name);
	return !strncasecmp(key->name, name, length) || (key->alias && !strncasecmp(key->alias, name, length));
}

const struct key *key_find(const char *name, bool branch_mode)
{
	if (!*name)
		return NULL;
	for (const struct key *key = key_table; key->name; key++)
		if (!strcmp(key->name, name) || (key->alias && !strcmp(key->alias, name)))
			return key;
	for (const struct key *key = key_table; key->name; key++)
		if (name_matches(key, name) && !(key->flags & KEY_HIDDEN))
			return key;
	return NULL;
}

const char *key_nearest(const char *name)
{
	VEC(const char *) names = {0};
	for (const struct key *key = key_table; key->name; key++)
		if (!(key->flags & KEY_HIDDEN))
			vec_push(&names, key->name);
	const char *nearest = str_nearest(name, names.data, names.len);
	vec_deinit(&names);
	return nearest;
}

void key_names(struct strbuf *out, unsigned int margin, unsigned int width)
{
	unsigned int longest = 0, column = 0;
	for (const struct key *key = key_table; key->name; key++)
		if (!(key->flags & KEY_HIDDEN) && strlen(key->name) > longest)
			longest = (unsigned int)strlen(key->name);
	for (const struct key *key = key_table; key->name; key++) {
		if (key->flags & KEY_HIDDEN)
			continue;
		bool full = column && column + 2 + longest > width;
		if (full)
			strbuf_add_char(out, '\n');
		if (full || !column) {
			strbuf_add_chars(out, ' ', margin);
			column = margin;
		} else {
			strbuf_add_chars(out, ' ', 2);
			column += 2;
		}
		const struct key *next = key + 1;
		while (next->name && (next->flags & KEY_HIDDEN))
			next++;
		unsigned int length = (unsigned int)strlen(key->name);
		strbuf_add_str(out, key->name);
		column += longest;
		if (next->name && column + 2 + longest <= width)
			strbuf_add_chars(out, ' ', longest - length);
	}
}
