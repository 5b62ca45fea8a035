/* The plugin for scripts in Perl: see language/perl_plugin.h. Facts are from perlembed, perlcall and perlapi. */
/* Perl's headers need this order. */
/* clang-format off */
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
/* clang-format on */

#include "language/perl_plugin.h"

#include <string.h>

/* Perl itself is one to a process, and finds its state by thread-local and global variables; ours stand beside them. */
static PerlInterpreter *interpreter;
static const struct perl_host *host;

void boot_DynaLoader(pTHX_ CV *cv);

/* The host knows the sample that is handled now. */
static IV common(enum perl_common what)
{
	return (IV)host->common(host->context, what);
}

XS_INTERNAL(context_common_pc)
{
	dXSARGS;
	PERL_UNUSED_VAR(items);
	XSRETURN_IV(common(PERL_COMMON_PC));
}

XS_INTERNAL(context_common_flags)
{
	dXSARGS;
	PERL_UNUSED_VAR(items);
	XSRETURN_IV(common(PERL_COMMON_FLAGS));
}

XS_INTERNAL(context_common_lock_depth)
{
	dXSARGS;
	PERL_UNUSED_VAR(items);
	XSRETURN_IV(common(PERL_COMMON_LOCK_DEPTH));
}

/* XSLoader calls it for "use Perf::Trace::Context": the functions are there already. */
XS_INTERNAL(context_bootstrap)
{
	dXSARGS;
	PERL_UNUSED_VAR(items);
	XSRETURN_YES;
}

/* What Perl can't load from a file: the loader of extension modules, and our own module. */
static void init(pTHX)
{
	newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, __FILE__);
	newXS("Perf::Trace::Context::bootstrap", context_bootstrap, __FILE__);
	newXS("Perf::Trace::Context::common_pc", context_common_pc, __FILE__);
	newXS("Perf::Trace::Context::common_flags", context_common_flags, __FILE__);
	newXS("Perf::Trace::Context::common_lock_depth", context_common_lock_depth, __FILE__);
}

/* Runs the script's top level as `perl SCRIPT ARGUMENTS` would, with the END blocks at the end of stop(). `to` must live until then. */
static enum perl_outcome start(const char *script, char *const *arguments, const struct perl_host *to, int *ret_status)
{
	size_t count = 0;
	while (arguments[count])
		count++;
	char **words = calloc(count + 3, sizeof(*words));
	if (!words)
		abort();
	words[0] = (char *)"";
	words[1] = (char *)script;
	memcpy(words + 2, arguments, count * sizeof(*words));
	host = to;
	interpreter = perl_alloc();
	perl_construct(interpreter);
	PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
	int status = perl_parse(interpreter, init, (int)count + 2, words, NULL);
	if (!status)
		status = perl_run(interpreter);
	*ret_status = status;
	/* An exit with 0 at the top level ends the script as well; it can't be told from reaching the end, and means the same to nobody. */
	return status ? PERL_ENDED : PERL_DONE;
}

/* The interpreter ends; its values must not be used any more. The status is set first: commands that functions ran left theirs in $?. */
static int stop(int status)
{
	if (!interpreter)
		return status;
	STATUS_EXIT_SET(status);
	status = perl_destruct(interpreter);
	perl_free(interpreter);
	interpreter = NULL;
	return status;
}

/* The host knows values by another name, since Perl's headers stay in this file. */
static struct perl_value *value_of(SV *sv)
{
	return (struct perl_value *)sv;
}

static SV *sv_of(struct perl_value *value)
{
	return (SV *)value;
}

/* New values belong to the caller, who hands them to a call, an array or a hash. */
static struct perl_value *new_signed(int64_t value)
{
	return value_of(newSViv((IV)value));
}

static struct perl_value *new_unsigned(uint64_t value)
{
	return value_of(newSVuv((UV)value));
}

static struct perl_value *new_text(const char *text, size_t length)
{
	return value_of(newSVpvn(text, length));
}

/* A reference to a new array; below, to a new hash. */
static struct perl_value *new_array(void)
{
	return value_of(newRV_noinc((SV *)newAV()));
}

static struct perl_value *new_hash(void)
{
	return value_of(newRV_noinc((SV *)newHV()));
}

/* Takes over the value. */
static void array_add(struct perl_value *array, struct perl_value *value)
{
	av_push((AV *)SvRV(sv_of(array)), sv_of(value));
}

/* Takes over the value; the key is copied. */
static void hash_set(struct perl_value *hash, const char *key, struct perl_value *value)
{
	if (!hv_store((HV *)SvRV(sv_of(hash)), key, (I32)strlen(key), sv_of(value), 0))
		SvREFCNT_dec(sv_of(value));
}

/* Whether Perl's name of the file begins with the folder, and doesn't leave it again. */
static bool is_below(const char *file, const char *folder)
{
	size_t length = strlen(folder);
	return file && strncmp(file, folder, length) == 0 && !strstr(file + length, "..");
}

/* Whether a sub of that name has a body; with `folder`, in one of the script's own files. */
static bool has(const char *name, const char *folder)
{
	CV *code = get_cv(name, 0);
	if (!code || (!CvROOT(code) && !CvXSUB(code)))
		return false;
	return !folder || (!CvISXSUB(code) && is_below(CvFILE(code), folder));
}

/* In Perl's own words (perlcall): the values become temporary ones, which Perl frees behind the call. */
static void push_and_call(const char *name, struct perl_value **values, size_t count)
{
	dSP;
	ENTER;
	SAVETMPS;
	PUSHMARK(SP);
	EXTEND(SP, (SSize_t)count);
	for (size_t i = 0; i < count; i++)
		PUSHs(sv_2mortal(sv_of(values[i])));
	PUTBACK;
	call_pv(name, G_SCALAR | G_DISCARD);
	FREETMPS;
	LEAVE;
}

/* exit and die leave by a long jump to the innermost frame of this kind, as perl_run() has one. */
static enum perl_outcome call(const char *name, struct perl_value **values, size_t count, int *ret_status)
{
	int jumped;
	dJMPENV;
	JMPENV_PUSH(jumped);
	if (jumped == 0)
		push_and_call(name, values, count);
	JMPENV_POP;
	if (jumped == 0)
		return PERL_DONE;
	*ret_status = STATUS_EXIT;
	return PERL_ENDED;
}

/* The one symbol that is looked up in the plugin. */
const struct perl_plugin *perf_perl_plugin(void)
{
	static const struct perl_plugin plugin = {
		.version = PERL_PLUGIN_VERSION,
		.start = start,
		.stop = stop,
		.new_signed = new_signed,
		.new_unsigned = new_unsigned,
		.new_text = new_text,
		.new_array = new_array,
		.new_hash = new_hash,
		.array_add = array_add,
		.hash_set = hash_set,
		.has = has,
		.call = call,
	};
	return &plugin;
}
