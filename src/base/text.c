/* Foreign text made harmless for terminals, HTML, JSON and CSV; globs; nearest names. */
#include "base/text.h"

#include "base/mem.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* The length of the well-formed UTF-8 sequence at `at` that is no control character, 0 when there is none. */
static size_t utf8_safe_length(const unsigned char *at, const unsigned char *end, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
	if (!length || (size_t)(end - at) < length)
		return 0;
	uint32_t code = length == 1 ? at[0] : at[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	bool direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
	bool surrogate = code >= 0xd800 && code < 0xe000;
	if (control || direction || surrogate || code > 0x10ffff || (length > 1 && code < least[length]))
		return 0;
	*ret_code = code;
	return length;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

bool text_is_safe(const char *string, size_t len)
{
	if (!len) /* `string` may be NULL then */
		return true;
	const unsigned char *at = (const unsigned char *)string, *end = at + len;
	while (at < end) {
		uint32_t code;
		size_t length = is_plain(*at) ? 1 : utf8_safe_length(at, end, &code);
		if (!length)
			return false;
		at += length;
	}
	return true;
}

/* Walks the text; safe pieces go to add_piece, every other byte becomes `escape` and its two hexadecimal digits. */
static void add_escaped(struct strbuf *buf, const char *string, size_t len, const char *escape,
			void (*add_piece)(struct strbuf *buf, const char *piece, size_t len))
{
	const unsigned char *at = (const unsigned char *)string, *end = at + len;
	while (at < end) {
		uint32_t code;
		size_t length = is_plain(*at) ? 1 : utf8_safe_length(at, end, &code);
		if (length)
			add_piece(buf, (const char *)at, length);
		else
			strbuf_printf(buf, "%s%02x", escape, *at);
		at += length ? length : 1;
	}
}

static void add_as_is(struct strbuf *buf, const char *piece, size_t len)
{
	strbuf_add(buf, piece, len);
}

void text_add_safe(struct strbuf *buf, const char *string, size_t len)
{
	if (!len)
		return;
	if (text_is_safe(string, len))
		strbuf_add(buf, string, len);
	else
		add_escaped(buf, string, len, "\\x", add_as_is);
}

void text_add_untrusted(struct strbuf *buf, const struct untrusted *name)
{
	const char *raw = untrusted_raw(name);

	text_add_safe(buf, raw, strlen(raw));
}

void text_add_untrusted_json(struct strbuf *buf, const struct untrusted *name)
{
	const char *raw = untrusted_raw(name);

	text_add_json(buf, raw, strlen(raw));
}

char *text_safe_copy(const char *string)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, string, strlen(string));
	return strbuf_detach(&safe);
}

void text_add_safe_lines(struct strbuf *buf, const char *string)
{
	for (;;) {
		size_t len = strcspn(string, "\n");
		text_add_safe(buf, string, len);
		if (!string[len])
			return;
		strbuf_add_char(buf, '\n');
		string += len + 1;
	}
}

static void add_html_piece(struct strbuf *buf, const char *piece, size_t len)
{
	const char *entity = *piece == '&'    ? "&amp;"
			     : *piece == '<'  ? "&lt;"
			     : *piece == '>'  ? "&gt;"
			     : *piece == '"'  ? "&quot;"
			     : *piece == '\'' ? "&#39;"
					      : NULL;
	if (entity)
		strbuf_add_str(buf, entity);
	else
		strbuf_add(buf, piece, len);
}

/* What HTML gives a meaning to: & < > " ' are all among the first 64 characters. */
static bool is_special(char c)
{
	static const uint64_t specials = 1ull << '&' | 1ull << '<' | 1ull << '>' | 1ull << '"' | 1ull << '\'';
	unsigned char code = (unsigned char)c;
	return code < 64 && specials >> code & 1;
}

void text_add_html(struct strbuf *buf, const char *string, size_t len)
{
	size_t plain = 0;
	while (plain < len && is_plain((unsigned char)string[plain]) && !is_special(string[plain]))
		plain++;
	if (plain == len) {
		strbuf_add(buf, string, len);
		return;
	}
	add_escaped(buf, string, len, "\\x", add_html_piece);
}

static void add_json_piece(struct strbuf *buf, const char *piece, size_t len)
{
	if (*piece == '"' || *piece == '\\')
		strbuf_add_char(buf, '\\');
	strbuf_add(buf, piece, len);
}

void text_add_json(struct strbuf *buf, const char *string, size_t len)
{
	strbuf_add_char(buf, '"');
	add_escaped(buf, string, len, "\\u00", add_json_piece);
	strbuf_add_char(buf, '"');
}

void text_add_script(struct strbuf *buf, const char *string, size_t len)
{
	struct strbuf json = {0};
	text_add_json(&json, string, len);
	for (size_t i = 0; i < json.len; i++) {
		if (strchr("<>&", json.data[i]))
			strbuf_printf(buf, "\\u%04x", json.data[i]);
		else
			strbuf_add_char(buf, json.data[i]);
	}
	strbuf_deinit(&json);
}

