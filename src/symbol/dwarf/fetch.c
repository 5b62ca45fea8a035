/* A way to a value, step by step, and its text for the kernel. */
#include "symbol/dwarf/fetch.h"

#include "arch/arch.h"

bool fetch_dereference(struct fetch *fetch, int64_t offset)
{
	if (fetch->count == DEREFS_MAX)
		return false;
	fetch->offsets[fetch->count++] = offset;
	return true;
}

/* Moves the place that the value is at; false when it is in no memory. */
bool fetch_add_offset(struct fetch *fetch, int64_t offset)
{
	return fetch->count && !__builtin_add_overflow(fetch->offsets[fetch->count - 1], offset, &fetch->offsets[fetch->count - 1]);
}

static struct error *add_base(const struct fetch *fetch, const struct fetch_form *form, struct strbuf *out)
{
	if (fetch->base == FETCH_CONSTANT) {
		strbuf_printf(out, "\\%lld", (long long)fetch->number);
		return NULL;
	}
	const char *name = form->reg ? form->reg : arch_probe_by_dwarf(form->arch, fetch->number);
	if (!name)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "a value is in a register that probes cannot read (DWARF register %llu, perhaps floating-point)",
				      (unsigned long long)fetch->number);
	strbuf_add_str(out, name);
	return NULL;
}

static void add_static(const struct fetch *fetch, const struct fetch_form *form, struct strbuf *out)
{
	if (form->kernel)
		strbuf_printf(out, "@%s%+lld", form->symbol, (long long)fetch->offsets[0]);
	else
		strbuf_printf(out, "@+0x%llx", (unsigned long long)(fetch->number + (uint64_t)fetch->offsets[0] + form->static_delta));
}

struct error *fetch_add_text(const struct fetch *fetch, const struct fetch_form *form, struct strbuf *out)
{
	unsigned int from = fetch->base == FETCH_STATIC;
	struct error *error = NULL;

	for (unsigned int i = fetch->count; i-- > from;)
		strbuf_printf(out, "%+lld(", (long long)fetch->offsets[i]);
	if (fetch->base == FETCH_STATIC)
		add_static(fetch, form, out);
	else
		error = add_base(fetch, form, out);
	strbuf_add_chars(out, ')', fetch->count - (from && fetch->count ? from : 0));
	return error;
}
