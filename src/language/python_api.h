/* The functions of libpython that we call, found when a script needs them. Their prototypes are those of Python's stable ABI
 * (docs.python.org, "C API Stability"), so any libpython3 does, and none is needed to build. Names are Python's own. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Opaque on our side of the stable ABI. */
typedef struct python_object python_object;
typedef ptrdiff_t python_size;

/* A function for scripts, as Python's PyMethodDef. */
struct python_method {
	const char *name;
	python_object *(*function)(python_object *self, python_object *arguments);
	int flags;
	const char *doc;
};
enum { PYTHON_VARARGS = 1 };
enum { PYTHON_FILE_INPUT = 257 };

/* return type, name, arguments */
#define PYTHON_FUNCTIONS(X)                                                                               \
	X(void, Py_InitializeEx, (int))                                                                   \
	X(int, Py_FinalizeEx, (void))                                                                     \
	X(void, Py_IncRef, (python_object *))                                                             \
	X(void, Py_DecRef, (python_object *))                                                             \
	X(python_object *, PyImport_AddModule, (const char *))                                            \
	X(python_object *, PyImport_GetModuleDict, (void))                                                \
	X(python_object *, PyModule_New, (const char *))                                                  \
	X(python_object *, PyModule_GetDict, (python_object *))                                           \
	X(python_object *, PyCFunction_NewEx, (struct python_method *, python_object *, python_object *)) \
	X(python_object *, Py_CompileString, (const char *, const char *, int))                           \
	X(python_object *, PyEval_EvalCode, (python_object *, python_object *, python_object *))          \
	X(int, PySys_SetObject, (const char *, python_object *))                                          \
	X(python_object *, PySys_GetObject, (const char *))                                               \
	X(python_object *, PyObject_GetAttrString, (python_object *, const char *))                       \
	X(python_object *, PyObject_CallObject, (python_object *, python_object *))                       \
	X(int, PyCallable_Check, (python_object *))                                                       \
	X(void, PyErr_Print, (void))                                                                      \
	X(void, PyErr_Clear, (void))                                                                      \
	X(python_object *, PyErr_Occurred, (void))                                                        \
	X(int, PyErr_ExceptionMatches, (python_object *))                                                 \
	X(void, PyErr_Fetch, (python_object **, python_object **, python_object **))                      \
	X(void, PyErr_NormalizeException, (python_object **, python_object **, python_object **))         \
	X(void, PyErr_SetString, (python_object *, const char *))                                         \
	X(int, PyObject_IsTrue, (python_object *))                                                        \
	X(python_object *, PyObject_Str, (python_object *))                                               \
	X(python_object *, PyDict_New, (void))                                                            \
	X(python_object *, PyDict_Copy, (python_object *))                                                \
	X(int, PyDict_SetItem, (python_object *, python_object *, python_object *))                       \
	X(int, PyDict_SetItemString, (python_object *, const char *, python_object *))                    \
	X(python_object *, PyDict_GetItem, (python_object *, python_object *))                            \
	X(python_object *, PyDict_GetItemString, (python_object *, const char *))                         \
	X(python_object *, PyList_New, (python_size))                                                     \
	X(int, PyList_SetItem, (python_object *, python_size, python_object *))                           \
	X(int, PyList_Insert, (python_object *, python_size, python_object *))                            \
	X(python_object *, PyTuple_New, (python_size))                                                    \
	X(int, PyTuple_SetItem, (python_object *, python_size, python_object *))                          \
	X(python_object *, PyTuple_GetItem, (python_object *, python_size))                               \
	X(python_size, PyTuple_Size, (python_object *))                                                   \
	X(python_object *, PyLong_FromLongLong, (long long))                                              \
	X(python_object *, PyLong_FromUnsignedLongLong, (unsigned long long))                             \
	X(long, PyLong_AsLong, (python_object *))                                                         \
	X(python_object *, PyBool_FromLong, (long))                                                       \
	X(python_object *, PyBytes_FromStringAndSize, (const char *, python_size))                        \
	X(python_object *, PyByteArray_FromStringAndSize, (const char *, python_size))                    \
	X(python_object *, PyUnicode_DecodeUTF8, (const char *, python_size, const char *))               \
	X(python_object *, PyUnicode_DecodeFSDefault, (const char *))                                     \
	X(python_object *, PyUnicode_AsEncodedString, (python_object *, const char *, const char *))      \
	X(char *, PyBytes_AsString, (python_object *))                                                    \
	X(python_object *, PyUnicode_InternFromString, (const char *))                                    \
	X(python_object *, PyCapsule_New, (void *, const char *, void (*)(python_object *)))              \
	X(void *, PyCapsule_GetPointer, (python_object *, const char *))

struct python_api {
#define PYTHON_MEMBER(type, name, arguments) type(*name) arguments;
	PYTHON_FUNCTIONS(PYTHON_MEMBER)
#undef PYTHON_MEMBER
	/* A quicker call, since Python 3.9; NULL = there is none. */
	python_object *(*PyObject_Vectorcall)(python_object *, python_object *const *, size_t, python_object *);
	python_object *none;	    /* the one None */
	python_object *system_exit; /* the class SystemExit */
	python_object *type_error;  /* the class TypeError */
};

/* Loads the library: the one of `python3` first, then the newest that there is. PERF_LIBPYTHON names another one. Loaded, it stays:
 * extension modules refer to it. */
struct error *python_api_load(struct python_api *ret);
