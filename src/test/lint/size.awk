# Files of at most `limit` lines, but for those listed in `tables` (comma-separated).
FNR > limit && !index("," tables ",", "," FILENAME ",") && !seen[FILENAME]++ {
	printf "%s: more than %d lines\n", FILENAME, limit
	bad = 1
}
END { exit bad }
