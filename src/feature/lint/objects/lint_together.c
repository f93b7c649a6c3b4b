/* Values of a Pod template that the API server refuses together: elements with equal keys, amounts that do not fit each
 * other, members that exclude each other (Kubernetes 1.34, pkg/apis/core/validation). Findings of the rule pod-refused. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"
#include "codec/text/quantity.h"
#include "core/model/device.h"
#include "core/model/resources.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_found.h"
#include "feature/lint/objects/lint_row.h"

#define ELEMENTS_MAX 1000 /* that each one is compared with */
#define HUGE_PAGES "hugepages-"
#define ANNOTATIONS_BYTES_MAX ((size_t)256 << 10)

struct check {
	struct arena *arena;
	struct lint_findings *findings;
};

static void refuse(const struct check *check, const char *path, const char *fix, const char *why)
{
	lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, path,
		 arena_printf(check->arena, "%s; the API server refuses each Pod", why), fix);
}

static struct lint_found follow(const struct check *check, struct lint_found from,
				const char *names)
{
	return lint_found_follow(from, names, check->arena);
}

static const char *text_of(const struct check *check, struct lint_found object, const char *name)
{
	return lint_found_member_text(object, name, check->arena);
}

static bool is_given(const struct check *check, struct lint_found object, const char *name)
{
	return lint_found_is_given(follow(check, object, name));
}

/* ---- elements with equal keys ---- */

/* Lists whose elements differ in one member, or in two, of which the second has a default. */
struct keys {
	const char *list, *first, *second, *otherwise;
};

static const struct keys pod_keys[] = {
	{ "resourceClaims", "name", "", "" },
	{ "topologySpreadConstraints", "topologyKey", "whenUnsatisfiable", "" },
	{ "securityContext sysctls", "name", "", "" },
};

static const struct keys container_keys[] = {
	{ "ports", "containerPort", "protocol", "TCP" },
	{ "resizePolicy", "resourceName", "", "" },
	{ "resources claims", "name", "request", "" },
	{ "volumeDevices", "devicePath", "", "" },
};

static bool is_same(const struct cJSON *a, const struct cJSON *b)
{
	if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
		return a->valuedouble == b->valuedouble;
	return cJSON_IsString(a) && cJSON_IsString(b) && a->valuestring[0] != '\0' &&
	       strcmp(a->valuestring, b->valuestring) == 0;
}

/* The value of the second member. */
static const char *second_of(const struct cJSON *one, const struct keys *keys)
{
	const char *text =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, keys->second));

	return text && *text != '\0' ? text : keys->otherwise;
}

static bool is_twice(const struct cJSON *list, const struct cJSON *one, const struct keys *keys)
{
	const struct cJSON *first = cJSON_GetObjectItemCaseSensitive(one, keys->first);
	const struct cJSON *before = list->child;

	for (size_t i = 0; before != one && i < ELEMENTS_MAX; before = before->next, i++)
		if (is_same(first, cJSON_GetObjectItemCaseSensitive(before, keys->first)) &&
		    strcmp(second_of(one, keys), second_of(before, keys)) == 0)
			return true;
	return false;
}

static void check_keys(const struct check *check, struct lint_found from, const struct keys *keys)
{
	struct lint_found list = follow(check, from, keys->list);
	const char *blank = strrchr(keys->list, ' ');
	const struct cJSON *one;
	size_t i = 0;

	if (!cJSON_IsArray(list.json))
		return;
	cJSON_ArrayForEach(one, list.json)
	{
		size_t index = i++;

		if (index < ELEMENTS_MAX && is_twice(list.json, one, keys))
			refuse(check, arena_printf(check->arena, "%s[%zu]", list.path, index), "",
			       arena_printf(check->arena,
					    "two elements of %s have %s %.80s: remove one of them",
					    blank ? blank + 1 : keys->list, keys->first,
					    text_of(check, (struct lint_found){ one, "" },
						    keys->first)));
	}
}

/* ---- amounts ---- */

static bool read_amount(struct lint_found list, const char *name, struct arena *arena,
			int64_t *ret_amount)
{
	const struct cJSON *member = cJSON_GetObjectItemCaseSensitive(list.json, name);
	const char *problem;

	return member && quantity_parse(lint_found_text((struct lint_found){ member, "" }, arena),
					ret_amount, &problem) == 0;
}

