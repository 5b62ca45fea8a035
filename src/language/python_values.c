/* Values for Python. */
#include "language/python_internal.h"

#include <string.h>

python_object *python_text(struct python *python, const char *text, size_t length)
{
	return python->api.PyUnicode_DecodeUTF8(text, (python_size)length, "backslashreplace");
}

python_object *python_lasting_text(struct python *python, const char *text)
{
	bool is_new;
	uint64_t *slot = map64_insert(&python->texts, (uintptr_t)text, &is_new);
	if (is_new)
		*slot = (uintptr_t)python_text(python, text, strlen(text));
	return (python_object *)(uintptr_t)*slot;
}

void python_put(struct python *python, python_object *dict, enum python_key key, python_object *value)
{
	if (value)
		python->api.PyDict_SetItem(dict, python->keys[key], value);
}

void python_set(struct python *python, python_object *dict, enum python_key key, python_object *value)
{
	python_put(python, dict, key, value);
	if (value)
		python->api.Py_DecRef(value);
}

void python_set_text(struct python *python, python_object *dict, enum python_key key, const char *text, size_t length)
{
	python_set(python, dict, key, python_text(python, text, length));
}
