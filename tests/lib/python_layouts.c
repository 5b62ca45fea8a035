/* Has frames as CPython 3.13 to 3.15 have them, and tells where their members are, as its interpreters do: for versions that aren't
 * installed. VERSION is Py_Version, FREE 1 for builds without the lock that threads share. outer() at line 12 of layouts.py calls inner(),
 * which is at line 24, of a copy of its instructions where threads have such: it asks for the parent's id, and waits for the end of its
 * input.
 *
 * The function that evaluates does that in a part that the compiler lays somewhere else. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MINOR (VERSION >> 16 & 0xff)
#define WITH_COPIES (FREE && MINOR > 13)

struct object {
	uint64_t references;
#if FREE
	uint64_t more[2];
#endif
	const void *type;
};
struct many {
	struct object object;
	uint64_t size;
};
struct text {
	struct object object;
	uint64_t length, hash;
	uint32_t state;
	char characters[24] __attribute__((aligned(8)));
};
struct bytes {
	struct many many;
	uint64_t hash;
	uint8_t content[16];
};
struct code {
	struct many many;
	uint64_t constants[3];
	uint32_t numbers[5], first_line, sizes[10];
	const struct text *file, *short_name, *name;
	const struct bytes *lines;
	uint64_t others[10];
#if WITH_COPIES
	struct {
		uint64_t size;
		uint16_t *copies[2];
	} * copies;
#endif
	uint16_t instructions[16];
};
struct frame {
	uintptr_t executable;
	struct frame *previous;
	uint64_t objects[5];
	const uint16_t *instruction;
#if MINOR > 13
	uint64_t top;
#else
	uint32_t top;
#endif
#if WITH_COPIES
	uint32_t copy;
#endif
	uint16_t back;
	char owner;
};
struct thread {
	struct thread *next, *previous;
	uint64_t others[9];
	struct frame *frame;
	uint64_t number;
};
struct interpreter {
	uint64_t others[70];
	struct interpreter *next;
	struct thread *threads;
};

uint64_t PyCode_Type[52];
const unsigned long Py_Version = VERSION;

#if MINOR == 13
#define WORDS(A, B, C) A
#elif MINOR == 14
#define WORDS(A, B, C) B
#else
#define WORDS(A, B, C) C
#endif
struct runtime {
	uint64_t words[128];
	struct interpreter *newest;
};
struct runtime _PyRuntime = {.words = {
				     [1] = VERSION,
				     [2] = FREE,
				     [5] = offsetof(struct runtime, newest),
				     [8] = offsetof(struct interpreter, next),
				     [9] = offsetof(struct interpreter, threads),
				     [WORDS(21, 24, 24)] = offsetof(struct thread, next),
				     [WORDS(23, 26, 26)] = offsetof(struct thread, frame),
				     [WORDS(25, 28, 31)] = offsetof(struct thread, number),
				     [WORDS(29, 32, 40)] = offsetof(struct frame, previous),
				     [WORDS(30, 33, 41)] = offsetof(struct frame, executable),
				     [WORDS(31, 34, 42)] = offsetof(struct frame, instruction),
				     [WORDS(33, 36, 44)] = offsetof(struct frame, owner),
#if WITH_COPIES
				     [WORDS(0, 38, 46)] = offsetof(struct frame, copy),
				     [WORDS(0, 49, 57)] = offsetof(struct code, copies),
#endif
				     [WORDS(35, 40, 48)] = offsetof(struct code, file),
				     [WORDS(37, 42, 50)] = offsetof(struct code, name),
				     [WORDS(38, 43, 51)] = offsetof(struct code, lines),
				     [WORDS(39, 44, 52)] = offsetof(struct code, first_line),
				     [WORDS(43, 48, 56)] = offsetof(struct code, instructions),
				     [WORDS(45, 51, 59)] = offsetof(struct object, type),
				     [WORDS(66, 76, 88)] = offsetof(struct bytes, content),
				     [WORDS(68, 78, 90)] = offsetof(struct text, state),
				     [WORDS(69, 79, 91)] = offsetof(struct text, length),
				     [WORDS(70, 80, 92)] = offsetof(struct text, characters),
				     [0] = 0x7970677562656478, /* "xdebugpy" */
			     }};

enum { KIND = WITH_COPIES ? 8 : 2 }; /* where the width of characters is in the state; behind it are two bits: in one piece, ASCII */
#define TEXT(CHARACTERS)                                                                                           \
	{                                                                                                          \
		.length = sizeof(CHARACTERS) - 1, .state = 1u << KIND | 3u << (KIND + 3), .characters = CHARACTERS \
	}
#define OBJECT                      \
	{                           \
		.type = PyCode_Type \
	}

static struct text file = TEXT("layouts.py"), outer_name = TEXT("outer"), inner_name = TEXT("Class.inner");
/* Two instructions of the first line, two of the second one after it, two four lines on. */
static struct bytes lines = {.many = {.size = 8},
			     .content = {0x80 | 10 << 3 | 1, 0, 0, 0x80 | 12 << 3 | 1, 0, 0, 0x80 | 13 << 3 | 1, 4 << 1}};
#if WITH_COPIES
static uint16_t copied[16];
static struct {
	uint64_t size;
	uint16_t *copies[2];
} copies = {2, {NULL, copied}};
#endif
static struct code outer = {.many = {OBJECT, 16}, .first_line = 10, .file = &file, .name = &outer_name, .lines = &lines},
		   inner = {.many = {OBJECT, 16}, .first_line = 18, .file = &file, .name = &inner_name, .lines = &lines};
static struct thread thread;
static struct interpreter interpreter = {.threads = &thread};

__attribute__((cold, noinline)) static void wait_with(const uint16_t *instruction)
{
	char byte;

	for (int i = 0; i < 40; i++)
		syscall(SYS_getppid);
	while (read(0, &byte, 1) > 0 || !instruction)
		;
}

__attribute__((cold, noinline)) static void fail(int status)
{
	_exit(status);
}

/* Beginning, as the interpreter does, with an entry that is only a mark. */
__attribute__((noinline, used, externally_visible)) void *_PyEval_EvalFrameDefault(struct thread *state, struct frame *frame, int kind)
{
	struct frame entry = {.previous = state->frame, .owner = 3},
		     called = {.previous = frame, .executable = (uintptr_t)&inner | (MINOR > 13)};

	frame->previous = &entry;
	called.instruction = inner.instructions + 5;
#if WITH_COPIES
	inner.copies = (void *)&copies;
	called.copy = 1;
	called.instruction = copied + 5;
#endif
	state->frame = &called;
	if (__builtin_expect(kind == 7, 0))
		fail(7);
	if (__builtin_expect(kind == 1, 0)) {
		wait_with(called.instruction + 1);
		called.top = 3;
	}
	if (__builtin_expect(kind == 2, 0))
		fail(2);
	state->frame = entry.previous;
	return called.previous;
}

int main(int argc, char *argv[] __attribute__((unused)))
{
	struct frame frame = {.executable = (uintptr_t)&outer, .instruction = outer.instructions + 3};

	/* What nobody has touched isn't there for a BPF program. */
	file.object.references = outer_name.object.references = inner_name.object.references = lines.many.object.references = 1;
	_PyRuntime.newest = &interpreter;
	thread.number = (uint64_t)getpid();
	return !_PyEval_EvalFrameDefault(&thread, &frame, argc);
}