/* Huge pages are never overcommitted. `all`: requests above limits of other resources, too. */
static void check_amount(const struct check *check, struct lint_found resources, const char *name,
			 bool all)
{
	struct lint_found limits = follow(check, resources, "limits");
	struct lint_found requests = follow(check, resources, "requests");
	bool huge = strncmp(name, HUGE_PAGES, strlen(HUGE_PAGES)) == 0;
	const char *path, *limit_text;
	int64_t request, limit;

	if (!read_amount(requests, name, check->arena, &request))
		return;
	path = lint_path_member(check->arena, requests.path, name);
	if (!read_amount(limits, name, check->arena, &limit)) {
		if (huge && !is_given(check, limits, name))
			refuse(check, path, "",
			       arena_printf(check->arena,
					    "%.80s in requests needs the same limit: write it into "
					    "limits",
					    name));
		return;
	}
	limit_text = text_of(check, limits, name);
	if (huge ? request != limit : all && request > limit)
		refuse(check, path, arena_printf(check->arena, "%s: %s", name, limit_text),
		       arena_printf(check->arena,
				    "%.80s in requests is %.32s, %s its limit %.32s: "
				    "write the same amount",
				    name, text_of(check, requests, name), huge ? "and" : "above",
				    limit_text));
}

#define SIZES_OF_LINUX "write hugepages-2Mi or hugepages-1Gi"

/* Pages of Linux have a power of two as their size. */
static const char *page_problem(const struct check *check, const char *name, int64_t amount)
{
	const char *size = name + strlen(HUGE_PAGES), *problem;
	int64_t page, bytes;

	if (quantity_parse(size, &page, &problem) || page <= 0 || page % RESOURCE_UNIT != 0)
		return arena_printf(
			check->arena,
			"%.80s is not the name of huge pages, and the API server refuses each Pod: " SIZES_OF_LINUX,
			name);
	bytes = page / RESOURCE_UNIT;
	if ((bytes & (bytes - 1)) != 0)
		return arena_printf(check->arena,
				    "no Node has pages of %.32s, so no Pod starts: " SIZES_OF_LINUX,
				    size);
	return amount % page == 0 ?
		       NULL :
		       arena_printf(
			       check->arena,
			       "%.80s is not a multiple of %.32s, and the API server refuses each Pod: raise it",
			       name, size);
}

static void check_pages(const struct check *check, struct lint_found container)
{
	struct lint_found resources = follow(check, container, "resources");
	struct lint_found limits = follow(check, resources, "limits");
	bool is_alone = !is_given(check, limits, "cpu") && !is_given(check, limits, "memory") &&
			!is_given(check, resources, "requests cpu") &&
			!is_given(check, resources, "requests memory");
	const struct cJSON *one;
	int64_t amount;
	size_t i = 0;

	cJSON_ArrayForEach(one, limits.json)
	{
		const char *name = one->string, *problem, *path;

		if (!name || i++ >= ELEMENTS_MAX ||
		    strncmp(name, HUGE_PAGES, strlen(HUGE_PAGES)) != 0 ||
		    !read_amount(limits, name, check->arena, &amount))
			continue;
		path = lint_path_member(check->arena, limits.path, name);
		problem = page_problem(check, name, amount);
		if (problem)
			lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, path,
				 problem, "");
		else if (is_alone)
			refuse(check, path, "memory: 1Gi",
			       "huge pages need cpu or memory of the same container: add one");
	}
}

static void check_amounts(const struct check *check, struct lint_found container, bool all)
{
	struct lint_found resources = follow(check, container, "resources");
	struct lint_found requests = follow(check, resources, "requests");
	const struct cJSON *one;
	size_t i = 0;

	cJSON_ArrayForEach(one, requests.json)
	{
		if (one->string && i++ < ELEMENTS_MAX)
			check_amount(check, resources, one->string, all);
	}
}

/* Resources of a whole Pod below those of its containers together. */
static void check_sum(const struct check *check, struct lint_found spec, const char *name)
{
	struct lint_found own = follow(check, spec, "resources requests");
	struct lint_found list = follow(check, spec, "containers");
	int64_t whole, sum = 0, amount;
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		struct lint_found requests = follow(check, one, "resources requests");

		if (!is_given(check, requests, name))
			requests = follow(check, one, "resources limits");
		if (read_amount(requests, name, check->arena, &amount) && amount <= INT64_MAX - sum)
			sum += amount;
	}
	if (!is_given(check, own, name))
		own = follow(check, spec, "resources limits");
	if (read_amount(own, name, check->arena, &whole) && whole < sum)
		refuse(check, lint_path_member(check->arena, own.path, name), "",
		       arena_printf(
			       check->arena,
			       "resources of the Pod have %.32s of %s, less than its containers "
			       "together: raise it, or lower theirs",
			       text_of(check, own, name), name));
}

