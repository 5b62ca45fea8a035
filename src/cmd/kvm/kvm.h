/* Parts of perf kvm. */
#pragma once

#include "analysis/kvm/exits.h"
#include "app/command.h"
#include "app/groups.h"
#include "cmd/opening.h"

/* Options before a subcommand's word: which recording. */
struct kvm_files {
	const char *input, *output;
	bool host, no_guest;
	struct input_options symbols; /* of the guest: nothing else of it is set */
	struct output_options verbosity;
};

/* The name of the recording: as given, else by whose events it has. */
const char *kvm_file(const struct kvm_files *files);

/* What `stat report` and `stat live` show. */
struct kvm_choice {
	enum kvm_event event;
	bool by_time; /* -k */
	uint64_t vcpu;
	bool one_vcpu;
	const char *pids; /* as written, or NULL */
};

/* Rows of an option table of `type` with a `struct kvm_choice choice`. */
#define KVM_CHOICE(type)                                                                                                                   \
	OPTION_CUSTOM_FLAGS(0, "event", type, choice.event, "EVENT", "what to show: vmexit (default), mmio, ioport or msr",                \
			    kvm_option_event, OPTION_NO_NEGATION),                                                                         \
		OPTION_CUSTOM_FLAGS('k', "key", type, choice.by_time, "KEY", "sort by: sample (how often; default) or time (the average)", \
				    kvm_option_key, OPTION_NO_NEGATION),                                                                   \
		OPTION_CUSTOM_FLAGS(0, "vcpu", type, choice, "N", "only virtual processors with this number", kvm_option_vcpu,             \
				    OPTION_NO_NEGATION),                                                                                   \
		OPTION_STRING('p', "pid", type, choice.pids, "PID,…", "only these processes")

option_parse_fn kvm_option_event, kvm_option_key, kvm_option_vcpu;

/* What of a choice the tracker takes. `ids` holds the processes, and is the caller's to free. */
struct kvm_process_ids {
	VEC(uint32_t) list;
};
struct error *kvm_choose(const struct kvm_choice *choice, struct kvm_process_ids *ids, struct kvm_options *ret);

/* report.c: what was counted so far, as the kernel's tool prints it. */
void kvm_print(const struct kvm_exits *exits, const struct kvm_choice *choice);

/* Those whose files are in this folder; made by the build. */
extern const struct command *const kvm_subcommands[], *const kvm_stat_subcommands[];
/* As its run(), of another recording than the one that it reads by itself. */
struct error *kvm_stat_report(const struct kvm_files *files, int argc, char **argv);
struct error *kvm_stat_live(int argc, char **argv, int *ret_status);
