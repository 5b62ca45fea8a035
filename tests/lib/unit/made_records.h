/* For unit tests: records as the kernel writes them, of events with sample_id_all and the sample type IDENTIFIER | TID | TIME (and more),
 * put together by hand; a feed hands them on. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/reader.h"

#include <stddef.h>
#include <stdint.h>

enum { MADE_PARENT = 1000 };

/* Whose a record is: what the kernel writes behind it. */
struct made_trailer {
	uint32_t pid, tid;
	uint64_t time, id;
};

/* A FORK or EXIT of the process, whose parent is MADE_PARENT. */
void made_task(struct strbuf *out, uint32_t type, const struct made_trailer *whose);
/* A name of less than 16 bytes. */
void made_comm(struct strbuf *out, uint16_t misc, const char *name, const struct made_trailer *whose);
/* MMAP2 of code; a path of less than 24 bytes. */
void made_map(struct strbuf *out, uint64_t start, uint64_t length, const char *path, const struct made_trailer *whose);
void made_round(struct strbuf *out, uint64_t ended_ns);

/* What a feed gives: takes over the text, which is empty then. */
struct reader_chunk *made_chunk(struct strbuf *records);

/* Bytes of the heap that are in use. */
size_t made_heap_bytes(void);
