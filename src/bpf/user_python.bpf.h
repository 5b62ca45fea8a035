/* Frames of Python in a walk (user_walk.bpf.h): what the interpreter's evaluating function has run, behind that function.
 *
 * Since CPython 3.11 a C function that evaluates has several frames of Python, and a struct _PyCFrame on its own stack, which leads to
 * the newest one. It is at the same place below the canonical frame address in all such functions of one build. Since 3.13 the thread's
 * state leads to the newest frame of all, and the last one of a function is an entry on its own stack, which leads on to the next function:
 *
 *	thread ─► frame ─► frame ─► entry ─► frame ─► entry ─►		python_frame, and python_outer behind an entry
 *	          └─ of the innermost ─┘     └─ next one ─┘
 *
 * Those of a thread end with an entry, too, which lies in its state since 3.15.
 *
 * A frame leads to its code, which has a number here once it was told of: its name, file and lines go to the recorder then, since the
 * process may be gone soon. */
#pragma once

#include "bpf/pid_numbers.bpf.h"
#include "bpf/user_walk_state.bpf.h"

enum { PYTHON_THREADS = 1024 }; /* of an interpreter that are looked at */

static __always_inline uint64_t read_word(uint64_t address)
{
	uint64_t word;

	return bpf_probe_read_user(&word, sizeof(word), (void *)address) ? 0 : word;
}

/* Looks whether one of the interpreter's threads is the one whose evaluating function lies in [bottom, top): then its struct _PyCFrame is
 * there, and is at the same place in all such frames of this build. */
static __always_inline void find_cframe(struct user_stacks_python *python, uint64_t to_file, uint64_t bottom, uint64_t top)
{
	uint64_t interpreter = read_word(python->runtime - to_file + python->interpreter);
	uint64_t thread = interpreter ? read_word(interpreter + python->threads) : 0;

	for (int i = 0; i < 4 && thread; i++) {
		uint64_t cframe = read_word(thread + python->thread_cframe);
		if (cframe - bottom < top - bottom) {
			python->cframe_below = (uint32_t)(top - cframe);
			return;
		}
		thread = read_word(thread + python->next_thread);
	}
}

static __always_inline bool evaluates(const struct mapping *mapping, uint64_t address)
{
	const struct user_stacks_span *parts = mapping->code.evaluates;
	uint32_t place = (uint32_t)(address + mapping->to_file);

	return mapping->code.python && (place - parts[0].begin < parts[0].size || place - parts[1].begin < parts[1].size);
}

/* ---- threads, since CPython 3.13 ---- */

/* What the thread that runs is called where it runs. */
static __always_inline uint32_t own_number(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	return number_at(pid, BPF_CORE_READ(pid, level));
}

/* bpf_loop()'s. */
static long look_at_thread(uint32_t index, struct step *step)
{
	struct walk *walk = step->walk;
	const struct user_stacks_python *python = bpf_map_lookup_elem(&pythons, &walk->python);

	if (!python || read_word(walk->thread + python->thread_number) == walk->thread_number)
		return 1;
	walk->thread = read_word(walk->thread + python->next_thread);
	if (!walk->thread) {
		walk->interpreter = read_word(walk->interpreter + python->next_interpreter);
		walk->thread = walk->interpreter ? read_word(walk->interpreter + python->threads) : 0;
	}
	return !walk->thread;
}

/* The state of the thread that runs; 0 = it isn't one of Python's. */
static __always_inline uint64_t find_thread(struct step *step, const struct user_stacks_python *python)
{
	struct walk *walk = step->walk;
	uint64_t *known;

	walk->thread_key = bpf_get_current_pid_tgid();
	walk->thread_number = own_number();
	known = bpf_map_lookup_elem(&python_threads, &walk->thread_key);
	if (known && read_word(*known + python->thread_number) == walk->thread_number && read_word(*known + python->thread_frame))
		return *known;
	walk->interpreter = read_word(python->runtime - walk->python_to_file + python->interpreter);
	walk->thread = walk->interpreter ? read_word(walk->interpreter + python->threads) : 0;
	if (!walk->thread)
		return 0;
	bpf_loop(PYTHON_THREADS, look_at_thread, step, 0);
	if (!walk->thread || read_word(walk->thread + python->thread_number) != walk->thread_number)
		return 0;
	bpf_map_update_elem(&python_threads, &walk->thread_key, &walk->thread, BPF_ANY);
	return walk->thread;
}

