/* Capstone writes the letter of the size always, the GNU tools only where no register operand tells it. Which instructions that is about is
 * a list: other ones end with these letters because they are called so (movsd, jl, sal, …). */
#include "symbol/code/gnu_syntax.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Sorted. */
static const char *const sized[] = {
	"adc",	 "add",	   "and",   "andn", "bextr",   "blsi",	"blsmsk", "blsr",  "bsf",  "bsr",  "bswap", "bt",   "btc",   "btr",
	"bts",	 "bzhi",   "call",  "cmp",  "cmpxchg", "dec",	"div",	  "idiv",  "imul", "in",   "inc",   "jmp",  "lcall", "lea",
	"leave", "ljmp",   "lzcnt", "mov",  "movabs",  "movbe", "mul",	  "mulx",  "neg",  "not",  "or",    "out",  "pdep",  "pext",
	"pop",	 "popcnt", "push",  "rcl",  "rcr",     "ret",	"rol",	  "ror",   "rorx", "sal",  "sar",   "sarx", "sbb",   "shl",
	"shld",	 "shlx",   "shr",   "shrd", "shrx",    "sub",	"test",	  "tzcnt", "xadd", "xchg", "xor",
};

static int compare(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

/* Their operands have the size of the stack and of addresses. */
static bool is_transfer(const char *base)
{
	static const char *const names[] = {"call", "jmp", "leave", "pop", "push", "ret"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(base, names[i]))
			return true;
	return false;
}

static bool is_vector(const char *operands)
{
	return strstr(operands, "mm") != NULL; /* %mm0, %xmm0, %ymm0, %zmm0 */
}

/* The last operand; commas between parentheses don't separate. */
static const char *last_operand(const char *operands)
{
	const char *last = operands;
	int depth = 0;
	for (const char *at = operands; *at; at++) {
		depth += (*at == '(') - (*at == ')');
		if (*at == ',' && !depth)
			last = at + 1 + strspn(at + 1, " ");
	}
	return last;
}

static bool is_register(const char *operand)
{
	return *operand == '%' && !operand[1 + strspn(operand + 1, "abcdefghijklmnopqrstuvwxyz0123456789")];
}

/* rol, ror, rcl, rcr, sal, sar, shl, shr, shld, shrd: a first operand %cl says how far. */
static bool is_shift(const char *base)
{
	return (base[0] == 'r' && (base[1] == 'o' || base[1] == 'c')) || (base[0] == 's' && (base[1] == 'h' || base[1] == 'a'));
}

/* Does a register operand tell the size? */
static bool size_is_told(const char *base, const char *operands)
{
	const char *last = last_operand(operands);
	bool count = str_starts_with(operands, "%cl,") && is_shift(base);
	bool first_is_register = *operands == '%' && last != operands && operands[strcspn(operands, ":,")] == ',';
	return is_register(last) || (first_is_register && !count);
}

/* Only what the letter stands behind. */
static bool loses_letter(const char *word, size_t length, const char *operands)
{
	char base[16];
	if (length < 3 || length >= sizeof(base) || !strchr("bwlq", word[length - 1]))
		return false;
	memcpy(base, word, length - 1);
	base[length - 1] = '\0';
	if (str_starts_with(base, "cmov"))
		return length > strlen("cmov") + 1;
	if (str_starts_with(base, "cvtsi2s") || str_starts_with(base, "vcvtsi2s"))
		return *operands == '%';
	if (!bsearch(base, sized, sizeof(sized) / sizeof(sized[0]), sizeof(sized[0]), compare))
		return false;
	return is_transfer(base) || (!is_vector(operands) && size_is_told(base, operands));
}

/* "%rsi", "%r8", but not "%r8d", at the beginning of an operand. */
static bool is_wide_register(const char *operand)
{
	return str_starts_with(operand, "%r") && !strchr("dwb", operand[strcspn(operand, ", ") - 1]);
}

void gnu_syntax_add_mnemonic(const char *mnemonic, const char *operands, struct strbuf *out)
{
	const char *blank = strrchr(mnemonic, ' '); /* behind prefixes: "lock incq" */
	const char *word = blank ? blank + 1 : mnemonic;
	size_t length = strlen(word);
	if (str_ends_with(word, "movd") && (is_wide_register(operands) || is_wide_register(last_operand(operands)))) {
		strbuf_add(out, mnemonic, strlen(mnemonic) - 1);
		strbuf_add_char(out, 'q');
		return;
	}
	strbuf_add(out, mnemonic, (size_t)(word - mnemonic) + length - loses_letter(word, length, operands));
}

void gnu_syntax_add_operands(const char *operands, struct strbuf *out)
{
	int depth = 0;
	for (const char *at = operands; *at; at++) {
		depth += (*at == '(') - (*at == ')');
		bool inside_word = at > operands && (isalnum((unsigned char)at[-1]) || at[-1] == '%');
		if (*at == ' ' && at > operands && at[-1] == ',')
			continue;
		/* Scale factors stay as they are. Numbers of one digit are the only decimal ones. */
		if (isdigit((unsigned char)*at) && !depth && !inside_word && !isalnum((unsigned char)at[1]))
			strbuf_add_str(out, "0x");
		strbuf_add_char(out, *at);
	}
}
