/* The module perf_trace_context: what handlers ask for about the event that they are called for.
 *
 * Its functions are bound to a capsule that leads to the session, so that no global variable is needed. The context that a script passes is
 * not looked at: there is one event at a time. */
#include "language/python_internal.h"

#include "analysis/script/sample_text.h"
#include "analysis/source_lines.h"
#include "arch/syscalls.h"
#include "event/tracepoint/tracepoint.h"
#include "language/sampled_code.h"
#include "symbol/source_file.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char CAPSULE[] = "perf";

/* self is our capsule; to open it the interpreter's own function is needed, which is global once the library is loaded. */
static struct python *python_of(python_object *self)
{
	void *(*get_pointer)(python_object *, const char *);
	*(void **)&get_pointer = dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer");
	return get_pointer(self, CAPSULE);
}

/* A new reference to None. */
static python_object *none(struct python *python)
{
	return python_share(python, python->api.none);
}

/* 0 outside of a handler, and for events that are no tracepoints or lack the field. */
static uint64_t common_field(const struct python *python, const char *name)
{
	const struct language_sample *at = python->at;
	const struct tracepoint *tracepoint = at ? at->record->event->tracepoint : NULL;
	const struct tracepoint_field *field = tracepoint ? tracepoint_field(tracepoint, name) : NULL;
	return field ? tracepoint_read(field, at->sample->raw, at->sample->raw_size) : 0;
}

/* The functions of the module: `self` is the capsule, and arguments, the context, aren't looked at. */
static python_object *common_pc(python_object *self, python_object *arguments)
{
	struct python *python = python_of(self);
	return python_u64(python, common_field(python, "common_preempt_count"));
}

static python_object *common_flags(python_object *self, python_object *arguments)
{
	struct python *python = python_of(self);
	return python_u64(python, common_field(python, "common_flags"));
}

static python_object *common_lock_depth(python_object *self, python_object *arguments)
{
	struct python *python = python_of(self);
	return python_s64(python, (int32_t)common_field(python, "common_lock_depth"));
}

/* ---- code and source of the sampled address ---- */

/* Where the sample was taken; false outside of a handler, and where nothing is mapped. */
static bool sampled_frame(struct python *python, struct frame *ret)
{
	const struct language_sample *at = python->at;
	if (!at)
		return false;
	sample_resolve(python->resolver, at->thread, at->sample->cpumode, at->sample->ip, at->record->model_time, ret);
	return ret->map != NULL;
}

/* None where there is no code to read. */
static python_object *sample_insn(python_object *self, python_object *arguments)
{
	struct python *python = python_of(self);
	uint8_t bytes[SAMPLED_INSTRUCTION_MAX];
	struct frame frame;
	size_t size = sampled_frame(python, &frame) ? sampled_code_instruction(python->resolver, &frame, bytes) : 0;
	return size ? python->api.PyBytes_FromStringAndSize((const char *)bytes, (python_size)size) : none(python);
}

/* (file, line) or (file, line, text of the line); None and 0 where nothing is known. */
static python_object *source_of_sample(struct python *python, bool with_text)
{
	const struct python_api *api = &python->api;
	struct frame frame;
	const struct code_function *function = sampled_frame(python, &frame) ? source_find(python->resolver, &frame, false) : NULL;
	const char *file = function ? function->file : NULL, *text;
	size_t size;
	python_object *tuple = api->PyTuple_New(with_text ? 3 : 2);
	api->PyTuple_SetItem(tuple, 0, file ? python_text(python, file, strlen(file)) : none(python));
	api->PyTuple_SetItem(tuple, 1, python_u64(python, file ? function->line : 0));
	if (!with_text)
		return tuple;
	const struct source_options options = {.symfs = resolver_options(python->resolver)->symfs,
					       .carried = resolver_options(python->resolver)->carried};
	if (!python->sources_read)
		python->sources_read = source_files_create(&options);
	bool found = file && source_line(python->sources_read, file, function->line, &text, &size);
	api->PyTuple_SetItem(tuple, 2, found ? python_text(python, text, size) : none(python));
	return tuple;
}

static python_object *sample_srcline(python_object *self, python_object *arguments)
{
	return source_of_sample(python_of(self), false);
}

static python_object *sample_srccode(python_object *self, python_object *arguments)
{
	return source_of_sample(python_of(self), true);
}

/* Traces of hardware aren't decoded, so that options for it change nothing: -1 is "not set". */
static python_object *set_itrace_options(python_object *self, python_object *arguments)
{
	return python_s64(python_of(self), -1);
}

/* Ours: a dictionary of the system calls' names by number, for the processor that was recorded. */
static python_object *syscall_names(python_object *self, python_object *arguments)
{
	struct python *python = python_of(self);
	enum syscall_abi abi = syscall_abi_of(python->machine->arch);
	python_object *dict = python->api.PyDict_New();
	for (unsigned int number = 0; number < SYSCALL_NUMBERS; number++) {
		const char *name = syscall_name(abi, number);
		python_object *key = name ? python_u64(python, number) : NULL;
		if (!key)
			continue;
		python->api.PyDict_SetItem(dict, key, python_lasting_text(python, name));
		python->api.Py_DecRef(key);
	}
	return dict;
}

/* The functions' descriptions are copied into `python`, since Python keeps pointers to them. */
void python_context_init(struct python *python)
{
	static const struct python_method functions[PYTHON_CONTEXT_FUNCTIONS] = {
		{"common_pc", common_pc, PYTHON_VARARGS, "Depth of disabled preemption of the event"},
		{"common_flags", common_flags, PYTHON_VARARGS, "Interrupt flags of the event"},
		{"common_lock_depth", common_lock_depth, PYTHON_VARARGS, "Depth of the big kernel lock"},
		{"perf_sample_insn", sample_insn, PYTHON_VARARGS, "Bytes of the sampled instruction"},
		{"perf_sample_srcline", sample_srcline, PYTHON_VARARGS, "File and line of the sampled address"},
		{"perf_sample_srccode", sample_srccode, PYTHON_VARARGS, "File, line and its text"},
		{"perf_set_itrace_options", set_itrace_options, PYTHON_VARARGS, "Options for decoding hardware traces"},
		{"syscall_names", syscall_names, PYTHON_VARARGS, "Names of system calls by number"},
	};
	const struct python_api *api = &python->api;
	python->context = api->PyCapsule_New(python, CAPSULE, NULL);
	python->module = api->PyModule_New("perf_trace_context");
	python_object *names = api->PyModule_GetDict(python->module);
	memcpy(python->methods, functions, sizeof(functions));
	for (size_t i = 0; i < PYTHON_CONTEXT_FUNCTIONS; i++) {
		python_object *function = api->PyCFunction_NewEx(&python->methods[i], python->context, NULL);
		api->PyDict_SetItemString(names, functions[i].name, function);
		api->Py_DecRef(function);
	}
	api->PyDict_SetItemString(names, "perf_script_context", python->context);
	api->PyDict_SetItemString(api->PyImport_GetModuleDict(), "perf_trace_context", python->module);
}
