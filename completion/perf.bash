# bash completion for perf: commands, options, what options take (events, metrics, keys, fields, system calls, processes, kinds of call graphs), and files.

# Names that an option of a command takes, or nothing: _perf_values PERF COMMAND OPTION
_perf_values()
{
	case $2,$3 in
	report,-s | report,--sort | report,-F | report,--fields) "$1" help --names keys ;;
	script,-F | script,--fields) "$1" help --names fields | tr , ' ' ;;
	trace,-e | trace,--event | trace,--expr) "$1" help --names syscalls ;&
	*,-e | *,--event) echo cycles branches cs faults migrations; "$1" list --raw-dump hw sw cache pmu tracepoint pfm ;;
	stat,-M | stat,--metrics) "$1" list --raw-dump metric metricgroup ;;
	record,--call-graph | trace,--call-graph) echo fp dwarf auto lbr ;;
	report,-g | report,--call-graph) echo graph fractal flat folded none caller callee function address percent period count ;;
	flamegraph,--palette) echo kind module java js perl hot mem io red blue green aqua yellow orange purple ;;
	record,-[pt] | stat,-[pt] | trace,-[pt] | ftrace,-[pt] | *,--pid | *,--tid) cd /proc && echo [0-9]* ;;
	esac 2>/dev/null | tr '\n' ' '
}

# Behind such an option: a list of names, of which the last one is completed. A ':' breaks words for the shell, not for us.
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

# Of the words behind a command those that are its subcommand and that one's subcommand, one on a line: _perf_subcommands PERF COMMAND [WORD …]
_perf_subcommands()
{
	local -a names=("$2")
	local perf=$1 word
	for word in "${@:3}"; do
		[[ " $("$perf" "${names[@]}" --list-cmds 2>/dev/null) " == *" $word "* ]] || break
		names+=("$word")
		echo "$word"
	done
}

_perf()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} perf=${COMP_WORDS[0]} command= i
	local line=${COMP_LINE:0:COMP_POINT}
	local option='[[:space:]](--?[a-zA-Z-]+)[[:space:]=]+([^[:space:]]*)$' values=
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
	if [[ $line =~ $option && $line != *' -- '* ]]; then
		local typed=${BASH_REMATCH[2]}
		values=$(_perf_values "$perf" "$command" "${BASH_REMATCH[1]}")
		if [[ $values ]]; then
			_perf_names "$typed" "$values"
			return
		fi
	fi
	local subcommands= named=
	[[ $command ]] && named=$(_perf_subcommands "$perf" "$command" "${COMP_WORDS[@]:i + 1:COMP_CWORD - i - 1}")
	local -a names=($command $named)
	[[ $command && i+${#names[@]} -eq COMP_CWORD && $current != -* ]] && subcommands=$("$perf" "${names[@]}" --list-cmds 2>/dev/null)
	if [[ $subcommands ]]; then
		COMPREPLY=($(compgen -W "$subcommands" -- "$current"))
		return
	fi
	if [[ $command == list && $current != -* ]]; then
		COMPREPLY=($(compgen -W "hw sw cache pmu rawhw breakpoint tracepoint sdt pfm metric metricgroup" -- "$current"))
		return
	fi
	if [[ "${names[*]}" == "fleet ls" && $previous == ls && $current != -* ]]; then
		COMPREPLY=($(compgen -W "hosts services labels builds" -- "$current"))
		return
	fi
	if [[ "${names[*]}" == "agent schema" && $current != -* && $previous != -* ]]; then
		COMPREPLY=($(compgen -W "clickhouse" -- "$current"))
		return
	fi
	if [[ ($command == export || $command == import) && $previous == "$command" && $current != -* ]]; then
		COMPREPLY=($(compgen -W "$("$perf" "$command" 2>/dev/null | sed 's/^ *\([^ ]*\).*/\1/')" -- "$current"))
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
		COMPREPLY=($(compgen -W "$("$perf" "${names[@]}" --list-opts 2>/dev/null)" -- "$current"))
	else
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$current"))
		[[ $command == record && $previous == -- || $command == flamegraph && $previous == -- ]] && COMPREPLY+=($(compgen -c -- "$current"))
	fi
}
complete -F _perf perf perf-ng
