/* Texts by number. */
#include "view/export/string_table.h"

#include "base/strbuf.h"
#include "base/text.h"

#include <string.h>

uint32_t string_table_number(struct string_table *table, const char *text)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, text, strlen(text));
	const char *kept = intern_bytes(&table->texts, strbuf_str(&safe), safe.len);
	strbuf_deinit(&safe);
	bool new;
	uint64_t *number = map64_insert(&table->by_text, (uintptr_t)kept, &new);
	if (new) {
		*number = table->list.len;
		vec_push(&table->list, kept);
	}
	return (uint32_t)*number;
}

uint32_t string_table_lasting(struct string_table *table, const char *text)
{
	bool new;
	uint64_t *number = map64_insert(&table->by_raw, (uintptr_t)text, &new);
	if (new)
		*number = string_table_number(table, text);
	return (uint32_t)*number;
}

void string_table_deinit(struct string_table *table)
{
	intern_deinit(&table->texts);
	map64_deinit(&table->by_text);
	map64_deinit(&table->by_raw);
	vec_deinit(&table->list);
}