/* The frames of the function that was passed are those up to the next entry. */
static __always_inline void begin_by_thread(struct step *step, const struct user_stacks_python *python)
{
	struct walk *walk = step->walk;

	if (!walk->python_begun) {
		uint64_t thread = find_thread(step, python);
		walk->python_outer = thread ? read_word(thread + python->thread_frame) : 0;
	}
	walk->python_begun = 1;
	walk->python_had = walk->count;
	walk->python_first = walk->python_frame = walk->python_outer;
	walk->python_outer = 0;
}

/* An entry has been reached. It lies in the frame of the function that was passed; else that function has just begun, and the frames are
 * those of one further out. */
static __always_inline void end_by_thread(struct walk *walk, uint64_t entry, uint64_t previous)
{
	walk->python_outer = previous;
	if (entry - walk->python_bottom < walk->sp - walk->python_bottom)
		return;
	walk->count = walk->python_had;
	walk->python_outer = walk->python_first;
}

/* ---- frames ---- */

/* A C function that evaluates has been passed: its frames of Python come next. */
static __always_inline void begin_python(struct step *step, const struct mapping *mapping, uint64_t bottom)
{
	struct walk *walk = step->walk;
	uint32_t number = mapping->code.python - 1;
	struct user_stacks_python *python = bpf_map_lookup_elem(&pythons, &number);
	uint64_t at;

	if (!python)
		return;
	walk->python = number;
	walk->python_to_file = mapping->to_file;
	if (python->thread_number) {
		begin_by_thread(step, python);
		return;
	}
	if (!python->cframe_below)
		find_cframe(python, mapping->to_file, bottom, walk->sp);
	at = walk->sp - python->cframe_below;
	if (!python->cframe_below || at < bottom) /* the function has just begun */
		return;
	walk->python_frame = read_word(at + python->cframe_current);
}

static __always_inline uint64_t code_member(const struct walk *walk, uint32_t offset)
{
	uint32_t index = offset / 8;

	return index < USER_STACKS_PYTHON_CODE / 8 ? walk->code_words[index] : 0;
}

static __always_inline uint64_t frame_member(const struct walk *walk, uint32_t offset)
{
	uint32_t index = offset / 8;

	return index < USER_STACKS_PYTHON_FRAME / 8 ? walk->frame_words[index] : 0;
}

/* The number of the code in walk->code_words; 0 = there is none, and no room for it. */
static __always_inline uint32_t number_code(struct walk *walk, const struct user_stacks_python *python, uint64_t code)
{
	struct python_key key = {.code = code, .pid = bpf_get_current_pid_tgid() >> 32};
	struct python_known *known = bpf_map_lookup_elem(&python_codes, &key), *now = &walk->code_now;
	struct python_news *news = &walk->news[walk->codes & (USER_STACKS_TOLD - 1)];
	enum { NO_MEMORY = 12 };
	long failure;

	now->name = code_member(walk, python->code_name);
	now->lines = code_member(walk, python->code_lines);
	now->first_line = (uint32_t)(code_member(walk, python->code_line) >> 8 * (python->code_line & 7));
	if (known && known->name == now->name && known->lines == now->lines && known->first_line == now->first_line)
		return known->number;
	if (walk->codes >= USER_STACKS_TOLD)
		return 0;
	now->number = first_python_code + (__sync_fetch_and_add(&python_code_count, 1) & (USER_STACKS_OTHERS_CODES - 1)) + 1;
	/* The kernel keeps a few elements ready on each CPU, and gets more when interrupts are on again. What a stack has beyond them is
	 * told of, and gets another number the next time. */
	failure = bpf_map_update_elem(&python_codes, &key, now, BPF_ANY);
	if (failure && failure != -NO_MEMORY)
		return 0;
	news->key = key;
	news->name = now->name;
	news->file = code_member(walk, python->code_file);
	news->lines = now->lines;
	news->first_line = now->first_line;
	news->number = now->number;
	news->python = walk->python;
	walk->codes++;
	return now->number;
}

/* The first of the instructions that the frame runs: the code's own ones, or a thread's copy. 0: they can't be read. */
static __always_inline uint64_t instructions_of(const struct walk *walk, const struct user_stacks_python *python, uint64_t code)
{
	uint32_t copy = (uint32_t)(frame_member(walk, python->frame_copy) >> 8 * (python->frame_copy & 7));
	uint64_t copies;

	if (!python->code_copies || !copy)
		return code + python->code_instructions;
	copies = read_word(code + python->code_copies);
	return copies ? read_word(copies + sizeof(copies) * (1 + (uint64_t)copy)) : 0; /* behind how many there are */
}