/* ---- one container ---- */

static bool is_accelerator(const char *name)
{
	return device_find(device_table_builtin(), name);
}

static bool is_true(const struct check *check, struct lint_found object, const char *names)
{
	return strcmp(text_of(check, object, names), "true") == 0;
}

static void check_mounts(const struct check *check, struct lint_found container)
{
	struct lint_found list = follow(check, container, "volumeMounts");
	struct lint_found one = lint_found_element(list, 0, check->arena);
	bool privileged = is_true(check, container, "securityContext privileged");

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		const char *recursive = text_of(check, one, "recursiveReadOnly");

		if (!privileged &&
		    strcmp(text_of(check, one, "mountPropagation"), "Bidirectional") == 0)
			refuse(check, one.path, "mountPropagation: HostToContainer",
			       "mountPropagation Bidirectional needs a privileged container: write "
			       "HostToContainer");
		if ((strcmp(recursive, "Enabled") == 0 || strcmp(recursive, "IfPossible") == 0) &&
		    !is_true(check, one, "readOnly"))
			refuse(check, one.path, "readOnly: true",
			       "recursiveReadOnly needs readOnly: add it");
	}
}

static void check_privileges(const struct check *check, struct lint_found container)
{
	struct lint_found added = follow(check, container, "securityContext capabilities add");
	struct lint_found one = lint_found_element(added, 0, check->arena);

	if (strcmp(text_of(check, container, "securityContext allowPrivilegeEscalation"),
		   "false") != 0)
		return;
	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(added, ++i, check->arena))
		if (strcmp(lint_found_text(one, check->arena), "CAP_SYS_ADMIN") == 0)
			refuse(check, one.path, "",
			       "allowPrivilegeEscalation false and the capability CAP_SYS_ADMIN "
			       "exclude each other: remove one of them");
}

/* Extended resources, whose names have a domain, are whole numbers, and requests their limits. Those of accelerators are
 * rules on the decoded Pod. */
static void check_whole(const struct check *check, struct lint_found container)
{
	struct lint_found limits = follow(check, container, "resources limits");
	struct lint_found requests = follow(check, container, "resources requests");
	const struct cJSON *one;
	int64_t request, limit;
	size_t i = 0;

	cJSON_ArrayForEach(one, limits.json)
	{
		const char *name = one->string;

		if (!name || i++ >= ELEMENTS_MAX || !strchr(name, '/') || is_accelerator(name) ||
		    strstr(name, "kubernetes.io/") ||
		    !read_amount(limits, name, check->arena, &limit))
			continue;
		if (limit % RESOURCE_UNIT != 0)
			refuse(check, lint_path_member(check->arena, limits.path, name), "",
			       arena_printf(check->arena, "%.80s is %.32s: write a whole number",
					    name, text_of(check, limits, name)));
		else if (read_amount(requests, name, check->arena, &request) && request != limit)
			refuse(check, lint_path_member(check->arena, requests.path, name), "",
			       arena_printf(
				       check->arena,
				       "%.80s in requests differs from its limit: write the same "
				       "amount, or leave it out of requests",
				       name));
	}
	i = 0;
	cJSON_ArrayForEach(one, requests.json)
	{
		const char *name = one->string;

		if (name && i++ < ELEMENTS_MAX && strchr(name, '/') && !is_accelerator(name) &&
		    !strstr(name, "kubernetes.io/") && !is_given(check, limits, name))
			refuse(check, lint_path_member(check->arena, requests.path, name), "",
			       arena_printf(check->arena,
					    "%.80s in requests needs the same limit: write it into "
					    "limits",
					    name));
	}
}

static bool has_port(const struct check *check, struct lint_found container, const char *name)
{
	/* Of Ray's container, by KubeRay. */
	static const char *const own[] = { "metrics", "client",    "gcs",   "gcs-server",
					   "redis",   "dashboard", "serve", "dashboard-agent" };
	struct lint_found list = follow(check, container, "ports");
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena))
		if (strcmp(text_of(check, one, "name"), name) == 0)
			return true;
	return text_is_among(name, own, sizeof(own) / sizeof(own[0]));
}

