"""Every command in the documents is run by a test, every link leads somewhere, every manifest is accepted.

SHOWN names for each command the part that runs it:
    "here"          this file, as it is written
    "dry"           this file, with `make -n`: the target exists and expands (long figures, other compilers)
    "ci"            `.ci/run` itself, or `make setup` before it
    "stage NAME"    a stage of `make test`
    "FILE::TEST"    a test of this directory that runs the same command
    "not run: ..."  nothing, with the reason
"""

import copy
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
import yaml

from rayscaler_e2e import rayclusters

TOP = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("README.md", "CHANGELOG.md", "SECURITY.md", "docs/**/*.md", "e2e/**/*.md", "charts/**/*.md", "examples/*.md")
    for path in TOP.glob(pattern)
)
PROGRAMS = ("make", "rayscaler", "kubectl", "helm", "kind", "skopeo", "cosign", "promtool", "git", "build/rayscaler", "build/tools/gcs_probe")
MAKEFILES = [TOP / "Makefile", *sorted((TOP / "mk").glob("*.mk"))]
SUBCOMMANDS = ("run", "plan", "lint", "devices", "park", "version", "status", "explain", "snapshot", "request", "resume", "adopt", "release", "record", "simulate", "help")

# (regular expression of the whole command, the part that runs it)
SHOWN: List[Tuple[str, str]] = [
    (r"make demo", "stage quickstart"),
    (r"make test(-all)?", "ci"),
    (r"make lint", "ci"),
    (r"make lint-\w+( lint-\w+)* ?(\.\.\.)?", "ci"),
    (r"make setup", "ci"),
    (r"make( V=1| WERROR=)?", "stage unit"),
    (r'make (FEATURES="\.\.\."|features)', "stage features"),
    (r"build/rayscaler", "ci"),
    (r"make help", "here"),
    (r"make tools", "stage e2e"),
    (r"make measure", "test_measure.py::test_"),
    (r"make ahead", "stage e2e"),
    (r"make format", "dry"),
    (r"make BUILD=\S+ .*", "dry"),
    (r"make unit(-[\w<>]+)?", "stage unit"),
    (r"make test-e2e( .*)?", "stage e2e"),
    (r"make laws( .*)?", "stage laws"),
    (r"make conformance( .*)?", "stage conformance"),
    (r"make fuzz FUZZ_SECONDS=\d+", "stage fuzz"),
    (r"make test-fuzz", "stage fuzz"),
    (r"make tsan", "stage tsan"),
    (r"make golden", "stage unit"),
    (r"make (clang(-unit)?|coverage)", "stage clang"),
    (r"make valgrind( confined)?", "stage valgrind"),
    (r"make (confined|profiled)", "stage confined"),
    (r"make valgrind-e2e", "stage valgrind-e2e"),
    (r"make mutants", "test_mutants.py::test_"),
    (r"make torture( .*)?", "test_torture.py::test_"),
    (r"make torture-kill( .*)?", "test_kill.py::test_"),
    (r"make fleet", "test_fleet.py::test_"),
    (r"make hostile-fields( .*)?", "test_hostile.py::test_each_field"),
    (r"make hostile( .*)?", "test_hostile.py::test_"),
    (r"make soak", "test_hostile.py::test_"),
    (r"make bench-list", "test_fleet.py::test_"),
    (r"make small-benches", "stage benches"),
    (r'make bench(-\w+)*( (BENCH|GROWTH|SIZES)="[^"]*")?', "dry"),
    (r"make dev-cluster", "dry"),
    (r"make node( NODE_FLAGS=.*)?", "dry"),
    (r"make judge( JUDGE=.*)?", "dry"),
    (r"make bench-answer( BENCH=.*)?", "dry"),
    (r"make test-node( .*)?", "stage node"),
    (r"make dashboard-picture", "dry"),
    (r"make report-picture", "dry"),
    (r"make timeline", "dry"),
    (r"make sharing", "dry"),
    (r"promtool (check metrics|test rules)", "test_prometheus.py::test_"),
    (r"kubectl (-n rayscaler-system get (pods|lease rayscaler( -o yaml)?)|describe (pod|rca CLUSTER))", "test_operations.py::test_"),
    (r"build/tools/gcs_probe HOST PORT state", "test_gcs_real.py::test_"),
    (r"rayscaler plan( -f (FILE|now\.yaml))?( \[.*)?", "test_commands.py::test_"),
    (r"rayscaler plan --at", "test_schedules.py::test_office_hours"),
    (r"rayscaler plan -f examples/[\w-]+\.snapshot\.yaml", "test_examples.py::test_the_plan_is_the_one_shown"),
    (r"rayscaler plan -f examples/gpu\.snapshot\.yaml -o json --debug", "test_internals.py::test_the_tour_shows"),
    (r"rayscaler run( --cluster-name NAME --cluster-namespace NAMESPACE)?", "test_scale_clusters.py::test_"),
    (r"make manifests", "dry"),
    (r"make (dist|setup-arm64)", "test_dist.py::test_the_same_bytes"),
    (r"skopeo copy oci-archive:build/dist/\S+ docker://\S+", "test_dist.py::test_push_to_a_registry"),
    (r"cosign (sign-blob|verify-blob|attest) .*", "not run: Debian has no cosign; the flags are those of its documents"),
    (r"kind load image-archive build/dist/\S+", "not run: kind needs a container engine; test_dist.py reads the archive"),
    (r"helm (install|upgrade|uninstall) rayscaler .*", "test_chart_install.py::test_commands_of_install_md"),
    (r"helm rollback rayscaler .*", "test_chart_install.py::test_commands_of_install_md"),
    (r"kubectl (get raycluster -A|delete pod -n team-a .*|rayscaler release (demo|--all) .*)", "test_operations.py::test_roll_back"),
    (r"helm install --take-ownership", "test_chart_install.py::test_upgrade_scale_uninstall"),
    (r"helm show readme charts/rayscaler", "test_chart.py::test_readme_has_every_value"),
    (r"kubectl apply --server-side .*", "test_chart_install.py::test_commands_of_install_md"),
    (r"kubectl -n rayscaler-system (set image|delete lease) .*", "test_chart_install.py::test_commands_of_install_md"),
    (r"kubectl -n team-a create (serviceaccount|role|rolebinding) rayscaler-gcs.*", "test_secured_ray.py::test_delegated_tokens"),
    (r"kubectl create rolebinding rayscaler-secrets .*", "test_chart_install.py::test_commands_of_install_md"),
    (r"kubectl delete crd rayclusterautoscalers.rayscaler.dev gpupools.rayscaler.dev", "test_chart_install.py::test_commands_of_install_md"),
    (r"kubectl (-n team-a )?get rca( -A)?", "test_chart_install.py::test_upgrade_scale_uninstall"),
    (r"kubectl (label namespace team-a team=research|apply -f examples/pools/guarantees.yaml)", "test_sharing.py::test_commands"),
    (r"kubectl (explain gpool.spec --recursive|get gpool)", "test_gpu_pool_object.py::test_what_the_document_shows"),
    (r"kubectl (explain rca.spec|patch rca demo -n team-a .*)", "test_autoscaler_object.py::test_what_the_document_shows"),
    (r"kubectl (-n team-a )?describe raycluster (NAME|demo)", "test_chart_install.py::test_upgrade_scale_uninstall"),
    (r"kubectl rayscaler (status|explain demo) -n team-a", "test_chart_install.py::test_upgrade_scale_uninstall"),
    (r"rayscaler (park|version)", "test_commands.py::test_"),
    (r"kubectl rayscaler unprotect -A --yes", "test_unprotect.py::test_"),
    (r"make install", "test_cli.py::test_"),
    (r"make docs", "dry"),
    (r"make rules", "dry"),
    (r"make rootfs", "test_image.py::test_"),
    (r"make image( IMAGE=\S+)?", "test_image.py::test_"),
    (r"kubectl rayscaler (explain|request|snapshot) CLUSTER.*", "test_cli.py::test_"),
    (r"(kubectl )?rayscaler status( -A| CLUSTER)?", "test_cli.py::test_"),
    (r"rayscaler status --gpus( \[.*)?", "test_inventory.py::test_c3_"),
    (r"rayscaler status --pools( \[.*)?", "test_gpu_pool_object.py::test_status_of_pools"),
    (r"(kubectl )?rayscaler status --cost( .*)?", "test_cost.py::test_"),
    (r"kubectl drain", "stage node"),
    (r"kubectl describe rca CLUSTER", "test_autoscaler_object.py::test_status_of_a_scaling"),
    (r"rayscaler lint( -f (FILE|my-cluster\.yaml).*)?", "test_lint_rows.py::test_"),
    (r"rayscaler lint --server -f FILE", "test_lint_server.py::test_nothing_is_created"),
    (r"(kubectl )?rayscaler lint --from-cluster.*", "test_lint_rows.py::test_from_cluster"),
    (r"rayscaler devices( --device-table FILE)?", "stage unit"),
    (r"rayscaler simulate( .*)?", "test_simulate.py::test_"),
    (r"rayscaler record( .*)?", "test_cli.py::test_a_recording_is_replayed"),
    (r"rayscaler lint --rules", "test_lint_rows.py::test_rules_are_those_of_the_document"),
    (r"rayscaler (request CLUSTER.*|snapshot)", "test_cli.py::test_"),
    (r"kubectl patch raycluster demo -n team-a .*", "test_idle_termination.py::test_work_keeps_a_cluster"),
    (r"(kubectl )?rayscaler resume( CLUSTER)?", "test_cli.py::test_resume"),
    (r"(kubectl )?rayscaler (adopt|release)( CLUSTER.*)?", "test_cli.py::test_adopt_and_release"),
    (r"kubectl inspect gpushare", "not run: a plugin of others, whose layout is meant"),
    (r"kubectl (get|describe|get events|delete pod|get lease -n rayscaler-system rayscaler)", "test_operations.py::test_"),
    (r"kubectl (port-forward -n rayscaler-system POD 8080|proxy)", "not run: no kubelet and no container network here"),
]


