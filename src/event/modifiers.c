/* Letters are only there for what isn't as by default. What the default is depends on them: an event that names user or kernel, or is
 * precise, leaves guests out. */
#include "event/modifiers.h"

void event_add_modifiers(const struct event_attr *attr, struct strbuf *out)
{
	char letters[10];
	size_t n = 0;
	bool guests_excluded_by_default = attr->precise_ip > 0;
	if (attr->exclude_kernel || attr->exclude_user || attr->exclude_hv) {
		guests_excluded_by_default = true;
		if (!attr->exclude_kernel)
			letters[n++] = 'k';
		if (!attr->exclude_user)
			letters[n++] = 'u';
		if (!attr->exclude_hv)
			letters[n++] = 'h';
	}
	for (unsigned int i = 0; i < attr->precise_ip; i++)
		letters[n++] = 'p';
	if (attr->exclude_host || attr->exclude_guest == guests_excluded_by_default) {
		if (!attr->exclude_host)
			letters[n++] = 'H';
		if (!attr->exclude_guest)
			letters[n++] = 'G';
	}
	if (n)
		strbuf_printf(out, ":%.*s", (int)n, letters);
}
