#include "examine.h"
#include "base/hash.h"
#include "base/mem.h"
#include "perfdata/dump/dump.h"
#include "perfdata/features/features_print.h"
#include "perfdata/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t sum_words(const void *data, size_t size, uint64_t sum)
{
	return data ? hash_combine(sum, hash_bytes(data, size)) : sum;
}

/* Reads every byte that the decoder points to: a sanitizer sees what lies outside. */
static uint64_t sum_sample(const struct sample_layout *layout, const struct sample *sample)
{
	uint64_t sum =
		sample->ip + sample->time * 3 + sample->pid * 5ull + sample->tid * 7ull + sample->addr + sample->period + sample->cpu;
	sum = sum_words(sample->chain, sample->chain_count * 8, sum);
	sum = sum_words(sample->raw, sample->raw_size, sum);
	sum = sum_words(sample->branches, sample->branch_count * sizeof(*sample->branches), sum);
	sum = sum_words(sample->branch_counters, sample->branch_counters ? sample->branch_count * 8 : 0, sum);
	sum = sum_words(sample->stack, sample->stack_valid, sum);
	sum = sum_words(sample->aux, sample->aux_size, sum);
	if (sample->regs_user.values)
		sum = sum_words(sample->regs_user.values, (size_t)__builtin_popcountll(sample->regs_user.mask) * 8, sum);
	if (sample->regs_intr.values)
		sum = sum_words(sample->regs_intr.values, (size_t)__builtin_popcountll(sample->regs_intr.mask) * 8, sum);
	for (uint64_t i = 0; i < sample->counter_count; i++) {
		struct sample_counter counter = sample_counter(layout, sample, i);
		sum += counter.value + counter.id + counter.lost;
	}
	return sum + sample->weight + sample->data_src + sample->transaction + sample->phys_addr + sample->cgroup;
}

static void walk(struct reader *reader, struct examined *examined)
{
	uint64_t offset = reader->data_offset;
	const struct record_header *header;
	struct strbuf text = {0};
	for (uint64_t at = offset; (header = reader_record(reader, &offset, true)); at = offset) {
		struct event *event = reader_event(reader, header);
		struct sample sample;
		strbuf_clear(&text);
		dump_record(reader, header, at, event, NULL, &text);
		examined->records++;
		if (header->type != RECORD_SAMPLE) {
			struct sample_id id = {0};
			if (event)
				sample_id_decode(&reader->layouts[event->index], header, &id);
			examined->sum += id.time;
		} else if (!event || sample_decode(&reader->layouts[event->index], &event->attr, header, &sample)) {
			examined->broken++;
		} else {
			examined->samples++;
			examined->sum += sum_sample(&reader->layouts[event->index], &sample);
		}
	}
	features_print(reader, true, &text);
	strbuf_deinit(&text);
}

struct examined examine_recording(const void *data, size_t size)
{
	struct examined examined = {0};
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct reader *reader;
	struct error *error = reader_open(&(struct reader_options){.path = path, .force = true}, &reader);
	close(fd);
	if (error) {
		error_free(error);
		return examined;
	}
	examined.opened = 1;
	walk(reader, &examined);
	reader_close(reader);
	return examined;
}

uint8_t *read_test_file(const char *name, size_t *ret_size)
{
	char *path = mem_printf("%s/%s", TEST_ROOT, name);
	FILE *file = fopen(path, "re");
	if (!file) {
		perror(path);
		exit(1);
	}
	free(path);
	uint8_t *data = mem_alloc(1 << 20);
	*ret_size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}
