/* Security settings of the Pod templates of a RayCluster: what the Pod Security Standards baseline and restricted forbid
 * (k8s.io/pod-security-admission 0.34, policy), and capabilities and sysctls that containers cannot have (kubelet 1.34). */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "base/text.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_found.h"

#define ELEMENTS_MAX 1000 /* of a list */
#define VIOLATIONS_MAX 50 /* of a RayCluster */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct check {
	struct arena *arena;
	struct lint_findings *findings;
	struct lint_violations *violations;
	struct lint_found spec; /* of the Pod */
};

static struct lint_found follow(const struct check *check, struct lint_found from,
				const char *names)
{
	return lint_found_follow(from, names, check->arena);
}

static const char *text_at(const struct check *check, struct lint_found from, const char *names)
{
	return lint_found_text(follow(check, from, names), check->arena);
}

static void forbid(const struct check *check, bool restricted, const char *path, const char *what,
		   const char *write)
{
	if (check->violations->list.count < VIOLATIONS_MAX)
		VEC_PUSH(check->arena, &check->violations->list,
			 ((struct lint_violation){ restricted, path, what, write }));
}

/* ---- values that a standard forbids ---- */

/* Of the Pod, or of each of its containers. A given value is forbidden unless it is one of `words`. */
struct value {
	bool restricted;
	const char *path, *words, *write;
};

static const struct value pod_values[] = {
	{ false, "hostNetwork", "false", "remove it" },
	{ false, "hostPID", "false", "remove it" },
	{ false, "hostIPC", "false", "remove it" },
	{ false, "securityContext windowsOptions hostProcess", "false", "remove it" },
	{ true, "securityContext runAsNonRoot", "true", "write true" },
};

#define TYPES "container_t|container_init_t|container_kvm_t|container_engine_t"

static const struct value both_values[] = {
	{ false, "securityContext appArmorProfile type", "RuntimeDefault|Localhost",
	  "write RuntimeDefault" },
	{ false, "securityContext seLinuxOptions type", TYPES, "remove it" },
	{ false, "securityContext seLinuxOptions user", "", "remove it" },
	{ false, "securityContext seLinuxOptions role", "", "remove it" },
	{ false, "securityContext seccompProfile type", "RuntimeDefault|Localhost",
	  "write RuntimeDefault" },
};

static const struct value container_values[] = {
	{ false, "securityContext privileged", "false", "remove it" },
	{ false, "securityContext procMount", "Default", "remove it" },
	{ false, "securityContext windowsOptions hostProcess", "false", "remove it" },
	{ false, "livenessProbe httpGet host", "", "remove it" },
	{ false, "livenessProbe tcpSocket host", "", "remove it" },
	{ false, "readinessProbe httpGet host", "", "remove it" },
	{ false, "readinessProbe tcpSocket host", "", "remove it" },
	{ false, "startupProbe httpGet host", "", "remove it" },
	{ false, "startupProbe tcpSocket host", "", "remove it" },
	{ false, "lifecycle preStop httpGet host", "", "remove it" },
	{ false, "lifecycle postStart httpGet host", "", "remove it" },
	{ true, "securityContext runAsNonRoot", "true", "write true" },
};

static void check_values(const struct check *check, struct lint_found from,
			 const struct value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct lint_found at = follow(check, from, values[i].path);
		const char *text = lint_found_text(at, check->arena);
		char *name = arena_strdup(check->arena, values[i].path);

		if (*text == '\0' || text_is_word(text, values[i].words))
			continue;
		for (char *blank = name; *blank != '\0'; blank++)
			*blank = *blank == ' ' ? '.' : *blank;
		forbid(check, values[i].restricted, at.path,
		       arena_printf(check->arena, "%s %.80s", name, text), values[i].write);
	}
}

/* ---- capabilities ---- */

static const char *const safe_capabilities[] = {
	"AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",       "MKNOD",
	"NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT",
};

/* capabilities(7) of Linux 6.12. */
static const char *const other_capabilities[] = {
	"ALL",
	"AUDIT_CONTROL",
	"AUDIT_READ",
	"BLOCK_SUSPEND",
	"BPF",
	"CHECKPOINT_RESTORE",
	"DAC_READ_SEARCH",
	"IPC_LOCK",
	"IPC_OWNER",
	"LEASE",
	"LINUX_IMMUTABLE",
	"MAC_ADMIN",
	"MAC_OVERRIDE",
	"NET_ADMIN",
	"NET_BROADCAST",
	"NET_RAW",
	"PERFMON",
	"SYSLOG",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_MODULE",
	"SYS_NICE",
	"SYS_PACCT",
	"SYS_PTRACE",
	"SYS_RAWIO",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"WAKE_ALARM",
};

