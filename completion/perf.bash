# bash completion for perf: commands, options, names of events and metrics, and files.

# Behind -e and -M: a list of names, of which the last one is completed. A ':' breaks words for the shell, not for us.
_perf_names()
{
	local typed=${1#[\'\"]} names=$2 i
	local before=${typed%"${typed##*[,\{]}"} colon=
	[[ $COMP_WORDBREAKS == *:* && $typed == *:* ]] && colon=${typed%"${typed##*:}"}
	COMPREPLY=($(compgen -W "$names" -- "${typed#"$before"}"))
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=$before${COMPREPLY[i]}
		COMPREPLY[i]=${COMPREPLY[i]#"$colon"}
	done
	compopt -o nospace 2>/dev/null
}

_perf()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} perf=${COMP_WORDS[0]} command= i
	local line=${COMP_LINE:0:COMP_POINT}
	local event='[[:space:]](-e|--event)[[:space:]=]+([^[:space:]]*)$' metric='[[:space:]](-M|--metrics)[[:space:]=]+([^[:space:]]*)$'
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
	if [[ $line =~ $event && $line != *' -- '* ]]; then
		_perf_names "${BASH_REMATCH[2]}" "cycles branches cs faults migrations $("$perf" list --raw-dump hw sw cache pmu tracepoint pfm 2>/dev/null)"
		return
	elif [[ $line =~ $metric && $command == stat ]]; then
		_perf_names "${BASH_REMATCH[2]}" "$("$perf" list --raw-dump metric metricgroup 2>/dev/null)"
		return
	elif [[ $command == list && $current != -* ]]; then
		COMPREPLY=($(compgen -W "hw sw cache pmu rawhw breakpoint tracepoint sdt pfm metric metricgroup" -- "$current"))
		return
	fi
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
