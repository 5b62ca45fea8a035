/* Scripts in Python: the interpreter's life, the script's top level, and calls of its functions. */
#include "language/python_internal.h"

#include "base/mem.h"
#include "language/skeleton.h"
#include "symbol/source_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SCRIPT = 64 << 20 }; /* bytes */

python_object *python_function(struct python *python, const char *name)
{
	python_object *found = python->api.PyDict_GetItemString(python->globals, name);
	return found && python->api.PyCallable_Check(found) ? found : NULL;
}

/* sys.exit(): its argument is the status, or a text for people. */
static void take_exit(struct python *python)
{
	const struct python_api *api = &python->api;
	python_object *type = NULL, *value = NULL, *trace = NULL;
	api->PyErr_Fetch(&type, &value, &trace);
	api->PyErr_NormalizeException(&type, &value, &trace);
	python_object *code = value ? api->PyObject_GetAttrString(value, "code") : NULL;
	python->base.ended = true;
	python->base.status = 0;
	if (code && code != api->none) {
		long status = api->PyLong_AsLong(code);
		python->base.status = (int)(status & 0xff);
		if (api->PyErr_Occurred()) {
			api->PyErr_Clear();
			python->base.status = 1;
			python_object *text = api->PyObject_Str(code);
			python_object *bytes = text ? api->PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
			if (bytes)
				fprintf(stderr, "%s\n", api->PyBytes_AsString(bytes));
		}
	}
}

/* After a call that failed: prints the traceback, or notes that the script wants to end. */
static struct error *take_exception(struct python *python, const char *what)
{
	if (python->api.PyErr_ExceptionMatches(python->api.system_exit)) {
		take_exit(python);
		return NULL;
	}
	python->api.PyErr_Print();
	return error_new("%s ended with the exception shown above", what);
}

/* Takes away one reference each. */
static void release(struct python *python, python_object **objects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (objects[i])
			python->api.Py_DecRef(objects[i]);
}

/* With a tuple, for a Python without the quicker call. */
static python_object *call_with_tuple(struct python *python, python_object *function, python_object **arguments, size_t count)
{
	python_object *tuple = python->api.PyTuple_New((python_size)count);
	for (size_t i = 0; i < count; i++)
		python->api.PyTuple_SetItem(tuple, (python_size)i, python_share(python, arguments[i]));
	python_object *result = python->api.PyObject_CallObject(function, tuple);
	python->api.Py_DecRef(tuple);
	return result;
}

/* An exit() of the script is no error: `ended` and `status` say so. */
struct error *python_call(struct python *python, python_object *function, python_object **arguments, size_t count)
{
	python_object *result = NULL;
	bool complete = true;
	for (size_t i = 0; i < count; i++)
		complete &= arguments[i] != NULL;
	if (complete && python->api.PyObject_Vectorcall)
		result = python->api.PyObject_Vectorcall(function, arguments, count, NULL);
	else if (complete)
		result = call_with_tuple(python, function, arguments, count);
	release(python, arguments, count);
	if (!result)
		return take_exception(python, "a function of the script");
	python->api.Py_DecRef(result);
	return NULL;
}

/* ---- life ---- */

/* Objects that every sample needs: the keys of its dictionary, and values that never change. */
static void make_constants(struct python *python)
{
	static const char *const names[PYTHON_KEY_COUNT] = {
#define PYTHON_NAME(name) #name,
		PYTHON_KEYS(PYTHON_NAME)
#undef PYTHON_NAME
	};
	const struct python_api *api = &python->api;
	for (size_t i = 0; i < PYTHON_KEY_COUNT; i++)
		python->keys[i] = api->PyUnicode_InternFromString(names[i]);
	python->empty_bytes = api->PyBytes_FromStringAndSize("", 0);
	python->empty_text = python_text(python, "", 0);
	python->yes = api->PyBool_FromLong(1);
	python->no = api->PyBool_FromLong(0);
	python->zero = python_u64(python, 0);
	python->globals = api->PyModule_GetDict(api->PyImport_AddModule("__main__"));
}

/* sys.argv, and the script's directory in front of sys.path, as if Python itself had been started with it. */
static void set_arguments(struct python *python, const struct language_setup *setup)
{
	const struct python_api *api = &python->api;
	size_t count = 0;
	while (setup->arguments[count])
		count++;
	python_object *list = api->PyList_New((python_size)count + 1);
	api->PyList_SetItem(list, 0, api->PyUnicode_DecodeFSDefault(setup->script));
	for (size_t i = 0; i < count; i++)
		api->PyList_SetItem(list, (python_size)i + 1, api->PyUnicode_DecodeFSDefault(setup->arguments[i]));
	api->PySys_SetObject("argv", list);
	api->Py_DecRef(list);

	char path[PATH_MAX];
	python_object *places = api->PySys_GetObject("path");
	if (!places || !realpath(setup->script, path))
		return;
	*strrchr(path, '/') = '\0';
	python_object *place = api->PyUnicode_DecodeFSDefault(*path ? path : "/");
	api->PyList_Insert(places, 0, place);
	api->Py_DecRef(place);
}

