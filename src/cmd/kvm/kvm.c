/* perf kvm: the other commands for virtual machines, and what KVM's tracepoints tell.
 *
 *	perf kvm stat record -a             records why guests leave guest mode
 *	perf kvm stat report                adds that up
 *	perf kvm stat live                  the same of what happens now
 *	perf kvm --guest record -a          perf record of what guests run, as the host sees it
 *	perf kvm report, diff, …            perf report of that recording
 *
 * A recording has the name perf.data.guest, perf.data.host or perf.data.kvm (both), as with the kernel's tool. The tracker is in
 * src/analysis/kvm, its page in report.c. */
#include "cmd/kvm/kvm.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "cmd/sides.h"
#include "kernel/measure.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Guests, unless --no-guest stands beside --host; the host with --host. */
static enum machine_sides sides_of(const struct kvm_files *files)
{
	if (!files->host)
		return SIDES_GUESTS;
	return files->no_guest ? SIDES_HOST : SIDES_BOTH;
}

const char *kvm_file(const struct kvm_files *files)
{
	if (files->input || files->output)
		return files->input ? files->input : files->output;
	switch (sides_of(files)) {
	case SIDES_GUESTS:
		return "perf.data.guest";
	case SIDES_HOST:
		return "perf.data.host";
	default:
		return "perf.data.kvm";
	}
}

/* ---- other commands ---- */

/* Words of a command line for another command; argv[0] is the subcommand's own word. */
struct words {
	VEC(const char *) list;
};

static struct error *run_words(struct words *words, int argc, char **argv, int *ret_status)
{
	struct error *error = command_run_with(words->list.data, words->list.len, argv + 1, argc - 1, ret_status);
	vec_deinit(&words->list);
	return error;
}

static void add(struct words *words, const char *first, const char *second)
{
	vec_push(&words->list, first);
	if (second)
		vec_push(&words->list, second);
}

/* For commands that show symbols; recordings have addresses. */
static void add_symbols(struct words *words, const struct input_options *symbols)
{
	if (symbols->guest_kallsyms)
		add(words, "--guestkallsyms", symbols->guest_kallsyms);
	if (symbols->guest_modules)
		add(words, "--guestmodules", symbols->guest_modules);
	if (symbols->guest_vmlinux)
		add(words, "--guestvmlinux", symbols->guest_vmlinux);
	if (symbols->guest_mount)
		add(words, "--guestmount", symbols->guest_mount);
	if (symbols->guest_code)
		add(words, "--guest-code", NULL);
}

/* How many words of argv[1…] are options of the command; *ret_event: -e is one of them. */
static int count_options(const struct command *command, int argc, char **argv, bool *ret_event)
{
	int at = 1, span;
	while (at < argc && (span = options_span(command->options, argv + at)) > 0) {
		*ret_event |= !strncmp(argv[at], "-e", 2) || !strncmp(argv[at], "--event", strlen("--event"));
		at += span;
	}
	return at - 1;
}

/* In place of cycles we would measure by the clock, which is the host's. */
static bool lacks_cycles(void)
{
	const struct perf_event_attr attr = measure_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
	int result = measure_can_open(&attr, 0, -1);
	return result == -ENOENT || result == -EOPNOTSUPP || result == -ENODEV;
}

/* Commands that measure: cycles of guests, of the host, or of both, unless -e says what. */
static struct error *measure(const struct kvm_files *files, const char *name, const char *output, int argc, char **argv, int *ret_status)
{
	struct words words = {0};
	bool events = false;
	count_options(command_find(name), argc, argv, &events);
	enum machine_sides sides = sides_of(files);
	if (!events && sides == SIDES_GUESTS && lacks_cycles())
		return error_new("guests can be told apart by hardware counters only, and this machine has none ('perf doctor' tells why); "
				 "measure inside of the guest");
	add(&words, name, NULL);
	if (!strcmp(name, "top"))
		add_symbols(&words, &files->symbols);
	if (output)
		add(&words, "-o", output);
	add(&words, "--sides", sides_name(sides));
	if (!events)
		add(&words, "-e", sides == SIDES_GUESTS ? "cycles:G" : sides == SIDES_HOST ? "cycles:H" : "cycles:GH");
	return run_words(&words, argc, argv, ret_status);
}