static void report_unknown(const struct check *check, const char *path, const char *name)
{
	const char *plain = strncmp(name, "CAP_", 4) == 0 ? name + 4 : name;
	struct nearest nearest = nearest_start(plain);
	char hint[NEAREST_HINT_SIZE];

	for (size_t i = 0; i < COUNT(safe_capabilities); i++)
		nearest_offer(&nearest, safe_capabilities[i]);
	for (size_t i = 0; i < COUNT(other_capabilities); i++)
		nearest_offer(&nearest, other_capabilities[i]);
	lint_add(check->arena, check->findings, LINT_RULE_SETTING_WITHOUT_EFFECT, path,
		 arena_printf(check->arena,
			      "%.80s is not the name of a capability of Linux, and the container "
			      "does not get it%s",
			      name,
			      nearest.word ? nearest_hint(&nearest, hint) :
					     ": write one like SYS_PTRACE, without CAP_"),
		 nearest.word ? arena_printf(check->arena, "- %s", nearest.word) : "");
}

static bool is_capability(const char *name)
{
	return text_is_among(name, safe_capabilities, COUNT(safe_capabilities)) ||
	       text_is_among(name, other_capabilities, COUNT(other_capabilities));
}

static void check_capabilities(const struct check *check, struct lint_found container)
{
	struct lint_found added = follow(check, container, "securityContext capabilities add");
	struct lint_found dropped = follow(check, container, "securityContext capabilities drop");
	struct lint_found one = lint_found_element(added, 0, check->arena);
	bool all = false;

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(added, ++i, check->arena)) {
		const char *name = lint_found_text(one, check->arena);

		if (*name != '\0' && !is_capability(name))
			report_unknown(check, one.path, name);
		if (!text_is_among(name, safe_capabilities, COUNT(safe_capabilities)))
			forbid(check, false, one.path,
			       arena_printf(check->arena, "capability %.80s", name), "remove it");
		else if (strcmp(name, "NET_BIND_SERVICE") != 0)
			forbid(check, true, one.path,
			       arena_printf(check->arena, "capability %.80s", name), "remove it");
	}
	one = lint_found_element(dropped, 0, check->arena);
	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(dropped, ++i, check->arena))
		all = all || strcmp(lint_found_text(one, check->arena), "ALL") == 0;
	if (!all)
		forbid(check, true, container.path, "a container with capabilities",
		       "write capabilities: {drop: [ALL]} into securityContext");
}

/* ---- sysctls ---- */

static const char *const safe_sysctls[] = {
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.ping_group_range",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_wmem",
};

/* Beginnings of those that a Pod has of its own (k8s.io/component-helpers, node/util/sysctl). */
static const char *const namespaced[] = { "kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.",
					  "net." };

static bool is_namespaced(const char *name)
{
	for (size_t i = 0; i < COUNT(namespaced); i++)
		if (strncmp(name, namespaced[i], strlen(namespaced[i])) == 0)
			return true;
	return false;
}

static void check_sysctl(const struct check *check, struct lint_found one)
{
	char *name = arena_printf(check->arena, "%.253s", text_at(check, one, "name"));
	bool host = strcmp(text_at(check, check->spec,
				   strncmp(name, "net", 3) == 0 ? "hostNetwork" : "hostIPC"),
			   "true") == 0;
	const char *problem;

	for (char *at = name; *at != '\0'; at++)
		*at = *at == '/' ? '.' : *at;
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") < strlen(name) || *name == '\0')
		return; /* a finding of its form */
	if (is_namespaced(name) && !text_is_among(name, safe_sysctls, COUNT(safe_sysctls)))
		forbid(check, false, one.path, arena_printf(check->arena, "sysctl %s", name),
		       "remove it");
	if (host && is_namespaced(name))
		problem =
			"is that of the Node with hostNetwork or hostIPC; the API server refuses each Pod: "
			"remove it";
	else if (!is_namespaced(name))
		problem =
			"is one of the whole Node, and the kubelet refuses each Pod (SysctlForbidden): remove "
			"it, and set it on the Nodes";
	else if (!text_is_among(name, safe_sysctls, COUNT(safe_sysctls)))
		problem =
			"is unsafe, and the kubelet refuses each Pod (SysctlForbidden) unless its "
			"allowedUnsafeSysctls has it: remove it, or add it there";
	else
		return;
	lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, one.path,
		 arena_printf(check->arena, "sysctl %s %s", name, problem), "")
		->severity = host || !is_namespaced(name) ? LINT_ERROR : LINT_WARNING;
}

/* ---- the Pod ---- */

