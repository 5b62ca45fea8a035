#include "made_records.h"

#include "base/mem.h"

#include <malloc.h>
#include <stdio.h>

void made_task(struct strbuf *out, uint32_t type, const struct made_trailer *whose)
{
	struct {
		struct record_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		struct made_trailer trailer;
	} record = {{type, 0, sizeof(record)}, whose->pid, MADE_PARENT, whose->tid, MADE_PARENT, whose->time, *whose};

	strbuf_add(out, &record, sizeof(record));
}

void made_comm(struct strbuf *out, uint16_t misc, const char *name, const struct made_trailer *whose)
{
	struct {
		struct record_header header;
		uint32_t pid, tid;
		char name[16];
		struct made_trailer trailer;
	} record = {{RECORD_COMM, misc, sizeof(record)}, whose->pid, whose->tid, "", *whose};

	snprintf(record.name, sizeof(record.name), "%s", name);
	strbuf_add(out, &record, sizeof(record));
}

void made_map(struct strbuf *out, uint64_t start, uint64_t length, const char *path, const struct made_trailer *whose)
{
	struct {
		struct record_header header;
		uint32_t pid, tid;
		uint64_t start, length, pgoff;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
		char path[24];
		struct made_trailer trailer;
	} record = {{RECORD_MMAP2, CPUMODE_USER, sizeof(record)}, whose->pid, whose->tid, start, length, 0, 8, 1, 77, 0, 5, 2, "", *whose};

	snprintf(record.path, sizeof(record.path), "%s", path);
	strbuf_add(out, &record, sizeof(record));
}

void made_round(struct strbuf *out, uint64_t ended_ns)
{
	const struct record_timed_round record = {.header = {RECORD_FINISHED_ROUND, 0, sizeof(record)}, .ended_ns = ended_ns};

	strbuf_add(out, &record, sizeof(record));
}

struct reader_chunk *made_chunk(struct strbuf *records)
{
	struct reader_chunk *chunk = mem_zalloc(sizeof(*chunk));

	chunk->size = records->len;
	chunk->data = (const uint8_t *)strbuf_detach(records);
	return chunk;
}

size_t made_heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