static struct error *record(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	const char *output = files->output ? files->output : kvm_file(files);
	return measure(files, "record", output, argc, argv, ret_status);
}

static struct error *top(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	return measure(files, "top", NULL, argc, argv, ret_status);
}

static struct error *read_recording(const struct kvm_files *files, const char *name, int argc, char **argv, int *ret_status)
{
	struct words words = {0};
	add(&words, name, NULL);
	add(&words, "-i", kvm_file(files));
	add(&words, "--sides", sides_name(sides_of(files)));
	if (!strcmp(name, "report"))
		add_symbols(&words, &files->symbols);
	return run_words(&words, argc, argv, ret_status);
}

static struct error *report(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	return read_recording(files, "report", argc, argv, ret_status);
}

static struct error *buildid_list(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	return read_recording(files, "buildid-list", argc, argv, ret_status);
}

/* Without recordings: of the host and of guests, unless it is about the host alone. */
static struct error *diff(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	struct words words = {0};
	bool events = false;
	add(&words, "diff", NULL);
	add(&words, "--sides", sides_name(sides_of(files)));
	add_symbols(&words, &files->symbols);
	if (sides_of(files) != SIDES_HOST && count_options(command_find("diff"), argc, argv, &events) == argc - 1)
		add(&words, "perf.data.host", "perf.data.guest");
	return run_words(&words, argc, argv, ret_status);
}

/* ---- perf kvm stat ---- */

/* Which of KVM's events there are depends on the processor. */
static struct error *stat_record(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	static const char *const others[] = {"kvm_mmio", "kvm_pio", "kvm_msr"};
	cleanup_free char *tracefs = NULL;
	struct strbuf events = {0};
	struct words words = {0};
	int id;
	struct error *error = tracefs_find("", &tracefs);
	if (error)
		return error;
	strbuf_add_str(&events, kvm_event_tracepoints(KVM_VMEXIT));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (tracefs_event_id(tracefs, "kvm", others[i], &id))
			strbuf_printf(&events, ",kvm:%s", others[i]);
	add(&words, "record", "-R");
	add(&words, "-m", "1024");
	add(&words, "-c", "1");
	add(&words, "-e", strbuf_str(&events));
	add(&words, "-o", files->output ? files->output : kvm_file(files));
	error = run_words(&words, argc, argv, ret_status);
	strbuf_deinit(&events);
	return error;
}

static bool is_word(const char *word, const char *wanted)
{
	enum { ENOUGH = 3 };
	return strlen(word) >= ENOUGH && !strncmp(wanted, word, strlen(word));
}

/* Behind "stat": its subcommands, else what perf stat takes. */
static struct error *count(const struct kvm_files *files, int argc, char **argv, int *ret_status)
{
	struct words words = {0};
	if (argc > 1 && is_word(argv[1], "record"))
		return stat_record(files, argc - 1, argv + 1, ret_status);
	if (argc > 1 && is_word(argv[1], "report"))
		return kvm_stat_report(files, argc - 1, argv + 1);
	if (argc > 1 && is_word(argv[1], "live"))
		return kvm_stat_live(argc - 1, argv + 1, ret_status);
	add(&words, "stat", NULL);
	return run_words(&words, argc, argv, ret_status);
}

/* ---- subcommands ---- */

typedef struct error *run_with_files(const struct kvm_files *files, int argc, char **argv, int *ret_status);

/* As subcommands they have the files that there are by default. */
#define SUBCOMMAND(name)                                                        \
	static struct error *run_##name(int argc, char **argv, int *ret_status) \
	{                                                                       \
		return name(&(struct kvm_files){0}, argc, argv, ret_status);    \
	}