def commands() -> Iterator[Tuple[Path, str]]:
    """Indented or fenced lines, and code in a sentence, that begin with one of PROGRAMS."""
    for document in DOCUMENTS:
        fence = ""
        for line in document.read_text().splitlines():
            if line.startswith("```"):
                fence = "" if fence else line[3:] or "text"
                continue
            for text in [line] if fence in ("sh", "text") or (not fence and line.startswith("    ")) else []:
                yield from ((document, found) for found in one_command(text))
            if not fence and not line.startswith("    "):
                for text in re.findall(r"`([^`]+)`", line):
                    yield from ((document, found) for found in one_command(text))


def one_command(text: str) -> List[str]:
    text = re.sub(r"(^\s*\$ )|(\s+#.*$)|(\s{4,}.*$)", "", text.strip()).strip()
    program, _, rest = text.partition(" ")
    if program == "rayscaler" and rest.split(" ")[0] not in SUBCOMMANDS:
        return []  # a line of output
    if program == "kind" and not rest:
        return []  # the field of an object
    return [text] if program in PROGRAMS else []


def how(command: str) -> List[str]:
    return [shown for pattern, shown in SHOWN if re.fullmatch(pattern, command)]


def test_every_command_is_run_somewhere():
    found = list(commands())
    assert len(found) > 30
    missing = [f"{path.relative_to(TOP)}: {command}" for path, command in found if not how(command)]
    assert not missing, "run by nothing:\n" + "\n".join(missing)


