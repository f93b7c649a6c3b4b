/* Labels, fields and taints that keep a Pod from a Node, in words. */
#include "core/nodes/node_fit.h"

#include <string.h>

#include "core/nodes/node_match.h"

#define VALUE_SHOWN_MAX 64

static const char *shown(struct arena *arena, const char *text)
{
	return strlen(text) <= VALUE_SHOWN_MAX ?
		       text :
		       arena_printf(arena, "%.*s...", VALUE_SHOWN_MAX, text);
}

static const char *value_of(const struct node_expression *expression, const struct node *node)
{
	if (!expression->is_field)
		return labels_value(&node->labels, expression->key);
	return strcmp(expression->key, "metadata.name") == 0 ? node->name : NULL;
}

/* The first expression of the term that does not match; NULL: all do. */
static const struct node_expression *mismatch(const struct node_term *term, const struct node *node)
{
	for (size_t i = 0; i < term->count; i++)
		if (!node_match_expression(&term->expressions[i], node))
			return &term->expressions[i];
	return NULL;
}

/* "label a is "x", required is a In [y, z]" */
static const char *mismatch_text(struct arena *arena, const struct node_expression *expression,
				 const struct node *node)
{
	const char *value = value_of(expression, node), *list = "";

	for (size_t i = 0; i < expression->values.count && i < 4; i++)
		list = arena_printf(arena, "%s%s%s", list, i > 0 ? ", " : "",
				    shown(arena, expression->values.at[i]));
	if (expression->values.count > 4)
		list = arena_printf(arena, "%s, ...", list);
	if (expression->values.count > 0)
		list = arena_printf(arena, " [%s]", list);
	return arena_printf(arena, "%s %s is %s, required is %s%s",
			    expression->is_field ? "field" : "label", shown(arena, expression->key),
			    value ? shown(arena, value) : "absent", expression->operation, list);
}

static const char *selector_why(const struct pod_spec *spec, const struct node *node,
				struct arena *arena)
{
	VEC_EACH(const struct label, wanted, &spec->node_selector) {
		const char *value = labels_value(&node->labels, wanted->key);

		if (value && strcmp(value, wanted->value) == 0)
			continue;
		return arena_printf(arena, "label %s is %s, the nodeSelector wants %s",
				    shown(arena, wanted->key),
				    value ? shown(arena, value) : "absent",
				    shown(arena, wanted->value));
	}
	return "";
}

/* Of several alternative terms, the first is reported. */
static const char *affinity_why(const struct pod_spec *spec, const struct node *node,
				struct arena *arena)
{
	if (node_match_affinity(spec, node))
		return "";
	for (size_t i = 0; i < spec->required_node_term_count; i++) {
		const struct node_expression *first = mismatch(&spec->required_node_terms[i], node);

		if (first)
			return mismatch_text(arena, first, node);
	}
	return "the required node affinity has only empty terms, which match no Node";
}

const char *node_fit_labels_why(const struct pod_spec *spec, const struct node *node,
				struct arena *arena)
{
	const char *why = selector_why(spec, node, arena);

	return why[0] != '\0' ? why : affinity_why(spec, node, arena);
}

const struct taint *node_fit_taint(const struct node_demand *demand, const struct node *node)
{
	ARRAY_EACH(const struct taint, taint, node->taints, node->taint_count)
		if (node_match_repels(taint, demand->spec) &&
		    !(demand->template_only && resources_find(&demand->request, taint->key)))
			return taint;
	return NULL;
}
