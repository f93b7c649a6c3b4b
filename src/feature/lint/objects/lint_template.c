/* Fields of the Pod templates of a RayCluster that no decision reads: what makes the API server refuse each Pod of
 * a group (rule pod-refused: labels, names, images, volume mounts, claims; ValidatePodSpec of Kubernetes 1.34), and a
 * start command that a shell splits (start-command-unquoted). */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/arena.h"
#include "core/model/autoscaler_container.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_form.h"
#include "feature/lint/objects/lint_found.h"

#define START_VARIABLE "KUBERAY_GEN_RAY_START_CMD"
#define START_FIX "args: ['eval \"$" START_VARIABLE "\"']"
#define NAME_BYTES_MAX 63
#define TWICE_MAX 1000 /* elements that each one is compared with */

/* The template of the head or of one group. */
struct check {
	struct arena *arena;
	struct lint_findings *findings;
	struct lint_found group; /* headGroupSpec, or an element of workerGroupSpecs */
	struct lint_found spec;  /* of the Pod */
	const char *own;         /* the container that KubeRay adds, "" for none */
	bool has_logs;           /* KubeRay adds the volume ray-logs */
	bool own_command;        /* annotation ray.io/overwrite-container-cmd of the RayCluster */
};

static struct lint_finding *refuse(const struct check *check, const char *path, const char *why)
{
	return lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, path,
			arena_printf(check->arena, "%s; the API server refuses each Pod", why), "");
}

static const char *name_of(const struct check *check, struct lint_found object)
{
	return lint_found_member_text(object, "name", check->arena);
}

static bool has_element(const struct check *check, struct lint_found list, const char *name,
			size_t before)
{
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < before;
	     one = lint_found_element(list, ++i, check->arena))
		if (strcmp(name_of(check, one), name) == 0)
			return true;
	return false;
}

static bool is_among(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* Each element of a list of a container names an element of a list of the Pod. `own`: made by KubeRay. */
static void check_references(const struct check *check, struct lint_found container,
			     const char *list, const char *of, const char *const *own)
{
	struct lint_found names = lint_found_follow(container, list, check->arena);
	struct lint_found known = lint_found_follow(check->spec, of, check->arena);
	struct lint_found one = lint_found_element(names, 0, check->arena);

	for (size_t i = 0; one.json; one = lint_found_element(names, ++i, check->arena)) {
		const char *name = name_of(check, one);

		if (*name != '\0' && !is_among(name, own) &&
		    !has_element(check, known, name, SIZE_MAX))
			refuse(check, one.path,
			       arena_printf(check->arena,
					    "%.80s is not in %s of the Pod; add it there", name,
					    of));
	}
}

/* Whether an element before this one has the same text; both are of one list. */
static bool is_twice(const struct cJSON *list, const struct cJSON *one, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, key));
	const struct cJSON *before = list->child;

	if (!text)
		return false;
	for (size_t i = 0; before != one && i < TWICE_MAX; before = before->next, i++) {
		const char *other =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(before, key));

		if (other && strcmp(other, text) == 0)
			return true;
	}
	return false;
}

/* Elements of a list with one value of `key`: the Pod is refused, or of variables the last wins. */
static void check_twice(const struct check *check, struct lint_found from, const char *names,
			const char *key, bool refused)
{
	struct lint_found list = lint_found_follow(from, names, check->arena);
	const struct cJSON *one;
	size_t i = 0;

	if (!cJSON_IsArray(list.json))
		return;
	cJSON_ArrayForEach(one, list.json)
	{
		const char *path = arena_printf(check->arena, "%s[%zu]", list.path, i++);

		if (!is_twice(list.json, one, key))
			continue;
		if (refused)
			refuse(check, path,
			       arena_printf(check->arena, "two %s have this %s; remove one of them",
					    names, key));
		else
			lint_add(check->arena, check->findings, LINT_RULE_SETTING_WITHOUT_EFFECT,
				 path,
				 "the variable is there twice, and the last one wins; remove one "
				 "of them",
				 "");
	}
}

