/* Changing one value in a configuration file: the line is replaced where it stands, or added to its section; everything else is kept byte
 * for byte. There is always a whole file (base/files/replacement.h). */
#include "app/config.h"

#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct edit {
	const char *section; /* as in the name: "a" or "a.sub" */
	size_t section_len;
	const char *key;
	const char *value;
	bool inside; /* the present line belongs to the section */
	bool done;
};

/* The line is "[section]", also written as [section "sub"]. */
static bool is_section(const char *line, const char *section, size_t len)
{
	size_t at = 0;
	for (const char *c = line + 1; *c && *c != ']'; c++) {
		if (*c == '"')
			continue;
		char wanted = at < len ? section[at] : '\0';
		if (isspace((unsigned char)*c)) {
			if (wanted == '.')
				at++;
			continue;
		}
		if (tolower((unsigned char)*c) != tolower((unsigned char)wanted))
			return false;
		at++;
	}
	return at == len;
}

static bool is_key(const char *line, const char *key)
{
	size_t len = strlen(key);
	return !strncasecmp(line, key, len) && (!line[len] || isspace((unsigned char)line[len]) || line[len] == '=');
}

static void add_assignment(struct strbuf *out, const struct edit *edit)
{
	bool quote = strpbrk(edit->value, "#;\"\\\n\t") || isspace((unsigned char)edit->value[0]) ||
		     (edit->value[0] && isspace((unsigned char)edit->value[strlen(edit->value) - 1]));
	strbuf_printf(out, "\t%s = %s", edit->key, quote ? "\"" : "");
	for (const char *c = edit->value; *c; c++) {
		if (*c == '"' || *c == '\\')
			strbuf_add_char(out, '\\');
		if (*c == '\n')
			strbuf_add_str(out, "\\n");
		else
			strbuf_add_char(out, *c);
	}
	strbuf_add_str(out, quote ? "\"\n" : "\n");
}

/* Copies one line, with the change where it belongs. */
static void edit_line(struct strbuf *out, const char *line, size_t len, struct edit *edit)
{
	cleanup_free char *copy = mem_strndup(line, len);
	const char *text = copy;
	while (isspace((unsigned char)*text))
		text++;
	if (*text == '[') {
		if (edit->inside && !edit->done) {
			add_assignment(out, edit);
			edit->done = true;
		}
		edit->inside = is_section(text, edit->section, edit->section_len);
	} else if (edit->inside && is_key(text, edit->key)) {
		if (!edit->done)
			add_assignment(out, edit);
		edit->done = true;
		return;
	}
	strbuf_add(out, line, len);
	strbuf_add_char(out, '\n');
}

static struct error *read_text(const char *path, struct strbuf *ret)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? NULL : error_system(errno, "%s", path);
	int failure = strbuf_read(ret, fd, SIZE_MAX);
	return failure ? error_system(-failure, "%s", path) : NULL;
}

static struct error *replace_file(const char *path, const struct strbuf *text)
{
	struct replacement file;
	struct error *error = replacement_begin(path, &file);
	if (error)
		return error;
	fwrite(strbuf_str(text), 1, text->len, file.file);
	return replacement_end(&file, NULL);
}

struct error *config_write(const char *path, const char *name, const char *value)
{
	const char *dot = strrchr(name, '.');
	if (!dot || dot == name || !dot[1])
		return error_new("invalid name '%s': expected section.key", name);
	struct edit edit = {.section = name, .section_len = (size_t)(dot - name), .key = dot + 1, .value = value};
	struct strbuf old = {0}, new = {0};
	struct error *error = read_text(path, &old);
	const char *line = strbuf_str(&old);
	while (!error && *line) {
		size_t len = strcspn(line, "\n");
		edit_line(&new, line, len, &edit);
		line += len + (line[len] == '\n');
	}
	if (!edit.done) {
		if (!edit.inside)
			strbuf_printf(&new, "[%.*s]\n", (int)edit.section_len, edit.section);
		add_assignment(&new, &edit);
	}
	if (!error)
		error = replace_file(path, &new);
	strbuf_deinit(&old);
	strbuf_deinit(&new);
	return error;
}
