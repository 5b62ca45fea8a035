"""Builds that take objects of another build of the same sources, for tests of what is made of them."""
import os
import shutil

COMPILER = """#!/bin/sh
for word; do
	[ "$before" = -o ] && object=$word
	before=$word
done
case " $* " in
*" -c "*)
	case " $COMPILED_ANEW " in
	*" ${object##*/} "*) ;;
	*)
		if [ -n "$object" ] && cp "$OTHER_BUILD/$object" "$object" 2>/dev/null; then
			echo "$object:" >"$object.d"
			exit
		fi
		;;
	esac ;;
*) set -- "$@" -fno-lto ;; # objects of the other build may bring what link-time optimisation starts from
esac
exec REAL "$@"
"""


def compiler(folder, build, compiled_anew=()):
    """Environment for a compiler, made in the folder, that compiles what the other build has not got, and those objects; tables of constants are copied, too."""
    path = folder / "compiler"
    programs = {path: "cc"}
    if clang := shutil.which("clang"):  # BPF programs
        (folder / "before").mkdir(exist_ok=True)
        programs[folder / "before/clang"] = clang
    for name, real in programs.items():
        name.write_text(COMPILER.replace("REAL", real))
        name.chmod(0o755)
    constants = build / "src/analysis/constant_sets.c"
    return {"CC": str(path), "PATH": f"{folder}/before:{os.environ['PATH']}", "OTHER_BUILD": str(build), "COMPILED_ANEW": " ".join(compiled_anew), **({"MADE_CONSTANTS": str(constants)} if constants.exists() else {})}