/* The kubelet looks the name up in the container. */
static void check_probes(const struct check *check, struct lint_found container)
{
	static const char *const places[] = {
		"livenessProbe httpGet port",     "livenessProbe tcpSocket port",
		"readinessProbe httpGet port",    "readinessProbe tcpSocket port",
		"startupProbe httpGet port",      "startupProbe tcpSocket port",
		"lifecycle preStop httpGet port", "lifecycle postStart httpGet port"
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct lint_found port = follow(check, container, places[i]);
		const char *name = cJSON_GetStringValue(port.json);

		if (name && *name != '\0' && name[strspn(name, "0123456789")] != '\0' &&
		    !strpbrk(name, "${") && !has_port(check, container, name))
			lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, port.path,
				 arena_printf(check->arena,
					      "no port of the container has the name %.63s, so "
					      "the kubelet reaches nothing and the check fails: "
					      "add it to ports, or write a number",
					      name),
				 "");
	}
}

static void check_container(const struct check *check, struct lint_found one, const char *own,
			    bool init)
{
	if (*own != '\0' && strcmp(text_of(check, one, "name"), own) == 0)
		refuse(check, one.path, "",
		       arena_printf(
			       check->arena,
			       "%s is the name of a container that KubeRay adds: rename this one",
			       own));
	for (size_t i = 0; i < sizeof(container_keys) / sizeof(container_keys[0]); i++)
		check_keys(check, one, &container_keys[i]);
	/* Those of others are rules on the decoded Pod. */
	check_amounts(check, one, init);
	check_pages(check, one);
	check_mounts(check, one);
	check_probes(check, one);
	check_privileges(check, one);
	check_whole(check, one);
}

static void check_containers(const struct check *check, struct lint_found spec, const char *name,
			     const char *own)
{
	struct lint_found list = follow(check, spec, name);
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena))
		check_container(check, one, own, strcmp(name, "containers") != 0);
}

/* ---- the Pod ---- */

static void check_tolerations(const struct check *check, struct lint_found spec)
{
	struct lint_found list = follow(check, spec, "tolerations");
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena))
		if (cJSON_IsObject(one.json) && *text_of(check, one, "key") == '\0' &&
		    strcmp(text_of(check, one, "operator"), "Exists") != 0)
			refuse(check, one.path, "operator: Exists",
			       "a toleration without key tolerates every taint, with operator Exists: "
			       "add it, or the key");
}

/* "TCP 10.0.0.1 80" of a port that the container takes of its Node; NULL: none. */
static const char *host_port(const struct check *check, struct lint_found port, bool of_host)
{
	const char *number = text_of(check, port, "hostPort");
	const char *protocol = text_of(check, port, "protocol");

	if (*number == '\0' || strcmp(number, "0") == 0)
		number = of_host ? text_of(check, port, "containerPort") : "";
	return *number == '\0' ?
		       NULL :
		       arena_printf(check->arena, "%s %s %s", *protocol != '\0' ? protocol : "TCP",
				    text_of(check, port, "hostIP"), number);
}

/* Of the Pod: its containers have one Node. */
static void check_host_ports(const struct check *check, struct lint_found spec)
{
	bool of_host = is_true(check, spec, "hostNetwork");
	struct lint_found list = follow(check, spec, "containers");
	struct lint_found container = lint_found_element(list, 0, check->arena);
	VEC(const char *) taken = { NULL, 0, 0 };

	for (size_t c = 0; container.json && c < ELEMENTS_MAX;
	     container = lint_found_element(list, ++c, check->arena)) {
		struct lint_found ports = follow(check, container, "ports");
		struct lint_found port = lint_found_element(ports, 0, check->arena);

		for (size_t i = 0; port.json && taken.count < ELEMENTS_MAX;
		     port = lint_found_element(ports, ++i, check->arena)) {
			const char *own = host_port(check, port, of_host);
			size_t other = 0;

			while (own && other < taken.count && strcmp(taken.at[other], own) != 0)
				other++;
			if (own && other < taken.count)
				refuse(check, port.path, "",
				       arena_printf(check->arena,
						    "two ports of the Pod have hostPort %s: "
						    "write another one, or remove it",
						    strrchr(own, ' ') + 1));
			else if (own)
				VEC_PUSH(check->arena, &taken, own);
		}
	}
}

