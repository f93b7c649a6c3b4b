#include "core/nodes/node_match.h"

#include <string.h>

#include "base/text.h"

#define NUMBER_DIGITS_MAX 18

bool node_match_tolerates(const struct pod_spec *spec, const struct taint *taint)
{
	ARRAY_EACH(const struct toleration, one, spec->tolerations, spec->toleration_count) {
		bool exists = strcmp(one->operation, "Exists") == 0;
		if (one->effect[0] != '\0' && strcmp(one->effect, taint->effect) != 0)
			continue;
		if (one->key[0] == '\0' ? exists :
					  strcmp(one->key, taint->key) == 0 &&
						  (exists || strcmp(one->value, taint->value) == 0))
			return true;
	}
	return false;
}

bool node_match_repels(const struct taint *taint, const struct pod_spec *spec)
{
	return (strcmp(taint->effect, "NoSchedule") == 0 ||
		strcmp(taint->effect, "NoExecute") == 0) &&
	       !node_match_tolerates(spec, taint);
}

const struct taint *node_match_taint(const struct pod_spec *spec, const struct node *node)
{
	ARRAY_EACH(const struct taint, taint, node->taints, node->taint_count)
		if (node_match_repels(taint, spec))
			return taint;
	return NULL;
}

bool node_match_is_cordoned(const struct pod_spec *spec, const struct node *node)
{
	static const struct taint cordon = { .key = "node.kubernetes.io/unschedulable",
					     .value = "",
					     .effect = "NoSchedule" };

	return node->unschedulable && !node_match_tolerates(spec, &cordon);
}

bool node_match_selector(const struct labels *selector, const struct node *node)
{
	for (size_t i = 0; i < selector->count; i++) {
		const char *value = labels_value(&node->labels, selector->at[i].key);
		if (!value || strcmp(value, selector->at[i].value) != 0)
			return false;
	}
	return true;
}

/* A whole number as strconv.ParseInt takes it; longer ones are no label that means a number. */
static bool read_number(const char *text, int64_t *ret_value)
{
	bool negative = *text == '-';
	if (*text == '-' || *text == '+')
		text++;
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > NUMBER_DIGITS_MAX || text[digits] != '\0')
		return false;
	*ret_value = 0;
	for (size_t i = 0; i < digits; i++)
		*ret_value = *ret_value * 10 + (text[i] - '0');
	if (negative)
		*ret_value = -*ret_value;
	return true;
}

static bool compares(const struct node_expression *expression, const char *value, bool greater)
{
	int64_t left, right;
	if (!value || expression->values.count != 1 || !read_number(value, &left) ||
	    !read_number(expression->values.at[0], &right))
		return false;
	return greater ? left > right : left < right;
}

bool node_match_expression(const struct node_expression *expression, const struct node *node)
{
	const char *value;
	if (!expression->is_field)
		value = labels_value(&node->labels, expression->key);
	else
		value = strcmp(expression->key, "metadata.name") == 0 ? node->name : NULL;
	if (strcmp(expression->operation, "In") == 0)
		return value &&
		       text_is_among(value, expression->values.at, expression->values.count);
	if (strcmp(expression->operation, "NotIn") == 0)
		return !value ||
		       !text_is_among(value, expression->values.at, expression->values.count);
	if (strcmp(expression->operation, "Exists") == 0)
		return value != NULL;
	if (strcmp(expression->operation, "DoesNotExist") == 0)
		return !value;
	if (strcmp(expression->operation, "Gt") == 0)
		return compares(expression, value, true);
	return strcmp(expression->operation, "Lt") == 0 && compares(expression, value, false);
}

/* A term without expressions matches no Node. */
static bool matches_term(const struct node_term *term, const struct node *node)
{
	for (size_t i = 0; i < term->count; i++)
		if (!node_match_expression(&term->expressions[i], node))
			return false;
	return term->count > 0;
}

bool node_match_affinity(const struct pod_spec *spec, const struct node *node)
{
	for (size_t i = 0; i < spec->required_node_term_count; i++)
		if (matches_term(&spec->required_node_terms[i], node))
			return true;
	return spec->required_node_term_count == 0;
}

bool node_match_selects(const struct pod_spec *spec, const struct node *node)
{
	return node_match_selector(&spec->node_selector, node) && node_match_affinity(spec, node);
}

void node_match_add(struct node_match_text *text, const char *word)
{
	for (; *word != '\0'; word++)
		VEC_PUSH(text->arena, text, *word);
	VEC_PUSH(text->arena, text, '\n');
}

void node_match_write(struct node_match_text *text, const struct pod_spec *spec)
{
	VEC_EACH(const struct label, one, &spec->node_selector) {
		node_match_add(text, "selector");
		node_match_add(text, one->key);
		node_match_add(text, one->value);
	}
	ARRAY_EACH(const struct node_term, term, spec->required_node_terms,
		   spec->required_node_term_count) {
		node_match_add(text, "term");
		ARRAY_EACH(const struct node_expression, one, term->expressions, term->count) {
			node_match_add(text, one->is_field ? "field" : "label");
			node_match_add(text, one->key);
			node_match_add(text, one->operation);
			node_match_add(text, arena_printf(text->arena, "%zu", one->values.count));
			for (size_t i = 0; i < one->values.count; i++)
				node_match_add(text, one->values.at[i]);
		}
	}
	ARRAY_EACH(const struct toleration, one, spec->tolerations, spec->toleration_count) {
		node_match_add(text, "tolerates");
		node_match_add(text, one->key);
		node_match_add(text, one->operation);
		node_match_add(text, one->value);
		node_match_add(text, one->effect);
	}
}

bool node_match_is_ready(const struct node *node)
{
	const struct condition *ready =
		condition_find(node->conditions, node->condition_count, "Ready");

	return !ready || strcmp(ready->status, "True") == 0;
}
