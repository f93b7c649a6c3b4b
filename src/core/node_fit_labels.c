/* Which Nodes a Pod may be put on by name: labels, fields and taints. */
#include "core/node_fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SHOWN_MAX 64

static const char *shown(struct arena *arena, const char *text)
{
	return strlen(text) <= VALUE_SHOWN_MAX ?
		       text :
		       arena_printf(arena, "%.*s...", VALUE_SHOWN_MAX, text);
}

static bool integer_of(const char *text, long long *ret_value)
{
	char *end;

	errno = 0;
	*ret_value = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

static bool is_listed(const struct strings *values, const char *value)
{
	for (size_t i = 0; i < values->count; i++)
		if (strcmp(values->at[i], value) == 0)
			return true;
	return false;
}

/* `value` NULL: the Node has no such label. (k8s.io/apimachinery labels.Requirement.Matches) */
static bool expression_matches(const struct node_expression *expression, const char *value)
{
	const char *operation = expression->operation;
	long long have, limit;

	if (strcmp(operation, "In") == 0)
		return value != NULL && is_listed(&expression->values, value);
	if (strcmp(operation, "NotIn") == 0)
		return value == NULL || !is_listed(&expression->values, value);
	if (strcmp(operation, "Exists") == 0)
		return value != NULL;
	if (strcmp(operation, "DoesNotExist") == 0)
		return value == NULL;
	if (value == NULL || expression->values.count != 1 || !integer_of(value, &have) ||
	    !integer_of(expression->values.at[0], &limit))
		return false;
	if (strcmp(operation, "Gt") == 0)
		return have > limit;
	return strcmp(operation, "Lt") == 0 && have < limit;
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
		if (!expression_matches(&term->expressions[i],
					value_of(&term->expressions[i], node)))
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
			    value != NULL ? shown(arena, value) : "absent", expression->operation,
			    list);
}

static const char *selector_why(const struct pod_spec *spec, const struct node *node,
				struct arena *arena)
{
	for (size_t i = 0; i < spec->node_selector.count; i++) {
		const struct label *wanted = &spec->node_selector.at[i];
		const char *value = labels_value(&node->labels, wanted->key);

		if (value != NULL && strcmp(value, wanted->value) == 0)
			continue;
		return arena_printf(arena, "label %s is %s, the nodeSelector wants %s",
				    shown(arena, wanted->key),
				    value != NULL ? shown(arena, value) : "absent",
				    shown(arena, wanted->value));
	}
	return "";
}

/* Terms are ORed: of those that do not match the first one is named. */
static const char *affinity_why(const struct pod_spec *spec, const struct node *node,
				struct arena *arena)
{
	const struct node_expression *first = NULL;

	for (size_t i = 0; i < spec->required_node_term_count; i++) {
		const struct node_term *term = &spec->required_node_terms[i];
		const struct node_expression *expression = mismatch(term, node);

		if (term->count > 0 && expression == NULL)
			return "";
		if (first == NULL)
			first = expression;
	}
	if (spec->required_node_term_count == 0)
		return "";
	return first != NULL ? mismatch_text(arena, first, node) :
			       "the required node affinity has only empty terms, no Node matches "
			       "those";
}

bool node_fit_labels(const struct pod_spec *spec, const struct node *node, struct arena *arena,
		     const char **ret_why)
{
	const char *why = selector_why(spec, node, arena);

	if (why[0] == '\0')
		why = affinity_why(spec, node, arena);
	if (ret_why != NULL)
		*ret_why = why;
	return why[0] == '\0';
}

static bool tolerates(const struct toleration *toleration, const struct taint *taint)
{
	bool exists = strcmp(toleration->operation, "Exists") == 0;

	if (toleration->effect[0] != '\0' && strcmp(toleration->effect, taint->effect) != 0)
		return false;
	if (toleration->key[0] == '\0')
		return exists;
	return strcmp(toleration->key, taint->key) == 0 &&
	       (exists || strcmp(toleration->value, taint->value) == 0);
}

static bool is_tolerated(const struct node_demand *demand, const struct taint *taint)
{
	for (size_t i = 0; i < demand->spec->toleration_count; i++)
		if (tolerates(&demand->spec->tolerations[i], taint))
			return true;
	return demand->template_only && resources_find(&demand->request, taint->key) != NULL;
}

const struct taint *node_fit_taint(const struct node_demand *demand, const struct node *node)
{
	for (size_t i = 0; i < node->taint_count; i++) {
		const struct taint *taint = &node->taints[i];

		if (strcmp(taint->effect, "PreferNoSchedule") != 0 && !is_tolerated(demand, taint))
			return taint;
	}
	return NULL;
}