def test_no_entry_is_left_over():
    found = {command for _, command in commands()}
    stale = [pattern for pattern, _ in SHOWN if not any(re.fullmatch(pattern, command) for command in found)]
    assert not stale, f"no document has these any more: {stale}"


def test_what_is_named_exists():
    makefile = "\n".join(path.read_text() for path in MAKEFILES)
    for _, shown in SHOWN:
        if shown.startswith("stage "):
            assert re.search(rf"^(TEST|ALL)_STAGES := .*(?<![\w-]){shown[6:]}(?![\w-])", makefile, re.MULTILINE), shown
        elif "::" in shown:
            path, test = shown.split("::")
            assert re.search(rf"def {test}", (TOP / "e2e/tests" / path).read_text()), shown
        else:
            assert shown in ("here", "dry", "ci") or shown.startswith("not run: "), shown


def test_help_is_complete():
    shown = subprocess.run(["make", "help"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    text = "\n".join(path.read_text() for path in MAKEFILES)
    targets = {name for line in re.findall(r"^\.PHONY: (.*)", text, re.MULTILINE) for name in line.split()}
    named = {name for name in targets if re.fullmatch(r"[\w-]+", name) and not name.startswith("test-")}
    assert len(named) > 40
    missing = sorted(name for name in named if not re.search(rf"(?<![\w-]){name}(?![\w-])", shown))
    assert not missing, f"make help does not name {missing}"


@pytest.mark.parametrize("kind", ["here", "dry"])
def test_commands_that_are_run_here(kind):
    chosen = sorted({command for _, command in commands() if kind in how(command)})
    assert chosen
    for command in chosen:
        words = command.replace("make", "make -n", 1) if kind == "dry" else command
        done = subprocess.run(words, shell=True, cwd=TOP, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{command}: {done.stderr[-500:]}"


def test_every_link_leads_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.relative_to(TOP)} links to {target}"


def manifests() -> Iterator[Tuple[str, Dict[str, Any]]]:
    for document in DOCUMENTS:
        blocks = re.findall(r"^```yaml\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks, 1):
            for value in (v for v in yaml.safe_load_all(block) if isinstance(v, dict)):
                yield f"{document.relative_to(TOP)}, block {number}", value


def test_rayclusters_of_the_documents_are_accepted(api_server, namespace):
    """Whole ones as they are, parts (`spec: ...`) as a part of a small one."""
    clusters = api_server.admin.of("rayclusters", namespace)
    count = 0
    for where, value in manifests():
        if value.get("kind") == "RayCluster":
            made = copy.deepcopy(value)
        elif set(value) == {"spec"} and "autoscalerOptions" in value["spec"]:
            made = rayclusters.minimal("part", **copy.deepcopy(value["spec"]))
        else:
            continue
        count += 1
        made["metadata"] = {"name": f"doc-{count}", "annotations": made["metadata"].get("annotations") or {}}
        created = clusters.create(made)
        assert created["spec"]["autoscalerOptions"] == made["spec"]["autoscalerOptions"], f"{where}: a field was dropped"
    assert count >= 2
