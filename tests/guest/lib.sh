# Read by every guest test before it starts.

# fail WORDS…: ends the test with the reason.
fail() {
	echo "FAILED: $*"
	exit 1
}

# skip WORDS…: ends the test, which can't run in this guest for the reason.
skip() {
	echo "$*"
	exit 77
}

# check WORDS… -- COMMAND…: the command must succeed; if not, the words say what is wrong.
check() {
	words=
	while [ "$1" != -- ]; do
		words="$words $1"
		shift
	done
	shift
	"$@" || fail "${words# }"
}

# contains FILE PATTERN…: each extended regular expression must match a line of the file.
contains() {
	file=$1
	shift
	for pattern in "$@"; do
		grep -qE -e "$pattern" "$file" || {
			head -n 40 "$file"
			fail "$file has no line with $pattern"
		}
	done
}

# … | contains_stdin PATTERN…: the same of what is piped in.
contains_stdin() {
	cat >piped
	contains piped "$@"
}

# share FILE PATTERN: the sum of the percentages at the beginning of the matching lines of a report, as a whole number.
share() {
	pattern=$2 awk '$0 ~ ENVIRON["pattern"] && $1 ~ /%$/ { sum += $1 } END { printf "%d\n", sum }' "$1"
}

# at_least NUMBER LEAST WHAT…: a whole number that must not be less.
at_least() {
	[ "$1" -ge "$2" ] || fail "$3: $1, expected at least $2"
}

# near NUMBER EXPECTED TOLERANCE WHAT: a whole number that must not be farther from the expected one than the tolerance.
near() {
	case $1 in
	'' | *[!0-9]*) fail "$4: '$1' is not a number" ;;
	esac
	[ "$1" -ge $(($2 - $3)) ] && [ "$1" -le $(($2 + $3)) ] || fail "$4: $1, expected $2 ± $3"
}
