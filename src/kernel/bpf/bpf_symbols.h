/* The machine code of a loaded BPF program: its functions, with the names that the kernel's perf gives them. */
#pragma once

#include "base/formats/btf.h"
#include "base/strbuf.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_symbols {
	struct strbuf program;	/* as bpf_program_describe() says */
	struct strbuf btf_data; /* of its types, empty when it has none */
	struct btf btf;
	struct bpf_prog_info info;
	uint64_t arrays;
	const uint8_t *data;
	size_t data_size;
};

/* False when the program is gone or may not be seen. */
bool bpf_symbols_open(struct bpf_symbols *symbols, uint32_t id);
void bpf_symbols_close(struct bpf_symbols *symbols);
/* Address, length and name (bpf_prog_TAG_NAME) of a function; false when there is none of that number. */
bool bpf_symbols_function(const struct bpf_symbols *symbols, uint32_t function, uint64_t *ret_address, uint32_t *ret_length,
			  char name[256]);
