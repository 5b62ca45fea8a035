/* Lists of names on the command line. */
#include "cmd/name_list.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error *name_list_set(struct name_list *list, const char *text)
{
	free(list->text);
	list->names.len = 0;
	list->text = mem_strdup(text);
	if (str_starts_with(text, "file://")) {
		FILE *file = fopen(text + 7, "re");
		if (!file)
			return error_new("cannot read %s", text + 7);
		char *line = NULL;
		size_t cap = 0;
		struct strbuf all = {0};
		while (getline(&line, &cap, file) > 0) {
			strbuf_add(&all, line, strcspn(line, "\r\n"));
			strbuf_add_char(&all, ',');
		}
		free(line);
		fclose(file);
		free(list->text);
		list->text = strbuf_detach(&all);
	}
	char *save = NULL;
	for (char *name = strtok_r(list->text, ",", &save); name; name = strtok_r(NULL, ",", &save))
		vec_push(&list->names, name);
	return NULL;
}

void name_list_deinit(struct name_list *list)
{
	vec_deinit(&list->names);
	free(list->text);
	list->text = NULL;
}

bool name_list_has(const struct name_list *list, const char *name)
{
	for (size_t i = 0; i < list->names.len; i++)
		if (!strcmp(list->names.data[i], name))
			return true;
	return false;
}

struct error *name_list_option(const struct option *option, const char *argument, bool negated, void *field)
{
	return name_list_set(field, argument);
}
