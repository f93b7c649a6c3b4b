"""src/gcs/ray.proto against the descriptors in the ray wheel: every message, field and number."""

import re

import pytest
from google.protobuf import descriptor as pb
from ray.core.generated import autoscaler_pb2, common_pb2, gcs_pb2, gcs_service_pb2, logging_pb2, pubsub_pb2

from rayscaler_e2e import paths

PROTO = (paths.ROOT / "src" / "gcs" / "ray.proto").read_text()
FILES = (common_pb2, gcs_pb2, gcs_service_pb2, autoscaler_pb2, logging_pb2, pubsub_pb2)
SCALARS = {
    "double": pb.FieldDescriptor.TYPE_DOUBLE,
    "int64": pb.FieldDescriptor.TYPE_INT64,
    "uint64": pb.FieldDescriptor.TYPE_UINT64,
    "uint32": pb.FieldDescriptor.TYPE_UINT32,
    "int32": pb.FieldDescriptor.TYPE_INT32,
    "bool": pb.FieldDescriptor.TYPE_BOOL,
    "string": pb.FieldDescriptor.TYPE_STRING,
    "bytes": pb.FieldDescriptor.TYPE_BYTES,
}
# The one name that both packages of Ray have; we use the autoscaler's.
OURS = {"DrainNodeRequest": "autoscaler", "DrainNodeReply": "autoscaler"}


def blocks():
    """(kind, "Outer.Inner", lines) of every message and enum of our text."""
    stack, found = [], []
    for line in PROTO.splitlines():
        line = line.split("//")[0].strip()
        opened = re.match(r"(message|enum) (\w+) \{$", line)
        if opened:
            name = ".".join([outer[1] for outer in stack] + [opened.group(2)])
            stack.append((opened.group(1), opened.group(2), []))
            found.append((opened.group(1), name, stack[-1][2]))
        elif line == "}":
            stack.pop()
        elif stack and line:
            stack[-1][2].append(line)
    return found


def in_wheel(kind, name):
    outer, *inner = name.split(".")
    attribute = "enum_types_by_name" if kind == "enum" and not inner else "message_types_by_name"
    candidates = [
        getattr(file.DESCRIPTOR, attribute)[outer]
        for file in FILES
        if outer in getattr(file.DESCRIPTOR, attribute)
        and (outer not in OURS or OURS[outer] in file.DESCRIPTOR.package)
    ]
    assert len(candidates) == 1, f"{name}: {len(candidates)} of this name in the wheel"
    descriptor = candidates[0]
    for part in inner:
        last = kind == "enum" and part == inner[-1]
        descriptor = (descriptor.enum_types_by_name if last else descriptor.nested_types_by_name)[part]
    return descriptor


MESSAGES = [(name, lines) for kind, name, lines in blocks() if kind == "message"]
ENUMS = [(name, lines) for kind, name, lines in blocks() if kind == "enum"]


def test_the_text_is_read_whole():
    assert len(MESSAGES) == len(re.findall(r"^\s*message ", PROTO, re.M)) > 30
    assert len(ENUMS) == len(re.findall(r"^\s*enum ", PROTO, re.M)) == 9


@pytest.mark.parametrize("name, lines", MESSAGES, ids=[name for name, _ in MESSAGES])
def test_message(name, lines):
    descriptor = in_wheel("message", name)
    fields = {field.name: field for field in descriptor.fields}
    for line in lines:
        match = re.match(r"(repeated )?(\w+) (\w+) = (\d+);$", line)
        assert match, line
        repeated, kind, field_name, number = match.groups()
        field = fields[field_name]
        assert field.number == int(number), f"{name}.{field_name}"
        assert field.is_repeated == bool(repeated), f"{name}.{field_name}"
        if kind in SCALARS:
            assert field.type == SCALARS[kind], f"{name}.{field_name}"
        else:
            target = field.message_type or field.enum_type
            assert target is not None and target.name == kind, f"{name}.{field_name}"


@pytest.mark.parametrize("name, lines", ENUMS, ids=[name for name, _ in ENUMS])
def test_enum(name, lines):
    wanted = {value.name: value.number for value in in_wheel("enum", name).values}
    ours = {}
    for line in lines:
        match = re.match(r"(\w+) = (\d+);$", line)
        assert match, line
        ours[match.group(1)] = int(match.group(2))
    assert ours == wanted
