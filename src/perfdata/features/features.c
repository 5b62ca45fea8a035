/* The set of header features: bits, names and fields (features.def), and the end of its life. */
#include "perfdata/features/features_fields.h"

#include <string.h>

/* Fields are members of `item`, whatever structure that is. */
#define U32(member) {FEATURE_FIELD_NUMBER, offsetof(item, member), 4, #member, NULL},
#define U64(member) {FEATURE_FIELD_NUMBER, offsetof(item, member), 8, #member, NULL},
#define TEXT(member) {FEATURE_FIELD_TEXT, offsetof(item, member), 0, #member, NULL},
#define ITEM(type, fields)                                                                              \
	static const struct feature_field *type##_fields(void)                                          \
	{                                                                                               \
		typedef struct type item;                                                               \
		static const struct feature_field list[] = {fields{FEATURE_FIELD_END}};                 \
		_Static_assert(sizeof(item) <= FEATURE_ITEM_MOST, "readers keep an item on the stack"); \
		return list;                                                                            \
	}
#include "perfdata/features/features.def"

typedef struct features item;

static const struct feature_row {
	const char *name;
	const struct feature_field *fields;
} rows[FEATURE_COUNT] = {
#define FIELDS(...)                       \
	(const struct feature_field[])    \
	{                                 \
		__VA_ARGS__               \
		{                         \
			FEATURE_FIELD_END \
		}                         \
	}
#define VERSION(number) {FEATURE_FIELD_VERSION, 0, number, "", NULL},
#define FIRST_VERSION(number) {FEATURE_FIELD_FIRST_VERSION, 0, number, "", NULL},
#define LIST(member, type) {FEATURE_FIELD_LIST, offsetof(item, member), sizeof(struct type), #member, type##_fields},
#define PLAIN(type, number, fields, text) [FEATURE_##type] = {#type, FIELDS(fields)},
#define SHOWN(type, number, fields, print) [FEATURE_##type] = {#type, FIELDS(fields)},
#define LISTED(type, number, fields, print, detailed) [FEATURE_##type] = {#type, FIELDS(fields)},
#define CODED(type, number, read, write, print, detailed) [FEATURE_##type] = {#type, NULL},
#include "perfdata/features/features.def"
};

const char *feature_name(unsigned int feature)
{
	return feature < FEATURE_COUNT ? rows[feature].name : NULL;
}

const struct feature_field *feature_fields(unsigned int feature)
{
	return feature < FEATURE_COUNT ? rows[feature].fields : NULL;
}

bool features_has(const struct features *features, unsigned int feature)
{
	return feature < 256 && (features->present[feature / 64] >> feature % 64 & 1);
}

void features_set(struct features *features, unsigned int feature)
{
	if (feature < 256)
		features->present[feature / 64] |= (uint64_t)1 << feature % 64;
}

void features_deinit(struct features *features)
{
	vec_deinit(&features->build_ids);
	vec_deinit(&features->cpus);
	vec_deinit(&features->numa_nodes);
	vec_deinit(&features->pmus);
	vec_deinit(&features->groups);
	vec_deinit(&features->caches);
	vec_deinit(&features->memory_nodes);
	vec_deinit(&features->bpf_progs);
	vec_deinit(&features->btfs);
	vec_deinit(&features->pmu_caps);
	vec_deinit(&features->hybrids);
	vec_deinit(&features->event_descs);
	arena_deinit(&features->arena);
	memset(features, 0, sizeof(*features));
}
