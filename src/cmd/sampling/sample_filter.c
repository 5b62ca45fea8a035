/* Reading the expressions of sample filters (sample_filter.h). Fields, operators and values have the names of the kernel's perf, as its
 * manual lists them; the numbers behind are those of linux/perf_event.h (union perf_mem_data_src). */
#include "cmd/sampling/sample_filter.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <string.h>

struct named_value {
	const char *name;
	uint64_t value;
};

static const struct named_value no_values[] = {{NULL, 0}};
static const struct named_value operations[] = {{"na", PERF_MEM_OP_NA},		{"load", PERF_MEM_OP_LOAD}, {"store", PERF_MEM_OP_STORE},
						{"pfetch", PERF_MEM_OP_PFETCH}, {"exec", PERF_MEM_OP_EXEC}, {NULL, 0}};
static const struct named_value levels[] = {{"l1", PERF_MEM_LVLNUM_L1},
					    {"l2", PERF_MEM_LVLNUM_L2},
					    {"l3", PERF_MEM_LVLNUM_L3},
					    {"l4", PERF_MEM_LVLNUM_L4},
					    {"cxl", 9},
					    {"io", 10},
					    {"any_cache", PERF_MEM_LVLNUM_ANY_CACHE},
					    {"lfb", PERF_MEM_LVLNUM_LFB},
					    {"ram", PERF_MEM_LVLNUM_RAM},
					    {"pmem", PERF_MEM_LVLNUM_PMEM},
					    {NULL, 0}};
static const struct named_value snoops[] = {{"na", PERF_MEM_SNOOP_NA},
					    {"none", PERF_MEM_SNOOP_NONE},
					    {"hit", PERF_MEM_SNOOP_HIT},
					    {"miss", PERF_MEM_SNOOP_MISS},
					    {"hitm", PERF_MEM_SNOOP_HITM},
					    {"fwd", 1 << 5},
					    {"peer", 2 << 5},
					    {NULL, 0}};
static const struct named_value remotes[] = {{"remote", PERF_MEM_REMOTE_REMOTE}, {NULL, 0}};
static const struct named_value locks[] = {{"na", PERF_MEM_LOCK_NA}, {"locked", PERF_MEM_LOCK_LOCKED}, {NULL, 0}};
static const struct named_value tlbs[] = {{"na", PERF_MEM_TLB_NA},
					  {"l1_hit", PERF_MEM_TLB_L1 | PERF_MEM_TLB_HIT},
					  {"l1_miss", PERF_MEM_TLB_L1 | PERF_MEM_TLB_MISS},
					  {"l2_hit", PERF_MEM_TLB_L2 | PERF_MEM_TLB_HIT},
					  {"l2_miss", PERF_MEM_TLB_L2 | PERF_MEM_TLB_MISS},
					  {"any_hit", PERF_MEM_TLB_HIT},
					  {"any_miss", PERF_MEM_TLB_MISS},
					  {"walk", PERF_MEM_TLB_WK},
					  {"fault", PERF_MEM_TLB_OS},
					  {NULL, 0}};
static const struct named_value blocks[] = {
	{"na", PERF_MEM_BLK_NA}, {"by_data", PERF_MEM_BLK_DATA}, {"by_addr", PERF_MEM_BLK_ADDR}, {NULL, 0}};
static const struct named_value hops[] = {{"hops0", 1}, {"hops1", 2}, {"hops2", 3}, {"hops3", 4}, {NULL, 0}};

struct field {
	const char *name;
	enum sample_filter_field field;
	unsigned int shift;
	uint64_t mask;	    /* 0 = all bits */
	uint64_t needs;	    /* one of these sample bits; 0 = samples of record have it */
	const char *option; /* that adds them */
	const struct named_value *values;
};

#define WEIGHTS (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)
#define MEMORY(name, shift, mask, values)                                                        \
	{                                                                                        \
		name, SAMPLE_FILTER_DATA_SOURCE, shift, mask, PERF_SAMPLE_DATA_SRC, "-d", values \
	}