/* Up to MOST_SCRIPT bytes. Python would end a text with a NUL in it there, without a word. */
static struct error *read_script(const char *path, struct strbuf *ret)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return error_system(errno, "%s", path);
	size_t size;
	while (ret->len < MOST_SCRIPT && (size = fread(strbuf_reserve(ret, BUFSIZ), 1, BUFSIZ, file)) > 0)
		strbuf_advance(ret, size);
	int failed = ferror(file) ? errno : 0;
	fclose(file);
	if (failed)
		return error_system(failed, "%s", path);
	return strlen(strbuf_str(ret)) < ret->len ? error_new("%s is not a Python script: it contains a NUL byte", path) : NULL;
}

/* The top level, as __main__. An exception is printed by Python, and the error is about that. */
static struct error *run_script(struct python *python, const char *path, const char *text)
{
	const struct python_api *api = &python->api;
	python_object *name = api->PyUnicode_DecodeFSDefault(path);
	api->PyDict_SetItemString(python->globals, "__file__", name);
	api->Py_DecRef(name);
	python_object *code = api->Py_CompileString(text, path, PYTHON_FILE_INPUT);
	python_object *result = code ? api->PyEval_EvalCode(code, python->globals, python->globals) : NULL;
	if (code)
		api->Py_DecRef(code);
	if (!result)
		return take_exception(python, path);
	api->Py_DecRef(result);
	return NULL;
}

/* The interpreter frees its objects; what it referred to of ours must last until then. It fails when output can't be written. */
static struct error *close_python(struct language *language, int *ret_status)
{
	struct python *python = (struct python *)language;
	*ret_status = python->base.status;
	bool written = python->api.Py_FinalizeEx() == 0;
	python_export_destroy(python->export);
	python_events_deinit(python);
	map64_deinit(&python->texts);
	map64_deinit(&python->frames);
	map64_deinit(&python->sources);
	source_files_destroy(python->sources_read);
	stack_deinit(&python->stack);
	strbuf_deinit(&python->text);
	free(python);
	return written ? NULL : error_new("the script's output is not complete: Python could not write its end, as shown above");
}

/* The script is read before Python is loaded. */
static struct error *open_python(const struct language_setup *setup, struct language **ret)
{
	struct strbuf text = {0};
	struct python *python = mem_zalloc(sizeof(*python));
	struct error *error = read_script(setup->script, &text);
	if (!error)
		error = python_api_load(&python->api);
	if (error) {
		strbuf_deinit(&text);
		free(python);
		return error;
	}
	python->base.ops = &language_python;
	python->session = setup->session;
	python->machine = setup->session->machine;
	python->resolver = setup->resolver;
	python->stack_options = language_stack_options(setup);
	python->api.Py_InitializeEx(1);
	make_constants(python);
	python_context_init(python);
	set_arguments(python, setup);
	error = run_script(python, setup->script, strbuf_str(&text));
	strbuf_deinit(&text);
	if (error) {
		int status;
		error_free(close_python(&python->base, &status));
		return error;
	}
	python->process_event = python_function(python, "process_event");
	python->trace_unhandled = python_function(python, "trace_unhandled");
	python->unhandled_sample_too = python->trace_unhandled && python_argument_count(python, python->trace_unhandled) == 4;
	python->export = python_export_create(python);
	*ret = &python->base;
	return NULL;
}

/* A function without arguments, where the script has it. */
static struct error *call_plain(struct language *language, const char *name)
{
	struct python *python = (struct python *)language;
	python_object *function = python_function(python, name);
	return function ? python_call(python, function, NULL, 0) : NULL;
}

/* trace_begin(), then the rows that every database begins with. */
static struct error *begin(struct language *language)
{
	struct python *python = (struct python *)language;
	struct error *error = call_plain(language, "trace_begin");
	return error || !python->export || language->ended ? error : python_export_begin(python->export);
}

static struct error *end(struct language *language)
{
	return call_plain(language, "trace_end");
}

/* Tracepoints have functions of their own; everything else is a row for databases, or a dictionary for process_event(). */
static struct error *process_sample(struct language *language, const struct language_sample *at)
{
	struct python *python = (struct python *)language;
	struct error *error = NULL;
	python->at = at;
	if (at->record->event->tracepoint) {
		error = python_trace(python, at);
	} else if (python->export) {
		error = python_export_sample(python->export, at);
	} else if (python->process_event) {
		python_object *dict = python_sample_dict(python, at);
		error = python_call(python, python->process_event, &dict, 1);
	}
	python->at = NULL;
	return error;
}

const struct language_ops language_python = {
	.name = "python",
	.title = "Python",
	.suffix = "py",
	.skeleton = skeleton_python,
	.open = open_python,
	.begin = begin,
	.sample = process_sample,
	.record = python_record,
	.count = python_count,
	.interval = python_interval,
	.end = end,
	.close = close_python,
};
