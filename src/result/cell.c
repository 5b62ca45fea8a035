/* Cells as text for people (cell.h). */
#include "result/cell.h"

#include "base/text.h"

#include <string.h>

/* "2.3K", "17". */
static void add_rounded(uint64_t value, struct strbuf *out)
{
	static const struct {
		uint64_t size;
		char letter;
	} units[] = {{1000000000, 'G'}, {1000000, 'M'}, {1000, 'K'}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (value >= units[i].size) {
			strbuf_printf(out, "%.1f%c", (double)value / (double)units[i].size, units[i].letter);
			return;
		}
	strbuf_add_u64(out, value, 0);
}

void cell_add(const struct column *column, union cell cell, unsigned int width, struct strbuf *out)
{
	switch (column->kind) {
	case COLUMN_TEXT:
		if (cell.text)
			text_add_safe(out, cell.text, strlen(cell.text));
		break;
	case COLUMN_PERCENT:
	case COLUMN_REAL:
		strbuf_printf(out, " %*.*f%s", width < 2 ? 0 : (int)width - 2, (int)column->decimals, cell.real,
			      column->kind == COLUMN_PERCENT ? "%" : "");
		break;
	case COLUMN_ROUNDED:
		add_rounded(cell.integer, out);
		break;
	case COLUMN_ADDRESS:
		strbuf_printf(out, "%#lx", cell.integer);
		break;
	default:
		strbuf_add_u64(out, cell.integer, 0);
	}
}