static const struct field fields[] = {
	{"ip", SAMPLE_FILTER_IP, 0, 0, 0, NULL, no_values},
	{"id", SAMPLE_FILTER_ID, 0, 0, PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, "--sample-identifier", no_values},
	{"tid", SAMPLE_FILTER_TID, 0, 0, 0, NULL, no_values},
	{"pid", SAMPLE_FILTER_PID, 0, 0, 0, NULL, no_values},
	{"cpu", SAMPLE_FILTER_CPU, 0, 0, 0, NULL, no_values},
	{"time", SAMPLE_FILTER_TIME, 0, 0, PERF_SAMPLE_TIME, "-T", no_values},
	{"addr", SAMPLE_FILTER_ADDR, 0, 0, PERF_SAMPLE_ADDR, "-d", no_values},
	{"period", SAMPLE_FILTER_PERIOD, 0, 0, 0, NULL, no_values},
	{"txn", SAMPLE_FILTER_TRANSACTION, 0, 0, PERF_SAMPLE_TRANSACTION, "--transaction", no_values},
	{"weight", SAMPLE_FILTER_WEIGHT, 0, 0, WEIGHTS, "-W", no_values},
	{"weight1", SAMPLE_FILTER_WEIGHT, 0, 0xffffffff, WEIGHTS, "-W", no_values},
	{"weight2", SAMPLE_FILTER_WEIGHT, 32, 0xffff, WEIGHTS, "-W", no_values},
	{"weight3", SAMPLE_FILTER_WEIGHT, 48, 0xffff, WEIGHTS, "-W", no_values},
	{"ins_lat", SAMPLE_FILTER_WEIGHT, 32, 0xffff, WEIGHTS, "-W", no_values},
	{"p_stage_cyc", SAMPLE_FILTER_WEIGHT, 48, 0xffff, WEIGHTS, "-W", no_values},
	{"retire_lat", SAMPLE_FILTER_WEIGHT, 48, 0xffff, WEIGHTS, "-W", no_values},
	{"phys_addr", SAMPLE_FILTER_PHYS_ADDR, 0, 0, PERF_SAMPLE_PHYS_ADDR, "--phys-data", no_values},
	{"code_pgsz", SAMPLE_FILTER_CODE_PAGE_SIZE, 0, 0, PERF_SAMPLE_CODE_PAGE_SIZE, "--code-page-size", no_values},
	{"data_pgsz", SAMPLE_FILTER_DATA_PAGE_SIZE, 0, 0, PERF_SAMPLE_DATA_PAGE_SIZE, "--data-page-size", no_values},
	MEMORY("mem_op", PERF_MEM_OP_SHIFT, 0x1f, operations),
	MEMORY("mem_lvl", PERF_MEM_LVLNUM_SHIFT, 0xf, levels),
	{"mem_snoop", SAMPLE_FILTER_SNOOP, 0, 0, PERF_SAMPLE_DATA_SRC, "-d", snoops},
	MEMORY("mem_remote", PERF_MEM_REMOTE_SHIFT, 1, remotes),
	MEMORY("mem_lock", PERF_MEM_LOCK_SHIFT, 3, locks),
	MEMORY("mem_locked", PERF_MEM_LOCK_SHIFT, 3, locks),
	MEMORY("mem_dtlb", PERF_MEM_TLB_SHIFT, 0x7f, tlbs),
	MEMORY("mem_blk", PERF_MEM_BLK_SHIFT, 7, blocks),
	MEMORY("mem_hops", PERF_MEM_HOPS_SHIFT, 7, hops),
	{"uid", SAMPLE_FILTER_UID, 0, 0, 0, NULL, no_values},
	{"gid", SAMPLE_FILTER_GID, 0, 0, 0, NULL, no_values},
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const struct {
	const char *text;
	enum sample_filter_operator operator_;
} operators[] = {
	/* the longer ones first */
	{"==", SAMPLE_FILTER_EQUAL},  {"!=", SAMPLE_FILTER_UNEQUAL}, {">=", SAMPLE_FILTER_GREATER_EQUAL}, {"<=", SAMPLE_FILTER_LESS_EQUAL},
	{">", SAMPLE_FILTER_GREATER}, {"<", SAMPLE_FILTER_LESS},     {"&", SAMPLE_FILTER_BITS},
};

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n");
}

