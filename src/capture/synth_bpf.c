/* KSYMBOL and BPF_EVENT records of the BPF programs that are loaded. Those that come and go while recording announce themselves. */
#include "capture/synth.h"

#include "capture/synth_internal.h"
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
		size_t begin = synth_begin(synth, RECORD_KSYMBOL, 0);
		synth_put_u64(synth, address);
		synth_put_u32(synth, length);
		synth_put_u16(synth, KSYMBOL_TYPE_BPF);
		synth_put_u16(synth, 0);
		synth_put_string(synth, name, strlen(name));
		synth_end(synth, begin);
	}
	size_t begin = synth_begin(synth, RECORD_BPF_EVENT, 0);
	synth_put_u16(synth, BPF_EVENT_PROG_LOAD);
	synth_put_u16(synth, 0);
	synth_put_u32(synth, symbols->info.id);
	synth_put(synth, symbols->info.tag, sizeof(symbols->info.tag));
	synth_end(synth, begin);
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
