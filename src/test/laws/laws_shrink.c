#include "laws_shrink.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/text/json_write.h"
#include "laws_case.h"

#define TRIES_MAX 20000
#define FILE_BYTES_MAX ((size_t)16 << 20)

/* ---- changes, by number ---- */

/* Counts down to the change that is wanted; done when it was made. */
struct change {
	int64_t left;
	bool done;
};

static bool is_it(struct change *change)
{
	if (change->done || change->left-- > 0)
		return false;
	change->done = true;
	return true;
}

/* The second half, the first half, then each by itself. */
static void drop_children(struct cJSON *list, struct change *change)
{
	int count = cJSON_GetArraySize(list);

	for (int half = 1; cJSON_IsArray(list) && count >= 4 && half >= 0; half--) {
		if (!is_it(change))
			continue;
		for (int i = 0; i < count / 2; i++)
			cJSON_Delete(cJSON_DetachItemFromArray(list, half * (count / 2)));
		return;
	}
	for (int i = 0; i < count; i++) {
		const struct cJSON *child = cJSON_GetArrayItem(list, i);

		if (child->string && strcmp(child->string, "groupName") == 0)
			continue; /* without its name a group is another kind of failure */
		if (is_it(change)) {
			cJSON_Delete(cJSON_DetachItemFromArray(list, i));
			return;
		}
	}
}

static void shrink_number(struct cJSON *item, struct change *change)
{
	double value = item->valuedouble;

	if (value == 0)
		return;
	if (is_it(change))
		cJSON_SetNumberValue(item, 0);
	if (value != 1 && is_it(change))
		cJSON_SetNumberValue(item, 1);
	if (fabs(value) > 2 && is_it(change))
		cJSON_SetNumberValue(item, trunc(value / 2));
}

/* A string that is a number. */
static void shrink_text(struct cJSON *item, struct change *change)
{
	char text[32], *end;
	long value = strtol(item->valuestring, &end, 10);

	if (*end || value < 2 || !is_it(change))
		return;
	snprintf(text, sizeof(text), "%ld", value / 2);
	cJSON_SetValuestring(item, text);
}

static void change_tree(struct cJSON *tree, struct change *change)
{
	if (cJSON_IsNumber(tree))
		shrink_number(tree, change);
	else if (cJSON_IsString(tree))
		shrink_text(tree, change);
	else
		drop_children(tree, change);
	for (struct cJSON *child = tree->child; child && !change->done; child = child->next)
		change_tree(child, change);
}

static bool breaks_still(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	struct laws_verdict now;

	laws_case_check(snapshot, seed, NULL, &now);
	if (!now.law || strcmp(now.law, verdict->law) != 0)
		return false;
	*verdict = now;
	return true;
}

/* Tries all single changes of the tree by their number, in its order. A change after which the same
 * law breaks is kept, and the same number is tried on the smaller tree; otherwise the next number
 * is tried. Passes over the tree repeat until one keeps nothing, or TRIES_MAX changes were
 * tried. */
struct cJSON *laws_shrink(struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	bool smaller = true;
	int tries = 0;

	while (smaller && tries < TRIES_MAX) {
		smaller = false;
		for (int64_t number = 0; tries < TRIES_MAX; tries++) {
			struct cJSON *other = cJSON_Duplicate(snapshot, true);
			struct change change = { .left = number };

			change_tree(other, &change);
			if (!change.done) {
				cJSON_Delete(other);
				break;
			}
			if (!breaks_still(other, seed, verdict)) {
				cJSON_Delete(other);
				number++;
				continue;
			}
			cJSON_Delete(snapshot);
			snapshot = other;
			smaller = true;
		}
	}
	return snapshot;
}

/* ---- the golden file ---- */

static void write_tree(struct json_writer *writer, const struct cJSON *tree)
{
	if (cJSON_IsObject(tree)) {
		json_write_object(writer, tree->string);
		TREE_EACH(child, tree)
			write_tree(writer, child);
		json_write_object_end(writer);
	} else if (cJSON_IsArray(tree)) {
		json_write_array(writer, tree->string);
		TREE_EACH(child, tree)
			write_tree(writer, child);
		json_write_array_end(writer);
	} else if (cJSON_IsNumber(tree)) {
		json_write_double(writer, tree->string, tree->valuedouble);
	} else if (cJSON_IsString(tree)) {
		json_write_text(writer, tree->string, tree->valuestring);
	} else if (cJSON_IsBool(tree)) {
		json_write_boolean(writer, tree->string, cJSON_IsTrue(tree));
	} else {
		json_write_null(writer, tree->string);
	}
}

/* JSON is YAML as it is, indented by two columns. */
static void print_member(FILE *file, const char *name, const char *json)
{
	fprintf(file, "%s:\n  ", name);
	for (const char *p = json; *p; p++) {
		fputc(*p, file);
		if (*p == '\n' && p[1])
			fputs("  ", file);
	}
	if (*json && json[strlen(json) - 1] != '\n')
		fputc('\n', file);
}

static void print_rule(FILE *file, const char *law, const char *detail)
{
	fprintf(file,
		"# Found by make laws. The plan is the wrong one that was decided.\nrule: 'law %s: ",
		law);
	for (const char *p = detail; *p; p++)
		fputc(*p == '\n' || *p == '\'' ? ' ' : *p, file);
	fputs("'\n", file);
}

int laws_shrink_save(const struct cJSON *snapshot, uint64_t seed,
		     const struct laws_verdict *verdict, const char *directory, char **ret_path)
{
	struct laws_verdict ignored = { .law = NULL };
	AUTO(memory_free_string) char *plan = laws_case_plan(snapshot, false, &ignored);
	AUTO(buf_done) struct buf text = { .data = NULL };
	AUTO(buf_done) struct buf path = { .data = NULL };
	struct json_writer writer;
	FILE *file;

	buf_init(&path, 4096);
	buf_init(&text, FILE_BYTES_MAX);
	buf_printf(&path, "%s/%s-%llu.yaml", directory, verdict->law, (unsigned long long)seed);
	json_write_init(&writer, &text, JSON_STYLE_PRETTY);
	write_tree(&writer, snapshot);
	file = fopen(buf_string(&path), "we");
	if (!file)
		return -1;
	print_rule(file, verdict->law, verdict->detail);
	print_member(file, "changes", buf_string(&text));
	print_member(file, "plan", plan ? plan : "{}");
	if (fclose(file))
		return -1;
	*ret_path = buf_steal(&path);
	return 0;
}
