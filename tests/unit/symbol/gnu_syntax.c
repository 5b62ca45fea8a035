/* AT&T syntax. What is expected is what binutils' objdump says of the same instructions. */
#include "symbol/code/gnu_syntax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void letters_go_where_registers_tell_the_size(void **state)
{
	static const struct {
		const char *mnemonic, *operands, *expected;
	} cases[] = {
		{"movq", "%rax, %rbx", "mov %rax,%rbx"},
		{"movl", "$1, 8(%rsp)", "movl $0x1,0x8(%rsp)"},
		{"movl", "%eax, 8(%rsp)", "mov %eax,0x8(%rsp)"},
		{"movq", "%fs:0x28, %rax", "mov %fs:0x28,%rax"},
		{"movq", "$0, %fs:0x28", "movq $0x0,%fs:0x28"},
		{"cmpb", "$0, (%rax,%rdx,4)", "cmpb $0x0,(%rax,%rdx,4)"},
		{"movq", "%xmm0, %rax", "movq %xmm0,%rax"},
		{"movsd", "(%rdi,%rbx,8), %xmm0", "movsd (%rdi,%rbx,8),%xmm0"},
		{"cvtsi2sdl", "%ebx, %xmm2", "cvtsi2sd %ebx,%xmm2"},
		{"cvtsi2sdl", "(%rbx), %xmm2", "cvtsi2sdl (%rbx),%xmm2"},
		{"shll", "%cl, (%rax)", "shll %cl,(%rax)"},
		{"shll", "%cl, %eax", "shl %cl,%eax"},
		{"cmovneq", "%rax, %rbx", "cmovne %rax,%rbx"},
		{"cmovll", "%eax, %ebx", "cmovl %eax,%ebx"},
		{"movb", "%cl, 8(%rsp)", "mov %cl,0x8(%rsp)"},
		{"cmpb", "%cl, (%r11)", "cmp %cl,(%r11)"},
		{"movd", "%rsi, %xmm0", "movq %rsi,%xmm0"},
		{"vmovd", "(%rdi), %xmm0", "vmovd (%rdi),%xmm0"},
		{"movd", "%r8d, %xmm0", "movd %r8d,%xmm0"},
		{"movslq", "%eax, %rdx", "movslq %eax,%rdx"},
		{"movzbl", "%al, %eax", "movzbl %al,%eax"},
		{"callq", "*8(%rax)", "call *0x8(%rax)"},
		{"callq", "0x401005", "call 0x401005"},
		{"jl", "0x401005", "jl 0x401005"},
		{"retq", "", "ret "},
		{"pushq", "%rbx", "push %rbx"},
		{"popq", "%rbp", "pop %rbp"},
		{"nopl", "(%rax)", "nopl (%rax)"},
		{"lock incq", "(%rax)", "lock incq (%rax)"},
		{"lock xaddl", "%eax, (%rdx)", "lock xadd %eax,(%rdx)"},
		{"addq", "$-8, %rsp", "add $-0x8,%rsp"},
		{"leaq", "-1(%rax), %rdi", "lea -0x1(%rax),%rdi"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf text = {0};
		gnu_syntax_add_mnemonic(cases[i].mnemonic, cases[i].operands, &text);
		strbuf_add_char(&text, ' ');
		gnu_syntax_add_operands(cases[i].operands, &text);
		assert_string_equal(strbuf_str(&text), cases[i].expected);
		strbuf_deinit(&text);
	}
}

int symbol_gnu_syntax_tests(void);
int symbol_gnu_syntax_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(letters_go_where_registers_tell_the_size)};
	return cmocka_run_group_tests_name("symbol/gnu_syntax", tests, NULL, NULL);
}