void text_add_csv(struct strbuf *buf, const char *string, size_t len, const char *separator)
{
	bool separates = *separator && memmem(string, len, separator, strlen(separator));
	if (!separates && !memchr(string, '"', len) && !memchr(string, '\n', len)) {
		text_add_safe(buf, string, len);
		return;
	}
	struct strbuf safe = {0};
	text_add_safe(&safe, string, len);
	strbuf_add_char(buf, '"');
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.data[i] == '"')
			strbuf_add_char(buf, '"');
		strbuf_add_char(buf, safe.data[i]);
	}
	strbuf_add_char(buf, '"');
	strbuf_deinit(&safe);
}

size_t text_safe_length(const char *string, size_t len)
{
	if (text_is_safe(string, len))
		return len;
	struct strbuf safe = {0};
	text_add_safe(&safe, string, len);
	size_t length = safe.len;
	strbuf_deinit(&safe);
	return length;
}

size_t text_untrusted_length(const struct untrusted *name)
{
	const char *string = untrusted_raw(name);
	return text_safe_length(string, strlen(string));
}

size_t text_width(const char *string, size_t len)
{
	const unsigned char *at = (const unsigned char *)string, *end = at + len;
	size_t width = 0;
	while (at < end) {
		uint32_t code = 0;
		size_t length = utf8_safe_length(at, end, &code);
		int columns = length > 1 ? wcwidth((wchar_t)code) : 1;
		width += columns > 0 ? (size_t)columns : length > 1 && columns < 0 ? 1 : 0;
		at += length ? length : 1;
	}
	return width;
}

bool str_is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strcspn(at, ",") == len && memcmp(at, word, len) == 0)
			return true;
	return false;
}

bool str_starts_with(const char *string, const char *prefix)
{
	return strncmp(string, prefix, strlen(prefix)) == 0;
}

bool str_ends_with(const char *string, const char *suffix)
{
	size_t len = strlen(string), tail = strlen(suffix);
	return len >= tail && memcmp(string + len - tail, suffix, tail) == 0;
}

bool str_glob_match(const char *pattern, const char *string)
{
	return fnmatch(pattern, string, 0) == 0;
}

bool str_has_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[") != NULL;
}

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;
	return least < c ? least : c;
}

unsigned int str_distance(const char *a, const char *b)
{
	size_t rows = strnlen(a, 255), columns = strnlen(b, 255);
	unsigned int table[3][256];
	for (size_t j = 0; j <= columns; j++)
		table[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= rows; i++) {
		unsigned int *now = table[i % 3], *before = table[(i + 2) % 3], *before2 = table[(i + 1) % 3];
		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= columns; j++) {
			bool same = a[i - 1] == b[j - 1];
			now[j] = min3(before[j] + 1, now[j - 1] + 1, before[j - 1] + !same);
			bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
			if (swapped && before2[j - 2] + 1 < now[j])
				now[j] = before2[j - 2] + 1;
		}
	}
	return table[rows % 3][columns];
}

const char *str_nearest(const char *word, const char *const *names, size_t count)
{
	enum { PREFIX_MIN = 4 }; /* "frequency" means "freq" */
	const char *nearest = NULL;
	const unsigned int allowed = (unsigned int)strlen(word) / 3 + 1;
	unsigned int least = allowed;
	for (size_t i = 0; i < count; i++) {
		unsigned int distance = str_distance(word, names[i]);
		bool prefix = *word && str_starts_with(names[i], word);
		bool longer = strlen(names[i]) >= PREFIX_MIN && str_starts_with(word, names[i]);
		if (prefix)
			distance = distance > 0 ? 1 : 0;
		else if (longer && distance > allowed)
			distance = allowed;
		if (distance <= least && (!nearest || distance < least)) {
			least = distance;
			nearest = names[i];
		}
	}
	return nearest;
}

const char *str_nearest_part(const char *word, const char *const *names, size_t count)
{
	enum { PART_MIN = 3 };
	const char *found = NULL;
	for (size_t i = 0; strlen(word) >= PART_MIN && i < count; i++)
		if (strstr(names[i], word) && (!found || strlen(names[i]) < strlen(found)))
			found = names[i];
	return found ? found : str_nearest(word, names, count);
}

void text_add_wrapped(struct strbuf *out, const char *text, unsigned int indent, unsigned int at, unsigned int columns)
{
	while (*text) {
		size_t len = strcspn(text, " \n");
		if (at > indent && at + text_width(text, len) > columns) {
			strbuf_add_char(out, '\n');
			strbuf_add_chars(out, ' ', indent);
			at = indent;
		}
		strbuf_add(out, text, len);
		at += (unsigned int)text_width(text, len);
		text += len;
		if (*text == '\n') {
			strbuf_add_char(out, '\n');
			strbuf_add_chars(out, ' ', indent);
			at = indent;
			text++;
		} else if (*text == ' ') {
			if (text[1] && at + 1 + text_width(text + 1, strcspn(text + 1, " \n")) <= columns) {
				strbuf_add_char(out, ' ');
				at++;
			} else {
				at = columns;
			}
			text++;
		}
	}
	strbuf_add_char(out, '\n');
}

void text_add_base64(struct strbuf *buf, const void *data, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *bytes = data;
	strbuf_reserve(buf, size / 3 * 4 + 4);
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i < 3 ? size - i : 3;
		uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? bytes[i + 1] : 0u) << 8 | (left > 2 ? bytes[i + 2] : 0u);
		char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63], digits[bits & 63]};
		memset(four + 1 + left, '=', 3 - left);
		strbuf_add(buf, four, sizeof(four));
	}
}
