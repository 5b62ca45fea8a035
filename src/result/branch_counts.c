/* Branch counters as text: the form that the kernel's perf has since Linux 6.11, so that eyes and scripts find it again. */
#include "result/branch_counts.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Letters of a count; with the sign behind them they are a field of one width. */
enum { MOST_LETTERS = 3 };

static uint64_t average(const struct branch_count *count, uint64_t runs)
{
	return runs ? count->sum / runs + (count->sum % runs != 0) : 0;
}

static void add_letters(const struct branch_counter *counter, const struct branch_count *count, uint64_t runs, struct strbuf *out)
{
	uint64_t times = average(count, runs);
	size_t letters = times < MOST_LETTERS ? times : MOST_LETTERS;
	char sign = !times ? '-' : count->saturated || times > MOST_LETTERS ? '+' : ' ';
	strbuf_add_char(out, '|');
	strbuf_add_chars(out, counter->letter, letters);
	strbuf_add_char(out, sign);
	strbuf_add_chars(out, ' ', MOST_LETTERS - letters);
}

static void add_number(const struct branch_counter *counter, const struct branch_count *count, uint64_t runs, struct strbuf *out)
{
	strbuf_add_char(out, counter->letter);
	if (count->sum)
		strbuf_printf(out, "=%" PRIu64, average(count, runs));
	else
		strbuf_add_str(out, "=-");
	strbuf_add_char(out, count->saturated ? '+' : ' ');
}

void branch_counts_add_text(const struct branch_counter *counters, const struct branch_count *counts, size_t count, uint64_t runs,
			    bool numbers, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		if (numbers && i)
			strbuf_add_char(out, ',');
		(numbers ? add_number : add_letters)(&counters[i], &counts[i], runs, out);
	}
	if (!numbers && count)
		strbuf_add_char(out, '|');
}

void branch_counters_add_legend(const struct branch_counter *counters, size_t count, const char *prefix, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		strbuf_add_str(out, prefix);
		text_add_safe(out, counters[i].name, strlen(counters[i].name));
		strbuf_printf(out, " = %c\n", counters[i].letter);
	}
	strbuf_printf(out, "%s'-' No event occurs\n%s'+' Event occurrences may be lost due to branch counter saturated\n", prefix, prefix);
}
