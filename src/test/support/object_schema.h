/* Makes the CRDs of the RayClusterAutoscaler and the GPUPool, and the fields in the document of the first, from the
 * field tables of the decoders. For the tool that writes them and the test that compares. */
#ifndef TEST_SUPPORT_OBJECT_SCHEMA_H
#define TEST_SUPPORT_OBJECT_SCHEMA_H

#include <stdio.h>
#include <string.h>

#include "codec/objects/autoscaler_json.h"
#include "feature/pools/codec/gpu_pool_json.h"

#define AUTOSCALER_CRD_FILE "crd/rayclusterautoscalers.rayscaler.dev.yaml"
#define AUTOSCALER_DOCUMENT "docs/AUTOSCALER_OBJECT.md"
#define POOL_CRD_FILE "crd/gpupools.rayscaler.dev.yaml"
#define AUTOSCALER_DOCUMENT_START "<!-- fields: made by make docs -->\n"
#define SCHEMA_WIDTH 100

static const char autoscaler_crd_head[] =
	"# Made by `make docs` from the field table of src/codec/objects/autoscaler_json.c.\n"
	"# How one RayCluster is scaled: one object per managed RayCluster, of the same name, created by the\n"
	"# controller. See docs/AUTOSCALER_OBJECT.md.\n"
	"apiVersion: apiextensions.k8s.io/v1\n"
	"kind: CustomResourceDefinition\n"
	"metadata:\n"
	"  name: rayclusterautoscalers.rayscaler.dev\n"
	"spec:\n"
	"  group: rayscaler.dev\n"
	"  scope: Namespaced\n"
	"  names:\n"
	"    kind: RayClusterAutoscaler\n"
	"    listKind: RayClusterAutoscalerList\n"
	"    plural: rayclusterautoscalers\n"
	"    singular: rayclusterautoscaler\n"
	"    shortNames: [rca]\n"
	"  versions:\n"
	"  - name: v1alpha1\n"
	"    served: true\n"
	"    storage: true\n"
	"    subresources:\n"
	"      status: {}\n"
	"    additionalPrinterColumns:\n"
	"    - name: Decided\n"
	"      type: date\n"
	"      description: The age of the other columns. More than 6 minutes - nothing scales this "
	"cluster.\n"
	"      jsonPath: .status.lastDecisionTime\n"
	"    - name: Groups\n"
	"      type: string\n"
	"      description: Running and greatest number of replicas of each worker group.\n"
	"      jsonPath: .status.summary.groups\n"
	"    - name: GPUs\n"
	"      type: string\n"
	"      description: GPUs in Ray now, at the target, and at the maximum.\n"
	"      jsonPath: .status.summary.gpus\n"
	"    - name: Pending\n"
	"      type: string\n"
	"      description: GPUs that pending tasks, actors and placement groups request.\n"
	"      jsonPath: .status.gpus.pending\n"
	"    - name: Reason\n"
	"      type: string\n"
	"      description: The most important reason, a word of docs/REASONS.md.\n"
	"      jsonPath: .status.reason\n"
	"    - name: Age\n"
	"      type: date\n"
	"      jsonPath: .metadata.creationTimestamp\n"
	"    - name: Last scale\n"
	"      type: date\n"
	"      priority: 1\n"
	"      jsonPath: .status.lastScaleTime\n"
	"    - name: Message\n"
	"      type: string\n"
	"      priority: 1\n"
	"      description: The reason as a sentence.\n"
	"      jsonPath: .status.message\n"
	"    schema:\n"
	"      openAPIV3Schema:\n"
	"        description: >-\n"
	"          How one RayCluster is scaled: spec holds the user's settings, status the state and the reasons\n"
	"          of the autoscaler. It has the name of the RayCluster.\n"
	"        type: object\n"
	"        properties:\n"
	"          apiVersion: {type: string}\n"
	"          kind: {type: string}\n"
	"          metadata: {type: object}\n";