static void check_volumes(const struct check *check)
{
	static const char *const permitted[] = {
		"configMap", "csi",   "downwardAPI",           "emptyDir",
		"ephemeral", "image", "persistentVolumeClaim", "projected",
		"secret"
	};
	struct lint_found list = follow(check, check->spec, "volumes");
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		const struct cJSON *source;

		cJSON_ArrayForEach(source, one.json)
		{
			const char *kind = source->string ? source->string : "name";

			if (strcmp(kind, "name") != 0 && !cJSON_IsNull(source) &&
			    !text_is_among(kind, permitted, COUNT(permitted)))
				forbid(check, strcmp(kind, "hostPath") != 0, one.path,
				       arena_printf(check->arena, "a volume of %.80s", kind),
				       "use a persistentVolumeClaim, or remove it");
		}
	}
}

static void check_ports(const struct check *check, struct lint_found container)
{
	struct lint_found list = follow(check, container, "ports");
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		const char *port = text_at(check, one, "hostPort");

		if (*port != '\0' && strcmp(port, "0") != 0)
			forbid(check, false, one.path,
			       arena_printf(check->arena, "hostPort %.16s", port), "remove it");
	}
}

/* The value of a container, or else of its Pod. */
static const char *own_or_pod(const struct check *check, struct lint_found container,
			      const char *names)
{
	const char *own = text_at(check, container, names);

	return *own != '\0' ? own : text_at(check, check->spec, names);
}

/* Of a container of the template, or one that KubeRay adds. */
static void check_context(const struct check *check, struct lint_found container)
{
	const char *user = own_or_pod(check, container, "securityContext runAsUser");
	bool non_root =
		strcmp(own_or_pod(check, container, "securityContext runAsNonRoot"), "true") == 0;

	check_values(check, container, both_values, COUNT(both_values));
	check_values(check, container, container_values, COUNT(container_values));
	check_capabilities(check, container);
	if (strcmp(text_at(check, container, "securityContext allowPrivilegeEscalation"),
		   "false") != 0)
		forbid(check, true, container.path, "a container that may escalate privileges",
		       "write allowPrivilegeEscalation: false into securityContext");
	if (!non_root)
		forbid(check, true, container.path, "a container that may run as root",
		       "write runAsNonRoot: true into securityContext");
	if (*own_or_pod(check, container, "securityContext seccompProfile type") == '\0')
		forbid(check, true, container.path, "a container without seccompProfile",
		       "write seccompProfile: {type: RuntimeDefault} into securityContext");
	if (strcmp(user, "0") != 0)
		return;
	forbid(check, true, container.path, "runAsUser 0", "write another number");
	if (non_root)
		lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, container.path,
			 "runAsNonRoot is true and runAsUser 0, and the kubelet starts no such "
			 "container (CreateContainerConfigError): remove one of them, or write "
			 "another number",
			 "runAsUser: 1000");
}

static void check_containers(const struct check *check, const char *name)
{
	struct lint_found list = follow(check, check->spec, name);
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		check_context(check, one);
		check_ports(check, one);
	}
}

static void check_pod(struct check *check, struct lint_found group)
{
	struct lint_found list, one;

	check->spec = follow(check, group, "template spec");
	if (!cJSON_IsObject(check->spec.json))
		return;
	check_values(check, check->spec, pod_values, COUNT(pod_values));
	check_values(check, check->spec, both_values, COUNT(both_values));
	list = follow(check, check->spec, "securityContext sysctls");
	one = lint_found_element(list, 0, check->arena);
	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena))
		check_sysctl(check, one);
	check_volumes(check);
	check_containers(check, "initContainers");
	check_containers(check, "containers");
}

void lint_security_check(const struct cJSON *cluster, struct arena *arena,
			 struct lint_findings *findings, struct lint_violations *ret_violations)
{
	struct check check = { .arena = arena, .findings = findings, .violations = ret_violations };
	struct lint_found root = { cluster, "" };
	struct lint_found groups = lint_found_follow(root, "spec workerGroupSpecs", arena);
	struct lint_found options = lint_found_follow(root, "spec autoscalerOptions", arena);
	struct lint_found group = lint_found_element(groups, 0, arena);
	bool scaled =
		cJSON_IsTrue(lint_found_follow(root, "spec enableInTreeAutoscaling", arena).json);

	*ret_violations = (struct lint_violations){ .list = { .at = NULL } };
	check_pod(&check, lint_found_follow(root, "spec headGroupSpec", arena));
	if (scaled && cJSON_IsObject(options.json))
		check_context(&check, options);
	for (size_t g = 0; group.json && g < ELEMENTS_MAX;
	     group = lint_found_element(groups, ++g, arena))
		check_pod(&check, group);
}
