#!/bin/bash
# Words that do not belong into the sources. Comments and strings are removed first where
# functions are looked for.  banned.sh 'function names' FILE...
set -euo pipefail

functions=$1
shift
status=0
# Keeps the lines, so that the numbers are right.
found=$(FUNCTIONS=${functions// /|} perl -0777 -ne '
	s{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27}{ my $text = $&; $text =~ s/[^\n]//g; $text }gsex;
	while (/^.*\b(?:$ENV{FUNCTIONS})[ \t]*\(.*$/mg) {
		printf "%s: banned function: line %d:%s\n", $ARGV, 1 + (substr($_, 0, $-[0]) =~ tr/\n//), $&;
	}' "$@")
[ -z "$found" ] || { echo "$found"; status=1; }
if grep -nHE '\b(TODO|FIXME|XXX|HACK)\b' "$@" | sed 's/^\([^:]*\):/\1: unfinished work: line /' | grep .; then
	status=1
fi
# A condition of a `for` that no turn changes is a guard: an `if` before the loop; a flag that a turn sets is
# a search: a return or a break. Tests may have them, and the folders of the packing and of the shares.
guards=$(printf '%s\n' "$@" | grep -v '^src/test/' | xargs -r perl -0777 -ne '
	while (/\bfor\ \(((?:[^;()]|(\((?:[^()]|(?2))*\)))*);((?:[^;()]|(\((?:[^()]|(?4))*\)))*);((?:[^;()]|(\((?:[^()]|(?6))*\)))*)\)/g) {
		my ($condition, $step, $at) = ($3, $5, $-[0]);
		my %moves = map { $_ => 1 } $step =~ /([A-Za-z_]\w*)/g;
		next unless $condition =~ /&&/;
		for my $part (split /&&/, $condition) {
			$part =~ s/^\s+|\s+$//g;
			next unless $part =~ /^!?[A-Za-z_][\w.\[\]]*(->[\w.\[\]]+)*$/;
			next if grep { $moves{$_} } $part =~ /([A-Za-z_]\w*)/g;
			printf "%s: guard in a loop condition: line %d: %s\n", $ARGV, 1 + (substr($_, 0, $at) =~ tr/\n//), $part;
		}
	}')
[ -z "$guards" ] || { echo "$guards"; status=1; }
# What a decision calls is left by longjmp at its limits: it counts its loops, and owns nothing but arenas.
# These take no part in decisions: what is kept between them.
outside='^src/feature/(record|cost|lint|pools)/|^src/(feature/device_claims/core/resolve.c|core/nodes/node_labels.h)'
decisions=$(printf '%s\n' "$@" | grep -E '^src/(core|feature/[a-z_]+/core)/' | grep -vE "$outside" || true)
if [ -n "$decisions" ] && grep -nHE '\b(memory_(alloc|array|resize|strn?dup)|MAP_INIT|buf_init|BUF_INIT)\b' $decisions |
	sed 's/^\([^:]*\):/\1: heap memory in a decision: line /' | grep .; then
	status=1
fi
# Words for a loop that base/counted.h does not see: without a parenthesis behind them (`for NOTHING (...)`), without the
# macro, or a jump back.
loops=$([ -z "$decisions" ] || perl -0777 -ne '
	s{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27}{ my $text = $&; $text =~ s/[^\n]//g; $text }gsex;
	while (/\b(?:for|while|qsort(?:_r)?)\b(?!\s*\()|\bgoto\b|(?:push|pop)_macro/g) {
		printf "%s: uncounted loop: line %d: %s\n", $ARGV, 1 + (substr($_, 0, $-[0]) =~ tr/\n//), $&;
	}' $decisions)
[ -z "$loops" ] || { echo "$loops"; status=1; }
if printf '%s\n' "$@" | grep -vE '^src/(base/bounded.h|base/counted.h|core/schedule/schedule_(state.h|requests.c|cell.c)$|test/base/base_bounded_test.c)' | xargs -r grep -nHE \
	'\bUNCOUNTED_FOR\b|# *undef +(for|while|qsort)' | sed 's/^\([^:]*\):/\1: uncounted loop: line /' | grep .; then
	status=1
fi
# Settings with an accessor (core/model/in_force.h) have no other reader, but for their check and what sets them.
settings='\bsettings(\.|->)(start_timeout_seconds|node_provision_timeout_seconds|raylet_gone_seconds|unregistered_seconds'
settings+='|backoff_(initial|max)_seconds|enforce_max)\b'
if printf '%s\n' "$@" | grep -vE '^src/(test/|core/model/in_force.c|ctl/shared/options.c|sim/baseline.c)' | xargs -r grep -nHE "$settings" |
	sed 's/^\([^:]*\):/\1: setting without its accessor: line /' | grep .; then
	status=1
fi
# A unit test waits for facts, and the clocks of most pass only while it waits (src/test/support/virtual_clock.h): it waits
# for no time of the machine and has no upper bound on one, nor on CPU time. MACHINE_CLOCK_TESTS: without these clocks.
tests=$(printf '%s\n' "$@" | grep -E '^src/test/.*_test\.c$' || true)
waits='\b(clock_nanosleep|pselect|ppoll|alarm|setitimer|timer_create|getrusage|times|clock|gettimeofday'
waits+='|sem_timedwait|pthread_cond_timedwait|pthread_timedjoin_np) *\(|\bpoll\(NULL, 0, [0-9]{3,}\)|CPUTIME_ID'
if [ -n "$tests" ] && grep -nHE "$waits" $tests | sed 's/^\([^:]*\):/\1: time of the machine in a test: line /' | grep .; then
	status=1
fi
for name in ${MACHINE_CLOCK_TESTS:-}; do
	if printf '%s\n' "$@" | grep "/$name\.c$" | xargs -r grep -nHE 'assert_in_range\(.*now_ms\(|assert_true\(.*now_ms\(\)[^;]* <' |
		sed 's/^\([^:]*\):/\1: upper bound on time of the machine: line /' | grep .; then
		status=1
	fi
done
exit $status