/* Gt and Lt compare with one number, Exists with none. */
static void check_values(const struct check *check, struct lint_found expression)
{
	const char *operator= text_of(check, expression, "operator");
	struct lint_found values = follow(check, expression, "values");
	int count = cJSON_IsArray(values.json) ? cJSON_GetArraySize(values.json) : 0;

	if (count > 0 && (strcmp(operator, "Exists") == 0 || strcmp(operator, "DoesNotExist") == 0))
		refuse(check, values.path, "",
		       arena_printf(
			       check->arena,
			       "operator %s has no values: remove them, or write In", operator));
	else if (count != 1 && (strcmp(operator, "Gt") == 0 || strcmp(operator, "Lt") == 0))
		refuse(check, expression.path, "values: [\"1\"]",
		       arena_printf(check->arena,
				    "operator %s needs one value: write a number", operator));
}

/* Each object named matchExpressions in the affinities. */
static void walk_expressions(const struct check *check, struct lint_found at)
{
	const struct cJSON *json;
	size_t i = 0;

	cJSON_ArrayForEach(json, at.json)
	{
		bool is_list = cJSON_IsArray(at.json);
		struct lint_found one = {
			json, is_list ? arena_printf(check->arena, "%s[%zu]", at.path, i++) :
					lint_path_member(check->arena, at.path, json->string)
		};

		if (is_list && is_given(check, one, "operator") && is_given(check, one, "key"))
			check_values(check, one);
		else if (cJSON_IsObject(json) || cJSON_IsArray(json))
			walk_expressions(check, one);
	}
}

static void check_annotations(const struct check *check, struct lint_found template)
{
	struct lint_found annotations = follow(check, template, "metadata annotations");
	const struct cJSON *one;
	size_t bytes = 0;

	cJSON_ArrayForEach(one, annotations.json)
	{
		bytes += one->string ? strlen(one->string) : 0;
		bytes += cJSON_IsString(one) ? strlen(one->valuestring) : 0;
	}
	if (bytes > ANNOTATIONS_BYTES_MAX)
		refuse(check, annotations.path, "",
		       arena_printf(
			       check->arena,
			       "the annotations have %zu bytes, more than 262144: move the long "
			       "one into a ConfigMap",
			       bytes));
}

#define GRACE_SECONDS 30 /* of a Pod that says none */

/* A hook that sleeps ends before its Pod is killed. */
static void check_sleep(const struct check *check, struct lint_found spec)
{
	struct lint_found list = follow(check, spec, "containers");
	struct lint_found one = lint_found_element(list, 0, check->arena);
	struct lint_found grace = follow(check, spec, "terminationGracePeriodSeconds");
	double most = cJSON_IsNumber(grace.json) ? grace.json->valuedouble : GRACE_SECONDS;

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		struct lint_found at = follow(check, one, "lifecycle preStop sleep seconds");

		if (cJSON_IsNumber(at.json) && at.json->valuedouble > most)
			refuse(check, at.path, "",
			       arena_printf(
				       check->arena,
				       "the hook sleeps for longer than terminationGracePeriodSeconds, "
				       "%.0f: raise that, or lower seconds",
				       most));
	}
}

/* Claims for a volume of the Pod's own have an amount. */
static void check_volumes(const struct check *check, struct lint_found spec)
{
	struct lint_found list = follow(check, spec, "volumes");
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		struct lint_found claim = follow(check, one, "ephemeral volumeClaimTemplate spec");

		if (cJSON_IsObject(claim.json) &&
		    !is_given(check, claim, "resources requests storage"))
			refuse(check, claim.path, "resources: {requests: {storage: 10Gi}}",
			       "the claim has no resources.requests.storage: add it");
	}
}

#define EACH "; the API server refuses each Pod"
#define NEVER "template spec restartPolicy=Never ? "
#define RESTARTS "template spec containers * resizePolicy * restartPolicy"
#define NOT_RESTARTED                                                                              \
	"with restartPolicy Never, which KubeRay writes for version v2, the resizePolicy must be " \
	"NotRequired" EACH

