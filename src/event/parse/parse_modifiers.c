/* Modifiers: the letters behind an event or a group.
 *
 * u, k and h name what is counted: the first of them excludes everything else. G and H do the same for guest and host. The letters of a
 * group are added to what each member has. */
#include "event/parse/parse_internal.h"

#include <ctype.h>
#include <string.h>

static const char letters[] = "ukhGHpPSDWeIb";

bool parse_is_modifier(char c)
{
	return c && strchr(letters, c);
}

static void exclude_all_but(struct event_attr *attr, char letter)
{
	if (!attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv)
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	if (letter == 'u')
		attr->exclude_user = 0;
	else if (letter == 'k')
		attr->exclude_kernel = 0;
	else
		attr->exclude_hv = 0;
}

/* Which of guest and host is counted. Any modifier starts from "both"; u and p leave the guest out unless G or H was said. */
struct sides {
	bool exclude_guest, exclude_host, said;
};

static void choose_side(struct sides *sides, char letter)
{
	if (!sides->said)
		sides->exclude_guest = sides->exclude_host = true;
	sides->said = true;
	if (letter == 'G')
		sides->exclude_guest = false;
	else
		sides->exclude_host = false;
}

static void apply_letter(struct event *event, struct sides *sides, char letter)
{
	switch (letter) {
	case 'u':
	case 'k':
	case 'h':
		exclude_all_but(&event->attr, letter);
		event->user_modified = true;
		if (letter == 'u' && !sides->said)
			sides->exclude_guest = true;
		break;
	case 'G':
	case 'H':
		choose_side(sides, letter);
		break;
	case 'p':
		event->attr.precise_ip++;
		if (!sides->said)
			sides->exclude_guest = true;
		break;
	case 'P':
		event->precise_max = true;
		break;
	case 'S':
		event->sample_read = true;
		break;
	case 'W':
		event->weak_group = true;
		break;
	case 'I':
		event->attr.exclude_idle = 1;
		break;
	case 'b':
		event->bpf_counter = true;
		break;
	case 'D':
	case 'e':
		break; /* of leaders only: apply() */
	}
}

static void apply(struct event *event, const char *text, size_t len, bool group)
{
	struct sides sides = {0};

	if (group)
		sides = (struct sides){event->attr.exclude_guest, event->attr.exclude_host, event->exclude_sides_given};
	else
		event->attr.precise_ip = 0;
	for (size_t i = 0; i < len; i++)
		apply_letter(event, &sides, text[i]);
	event->attr.exclude_guest = sides.exclude_guest;
	event->attr.exclude_host = sides.exclude_host;
	event->exclude_sides_given = sides.said;
	if (event->leader == event->index) {
		event->attr.pinned = memchr(text, 'D', len) || (group && event->attr.pinned);
		event->attr.exclusive = memchr(text, 'e', len) || (group && event->attr.exclusive);
	}
}

static struct error *check(const struct parser *parser, const char *text, size_t len)
{
	size_t precise = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == 'p' && ++precise > 3)
			return parse_fail(parser, text + i, "p, pp or ppp", "the maximum precision is 3");
		if (text[i] != 'p' && memchr(text, text[i], i))
			return parse_fail(parser, text + i, NULL, "the modifier '%c' is repeated", text[i]);
	}
	return NULL;
}

struct error *parse_modifiers(struct parser *parser, size_t first, bool group)
{
	const char *text = parser->at;

	if (*text == ':')
		text++;
	size_t len = strspn(text, letters);
	if (isalnum((unsigned char)text[len]))
		return parse_fail(parser, text + len,
				  "the modifiers are u k h (user, kernel, hypervisor), G H (guest, host), p pp ppp P (precise), S D W "
				  "e I b",
				  "unknown modifier '%c'", text[len]);
	struct error *error = check(parser, text, len);
	if (error)
		return error;
	for (size_t i = first; len && i < parser->list->events.len; i++)
		apply(parser->list->events.data[i], text, len, group);
	parser->at = text + len;
	return NULL;
}