static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t size = strlen(name);

	return size > 0 && size <= NAME_BYTES_MAX && strspn(name, letters) == size &&
	       name[0] != '-' && name[size - 1] != '-';
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* The registry before the first "/", which alone may have upper-case letters. */
static size_t registry_size(const char *name)
{
	size_t size = strcspn(name, "/"), letters = strcspn(name, ".:" UPPER);

	return name[size] == '/' && (letters < size || strncmp(name, "localhost/", 10) == 0) ?
		       size + 1 :
		       0;
}

/* [REGISTRY/]PATH[:TAG][@DIGEST], as the kubelet reads it. */
static bool is_image(const char *name)
{
	const char *path = name + registry_size(name);
	const char *end = path + strspn(path, LOWER DIGITS "._/-");

	if (end == path || end[-1] == '/' || strstr(name, "//"))
		return false;
	if (*end == ':' && end[1] != '\0' && !strchr(".-@:", end[1]))
		end += 1 + strspn(end + 1, LOWER UPPER DIGITS "._-");
	if (*end == '@')
		end += 1 + strspn(end + 1, LOWER UPPER DIGITS "+._:-");
	return *end == '\0';
}

/* The kubelet's InvalidImageName. One with "$" or "{" is filled in before it is applied. */
static void check_image(const struct check *check, struct lint_found container)
{
	struct lint_found image = lint_found_follow(container, "image", check->arena);
	const char *name = lint_found_text(image, check->arena);

	if (*name == '\0' || strpbrk(name, "${") || is_image(name))
		return;
	lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, image.path,
		 arena_printf(check->arena,
			      "the image's name \"%.80s\" is invalid, so no Pod starts "
			      "(InvalidImageName): write REPOSITORY:TAG, in lower case, without "
			      "blanks and scheme",
			      name),
		 "");
}

/* Containers and init containers have one room of names. */
static bool is_init_of_other(const struct check *check, struct lint_found list, const char *name)
{
	struct lint_found init = lint_found_follow(check->spec, "initContainers", check->arena);

	return init.json != list.json && has_element(check, init, name, SIZE_MAX);
}

static void check_container(const struct check *check, struct lint_found list, size_t index)
{
	static const char *const volumes[] = { "ray-logs", "shared-mem", "ray-token", NULL };
	static const char *const claims[] = { NULL };
	struct lint_found one = lint_found_element(list, index, check->arena);
	const char *name = name_of(check, one);

	if (!cJSON_IsObject(one.json))
		return;
	if (!is_name(name))
		refuse(check, one.path,
		       arena_printf(
			       check->arena,
			       "the container's name \"%.80s\" is not of lower-case letters, digits and \"-\"; rename it",
			       name));
	else if (has_element(check, list, name, index) || is_init_of_other(check, list, name))
		refuse(check, one.path,
		       arena_printf(check->arena, "a second container has the name %s; rename it",
				    name));
	if (*lint_found_member_text(one, "image", check->arena) == '\0')
		refuse(check, one.path,
		       arena_printf(check->arena, "container %.63s has no image; add one", name));
	check_image(check, one);
	check_twice(check, one, "env", "name", false);
	check_twice(check, one, "volumeMounts", "mountPath", true);
	check_twice(check, one, "ports", "name", true);
	check_references(check, one, "volumeMounts", "volumes",
			 check->has_logs ? volumes : volumes + 1);
	check_references(check, one, "volumeDevices", "volumes", claims);
	check_references(check, one, "resources claims", "resourceClaims", claims);
}

/* "sleep infinity", as words of a list or within one. */
static bool is_endless(const struct check *check, struct lint_found container, const char *name)
{
	struct lint_found list = lint_found_follow(container, name, check->arena);
	struct lint_found one = lint_found_element(list, 0, check->arena);
	bool sleeps = false;

	for (size_t i = 0; one.json && i < TWICE_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		const char *text = lint_found_text(one, check->arena);

		if (strstr(text, "sleep infinity") || strstr(text, "tail -f") ||
		    (sleeps && strcmp(text, "infinity") == 0))
			return true;
		sleeps = sleeps || strcmp(text, "sleep") == 0;
	}
	return false;
}

