"""The table of src/feature/lint/objects/lint_schema_table.c, from the definitions of KubeRay: names, types, words and required
members of each field of a RayCluster, RayJob, RayService and RayCronJob, the Pod templates included.

    python3 -m rayscaler_e2e.lint_schema DIRECTORY_OF_CRDS > ../src/feature/lint/objects/lint_schema_table.c
"""

import re
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import yaml

Schema = Dict[str, Any]
Node = Tuple[str, str, int, bool, str]  # name, type, list of members, required, words

OWN = Path(__file__).parents[2] / "crd" / "rayclusters.ray.io.yaml"  # has members of later versions, too
KINDS = ["RayCluster", "RayJob", "RayService", "RayCronJob"]
# Definitions lack the words of a Pod, which the API server knows: by the members beside a member.
WORDS = {
    ("operator", frozenset({"effect", "key", "tolerationSeconds", "value", "operator"})): "Exists|Equal|Lt|Gt",
    ("effect", frozenset({"effect", "key", "tolerationSeconds", "value", "operator"})): "NoSchedule|PreferNoSchedule|NoExecute",
}
WORDS_BY_NAME = {
    "dnsPolicy": "ClusterFirst|ClusterFirstWithHostNet|Default|None",
    "imagePullPolicy": "Always|IfNotPresent|Never",
    "medium": "|Memory|HugePages|HugePages-2Mi|HugePages-1Gi",
    "preemptionPolicy": "Never|PreemptLowerPriority",
    "protocol": "TCP|UDP|SCTP",
    "whenUnsatisfiable": "DoNotSchedule|ScheduleAnyway",
}
OF_EXPRESSIONS = "In|NotIn|Exists|DoesNotExist"
# Of later versions of Kubernetes, which the decoders read.
LATER = {"workloadRef": {"type": "object"}, "schedulingGroup": {"type": "object"}}
# Another rule names them when they are missing.
OPTIONAL = {"containers", "headGroupSpec", "template"}
TYPES = {"string": "TEXT", "integer": "INTEGER", "number": "NUMBER", "boolean": "BOOLEAN"}


class Table:
    def __init__(self) -> None:
        self.lists: List[List[Node]] = []
        self._known: Dict[Tuple[Node, ...], int] = {}

    def add(self, nodes: List[Node]) -> int:
        """The number of the list; equal lists are one."""
        key = tuple(nodes)
        if key not in self._known:
            self._known[key] = len(self.lists)
            self.lists.append(nodes)
        return self._known[key]

    def members(self, schema: Schema) -> int:
        required = set(schema.get("required", [])) - OPTIONAL
        names = schema["properties"]
        if "nodeSelector" in names and "containers" in names:
            names = {**LATER, **names}
        return self.add([self.node(name, part, name in required and "default" not in part, set(names)) for name, part in sorted(names.items())])

    def node(self, name: str, schema: Schema, required: bool, beside: set) -> Node:
        words = "|".join(schema.get("enum", []))
        for one in schema.get("x-kubernetes-validations", []):
            if one["rule"].startswith("self in ["):
                words = "|".join(re.findall("'([^']*)'", one["rule"]))
        if (name == "metadata" and "additionalProperties" not in schema) or schema.get("x-kubernetes-preserve-unknown-fields"):
            return (name, "ANY", 0, required, "")
        if schema.get("x-kubernetes-int-or-string"):
            return (name, "SCALAR", 0, required, "")
        if schema.get("type") == "object" and "properties" in schema:
            return (name, "OBJECT", self.members(schema), required, "")
        if schema.get("type") == "object":
            value = schema.get("additionalProperties", {})
            return (name, "MAP" if value.get("type") == "string" else "OBJECT_OF_ANY", 0, required, "")
        if schema.get("type") == "array":
            item = schema["items"]
            if item.get("type") == "object" and "properties" in item:
                return (name, "LIST", self.members(item), required, "")
            return (name, "TEXTS" if item.get("type") == "string" else "LIST_OF_ANY", 0, required, "")
        if schema.get("format") == "int32":
            return (name, "INTEGER_32", 0, required, "")
        if not words:
            words = WORDS.get((name, frozenset(beside)), WORDS_BY_NAME.get(name, ""))
        if name == "operator" and beside == {"key", "operator", "values"}:
            words = OF_EXPRESSIONS + "|Gt|Lt"
        return (name, TYPES.get(schema.get("type", ""), "ANY"), 0, required, words)


def extend(schema: Schema, other: Schema) -> None:
    """Add the members that only the other definition has."""
    for name, part in other.get("properties", {}).items():
        extend(schema["properties"].setdefault(name, part), part)
    if "items" in other and "items" in schema:
        extend(schema["items"], other["items"])


def spec_of(directory: Path, kind: str) -> Schema:
    text = (directory / f"ray.io_{kind.lower()}s.yaml").read_text()
    versions = yaml.safe_load(text)["spec"]["versions"]
    (served,) = [one for one in versions if one["name"] == "v1"]
    spec = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    own = yaml.safe_load(OWN.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    at = {"RayCluster": [], "RayJob": ["rayClusterSpec"], "RayService": ["rayClusterConfig"], "RayCronJob": ["jobTemplate", "rayClusterSpec"]}
    cluster = spec
    for name in at[kind]:
        cluster = cluster["properties"][name]
    extend(cluster, own)
    return spec


def quoted(text: str) -> str:
    return '"' + text + '"'


def table(directory: Path) -> str:
    made = Table()
    made.add([])
    roots = [(kind, made.members(spec_of(directory, kind))) for kind in KINDS]
    lines = [
        "/* Made by e2e/rayscaler_e2e/lint_schema.py from the definitions of KubeRay 1.7.0; not to be edited. */",
        '#include "feature/lint/objects/lint_schema_table.h"',
        "",
        "/* clang-format off */",
        "const struct lint_schema_field lint_schema_fields[] = {",
    ]
    starts, count = [], 0
    for number, nodes in enumerate(made.lists):
        starts.append(count)
        lines.append(f"\t/* list {number} */")
        for name, kind, members, required, words in nodes:
            lines.append(f"\t{{ {quoted(name)}, {quoted(words)}, {members}, SCHEMA_{kind}, {'true' if required else 'false'} }},")
        lines.append('\t{ NULL, "", 0, SCHEMA_ANY, false },')
        count += len(nodes) + 1
    lines += ["};", "", "const unsigned short lint_schema_lists[] = {"]
    for i in range(0, len(starts), 12):
        lines.append("\t" + " ".join(f"{start}," for start in starts[i : i + 12]))
    lines += ["};", "", "const size_t lint_schema_list_count = sizeof(lint_schema_lists) / sizeof(lint_schema_lists[0]);"]
    lines += ["", "const struct lint_schema_kind lint_schema_kinds[] = {"]
    lines += [f"\t{{ {quoted(kind)}, {number} }}," for kind, number in roots]
    lines += ["\t{ NULL, 0 },", "};", "/* clang-format on */", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1])))
