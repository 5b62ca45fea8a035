/* For filters of `perf script --dlfilter FILE.so`: shared objects that decide which samples are shown.
 *
 *	#include <perf/perf_dlfilter.h>
 *	struct perf_dlfilter_fns perf_dlfilter_fns;
 *	int filter_event(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
 *	{
 *		const struct perf_dlfilter_al *al = perf_dlfilter_fns.resolve_ip(ctx);
 *		return !al || !al->sym || strcmp(al->sym, "main") != 0;
 *	}
 *
 *	gcc -shared -fPIC -o mine.so mine.c && perf script --dlfilter ./mine.so
 *
 * The binary interface is that of the kernel's tool: filters made for one work with the other, without being built again. */
#ifndef PERF_DLFILTER_H
#define PERF_DLFILTER_H

#include <linux/perf_event.h>
#include <linux/types.h>

#define PERF_DLFILTER_HAS_MACHINE_PID

/* What a branch was (flags of a sample), as decoders of hardware traces tell it. */
enum {
	PERF_DLFILTER_FLAG_BRANCH = 1 << 0,
	PERF_DLFILTER_FLAG_CALL = 1 << 1,
	PERF_DLFILTER_FLAG_RETURN = 1 << 2,
	PERF_DLFILTER_FLAG_CONDITIONAL = 1 << 3,
	PERF_DLFILTER_FLAG_SYSCALLRET = 1 << 4,
	PERF_DLFILTER_FLAG_ASYNC = 1 << 5,
	PERF_DLFILTER_FLAG_INTERRUPT = 1 << 6,
	PERF_DLFILTER_FLAG_TX_ABORT = 1 << 7,
	PERF_DLFILTER_FLAG_TRACE_BEGIN = 1 << 8,
	PERF_DLFILTER_FLAG_TRACE_END = 1 << 9,
	PERF_DLFILTER_FLAG_IN_TX = 1 << 10,
	PERF_DLFILTER_FLAG_VMENTRY = 1 << 11,
	PERF_DLFILTER_FLAG_VMEXIT = 1 << 12,
};

/* A sample; what it doesn't have is 0. */
struct perf_dlfilter_sample {
	__u32 size; /* of this structure: members beyond it aren't there */
	__u16 ins_lat;
	__u16 p_stage_cyc;
	__u64 ip;
	__s32 pid;
	__s32 tid;
	__u64 time; /* nanoseconds */
	__u64 addr;
	__u64 id;
	__u64 stream_id;
	__u64 period;
	__u64 weight;
	__u64 transaction;
	__u64 insn_cnt;
	__u64 cyc_cnt;
	__s32 cpu;   /* -1 = not known */
	__u32 flags; /* PERF_DLFILTER_FLAG_* */
	__u64 data_src;
	__u64 phys_addr;
	__u64 data_page_size;
	__u64 code_page_size;
	__u64 cgroup;
	__u8 cpumode;		  /* PERF_RECORD_MISC_KERNEL … */
	__u8 addr_correlates_sym; /* resolve_addr() can be called */
	__u16 misc;
	__u32 raw_size;
	const void *raw_data;
	__u64 brstack_nr;
	const struct perf_branch_entry *brstack;
	__u64 raw_callchain_nr;
	const __u64 *raw_callchain; /* with markers PERF_CONTEXT_* */
	const char *event;
	__s32 machine_pid; /* of a guest, 0 = the host */
	__s32 vcpu;	   /* -1 = none */
};

/* An address and what is there. Strings live as long as the recording is open. */
struct perf_dlfilter_al {
	__u32 size; /* of this structure; set it before resolve_address() */
	__u32 symoff;
	const char *sym; /* NULL = unknown */
	__u64 addr;	 /* in the file */
	__u64 sym_start;
	__u64 sym_end;
	const char *dso;  /* NULL = nothing is mapped there */
	__u8 sym_binding; /* STB_* of <elf.h> */
	__u8 is_64_bit;
	__u8 is_kernel_ip;
	__u32 buildid_size;
	__u8 *buildid;
	/* Of resolve_ip() only: */
	__u8 filtered; /* the sample won't be shown, whatever the filter says */
	const char *comm;
	void *priv;
};

/* What a filter can ask. It defines a variable `perf_dlfilter_fns` of this type, which is filled when it is loaded. Everything but args()
 * is for filter_event() and filter_event_early(). */
struct perf_dlfilter_fns {
	const struct perf_dlfilter_al *(*resolve_ip)(void *ctx);
	const struct perf_dlfilter_al *(*resolve_addr)(void *ctx);
	char **(*args)(void *ctx, int *dlargc);						 /* of --dlarg */
	__s32 (*resolve_address)(void *ctx, __u64 address, struct perf_dlfilter_al *al); /* 0, or -1 */
	const __u8 *(*insn)(void *ctx, __u32 *length);
	const char *(*srcline)(void *ctx, __u32 *line_number);
	struct perf_event_attr *(*attr)(void *ctx);
	__s32 (*object_code)(void *ctx, __u64 ip, void *buf, __u32 len); /* bytes that were read, or -1 */
	void (*al_cleanup)(void *ctx, struct perf_dlfilter_al *al);	 /* for what resolve_address() filled */
	void *(*reserved[119])(void *);
};

/* What a filter may define. Results: 0 = keep the sample, 1 = drop it, less = an error, which ends perf. */
int start(void **data, void *ctx);
int stop(void *data, void *ctx);
int filter_event(void *data, const struct perf_dlfilter_sample *sample, void *ctx);
int filter_event_early(void *data, const struct perf_dlfilter_sample *sample, void *ctx); /* before -C, --comms and their like */
const char *filter_description(const char **long_description);

#endif
