/* The functions that the table of keys (keys.c) is made of. */
#pragma once

#include "analysis/report/keys.h"

typedef void key_identify_fn(const struct key_context *context, const struct key_source *source, uint64_t *words);
typedef const char *key_string_fn(struct key_context *context, const struct key *key, const struct key_source *source);
typedef int64_t key_number_fn(struct key_context *context, const struct key *key, const struct key_source *source);
typedef void key_text_fn(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out);
typedef unsigned int key_length_fn(const struct key_context *context, const struct key_source *source);
typedef void key_extract_fn(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words);

/* keys_place.c */
key_identify_fn key_tid_identify, key_tgid_identify, key_comm_identify, key_cgroup_id_identify, key_dso_identify, key_dso_from_identify,
	key_symoff_identify, key_sym_identify, key_sym_from_identify, key_sym_to_identify, key_symbol_size_identify, key_dso_size_identify,
	key_null_identify, key_parent_identify, key_addr_from_identify, key_addr_identify, key_srcline_identify, key_srcfile_identify,
	key_srcline_from_identify;
key_length_fn key_dso_length, key_sym_length;
key_string_fn key_comm_string, key_dso_string, key_dso_from_string, key_sym_string, key_parent_string, key_srcline_string,
	key_srcfile_string, key_srcline_from_string;
key_number_fn key_tid_number, key_tgid_number, key_cgroup_id_number, key_symbol_size_number, key_dso_size_number, key_null_number,
	key_symoff_number, key_sym_from_number, key_sym_to_number, key_addr_from_number, key_addr_number;
key_text_fn key_pid_text, key_cgroup_id_text, key_dso_text, key_dso_from_text, key_symoff_text, key_sym_text, key_sym_from_text,
	key_sym_to_text, key_symbol_size_text, key_dso_size_text, key_null_text, key_parent_text, key_addr_from_text, key_addr_to_text;
/* The address an unresolved place is shown with. */
uint64_t key_place_address(const struct fold_frame *place, bool caller);

/* keys_extra.c */
key_extract_fn key_cpu_extract, key_socket_extract, key_weight_extract, key_ins_lat_extract, key_p_stage_extract, key_transaction_extract,
	key_cgroup_extract, key_time_extract, key_code_page_extract, key_event_extract, key_mispredict_extract, key_abort_extract,
	key_in_tx_extract, key_cycles_extract, key_null_extract;
key_number_fn key_word_number;
key_string_fn key_event_string;
key_text_fn key_cpu_text, key_socket_text, key_weight_text, key_transaction_text, key_cgroup_text, key_time_text, key_page_size_text,
	key_addr_text, key_mispredict_text, key_flag_text, key_in_tx_text, key_cycles_text;

/* keys_memory.c */
key_extract_fn key_daddr_extract, key_iaddr_extract, key_line_extract, key_dso_daddr_extract, key_phys_extract, key_data_page_extract,
	key_mem_level_extract, key_snoop_extract, key_tlb_extract, key_locked_extract, key_blocked_extract;
key_string_fn key_dso_daddr_string;
key_number_fn key_data_place_number, key_line_number, key_source_part_number;
key_text_fn key_data_place_text, key_line_text, key_phys_text, key_mem_level_text, key_snoop_text, key_tlb_text, key_locked_text,
	key_blocked_text;

/* keys_trace.c */
key_extract_fn key_trace_extract;
key_string_fn key_trace_string;