static const char pool_crd_head[] =
	"# Made by `make docs` from the field table of src/feature/pools/codec/gpu_pool_json.c.\n"
	"# GPUs that RayClusters of several teams share. See docs/GPUPOOL.md.\n"
	"apiVersion: apiextensions.k8s.io/v1\n"
	"kind: CustomResourceDefinition\n"
	"metadata:\n"
	"  name: gpupools.rayscaler.dev\n"
	"spec:\n"
	"  group: rayscaler.dev\n"
	"  scope: Cluster\n"
	"  names:\n"
	"    kind: GPUPool\n"
	"    listKind: GPUPoolList\n"
	"    plural: gpupools\n"
	"    singular: gpupool\n"
	"    shortNames: [gpool]\n"
	"  versions:\n"
	"  - name: v1alpha1\n"
	"    served: true\n"
	"    storage: true\n"
	"    subresources:\n"
	"      status: {}\n"
	"    additionalPrinterColumns:\n"
	"    - name: GPUs held\n"
	"      type: string\n"
	"      description: GPUs that RayClusters hold, and GPUs of the pool.\n"
	"      jsonPath: .status.summary.gpus\n"
	"    - name: Waiting\n"
	"      type: string\n"
	"      description: GPUs that waiting demand requests.\n"
	"      jsonPath: .status.gpus.waiting\n"
	"    - name: Queues held/guaranteed\n"
	"      type: string\n"
	"      description: GPUs held and guaranteed, of the first queues.\n"
	"      jsonPath: .status.summary.queues\n"
	"    - name: Ready\n"
	"      type: string\n"
	"      description: False - spec is invalid, and the pool grants nothing.\n"
	"      jsonPath: .status.conditions[?(@.type==\"Ready\")].status\n"
	"    - name: Age\n"
	"      type: date\n"
	"      jsonPath: .metadata.creationTimestamp\n"
	"    - name: Reserved for\n"
	"      type: string\n"
	"      priority: 1\n"
	"      description: RayCluster and groups for which free GPUs are kept.\n"
	"      jsonPath: .status.reservedFor\n"
	"    - name: Last update\n"
	"      type: date\n"
	"      priority: 1\n"
	"      jsonPath: .status.lastUpdateTime\n"
	"    schema:\n"
	"      openAPIV3Schema:\n"
	"        description: >-\n"
	"          GPUs that RayClusters of several teams share. For administrators. spec has the teams and\n"
	"          their guarantees, status what each team holds and waits for.\n"
	"        type: object\n"
	"        required: [spec]\n"
	"        properties:\n"
	"          apiVersion: {type: string}\n"
	"          kind: {type: string}\n"
	"          metadata: {type: object}\n";

/* ---- the CRD ---- */

/* A folded scalar, in lines of at most SCHEMA_WIDTH. */
static void schema_description(FILE *file, int indent, const char *text)
{
	int column = 0;

	fprintf(file, "%*sdescription: >-\n%*s", indent, "", indent + 2, "");
	while (*text) {
		int size = (int)strcspn(text, " ");

		if (column > 0 && indent + 2 + column + 1 + size > SCHEMA_WIDTH) {
			fprintf(file, "\n%*s", indent + 2, "");
			column = 0;
		}
		column += fprintf(file, "%s%.*s", column > 0 ? " " : "", size, text);
		text += size;
		text += *text == ' ';
	}
	fprintf(file, "\n");
}

static void schema_lines(FILE *file, int indent, const char *lines)
{
	while (lines && *lines) {
		int size = (int)strcspn(lines, "\n");

		fprintf(file, "%*s%.*s\n", indent, "", size, lines);
		lines += size;
		lines += *lines == '\n';
	}
}

static bool schema_is_shown(const struct field *field)
{
	return field->description != NULL;
}

static void schema_members(FILE *file, int indent, const struct field *fields);

static void schema_required(FILE *file, int indent, const struct field *fields)
{
	const char *separator = "";
	bool any = false;

	for (const struct field *field = fields; field->name; field++)
		any = any || (field->flags & FIELD_REQUIRED);
	if (!any)
		return;
	fprintf(file, "%*srequired: [", indent, "");
	for (const struct field *field = fields; field->name; field++) {
		if (!(field->flags & FIELD_REQUIRED))
			continue;
		fprintf(file, "%s%s", separator, field->name);
		separator = ", ";
	}
	fprintf(file, "]\n");
}

