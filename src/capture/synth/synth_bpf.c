/* KSYMBOL and BPF_EVENT records of the BPF programs that are loaded. Those that come and go while recording announce themselves. */
#include "capture/synth/synth.h"

#include "capture/synth/synth_internal.h"
#include "kernel/bpf/bpf_programs.h"
#include "kernel/bpf/bpf_symbols.h"

#include <string.h>

enum { KSYMBOL_TYPE_BPF = 1, BPF_EVENT_PROG_LOAD = 1 };

static void put_program(struct synth *synth, const struct bpf_symbols *symbols)
{
	uint64_t address;
	uint32_t length;
	char name[256];

	for (uint32_t i = 0; bpf_symbols_function(symbols, i, &address, &length, name); i++) {
		const struct record_ksymbol record = {
			.header.type = RECORD_KSYMBOL, .address = address, .length = length, .type = KSYMBOL_TYPE_BPF};
		synth_put(synth, &record, sizeof(record), name, strlen(name));
	}
	struct record_bpf_event record = {.header.type = RECORD_BPF_EVENT, .type = BPF_EVENT_PROG_LOAD, .id = symbols->info.id};
	_Static_assert(sizeof(record.tag) == sizeof(symbols->info.tag), "the tag's size");
	memcpy(record.tag, symbols->info.tag, sizeof(record.tag));
	synth_end(synth, synth_begin(synth, &record, sizeof(record)));
}

void synth_bpf(struct synth *synth)
{
	struct bpf_symbols symbols;

	for (uint32_t id = 0; bpf_program_next(id, &id);)
		if (bpf_symbols_open(&symbols, id)) {
			put_program(synth, &symbols);
			bpf_symbols_close(&symbols);
		}
}