/* An init container ends before others start, but for one with restartPolicy Always. */
static void check_init(const struct check *check, struct lint_found one)
{
	const char *name = name_of(check, one);

	if (strcmp(lint_found_member_text(one, "restartPolicy", check->arena), "Always") == 0 ||
	    (!is_endless(check, one, "command") && !is_endless(check, one, "args")))
		return;
	lint_add(check->arena, check->findings, LINT_RULE_RAY_NOT_STARTED, one.path,
		 arena_printf(
			 check->arena,
			 "init container %.63s does not end, so Ray never starts: remove it, or "
			 "write restartPolicy: Always for one that runs beside Ray",
			 name),
		 "restartPolicy: Always");
}

static void check_containers(const struct check *check, const char *name)
{
	struct lint_found list = lint_found_follow(check->spec, name, check->arena);

	if (!cJSON_IsArray(list.json))
		return;
	for (size_t i = 0; i < (size_t)cJSON_GetArraySize(list.json); i++) {
		check_container(check, list, i);
		if (strcmp(name, "initContainers") == 0)
			check_init(check, lint_found_element(list, i, check->arena));
	}
}

/* ---- the start command ---- */

/* The shell expands it without its quotes, because eval does not evaluate it. */
static bool is_split(const char *text)
{
	const char *at = strstr(text, "$" START_VARIABLE);
	bool quoted;

	at = at ? at : strstr(text, "${" START_VARIABLE "}");
	if (!at)
		return false;
	quoted = at > text && at[-1] == '"';
	while (at > text && strchr(" \t\"", at[-1]))
		at--;
	if (at - text >= 4 && strncmp(at - 4, "eval", 4) == 0)
		return false;
	/* bash -c "$KUBERAY_GEN_RAY_START_CMD" evaluates it, too. */
	return !quoted || at - text < 3 || at[-1] != 'c' || at[-2] == ' ';
}

/* Values that KubeRay writes with quotes or blanks: `ray start` then fails. */
static bool has_quotes(const struct check *check)
{
	static const char *const places[] = {
		"rayStartParams resources",
		"rayStartParams labels-file",
		"resources",
		"template spec containers 0 resources limits google.com/tpu",
		"template spec containers 0 resources limits aws.amazon.com/neuroncore",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct lint_found at = lint_found_follow(check->group, places[i], check->arena);

		if (lint_found_is_given(at) && !(cJSON_IsObject(at.json) && !at.json->child))
			return true;
	}
	return false;
}

static void check_start_command(const struct check *check)
{
	static const char *const lists[] = { "containers 0 args", "containers 0 command",
					     "containers 0 lifecycle postStart exec command" };

	if (!check->own_command)
		return;
	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
		struct lint_found list = lint_found_follow(check->spec, lists[l], check->arena);
		struct lint_found one = lint_found_element(list, 0, check->arena);

		for (size_t i = 0; one.json; one = lint_found_element(list, ++i, check->arena))
			if (is_split(lint_found_text(one, check->arena)))
				lint_add(
					check->arena, check->findings,
					LINT_RULE_START_COMMAND_UNQUOTED, one.path,
					"the shell splits $" START_VARIABLE
					" at blanks and keeps its quotes, so ray start fails on values with "
					"them: write eval \"$" START_VARIABLE "\"",
					START_FIX)
					->severity = has_quotes(check) ? LINT_ERROR : LINT_WARNING;
	}
}

/* ---- the cluster ---- */

static void check_tolerations(const struct check *check)
{
	struct lint_found list = lint_found_follow(check->spec, "tolerations", check->arena);
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json; one = lint_found_element(list, ++i, check->arena))
		if (strcmp(lint_found_member_text(one, "operator", check->arena), "Exists") == 0 &&
		    *lint_found_member_text(one, "value", check->arena) != '\0')
			refuse(check, one.path,
			       "operator Exists has no value: remove it, or write Equal");
}

/* The API server makes an empty directory of one without a source. */
static void check_volumes(const struct check *check)
{
	struct lint_found list = lint_found_follow(check->spec, "volumes", check->arena);
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json; one = lint_found_element(list, ++i, check->arena))
		if (cJSON_IsObject(one.json) && cJSON_GetArraySize(one.json) == 1 &&
		    *name_of(check, one) != '\0')
			lint_add(
				check->arena, check->findings, LINT_RULE_SETTING_WITHOUT_EFFECT,
				one.path,
				"the volume has no source, so it is an empty directory that ends with its "
				"Pod: add persistentVolumeClaim, configMap or another, or write emptyDir",
				"emptyDir: {}");
}