/* A value of one of several types. */
static bool is_untyped(const struct field *field)
{
	const char *untyped = "x-kubernetes-preserve-unknown-fields: true";

	return field->schema && strncmp(field->schema, untyped, strlen(untyped)) == 0;
}

static const char *schema_type(const struct field *field)
{
	switch (field->kind) {
	case FIELD_KIND_BOOLEAN:
		return "boolean";
	case FIELD_KIND_INTEGER:
		return "integer";
	case FIELD_KIND_LIST:
	case FIELD_KIND_TEXTS:
		return "array";
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_POINTER:
	case FIELD_KIND_LABELS:
	case FIELD_KIND_RESOURCES:
		return "object";
	case FIELD_KIND_HOOK:
		return field->members && !is_untyped(field) ? "object" : NULL;
	case FIELD_KIND_AMOUNT:
		return field->flags & FIELD_QUOTED ? "string" : "number";
	default:
		return "string";
	}
}

static void schema_field(FILE *file, int indent, const struct field *field)
{
	const char *type = schema_type(field);

	fprintf(file, "%*s%s:\n", indent, "", field->name);
	indent += 2;
	schema_description(file, indent, field->description);
	if (type)
		fprintf(file, "%*stype: %s\n", indent, "", type);
	if (field->kind == FIELD_KIND_TIME)
		schema_lines(file, indent, "format: date-time");
	if (field->kind == FIELD_KIND_INTEGER && !field->schema)
		schema_lines(file, indent, "format: int64");
	if (field->kind == FIELD_KIND_LIST && !field->schema)
		schema_lines(file, indent, "x-kubernetes-list-type: atomic");
	if (field->kind == FIELD_KIND_LABELS && !field->schema)
		schema_lines(file, indent, "additionalProperties: {type: string}");
	if (field->kind == FIELD_KIND_RESOURCES)
		schema_lines(file, indent, "additionalProperties: {type: number}");
	schema_lines(file, indent, field->schema);
	if (!field->members)
		return;
	if (field->kind == FIELD_KIND_LIST) {
		fprintf(file, "%*sitems:\n%*stype: object\n", indent, "", indent + 2, "");
		indent += 2;
		schema_required(file, indent, field->members);
		schema_lines(file, indent, field->element_schema);
	} else if (type) {
		schema_required(file, indent, field->members);
	}
	fprintf(file, "%*sproperties:\n", indent, "");
	schema_members(file, indent + 2, field->members);
}

static void schema_members(FILE *file, int indent, const struct field *fields)
{
	for (; fields->name; fields++)
		if (schema_is_shown(fields))
			schema_field(file, indent, fields);
}

static void autoscaler_crd_print(FILE *file)
{
	fputs(autoscaler_crd_head, file);
	schema_members(file, 10, autoscaler_fields);
}

static void pool_crd_print(FILE *file)
{
	fputs(pool_crd_head, file);
	schema_members(file, 10, gpu_pool_fields);
}

/* ---- the document ---- */

static void document_members(FILE *file, const char *path, const struct field *fields)
{
	for (; fields->name; fields++) {
		bool list = fields->kind == FIELD_KIND_LIST;
		char name[256];

		if (!schema_is_shown(fields))
			continue;
		snprintf(name, sizeof(name), "%s%s%s%s", path, *path ? "." : "", fields->name,
			 list ? "[]" : "");
		fprintf(file, "| `%s` | %s |\n", name, fields->description);
		if (fields->members)
			document_members(file, name, fields->members);
	}
}

static void autoscaler_document_print(FILE *file)
{
	fprintf(file, "\n| field of spec | meaning |\n| --- | --- |\n");
	for (const struct field *field = autoscaler_fields; field->name; field++)
		if (strcmp(field->name, "spec") == 0)
			document_members(file, "", field->members);
}

#endif
