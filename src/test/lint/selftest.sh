#!/bin/bash
# Sees every check of `make lint` fail: plants one fault after the other in a copy of the tree that
# holds only src/base, and expects the check to name it:  selftest.sh [FILE of the count]
set -euo pipefail
result=$(realpath -m "${1:-/dev/null}")
cd "$(dirname "$0")/../../.."
top=$PWD

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/test" "$tree/e2e" "$tree/.ci"
cp -r Makefile mk .clang-format .clang-tidy "$tree"
cp -r src/base "$tree/src/base"
cp -r src/test/lint "$tree/src/test/lint"
cp .ci/run "$tree/.ci/run"
cd "$tree"
for layer in core/{model,capacity,nodes,schedule,decide,report,lint} codec/{text,objects} net kube gcs \
	ctl/{shared,queue,pass,report,watch} cli image; do
	mkdir -p "src/$layer"
done
mkdir src/test/base

passed=0
failed=0

run() { make --no-print-directory BUILD="$tree/build" "$1" >"$tree/log" 2>&1; }

note() {
	if [ "$1" = ok ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		sed 's/^/        /' "$tree/log"
	fi
	printf '%-4s %s\n' "$1" "${2#"$tree"/build/}"
}

# clean TARGET: passes without a fault.
clean() {
	if run "$1"; then
		note ok "$1 passes on a clean tree"
	else
		note FAIL "$1 fails on a clean tree"
	fi
}

# sees TARGET FILE PATTERN TEXT...: with FILE of that text, the target fails and its output has PATTERN.
sees() {
	local target=$1 file=$2 pattern=$3
	shift 3
	printf '%s\n' "$@" >"$file"
	if run "$target"; then
		note FAIL "$target passes with: $1"
	elif ! grep -q -- "$pattern" "$tree/log"; then
		note FAIL "$target does not say \"$pattern\" with: $1"
	else
		note ok "$target: $pattern"
	fi
	rm -f "$file"
}

# passes TARGET FILE TEXT...
passes() {
	local target=$1 file=$2
	shift 2
	printf '%s\n' "$@" >"$file"
	if run "$target"; then
		note ok "$target passes: ${1:0:60}"
	else
		note FAIL "$target fails with: ${1:0:60}"
	fi
	rm -f "$file"
}

repeat() { for ((i = 0; i < $1; i++)); do printf '%s\n' "$2"; done; }

c=src/base/planted.c
tidy=$tree/build/lint/tidy/base/planted.ok
analyzer=$tree/build/lint/analyzer/base/planted.ok

for check in layers symbols banned format scripts cppcheck analyzer; do
	clean "lint-$check"
done

sees lint-layers src/core/planted.c 'must not include "net/loop.h"' '#include "net/loop.h"'
sees lint-layers src/kube/planted.c 'must not include "gcs/gcs.h"' '#include "gcs/gcs.h"'
sees lint-layers src/gcs/planted.h 'must not include "kube/kube.h"' '#include "kube/kube.h"'
sees lint-layers src/kube/planted.c 'must not include <curl/curl.h>' '#include <curl/curl.h>'
sees lint-layers src/ctl/planted.c 'must not include <uv.h>' '#  include <uv.h>'
sees lint-layers src/net/planted.c 'must not include <cjson/cJSON.h>' '#include <cjson/cJSON.h>'
sees lint-layers src/ctl/planted.c 'must not include <ray.pb-c.h>' '#include "ray.pb-c.h"'
sees lint-layers src/cli/planted.c 'must not include <cmocka.h>' '#include <cmocka.h>'
sees lint-layers $c 'without I/O and clock and must not include <time.h>' '#include <time.h>'
sees lint-layers src/codec/text/planted.c 'is in no layer' '#include "json.h"'
sees lint-layers src/core/nodes/planted.c 'must not include "core/decide/worker.h"' \
	'#include "core/decide/worker.h"'
sees lint-layers src/core/schedule/planted.h 'must not include "core/capacity/capacity.h"' \
	'#include "core/capacity/capacity.h"'
sees lint-layers src/codec/text/planted.c 'must not include "codec/objects/pod_json.h"' \
	'#include "codec/objects/pod_json.h"'
sees lint-layers src/ctl/pass/planted.c 'must not include "ctl/report/metrics.h"' \
	'#include "ctl/report/metrics.h"'
sees lint-layers src/test/base/base_planted_test.c 'must not include "core/model/plan.h"' \
	'#include "core/model/plan.h"'
passes lint-layers src/cli/planted.c '#include "ctl/shared/options.h"'

sees lint-symbols $c 'calls rand,' 'int rand(void);' 'int planted(void);' \
	'int planted(void)' '{' '	return rand();' '}'
sees lint-symbols $c 'calls clock_gettime,' 'int clock_gettime(int, void *);' 'int planted(void);' \
	'int planted(void)' '{' '	return clock_gettime(0, 0);' '}'
sees lint-symbols $c 'calls puts,' 'int puts(const char *);' 'int planted(void);' \
	'int planted(void)' '{' '	return puts("x");' '}'

printf '%s\n' 'int planted(void);' 'int other(void);' 'int other(void)' '{' '	return planted();' '}' >src/base/other.c
sees lint-symbols $c 'a circle of src/base/other.c, src/base/planted.c' 'int other(void);' 'int planted(void);' \
	'int planted(void)' '{' '	return other();' '}'
rm src/base/other.c
printf '%s\n' 'static inline int other(void)' '{' '	return 1;' '}' 'int another(void);' >src/base/other.h
printf '%s\n' '#include "base/other.h"' 'int planted(void);' 'int another(void)' '{' '	return planted();' '}' >src/base/other.c
sees lint-symbols $c 'a circle of src/base/other.h, src/base/planted.c' '#include "base/other.h"' 'int planted(void);' \
	'int planted(void)' '{' '	return other();' '}'
rm src/base/other.[ch]
printf '%s\n' '#pragma once' 'struct planted {' '	int a;' '};' 'int planted(void);' >src/base/planted.h
printf '%s\n' '#include "base/planted.h"' 'struct other {' '	struct planted a;' '};' >src/base/other.h
sees lint-symbols $c 'a circle of src/base/other.h, src/base/planted.h' '#include "base/planted.h"' '#include "base/other.h"' \
	'int planted(void)' '{' '	struct other b = { { 1 } };' '	return b.a.a;' '}'
rm src/base/other.h src/base/planted.h
sees lint-symbols src/cli/main.c 'exports planted, which no other file' 'int planted(void);' 'int planted(void)' '{' \
	'	return 0;' '}'
sees lint-symbols src/image/main.c 'has yaml_planted' 'int yaml_planted(int);' 'int yaml_planted(int a)' '{' '	return a;' '}' \
	'int main(int argc, char **argv)' '{' '	(void)argv;' '	return yaml_planted(argc);' '}'
sees lint-banned $c 'banned function: line 2' '/* strcpy(a, b) */' 'strcpy (a, b);'
sees lint-banned $c 'banned function: line 1' 'sleep(1);'
sees lint-banned $c 'setting without its accessor: line 1' 'x = snapshot->settings.start_timeout_seconds;'
sees lint-banned $c 'unfinished work: line 1' "/* TO""DO: later */"
sees lint-banned $c 'loop condition: line 1: ok' 'for (i = 0; ok && i < n; i++)'
sees lint-banned $c 'loop condition: line 1: !found' 'for (i = 0; i < n && !found; i++)'
sees lint-banned src/core/decide/planted.c 'heap memory in a decision: line 1' 'x = memory_alloc(1);'
sees lint-banned src/core/decide/planted.c 'uncounted loop: line 1' 'UNCOUNTED_FOR(i = 0; i < n; i++)'
sees lint-banned src/core/decide/planted.c 'uncounted loop: line 1' '#undef for'
sees lint-banned src/core/decide/planted.c 'uncounted loop: line 1' '#undef	for'
sees lint-banned src/core/decide/planted.c 'uncounted loop: line 1' 'for NOTHING (i = 0; i < n; i++)'
sees lint-banned src/core/decide/planted.c 'uncounted loop: line 2' 'again:' 'if (++i < n) goto again;'
sees lint-banned src/core/decide/planted.c 'uncounted loop: line 1' '#pragma push_macro("while")'
sees lint-banned src/test/base/base_planted_test.c 'time of the machine in a test: line 1' 'getrusage(0, &used);'
sees lint-banned src/test/base/base_planted_test.c 'time of the machine in a test: line 1' 'poll(NULL, 0, 500);'
sees lint-banned src/test/base/base_planted_test.c 'time of the machine in a test: line 1' 'clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);'
passes lint-banned src/test/base/base_planted_test.c 'while (!done) poll(NULL, 0, 1);'
sees lint-banned src/test/cli_supervise_test.c 'upper bound on time of the machine: line 1' 'assert_true(now_ms() - begun_ms < 100);'
sees lint-banned src/test/cli_supervise_test.c 'upper bound on time of the machine: line 1' 'assert_in_range(now_ms() - begun_ms, 0, 100);'
passes lint-banned $c 'for (e = first; e.json && i < n; next(&e))'
passes lint-banned $c '/* no sleep(1) here */ "strcpy(a, b)"; snprintf(a); loop_sleep(x);'

sees lint-format $c 'make format' 'int  planted;'
sees lint-scripts e2e/planted.sh 'syntax error' 'if true'
sees lint-scripts e2e/planted.py 'SyntaxError' 'def planted(:'
mkdir e2e/tests
t=e2e/tests/test_planted.py
once() { sees lint-scripts $t 'read once' 'def test_planted(one, log, control):' "${@/#/    }"; }
once 'assert one.witness.node("a")["status"] == "IDLE"'
once 'assert log.find("scaled")'
once 'assert any(log.find("scaled") for log in one)'
once 'assert len(log.find("scaled")) == 1'
once '(line,) = log.find("scaled")'
once 'line = log.find("scaled")[-1]'
once 'assert "scaled" in one.log.read_text()'
once 'status, text = control.get("/metrics")' 'assert status == 200 and "leader 1" in text'
sees lint-scripts $t 'read once' 'def log_of(one):' '    return one.log.read_text()' 'def test_planted(one):' '    assert "a" in log_of(one)'
sees lint-scripts $t 'bounds a time' 'def test_planted():' '    begun = time.time()' '    took = time.time() - begun' '    assert took < 5'
sees lint-scripts $t 'bounds a time' 'def test_planted(one):' '    assert 1 < one.b.at - one.a.at < MOST'
sees lint-scripts $t 'less than 10 s' 'def test_planted(process):' '    assert process.wait(2) == 0'
passes lint-scripts $t 'def test_planted(one, log):' '    assert wait_until(lambda: log.find("scaled"), 10, "a line")' \
	'    assert not log.find("scaled") and len(log.find("a")) <= 1 and "b" not in one.log.read_text()' \
	'    assert "c" in one.log.read_text()  # ended' '    took = time.time() - 1' '    assert 60 < took < 60 + allowed(5)'
rmdir e2e/tests

sees lint-cppcheck $c 'arrayIndexOutOfBounds' 'int planted(void);' 'int planted(void)' '{' \
	'	int at[2] = { 1, 2 };' '	return at[2];' '}'

signature=('int planted(int a, int b);' 'int planted(int a, int b)' '{')
sees "$tidy" $c 'readability-function-size' "${signature[@]}" "$(repeat 70 '	a += b;')" \
	'	return a;' '}'
sees "$tidy" $c 'cognitive complexity of 21' "${signature[@]}" \
	"$(repeat 21 '	if (a > b) a++;')" '	return a;' '}'
sees "$tidy" $c 'clang-analyzer-core.NullDereference' "${signature[@]}" \
	'	int *at = a > b ? &a : 0;' '	return *at;' '}'
sees "$tidy" $c 'bugprone-suspicious-memory-comparison' '#include <string.h>' "${signature[@]}" \
	'	double x = a, y = b;' '	return memcmp(&x, &y, sizeof(x));' '}'
sees "$analyzer" $c 'analyzer-null-dereference' "${signature[@]}" \
	'	int *at = a > b ? &a : 0;' '	if (!at)' '		b++;' '	return *at + b;' '}'

object=$tree/build/obj/base/planted.o
sees "$object" $c 'Werror=vla' 'int planted(int n);' 'int planted(int n)' '{' '	int at[n];' \
	'	at[0] = n;' '	return at[0];' '}'
sees "$object" $c 'Werror=conversion' 'short planted(int n);' 'short planted(int n)' '{' \
	'	return n;' '}'

# The names are those of the whole tree.
cp -r "$top"/{src,docs,e2e,charts,crd,examples} "$top"/*.md "$tree"
clean lint-names
d=docs/planted.md
page=$(<docs/internals/architecture.md)
sees lint-names docs/internals/architecture.md 'ctl/pass: the folders are shared, queue' "${page/| shared, queue |/| shared |}"
sees lint-names docs/internals/architecture.md 'no row for core/nodes/' "${page/core\/nodes/core}"
cp "$top"/docs/internals/architecture.md docs/internals
sees lint-names docs/CONTRIBUTING.md 'no row for lint-format' "$(grep -v '^| .lint-format' "$top/docs/CONTRIBUTING.md")"
cp "$top"/docs/CONTRIBUTING.md docs
passes lint-names $d '`helm upgrade --install`, `kubectl get rca -A` and `<layer>_<module>_test.c` are not ours.'
sees lint-names $d 'src/ has no outlook.h' 'The rule is in `outlook.h`.'
sees lint-names $d 'src/ has no core/decide/gone' '`core/decide/gone` decides.'
sees lint-names $d 'there is no e2e/planted.py' 'Run `e2e/planted.py`.'
sees lint-names $d 'no make target planted' '    make planted'
sees lint-names $d 'rayscaler has no command plant' '`kubectl rayscaler plant CLUSTER`'
sees lint-names $d 'rayscaler has no flag --planted' 'Set `--planted`.'
sees lint-names $d 'no metric rayscaler_planted_total' '`rayscaler_planted_total`'
sees lint-names $d 'no function planted_make()' '`planted_make()` makes it.'
sees lint-names $d 'docs/CONCEPTS.md has no heading #planted' '[there](CONCEPTS.md#planted)'
sees lint-names $d 'is .* in docs/figures.json' '| CPU at rest, one RayCluster | 0.01 % of a core | 0.80 % of a core |'
sees lint-names $c 'src/ has no planted.h' '/* see planted.h */'
sees lint-names $c 'rayscaler has no flag --planted' 'static const char *text = "raise --planted";'
sees lint-names docs/internals/architecture.md 'facts: the steps are `idle_clock_read`' \
	"${page/, \`demand_collect\`/}"
cp "$top/docs/internals/architecture.md" docs/internals
sees lint-names src/core/decide.c 'facts: the steps are `idle_clock_read`' \
	"$(sed '/	demand_collect(/d' "$top/src/core/decide.c")"

cp "$top/src/core/decide.c" src/core
clean lint-features
mkdir -p src/feature/planted/core
printf 'int planted_count(void);\n' >src/feature/planted/core/planted.h
sees lint-features src/core/planted.c 'planted_count is of feature/planted' 'int x = planted_count();'
rm -r src/feature/planted
clean lint-headers
echo '#include "core/planted.h"' >>src/core/decide.c
sees lint-headers src/core/planted.h 'only src/core/decide.c includes it' 'int planted(void);'

clean lint-hostile
k=src/kube/planted.c
sees lint-hostile $k 'KINDS has no row for Widget' 'KUBE_TYPE(widget, struct widget, widget_decode, .kind = "Widget")'
sees lint-hostile $k 'ANNOTATIONS has no row for a.example/b' '#define ANNOTATION_PLANTED "a.example/b"'
sees lint-hostile $k 'LABELS has no row for c' 'x = labels_value(&pod->labels, "c");'
sees lint-hostile $k 'PAGES has no row for planted' '#define PAGE_PLANTED "planted"'

echo "lint-selftest: $passed passed, $failed failed"
[ $# -eq 0 ] || echo "lint-selftest $passed $failed 0" >"$result"
[ "$failed" -eq 0 ]
