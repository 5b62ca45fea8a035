/* Values of the kernel's interface as names (constants.h). */
#include "analysis/syscalls/constants.h"

#include "analysis/syscalls/syscall_put.h"
#include "base/search.h"

#include <string.h>

const struct constant_set constants_octal = {0};

const char *constants_name(const struct constant_set *set, uint64_t value)
{
	size_t first = partition_point(i, set->count, set->list[i].value < value);

	return first < set->count && set->list[first].value == value ? set->list[first].name : NULL;
}

bool constants_value(const struct constant_set *set, const char *name, uint64_t *ret)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (!strcmp(set->list[i].name, name) || !strcmp(set->list[i].name + set->strip, name)) {
			*ret = set->list[i].value;
			return true;
		}
	return set->field && set->field != &constants_octal && constants_value(set->field, name, ret);
}

void constants_add_enum(struct strbuf *out, const struct constant_set *set, uint64_t value, bool strip)
{
	const char *name = constants_name(set, value);

	if (name)
		strbuf_add_str(out, name + (strip ? set->strip : 0));
	else if (value < 10)
		put_decimal(out, (int64_t)value);
	else
		put_hex(out, value);
}

static void add_bar(struct strbuf *out, bool *first)
{
	if (!*first)
		strbuf_add_char(out, '|');
	*first = false;
}

/* The number in the middle of the flags; when it is 0 only if that has a name. */
static void add_field(struct strbuf *out, const struct constant_set *set, uint64_t value, bool strip, bool *first)
{
	if (set->field == &constants_octal) {
		add_bar(out, first);
		put_octal(out, value, 2);
	} else if (value || constants_name(set->field, 0)) {
		add_bar(out, first);
		constants_add_enum(out, set->field, value, strip);
	}
}

/* The flags that cover several bits and are all set; each bit belongs to one of them at most. */
static uint64_t wide_flags(const struct constant_set *set, uint64_t value, uint64_t *ret_mask)
{
	uint64_t taken = 0;

	*ret_mask = 0;
	for (uint32_t i = set->count; i-- > 0;) {
		uint64_t flag = set->list[i].value;
		if ((flag & (flag - 1)) && (value & flag) == flag && !(taken & flag)) {
			taken |= flag;
			if (i < 64)
				*ret_mask |= 1ull << i;
		}
	}
	return taken;
}

void constants_add_flags(struct strbuf *out, const struct constant_set *set, uint64_t value, bool strip)
{
	uint64_t left = value & ~set->field_mask, wide, taken = wide_flags(set, left, &wide);
	bool first = true;

	if (set->field)
		add_field(out, set, value & set->field_mask, strip, &first);
	for (uint32_t i = 0; i < set->count && left; i++) {
		uint64_t flag = set->list[i].value;
		bool is_wide = flag & (flag - 1);
		if (!flag || (is_wide ? i >= 64 || !(wide >> i & 1) : !(left & ~taken & flag)))
			continue;
		add_bar(out, &first);
		strbuf_add_str(out, set->list[i].name + (strip ? set->strip : 0));
		left &= ~flag;
	}
	if (left) {
		add_bar(out, &first);
		put_hex(out, left);
	} else if (first) {
		const char *zero = constants_name(set, 0);
		strbuf_add_str(out, zero ? zero + (strip ? set->strip : 0) : "0");
	}
}
