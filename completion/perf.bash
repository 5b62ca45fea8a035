# bash completion for perf: commands, options, and files.
_perf()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} perf=${COMP_WORDS[0]} command= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --buildid-dir) ((i++)) ;;
		-*) ;;
		*)
			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	# Behind a finished workload's first word or "--", the workload's own completion would be needed: files are the best guess.
	if [[ -z $command || ($command == help && i -lt COMP_CWORD) ]]; then
		if [[ $current == -* && -z $command ]]; then
			COMPREPLY=($(compgen -W "$("$perf" --list-opts 2>/dev/null)" -- "$current"))
		else
			COMPREPLY=($(compgen -W "$("$perf" --list-cmds 2>/dev/null)" -- "$current"))
		fi
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "$("$perf" "$command" --list-opts 2>/dev/null)" -- "$current"))
	else
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$current"))
		[[ $command == record && $previous == -- || $command == flamegraph && $previous == -- ]] && COMPREPLY+=($(compgen -c -- "$current"))
	fi
}
complete -F _perf perf