static const struct lint_row template_rows[] = {
	{ 0, 0, ALL, "template spec os name=linux ? template spec securityContext windowsOptions",
	  IS_GIVEN, "", "a Pod of Linux has no windowsOptions: remove it" EACH, "" },
	{ 0, 0, ALL,
	  "template spec os name=linux ? template spec containers * securityContext windowsOptions",
	  IS_GIVEN, "", "a Pod of Linux has no windowsOptions: remove it" EACH, "" },
	{ 0, 0, ALL, "template spec os name", IS, "windows",
	  "KubeRay starts Ray with a shell of Linux, and no Node with Windows runs it: write linux",
	  "name: linux" },
	{ 0, 0, ALL, "template spec dnsPolicy=None ? template spec dnsConfig nameservers 0",
	  IS_MISSING, "", "dnsPolicy None needs nameservers in dnsConfig: add one" EACH,
	  "nameservers: [10.96.0.10]" },
	{ AUTOSCALED | V2, 0, ALL, RESTARTS, IS, "RestartContainer", NOT_RESTARTED,
	  "restartPolicy: NotRequired" },
	{ 0, AUTOSCALED | V2, ALL, NEVER RESTARTS, IS, "RestartContainer", NOT_RESTARTED,
	  "restartPolicy: NotRequired" },
	{ 0, 0, ALL,
	  "template spec hostUsers= ? template spec containers * securityContext procMount", IS,
	  "Unmasked", "procMount Unmasked needs hostUsers false: write Default" EACH,
	  "procMount: Default" },
	{ 0, 0, ALL, "template spec resources claims 0", IS_GIVEN, "",
	  "resources of a whole Pod have no claims: write them into resources of the container" EACH,
	  "" },
	{ 0, 0, ALL, "template spec priorityClassName= ? template spec preemptionPolicy", IS,
	  "Never",
	  "preemptionPolicy is that of the PriorityClass: remove it, or add priorityClassName" EACH,
	  "priorityClassName: NAME" },
	{ 0, 0, ALL, "template spec containers * workingDir", IS_NO_ROOTED, "",
	  "workingDir must be an absolute path: the container does not start", "" },
	{ 0, 0, ALL, "template spec initContainers * workingDir", IS_NO_ROOTED, "",
	  "workingDir must be an absolute path: the container does not start", "" },
	{ 0, 0, ALL, "template spec priority", IS_NOT, "0",
	  "priority is written by the API server: remove it, or write priorityClassName" EACH,
	  "priorityClassName: NAME" },
};

void lint_together_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			   struct lint_findings *findings)
{
	static const struct lint_rows rows = { LINT_RULE_POD_REFUSED, false, false, template_rows,
					       sizeof(template_rows) / sizeof(template_rows[0]) };

	lint_row_check(&rows, kind, cluster, lint_row_facts(kind, cluster, arena), arena, findings);
}

static void check_members(const struct check *check, struct lint_found spec)
{
	if (is_given(check, spec, "ephemeralContainers"))
		refuse(check, follow(check, spec, "ephemeralContainers").path, "",
		       "ephemeralContainers are added to Pods that run: remove them");
	if (is_given(check, spec, "overhead") && !is_given(check, spec, "runtimeClassName"))
		refuse(check, follow(check, spec, "overhead").path, "",
		       "overhead is that of a RuntimeClass: remove it, or add runtimeClassName");
	if (is_given(check, spec, "nodeName") && is_given(check, spec, "schedulingGates 0"))
		refuse(check, follow(check, spec, "nodeName").path, "",
		       "nodeName and schedulingGates exclude each other: remove one of them");
	check_sleep(check, spec);
	check_volumes(check, spec);
}

void lint_together_check(struct lint_found template, const char *own, struct arena *arena,
			 struct lint_findings *findings)
{
	const struct check check = { arena, findings };
	struct lint_found spec = follow(&check, template, "spec");

	check_annotations(&check, template);
	check_members(&check, spec);
	check_tolerations(&check, spec);
	check_host_ports(&check, spec);
	lint_volume_check(spec, arena, findings);
	walk_expressions(&check, follow(&check, spec, "affinity"));
	for (size_t i = 0; i < sizeof(pod_keys) / sizeof(pod_keys[0]); i++)
		check_keys(&check, spec, &pod_keys[i]);
	check_containers(&check, spec, "initContainers", own);
	check_containers(&check, spec, "containers", own);
	check_amounts(&check, spec, true);
	if (is_given(&check, spec, "resources")) {
		check_sum(&check, spec, "cpu");
		check_sum(&check, spec, "memory");
	}
}

void lint_together_amounts(struct lint_found container, struct arena *arena,
			   struct lint_findings *findings)
{
	check_amounts(&(const struct check){ arena, findings }, container, true);
}