/* A word of letters, digits and _, copied. */
static char *take_word(const char **at)
{
	const char *begin = *at = skip_space(*at);
	while (isalnum((unsigned char)**at) || **at == '_')
		++*at;
	return mem_strndup(begin, (size_t)(*at - begin));
}

static struct error *unknown_field(const char *name)
{
	struct strbuf known = {0};
	const char *names[FIELDS];

	for (size_t i = 0; i < FIELDS; i++) {
		names[i] = fields[i].name;
		strbuf_printf(&known, "%s%s", i ? ", " : "", fields[i].name);
	}
	const char *near = *name ? str_nearest(name, names, FIELDS) : NULL;
	struct error *error =
		near ? error_new_kind(ERROR_USAGE, "--filter: samples have no field '%s'; did you mean '%s'?", name, near)
		     : error_new_kind(ERROR_USAGE, "--filter: samples have no field '%s'; the fields are %s", name, strbuf_str(&known));
	strbuf_deinit(&known);
	return error;
}

static struct error *take_value(const char **at, const struct field *field, uint64_t *ret)
{
	cleanup_free char *word = take_word(at);
	struct strbuf known = {0};

	for (const struct named_value *value = field->values; value->name; value++) {
		if (!strcmp(word, value->name)) {
			*ret = value->value;
			strbuf_deinit(&known);
			return NULL;
		}
		strbuf_printf(&known, ", %s", value->name);
	}
	struct error *error = NULL;
	if (!number_parse_u64(word, ret))
		error = error_new_kind(ERROR_USAGE, "--filter: invalid value '%s' for %s; expected a number%s", *word ? word : *at,
				       field->name, strbuf_str(&known));
	strbuf_deinit(&known);
	return error;
}

static struct error *take_term(const char **at, struct sample_filter_term *ret)
{
	cleanup_free char *name = take_word(at);
	const struct field *field = NULL;
	size_t i = 0;

	for (size_t f = 0; f < FIELDS && !field; f++)
		if (!strcmp(name, fields[f].name))
			field = &fields[f];
	if (!field)
		return unknown_field(*name ? name : *at);
	*at = skip_space(*at);
	while (i < sizeof(operators) / sizeof(operators[0]) && !str_starts_with(*at, operators[i].text))
		i++;
	if (i == sizeof(operators) / sizeof(operators[0]))
		return error_new_kind(ERROR_USAGE, "--filter: '%s' must be followed by one of == != > >= < <= &", name);
	*at += strlen(operators[i].text);
	*ret = (struct sample_filter_term){.field = field->field,
					   .operator_ = operators[i].operator_,
					   .shift = field->shift,
					   .mask = field->mask ? field->mask : UINT64_MAX};
	return take_value(at, field, &ret->value);
}

struct error *sample_filter_parse(const char *text, struct sample_filter_config *ret)
{
	const char *at = text;

	*ret = (struct sample_filter_config){0};
	for (;;) {
		if (ret->count == SAMPLE_FILTER_TERMS_MAX)
			return error_new_kind(ERROR_USAGE, "--filter: more than %d conditions", SAMPLE_FILTER_TERMS_MAX);
		struct sample_filter_term *term = &ret->terms[ret->count++];
		struct error *error = take_term(&at, term);
		if (error)
			return error;
		at = skip_space(at);
		if (!*at)
			return NULL;
		term->or_next = str_starts_with(at, "||");
		if (!term->or_next && *at != ',')
			return error_new_kind(ERROR_USAGE, "--filter: unexpected '%s'; conditions are joined by ',' (and) and '||' (or)",
					      at);
		at += term->or_next ? 2 : 1;
	}
}

static const struct field *field_of(const struct sample_filter_term *term)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].field == term->field && fields[i].shift == term->shift &&
		    (fields[i].mask ? fields[i].mask : UINT64_MAX) == term->mask)
			return &fields[i];
	return &fields[0];
}

const char *sample_filter_missing(const struct sample_filter_config *config, uint64_t sample_type, const char **ret_field)
{
	for (uint32_t i = 0; i < config->count; i++) {
		const struct field *field = field_of(&config->terms[i]);
		if (field->needs && !(sample_type & field->needs)) {
			*ret_field = field->name;
			return field->option;
		}
	}
	return NULL;
}
