# For bin/*-report: report SCRIPT WORDS… OPTIONS… runs perf script with the options first, as it wants them.
report()
{
	script=$PERF_EXEC_PATH/scripts/$1
	shift
	words=0
	for word; do
		case $word in
		-*) break ;;
		esac
		words=$((words + 1))
	done
	while [ $words -gt 0 ]; do
		word=$1
		shift
		set -- "$@" "$word"
		words=$((words - 1))
	done
	exec perf script -s "$script" "$@"
}