/* In the network of the Node a container has the ports that it has. */
static void check_host_ports(const struct check *check)
{
	struct lint_found network = lint_found_follow(check->spec, "hostNetwork", check->arena);
	struct lint_found ports =
		lint_found_follow(check->spec, "containers 0 ports", check->arena);
	struct lint_found one = lint_found_element(ports, 0, check->arena);

	for (size_t i = 0; one.json && cJSON_IsTrue(network.json);
	     one = lint_found_element(ports, ++i, check->arena)) {
		const char *host = lint_found_member_text(one, "hostPort", check->arena);
		const char *own = lint_found_member_text(one, "containerPort", check->arena);

		if (*host != '\0' && *own != '\0' && strcmp(host, own) != 0)
			refuse(check, one.path,
			       arena_printf(check->arena,
					    "with hostNetwork hostPort must be containerPort: write "
					    "%s, or remove hostPort",
					    own));
	}
}

/* KubeRay starts Ray in the first container, whatever the others are named. */
static void check_first(const struct check *check)
{
	struct lint_found list = lint_found_follow(check->spec, "containers", check->arena);
	struct lint_found first = lint_found_element(list, 0, check->arena);
	struct lint_found one = lint_found_element(list, 1, check->arena);

	if (strncmp(name_of(check, first), "ray", 3) == 0)
		return;
	for (size_t i = 1; one.json; one = lint_found_element(list, ++i, check->arena)) {
		const char *name = name_of(check, one);

		if (strcmp(name, "ray-worker") != 0 && strcmp(name, "ray-head") != 0)
			continue;
		lint_add(check->arena, check->findings, LINT_RULE_RAY_NOT_STARTED, first.path,
			 arena_printf(
				 check->arena,
				 "KubeRay starts Ray in the first container, which is %.63s: move "
				 "%s to the first place",
				 name_of(check, first), name),
			 "");
		return;
	}
}

static void check_group(struct check *check)
{
	check->spec = lint_found_follow(check->group, "template spec", check->arena);
	if (!cJSON_IsObject(check->spec.json))
		return;
	lint_form_check(lint_found_follow(check->group, "template metadata", check->arena),
			"metadata", LINT_RULE_POD_REFUSED, "each Pod", check->arena,
			check->findings);
	lint_form_check(check->spec, "spec", LINT_RULE_POD_REFUSED, "each Pod", check->arena,
			check->findings);
	lint_together_check(lint_found_follow(check->group, "template", check->arena), check->own,
			    check->arena, check->findings);
	check_tolerations(check);
	check_host_ports(check);
	check_twice(check, check->spec, "schedulingGates", "name", true);
	check_twice(check, check->spec, "volumes", "name", true);
	check_volumes(check);
	check_containers(check, "initContainers");
	check_containers(check, "containers");
	check_first(check);
	check_start_command(check);
}

void lint_template_check(const struct cJSON *cluster, struct arena *arena,
			 struct lint_findings *findings)
{
	struct lint_found root = { cluster, "" }, groups;
	struct lint_found own = lint_found_follow(
		root, "metadata annotations ray.io/overwrite-container-cmd", arena);
	struct check check = { .arena = arena, .findings = findings };
	bool scaled =
		cJSON_IsTrue(lint_found_follow(root, "spec enableInTreeAutoscaling", arena).json);
	bool collects = lint_found_follow(root, "spec historyServerOptions", arena).json;

	check.own_command = strcmp(lint_found_text(own, arena), "true") == 0;
	check_image(&check, lint_found_follow(root, "spec autoscalerOptions", arena));
	lint_together_amounts(lint_found_follow(root, "spec autoscalerOptions", arena), arena,
			      findings);
	check.group = lint_found_follow(root, "spec headGroupSpec", arena);
	check.own = scaled ? AUTOSCALER_CONTAINER : "";
	check.has_logs = scaled || collects;
	check_group(&check);
	check.own = "wait-gcs-ready";
	check.has_logs = collects;
	groups = lint_found_follow(root, "spec workerGroupSpecs", arena);
	if (!cJSON_IsArray(groups.json))
		return;
	for (size_t g = 0; g < (size_t)cJSON_GetArraySize(groups.json); g++) {
		check.group = lint_found_element(groups, g, arena);
		check_group(&check);
	}
}