SUBCOMMAND(record)
SUBCOMMAND(report)
SUBCOMMAND(diff)
SUBCOMMAND(buildid_list)
SUBCOMMAND(top)
SUBCOMMAND(count)
SUBCOMMAND(stat_record)

static const char *const record_usage[] = {"[<record options>] [--] [<command>]", NULL};
static const char *const report_usage[] = {"[<report options>]", NULL};
static const char *const diff_usage[] = {"[<diff options>] [OLD] [NEW]…", NULL};
static const char *const list_usage[] = {"[<buildid-list options>]", NULL};
static const char *const top_usage[] = {"[<top options>]", NULL};
static const char *const stat_usage[] = {"{record|report|live} [OPTIONS]", "[<stat options>] [--] [<command>]", NULL};
const struct command cmd_kvm_record = {
	"kvm record", "Record what guests run, as the host sees it", record_usage, NULL, run_record, .runs = "record", .own_options = true};
const struct command cmd_kvm_report = {"kvm report",	 "Show a recording of guests", report_usage, NULL, run_report,
				       .runs = "report", .own_options = true};
const struct command cmd_kvm_diff = {
	"kvm diff", "Compare recordings of the host and of guests", diff_usage, NULL, run_diff, .runs = "diff", .own_options = true};
const struct command cmd_kvm_buildid_list = {
	"kvm buildid-list", "List the build-ids of a recording of guests", list_usage, NULL, run_buildid_list, .runs = "buildid-list",
	.own_options = true};
const struct command cmd_kvm_top = {"kvm top", "Show what guests run now", top_usage, NULL, run_top, .runs = "top", .own_options = true};
const struct command cmd_kvm_stat_record = {
	"kvm stat record",  "Record why guests leave guest mode", record_usage, NULL, run_stat_record, .runs = "record",
	.own_options = true};
const struct command cmd_kvm_stat = {"kvm stat",     "Tell why guests leave guest mode, and for how long; or count events",
				     stat_usage,     NULL,
				     run_count,	     .subcommands = kvm_stat_subcommands,
				     .runs = "stat", .own_options = true};

static const struct option options[] = {
	OPTION_STRING('i', "input", struct kvm_files, input, "FILE",
		      "recording to read (default perf.data.guest, perf.data.host or perf.data.kvm)"),
	OPTION_STRING('o', "output", struct kvm_files, output, "FILE", "recording to write (default the same)"),
	OPTION_FLAG_INVERTED(0, "guest", struct kvm_files, no_guest, "what guests do (default)"),
	OPTION_FLAG(0, "host", struct kvm_files, host, "what the host does, too; with --no-guest: it alone"),
	OPTION_GROUP(guest_option_group, struct kvm_files, symbols),
	OPTION_GROUP(output_option_group, struct kvm_files, verbosity),
	OPTION_END,
};

/* Options before a subcommand's word: which recording it is about. */
static struct error *run(int argc, char **argv, int *ret_status)
{
	static const struct {
		const char *word;
		run_with_files *run;
	} table[] = {{"stat", count}, {"record", record}, {"report", report}, {"diff", diff}, {"top", top}, {"buildid-list", buildid_list}};
	struct kvm_files files = {0};
	int words;
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &files, &words);
	if (error)
		return error;
	for (size_t i = 0; words && i < sizeof(table) / sizeof(*table); i++)
		if (is_word(argv[0], table[i].word))
			return table[i].run(&files, words, argv, ret_status);
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
}

static const char *const usage[] = {"[--host [--no-guest]] [-i FILE] [-o FILE] {stat|record|report|diff|top|buildid-list} [OPTIONS]", NULL};
const struct command cmd_kvm = {
	"kvm", "Analyse virtual machines: why guests leave guest mode, what they run", usage, options, run, .subcommands = kvm_subcommands};