/* Adds the next frame to the chain. False: there is none. */
static __always_inline bool step_python(struct walk *walk)
{
	const struct user_stacks_python *python = bpf_map_lookup_elem(&pythons, &walk->python);
	uint64_t frame = walk->python_frame, code, end, begun;
	enum { TYPE = 8 };
	bool is_end;

	walk->python_frame = 0;
	if (!python || bpf_probe_read_user(walk->frame_words, sizeof(walk->frame_words), (void *)frame))
		return false;
	end = frame_member(walk, python->end) >> 8 * (python->end & 7);
	is_end = (end & python->end_mask) == python->end_value;
	if (is_end && !python->end_counts) {
		if (python->thread_number)
			end_by_thread(walk, frame, frame_member(walk, python->previous));
		return false;
	}
	code = frame_member(walk, python->code) & ~(uint64_t)USER_STACKS_PYTHON_TAGS;
	if (bpf_probe_read_user(walk->code_words, sizeof(walk->code_words), (void *)code) ||
	    code_member(walk, TYPE + python->head) != python->code_type - walk->python_to_file)
		return false;
	if (code_member(walk, python->code_name) != code_member(walk, python->code_file)) { /* one string: the interpreter's own code */
		begun = (frame_member(walk, python->instruction) - instructions_of(walk, python, code)) / 2 + 1;
		walk->chain[walk->count & (USER_STACKS_DEPTH - 1)] =
			USER_STACKS_PYTHON_MARK | (uint64_t)number_code(walk, python, code) << 24 | (begun & 0xffffff);
		walk->count++;
	}
	if (!is_end)
		walk->python_frame = frame_member(walk, python->previous);
	return true;
}

/* At most `most` bytes of a string. */
static __always_inline void describe_text(struct walk *walk, const struct user_stacks_python *python, uint64_t string,
					  struct user_stacks_text *text, uint8_t *to, uint32_t most)
{
	enum { LENGTH = 2, STATE = 4, ASCII = 1 << 4 };
	uint64_t size;
	uint32_t state;

	text->length = text->width = 0;
	if (bpf_probe_read_user(walk->text_words, sizeof(walk->text_words), (void *)(string + python->head)))
		return;
	state = (uint32_t)walk->text_words[STATE] >> (python->kind_shift & 31);
	text->width = state & 7;
	size = walk->text_words[LENGTH] * text->width;
	if (size > most)
		size = most;
	string += state & ASCII ? python->text : python->wide_text;
	if (!bpf_probe_read_user(to, (uint32_t)size, (void *)string))
		text->length = (uint32_t)walk->text_words[LENGTH];
}

/* Fills walk->code_word and what is behind it. Returns the bytes of both. */
static __always_inline uint64_t describe_code(struct walk *walk, uint32_t index)
{
	const struct python_news *news = &walk->news[index & (USER_STACKS_TOLD - 1)];
	const struct user_stacks_python *python = bpf_map_lookup_elem(&pythons, &news->python);
	struct user_stacks_python_code *record = &walk->code_record;
	enum { SIZE = 16, BYTES = 32 };
	uint64_t size;

	if (!python)
		return 0;
	record->number = news->number;
	record->first_line = news->first_line;
	describe_text(walk, python, news->name, &record->name, record->name_text, sizeof(record->name_text));
	describe_text(walk, python, news->file, &record->file, record->file_text, sizeof(record->file_text));
	size = read_word(news->lines + python->head + SIZE);
	if (size > sizeof(record->lines))
		size = sizeof(record->lines);
	if (bpf_probe_read_user(record->lines, (uint32_t)size, (void *)(news->lines + python->head + BYTES)))
		size = 0;
	walk->code_word = USER_STACKS_HEAD(USER_STACKS_PYTHON, size);
	return sizeof(walk->code_word) + sizeof(*record) - sizeof(record->lines) + size;
}

/* It couldn't be told of: the next time it is tried again. */
static __always_inline void forget_code(struct walk *walk, uint32_t index)
{
	bpf_map_delete_elem(&python_codes, &walk->news[index & (USER_STACKS_TOLD - 1)].key);
}
