#!/bin/bash
# Words that do not belong into the sources. Comments and strings are removed first where
# functions are looked for.  banned.sh 'function names' FILE...
set -euo pipefail

functions=$1
shift
status=0
for file; do
	# Keeps the lines, so that the numbers are right.
	perl -0777 -pe 's{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27}
		{ my $text = $&; $text =~ s/[^\n]//g; $text }gsex' "$file" |
		grep -nE "\\b(${functions// /|})[[:space:]]*\\(" |
		sed "s|^|$file: banned function: line |" && status=1
	grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "$file" | sed "s|^|$file: unfinished work: line |" &&
		status=1
done
exit $status
