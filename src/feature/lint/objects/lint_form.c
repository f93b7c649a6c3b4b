#include "feature/lint/objects/lint_form.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "codec/text/json.h"
#include "codec/text/quantity.h"
#include "core/model/label_syntax.h"

#define LABEL_BYTES_MAX 63
#define SUBDOMAIN_BYTES_MAX 253
#define PORT_NAME_BYTES_MAX 15
#define WHOLE_DIGITS_MAX 9 /* of 32 bits */
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum test {
	IS_LABEL,     /* a text like "dshm" */
	IS_SUBDOMAIN, /* a text like "team.example" */
	IS_NAME,      /* such a text, of an object that the Pod waits for */
	IS_DRIVER,    /* such a text, with upper case too */
	IS_PORT_NAME,
	IS_IQN,      /* the name of an iSCSI node */
	IS_KEY,      /* a text like "team" or "example.com/team" */
	IS_VARIABLE, /* printable, and without "=" */
	IS_ADDRESS,  /* of IP */
	IS_VALUE,    /* of a label */
	IS_ENTRY,    /* the name of an entry of a ConfigMap or Secret */
	IS_DOTLESS,  /* a path without ".." */
	IS_SEARCH,   /* a domain for searches of DNS */
	IS_SYSCTL,
	IS_HEADER, /* of HTTP */
	IS_FINALIZER,
	IS_WHOLE,    /* a number as text */
	IS_LIST,     /* of JSON, as text */
	IS_ABSOLUTE, /* a path */
	IS_RELATIVE, /* such a path without "/" at its beginning */
	HAS_KEYS,    /* an object with such names */
	HAS_LABELS,  /* and with values of labels */
	HAS_MOST,    /* at most one of the members of `words`, or of all but "name" */
	HAS_ONE,     /* just one of them */
	HAS_MEMBER,  /* the member `words` */
	HAS_MEMBERS, /* no others than `words` */
	IS_AT_LEAST, /* the number of `words` */
	IS_AT_MOST,
	IS_WORD, /* one of `words` */
	IS_QUANTITY,
	IS_FILLED,      /* an empty text counts, and is refused; elsewhere it is as none */
	IS_RETIRED,     /* a member that Kubernetes no longer has, from its version `words` on */
	HAS_QUANTITIES, /* names of resources and their amounts */
	HAS_VALUES,     /* values of labels in the list "values" */
	HAS_DISK,       /* a diskURI that fits its kind */
	NEEDS,          /* the first member of `words`, where the second is one of the others */
	NOT_BOTH, /* the first member of `words` with the second as its value, and the third with the fourth */
	HAS_WITH,     /* the first member of `words` needs the second with the third as its value */
	HAS_ELEMENTS, /* the list `words`, with an element */
	HAS_FIELD,    /* as fieldPath one of `words`, or a label or annotation */
	HAS_AMOUNTS,  /* in limits and requests no others than `words` and huge pages */
	HAS_NO,       /* the member `words` */
	HAS_BESIDE,   /* the first member of `words` needs the second */
	HAS_WORD,     /* as the first member of `words` one of the others */
	HAS_FEW, /* the list that is the first of `words` has at most as many elements as the second says */
};

/* For the member `name` of an object, or each element of it when it is a list. */
static const struct form {
	const char *under; /* the member that has the object, or a list of them; "": any */
	const char *name;  /* names are separated by "|" */
	enum test test;
	const char *words;
} forms[] = {
	{ "", "metadata", HAS_MEMBERS,
	  "name|generateName|namespace|labels|annotations|ownerReferences|finalizers|uid|"
	  "resourceVersion|generation|creationTimestamp|deletionTimestamp|"
	  "deletionGracePeriodSeconds|managedFields|selfLink" },
	{ "metadata", "namespace", IS_LABEL, "" },
	{ "metadata", "labels", HAS_LABELS, "" },
	{ "metadata", "annotations", HAS_KEYS, "" },
	{ "", "nodeSelector|matchLabels", HAS_LABELS, "" },
	{ "matchExpressions", "key", IS_KEY, "" },
	{ "podAffinityTerm|requiredDuringSchedulingIgnoredDuringExecution", "topologyKey", IS_KEY,
	  "" },
	{ "volumes", "name", IS_LABEL, "" },
	{ "ports", "name", IS_PORT_NAME, "" },
	{ "", "hostname|subdomain", IS_LABEL, "" },
	{ "",
	  "serviceAccountName|nodeName|priorityClassName|runtimeClassName|storageClassName|"
	  "resourceClaimName|resourceClaimTemplateName",
	  IS_SUBDOMAIN, "" },
	{ "configMapRef|configMapKeyRef|secretKeyRef|nodePublishSecretRef", "name", IS_SUBDOMAIN,
	  "" },
	{ "imagePullSecrets|secretRef", "name", IS_NAME, "" },
	{ "persistentVolumeClaim", "claimName", IS_NAME, "" },
	{ "",
	  "nodeAffinityPolicy|nodeTaintsPolicy|fsGroupChangePolicy|supplementalGroupsPolicy|"
	  "seLinuxChangePolicy|procMount|mountPropagation|recursiveReadOnly|preemptionPolicy|"
	  "accessModes|volumeMode|matchLabelKeys|mismatchLabelKeys|finalizers|searches|hostnames",
	  IS_FILLED, "" },
	{ "podAffinityTerm|requiredDuringSchedulingIgnoredDuringExecution", "namespaces", IS_FILLED,
	  "" },
	{ "tcpSocket|httpGet", "port", IS_FILLED, "" },
	{ "azureDisk", "kind|cachingMode", IS_FILLED, "" },
	{ "iscsi", "initiatorName", IS_FILLED, "" },
	{ "appArmorProfile", "localhostProfile", IS_FILLED, "" },
	{ "matchFields", "values", IS_FILLED, "" },
	{ "", "volumes", HAS_MOST, "" },
	{ "", "configMapRef|configMapKeyRef|secretKeyRef|nodePublishSecretRef", HAS_MEMBER,
	  "name" },
	{ "envFrom", "secretRef", HAS_MEMBER, "name" },
	{ "sources", "configMap|secret", HAS_MEMBER, "name" },
	{ "csi", "driver", IS_DRIVER, "" },
	{ "volumes", "glusterfs", IS_RETIRED, "1.26" },
	{ "volumes", "flocker|quobyte|storageos|scaleIO|photonPersistentDisk", IS_RETIRED, "1.25" },
	{ "volumes", "cephfs|rbd", IS_RETIRED, "1.31" },
	{ "volumes", "gitRepo", IS_RETIRED, "1.33" },
	{ "iscsi", "iqn", IS_IQN, "" },
	{ "iscsi", "initiatorName", IS_IQN, "" },
	{ "", "iscsi", NEEDS, "secretRef|chapAuthDiscovery|true" },
	{ "", "iscsi", NEEDS, "secretRef|chapAuthSession|true" },
	{ "iscsi|fc", "lun", IS_AT_LEAST, "0" },
	{ "iscsi|fc", "lun", IS_AT_MOST, "255" },
	{ "volumes", "fc", HAS_ONE, "targetWWNs|wwids" },
	{ "volumes", "fc", HAS_BESIDE, "targetWWNs|lun" },
	{ "gcePersistentDisk|awsElasticBlockStore", "partition", IS_AT_LEAST, "0" },
	{ "gcePersistentDisk|awsElasticBlockStore", "partition", IS_AT_MOST, "255" },
	{ "azureDisk", "kind", IS_WORD, "Managed|Dedicated|Shared" },
	{ "azureDisk", "cachingMode", IS_WORD, "None|ReadOnly|ReadWrite" },
	{ "volumes", "azureDisk", HAS_DISK, "" },
	{ "", "cephfs|rbd", HAS_ELEMENTS, "monitors" },
	{ "labelSelector|namespaceSelector", "matchExpressions", HAS_WORD,
	  "operator|In|NotIn|Exists|DoesNotExist" },
	{ "metadata", "finalizers", IS_FINALIZER, "" },
	{ "annotations", "controller.kubernetes.io/pod-deletion-cost", IS_WHOLE, "" },
	{ "annotations", "controller.kubernetes.io/pod-deletion-cost", IS_FILLED, "" },
	{ "annotations", "scheduler.alpha.kubernetes.io/tolerations", IS_LIST, "" },
	{ "volumes", "configMap", HAS_MEMBER, "name" },
	{ "volumes", "secret", HAS_MEMBER, "secretName" },
	{ "configMap|secret", "name", IS_NAME, "" },
	{ "secret", "secretName", IS_NAME, "" },
	{ "", "env", HAS_MOST, "value|valueFrom" },
	{ "", "valueFrom", HAS_ONE,
	  "fieldRef|resourceFieldRef|configMapKeyRef|secretKeyRef|fileKeyRef" },
	{ "", "envFrom", HAS_ONE, "configMapRef|secretRef" },
	{ "", "livenessProbe|readinessProbe|startupProbe", HAS_ONE, "exec|httpGet|tcpSocket|grpc" },
	{ "", "preStop|postStart", HAS_ONE, "exec|httpGet|tcpSocket|sleep" },
	{ "",
	  "initialDelaySeconds|timeoutSeconds|periodSeconds|"
	  "failureThreshold|successThreshold|runAsUser|runAsGroup|fsGroup",
	  IS_AT_LEAST, "0" },
	{ "spec", "activeDeadlineSeconds", IS_AT_LEAST, "1" },
	{ "", "maxSkew|minDomains|weight", IS_AT_LEAST, "1" },
	{ "", "weight", IS_AT_MOST, "100" },
	{ "tcpSocket|httpGet|grpc", "port", IS_AT_LEAST, "1" },
	{ "tcpSocket|httpGet|grpc", "port", IS_AT_MOST, "65535" },
	{ "", "terminationMessagePolicy", IS_WORD, "File|FallbackToLogsOnError" },
	{ "seccompProfile", "type", IS_WORD, "RuntimeDefault|Unconfined|Localhost" },
	{ "", "fsGroupChangePolicy", IS_WORD, "OnRootMismatch|Always" },
	{ "", "scheme", IS_WORD, "HTTP|HTTPS" },
	{ "", "preemptionPolicy", IS_WORD, "PreemptLowerPriority|Never" },
	{ "", "sizeLimit|divisor", IS_QUANTITY, "" },
	{ "", "tolerations", HAS_WITH, "tolerationSeconds|effect|NoExecute" },
	{ "", "initContainers", HAS_WITH, "livenessProbe|restartPolicy|Always" },
	{ "", "initContainers", HAS_WITH, "readinessProbe|restartPolicy|Always" },
	{ "", "initContainers", HAS_WITH, "startupProbe|restartPolicy|Always" },
	{ "", "initContainers", HAS_WITH, "lifecycle|restartPolicy|Always" },
	{ "", "matchExpressions", NEEDS, "values|operator|In|NotIn" },
	{ "", "seccompProfile|appArmorProfile", NEEDS, "localhostProfile|type|Localhost" },
	{ "", "securityContext", NOT_BOTH, "privileged|true|allowPrivilegeEscalation|false" },
	{ "spec", "resourceClaims", HAS_ONE, "resourceClaimName|resourceClaimTemplateName" },
	{ "env", "name", IS_VARIABLE, "" },
	{ "hostAliases", "ip", IS_ADDRESS, "" },
	{ "items", "path", IS_RELATIVE, "" },
	{ "volumeMounts", "subPath|subPathExpr", IS_RELATIVE, "" },
	{ "resizePolicy", "restartPolicy", IS_WORD, "NotRequired|RestartContainer" },
	{ "", "whenUnsatisfiable", IS_WORD, "DoNotSchedule|ScheduleAnyway" },
	{ "", "nodeAffinityPolicy|nodeTaintsPolicy", IS_WORD, "Honor|Ignore" },
	{ "matchExpressions", "operator", IS_WORD, "In|NotIn|Exists|DoesNotExist|Gt|Lt" },
	{ "", "dnsPolicy", IS_WORD, "ClusterFirstWithHostNet|ClusterFirst|Default|None" },
	{ "", "mountPropagation", IS_WORD, "None|HostToContainer|Bidirectional" },
	{ "tolerations", "key", IS_KEY, "" },
	{ "tolerations", "value", IS_VALUE, "" },
	{ "schedulingGates", "name", IS_KEY, "" },
	{ "hostPath", "path", IS_DOTLESS, "" },
	{ "hostPath", "type", IS_WORD,
	  "DirectoryOrCreate|Directory|FileOrCreate|File|Socket|CharDevice|BlockDevice" },
	{ "", "defaultMode|mode", IS_AT_LEAST, "0" },
	{ "", "defaultMode|mode", IS_AT_MOST, "511" },
	{ "serviceAccountToken", "path", IS_RELATIVE, "" },
	{ "projected", "sources", HAS_MOST,
	  "configMap|secret|downwardAPI|serviceAccountToken|clusterTrustBundle|podCertificate" },
	{ "volumes", "ephemeral", HAS_ONE, "volumeClaimTemplate" },
	{ "", "volumeMounts", HAS_MOST, "subPath|subPathExpr" },
	{ "", "env", HAS_MEMBER, "name" },
	{ "configMapKeyRef|secretKeyRef", "key", IS_ENTRY, "" },
	{ "valueFrom", "fieldRef", HAS_FIELD,
	  "metadata.name|metadata.namespace|metadata.uid|spec.nodeName|spec.serviceAccountName|"
	  "status.hostIP|status.hostIPs|status.podIP|status.podIPs" },
	{ "resourceFieldRef", "resource", IS_WORD,
	  "limits.cpu|limits.memory|limits.ephemeral-storage|requests.cpu|requests.memory|"
	  "requests.ephemeral-storage|limits.hugepages-2Mi|limits.hugepages-1Gi|"
	  "requests.hugepages-2Mi|requests.hugepages-1Gi" },
	{ "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", HAS_ELEMENTS,
	  "nodeSelectorTerms" },
	{ "", "exec", HAS_ELEMENTS, "command" },
	{ "", "topologySpreadConstraints", HAS_WITH, "minDomains|whenUnsatisfiable|DoNotSchedule" },
	{ "livenessProbe|startupProbe", "successThreshold", IS_AT_MOST, "1" },
	{ "tcpSocket|httpGet", "port", IS_PORT_NAME, "" },
	{ "resizePolicy", "resourceName", IS_WORD, "cpu|memory" },
	{ "initContainers|containers", "restartPolicy", IS_WORD, "Always|OnFailure|Never" },
	{ "spec", "restartPolicy", IS_WORD, "Always|OnFailure|Never" },
	{ "dnsConfig", "nameservers", IS_ADDRESS, "" },
	{ "spec", "dnsConfig", HAS_FEW, "nameservers|3" },
	{ "spec", "dnsConfig", HAS_FEW, "searches|32" },
	{ "dnsConfig", "searches", IS_SEARCH, "" },
	{ "dnsConfig", "options", HAS_MEMBER, "name" },
	{ "sysctls", "name", IS_SYSCTL, "" },
	{ "", "runAsUser|runAsGroup|fsGroup|supplementalGroups|activeDeadlineSeconds", IS_AT_MOST,
	  "2147483647" },
	{ "", "supplementalGroups", IS_AT_LEAST, "0" },
	{ "", "supplementalGroupsPolicy", IS_WORD, "Merge|Strict" },
	{ "", "seLinuxChangePolicy", IS_WORD, "MountOption|Recursive" },
	{ "", "procMount", IS_WORD, "Default|Unmasked" },
	{ "appArmorProfile", "type", IS_WORD, "RuntimeDefault|Unconfined|Localhost" },
	{ "", "seccompProfile|appArmorProfile", HAS_WITH, "localhostProfile|type|Localhost" },
	{ "seccompProfile", "localhostProfile", IS_RELATIVE, "" },
	{ "ports", "hostPort", IS_AT_LEAST, "0" },
	{ "ports", "hostPort", IS_AT_MOST, "65535" },
	{ "volumeMounts", "recursiveReadOnly", IS_WORD, "Disabled|IfPossible|Enabled" },
	{ "nfs", "path", IS_ABSOLUTE, "" },
	{ "serviceAccountToken", "expirationSeconds", IS_AT_LEAST, "600" },
	{ "downwardAPI", "items", HAS_ONE, "fieldRef|resourceFieldRef" },
	{ "items", "fieldRef", HAS_FIELD,
	  "metadata.name|metadata.namespace|metadata.uid|metadata.labels|metadata.annotations" },
	{ "items", "resourceFieldRef", HAS_MEMBER, "containerName" },
	{ "volumeClaimTemplate", "spec", HAS_ELEMENTS, "accessModes" },
	{ "spec", "accessModes", IS_WORD,
	  "ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod" },
	{ "spec", "volumeMode", IS_WORD, "Filesystem|Block" },
	{ "envFrom", "prefix", IS_VARIABLE, "" },
	{ "httpHeaders", "name", IS_HEADER, "" },
	{ "livenessProbe|startupProbe", "terminationGracePeriodSeconds", IS_AT_LEAST, "1" },
	{ "", "readinessProbe", HAS_NO, "terminationGracePeriodSeconds" },
	{ "sleep", "seconds", IS_AT_LEAST, "0" },
	{ "", "topologySpreadConstraints", HAS_BESIDE, "matchLabelKeys|labelSelector" },
	{ "", "podAffinityTerm|requiredDuringSchedulingIgnoredDuringExecution", HAS_BESIDE,
	  "matchLabelKeys|labelSelector" },
	{ "matchFields", "key", IS_WORD, "metadata.name" },
	{ "matchFields", "operator", IS_WORD, "In|NotIn" },
	{ "matchFields", "values", IS_SUBDOMAIN, "" },
	{ "", "matchFields", NEEDS, "values|operator|In|NotIn" },
	{ "", "matchFields", HAS_FEW, "values|1" },
	{ "nodeSelectorTerms|labelSelector|namespaceSelector", "matchExpressions", HAS_VALUES, "" },
	{ "", "matchLabelKeys|mismatchLabelKeys", IS_KEY, "" },
	{ "podAffinityTerm|requiredDuringSchedulingIgnoredDuringExecution", "namespaces", IS_LABEL,
	  "" },
	{ "fieldRef", "apiVersion", IS_WORD, "v1" },
	{ "claims", "request", IS_LABEL, "" },
	{ "volumeDevices", "devicePath", IS_DOTLESS, "" },
	{ "readinessGates", "conditionType", IS_KEY, "" },
	{ "hostAliases", "hostnames", IS_SUBDOMAIN, "" },
	{ "metadata", "ownerReferences", HAS_MEMBER, "uid" },
	{ "os", "name", IS_WORD, "linux|windows" },
	{ "", "spec", NOT_BOTH, "hostUsers|false|hostNetwork|true" },
	{ "", "spec", NOT_BOTH, "hostUsers|false|hostPID|true" },
	{ "", "spec", NOT_BOTH, "hostUsers|false|hostIPC|true" },
	{ "", "spec", NOT_BOTH, "shareProcessNamespace|true|hostPID|true" },
	{ "spec", "resources", HAS_AMOUNTS, "cpu|memory" },
	{ "resources", "limits|requests", HAS_QUANTITIES, "" },
};

struct check {
	enum lint_rule_id rule;
	const char *refused;
	struct lint_findings *findings;
	size_t before; /* findings of others */
};

/* "A, B, C" of "A|B|C". */
static const char *list_of(const char *words, struct arena *arena)
{
	const char *all = "";

	for (const char *word = words; *word != '\0';
	     word += strcspn(word, "|"), word += *word == '|')
		all = arena_printf(arena, "%s%s%.*s", all, *all != '\0' ? ", " : "",
				   (int)strcspn(word, "|"), word);
	return all;
}

/* With the whole message; NULL: the place has an error. */
static struct lint_finding *add(const struct check *check, const struct json_at *at,
				const char *fix, const char *message)
{
	const char *path = json_path(at);

	for (size_t i = check->before; i < check->findings->list.count; i++)
		if (check->findings->list.at[i].severity == LINT_ERROR &&
		    strcmp(check->findings->list.at[i].path, path) == 0)
			return NULL;
	return lint_add(at->reader->arena, check->findings, check->rule, path, message, fix);
}

static void report(const struct check *check, const struct json_at *at, const char *fix,
		   const char *why)
{
	(void)add(check, at, fix,
		  arena_printf(at->reader->arena, "%s; the API server refuses %s", why,
			       check->refused));
}

/* ---- texts ---- */

/* Lower-case letters, digits and "-", with a letter or digit at both ends. */
static bool is_label(const char *text, size_t size)
{
	return size > 0 && size <= LABEL_BYTES_MAX && strspn(text, LETTERS) >= size &&
	       text[0] != '-' && text[size - 1] != '-';
}

static bool is_domain(const char *text, const char *letters)
{
	size_t size = strlen(text);

	if (size == 0 || size > SUBDOMAIN_BYTES_MAX || strspn(text, letters) < size)
		return false;
	for (; *text != '\0'; text += size, text += *text == '.') {
		size = strcspn(text, ".");
		if (size == 0 || text[0] == '-' || text[size - 1] == '-')
			return false;
	}
	return text[-1] != '.';
}

static bool is_subdomain(const char *text)
{
	return is_domain(text, LETTERS ".");
}

static bool is_port_name(const char *text)
{
	size_t size = strlen(text);

	return size <= PORT_NAME_BYTES_MAX && is_label(text, size) && !strstr(text, "--") &&
	       strspn(text, "0123456789-") < size;
}

static bool is_variable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~' || *text == '=')
			return false;
	return true;
}

static bool is_address(const char *text)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static bool is_dotless(const char *text)
{
	for (; *text != '\0'; text += strcspn(text, "/"), text += *text == '/')
		if (strcspn(text, "/") == 2 && text[0] == '.' && text[1] == '.')
			return false;
	return true;
}

/* Names between dots of lower-case letters, digits, "-" and "_", with none of them but "_" at an end. */
static bool is_search(const char *text)
{
	size_t size = strlen(text);

	if (strcmp(text, ".") == 0)
		return true;
	if (size > SUBDOMAIN_BYTES_MAX || strspn(text, LETTERS "_.") < size || strstr(text, "..") ||
	    text[0] == '.')
		return false;
	for (const char *at = text; *at != '\0'; at++)
		if (*at == '-' && (at == text || at[-1] == '.' || at[1] == '.' || at[1] == '\0'))
			return false;
	return true;
}

/* "net.core.somaxconn", or with "/" for ".". */
static bool is_sysctl(const char *text)
{
	size_t size = strlen(text);

	return size <= SUBDOMAIN_BYTES_MAX && strspn(text, LETTERS "_./") == size &&
	       !strpbrk(text + size - 1, "-_./") && !strchr("-_./", *text);
}

static bool is_header(const char *text)
{
	return strspn(text, LETTERS UPPER) == strlen(text);
}

/* A name, or one behind a domain of these letters and "/". */
static bool is_key_of(const char *text, const char *letters)
{
	char domain[SUBDOMAIN_BYTES_MAX + 1];
	size_t size = strcspn(text, "/");

	if (text[size] == '\0')
		return label_syntax_key(text);
	if (size >= sizeof(domain))
		return false;
	memcpy(domain, text, size);
	domain[size] = '\0';
	text += size + 1;
	return is_domain(domain, letters) && !strchr(text, '/') && label_syntax_key(text);
}

static bool is_key(const char *text)
{
	return is_key_of(text, LETTERS ".");
}

static bool is_iqn(const char *text)
{
	return strncmp(text, "iqn.", 4) == 0 || strncmp(text, "eui.", 4) == 0 ||
	       strncmp(text, "naa.", 4) == 0;
}

static bool is_entry(const char *text)
{
	size_t size = strlen(text);

	return size <= SUBDOMAIN_BYTES_MAX && strspn(text, LETTERS UPPER "._") == size;
}

static bool is_finalizer(const char *text)
{
	return (strchr(text, '/') && is_key(text)) ||
	       text_is_word(text, "kubernetes|orphan|foregroundDeletion");
}

static bool is_whole(const char *text)
{
	const char *digits = *text == '-' ? text + 1 : text;

	return *digits != '\0' && strlen(digits) <= WHOLE_DIGITS_MAX &&
	       digits[strspn(digits, "0123456789")] == '\0';
}

/* Before the file is applied, as by envsubst. */
static bool is_filled_in(const char *text)
{
	return strpbrk(text, "${");
}

static bool is_form(const char *text, enum test test)
{
	switch (test) {
	case IS_LABEL:
		return is_label(text, strlen(text));
	case IS_SUBDOMAIN:
	case IS_NAME:
		return is_subdomain(text);
	case IS_DRIVER:
		return strlen(text) <= LABEL_BYTES_MAX && is_domain(text, LETTERS UPPER ".");
	case IS_LIST:
		return *text == '[';
	case IS_IQN:
		return is_iqn(text);
	case IS_PORT_NAME:
		return is_port_name(text);
	case IS_KEY:
		return is_key(text);
	case IS_VARIABLE:
		return is_variable(text);
	case IS_ADDRESS:
		return is_address(text);
	case IS_VALUE:
		return label_syntax_value(text);
	case IS_ENTRY:
		return is_entry(text);
	case IS_DOTLESS:
		return is_dotless(text);
	case IS_SEARCH:
		return is_search(text);
	case IS_SYSCTL:
		return is_sysctl(text);
	case IS_HEADER:
		return is_header(text);
	case IS_FINALIZER:
		return is_finalizer(text);
	case IS_WHOLE:
		return is_whole(text);
	case IS_ABSOLUTE:
		return *text == '/';
	default:
		return *text != '/' && is_dotless(text);
	}
}

static void check_text(const struct check *check, const struct json_at *at, const char *name,
		       enum test test)
{
	static const char *const forms_of[] = {
		[IS_LABEL] = "up to 63 lower-case letters, digits and \"-\"",
		[IS_SUBDOMAIN] = "lower-case letters, digits, \"-\" and \".\"",
		[IS_NAME] = "lower-case letters, digits, \"-\" and \".\"",
		[IS_DRIVER] = "up to 63 letters, digits, \"-\" and \".\"",
		[IS_PORT_NAME] = "up to 15 lower-case letters, digits and \"-\"",
		[IS_IQN] = "a name like iqn.2001-04.com.example:disk",
		[IS_KEY] = "a name like team or example.com/team",
		[IS_VARIABLE] = "printable characters without \"=\"",
		[IS_ADDRESS] = "an IP address like 10.0.0.1",
		[IS_VALUE] = "up to 63 letters, digits, \"-\", \"_\" or \".\"",
		[IS_ENTRY] = "up to 253 letters, digits, \"-\", \"_\" or \".\"",
		[IS_DOTLESS] = "a path without ..",
		[IS_RELATIVE] = "a relative path without ..",
		[IS_SEARCH] = "a domain of lower-case letters, digits and \"-\"",
		[IS_SYSCTL] = "a name like net.core.somaxconn",
		[IS_HEADER] = "letters, digits and \"-\"",
		[IS_FINALIZER] = "a name like example.com/cleanup",
		[IS_WHOLE] = "a whole number",
		[IS_LIST] = "it as tolerations of spec",
		[IS_ABSOLUTE] = "an absolute path",
	};
	struct arena *arena = at->reader->arena;
	const char *text = cJSON_GetStringValue(at->json), *why;

	if (!text || *text == '\0' || is_filled_in(text) || is_form(text, test))
		return;
	why = arena_printf(arena, "%s \"%.80s\" is invalid: write %s", name, text, forms_of[test]);
	if (test == IS_NAME)
		(void)add(check, at, "",
			  arena_printf(arena, "%s; nothing can have this name, and no Pod starts",
				       why));
	else
		report(check, at, "", why);
}

static void check_number(const struct check *check, const struct json_at *at, const char *name,
			 const char *bound, bool is_least)
{
	double above = cJSON_IsNumber(at->json) ? at->json->valuedouble - strtod(bound, NULL) : 0;

	if (is_least ? above < 0 : above > 0)
		report(check, at, "",
		       arena_printf(at->reader->arena, "%s must be at %s %s", name,
				    is_least ? "least" : "most", bound));
}

static void check_word(const struct check *check, const struct json_at *at, const char *name,
		       const char *words)
{
	struct arena *arena = at->reader->arena;
	const char *text = cJSON_GetStringValue(at->json), *all;
	struct nearest nearest = nearest_start(text ? text : "");
	char hint[NEAREST_HINT_SIZE];

	if (!text || *text == '\0' || text_is_word(text, words) || is_filled_in(text))
		return;
	all = list_of(words, arena);
	for (const char *word = words; *word != '\0';
	     word += strcspn(word, "|"), word += *word == '|')
		nearest_offer(&nearest, arena_strndup(arena, word, strcspn(word, "|")));
	report(check, at, "",
	       arena_printf(arena, "%s must be one of %s, is \"%.64s\"%s", name, all, text,
			    nearest_hint(&nearest, hint)));
}

static void check_filled(const struct check *check, const struct json_at *at, const char *name)
{
	const char *text = cJSON_GetStringValue(at->json);

	if (text && *text == '\0')
		report(check, at, "",
		       arena_printf(at->reader->arena, "%s is empty: write it, or remove it",
				    name));
}

static void check_retired(const struct check *check, const struct json_at *at, const char *version)
{
	struct lint_finding *found;

	if (json_type(at) != JSON_OBJECT)
		return;
	found = add(check, at, "",
		    arena_printf(at->reader->arena,
				 "Kubernetes has no volumes of %s from %s on, and no Pod starts "
				 "there: use a persistentVolumeClaim",
				 at->name, version));
	if (found)
		found->severity = LINT_WARNING;
}

/* ---- objects ---- */

/* Annotations of a time before securityContext had these profiles, which the API server reads to this day. */
static void check_profile(const struct check *check, const struct json_at *at, const char *value)
{
	static const struct {
		const char *key, *words;
	} profiles[] = {
		{ "container.apparmor.security.beta.kubernetes.io/", "runtime/default|unconfined" },
		{ "container.seccomp.security.alpha.kubernetes.io/",
		  "runtime/default|docker/default|unconfined" },
		{ "seccomp.security.alpha.kubernetes.io/pod",
		  "runtime/default|docker/default|unconfined" },
	};

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (strncmp(at->name, profiles[i].key, strlen(profiles[i].key)) == 0 &&
		    strncmp(value, "localhost/", strlen("localhost/")) != 0) {
			if (i > 0)
				check_filled(check, at, "the profile");
			check_word(check, at, "the profile",
				   arena_printf(at->reader->arena, "%s|localhost/NAME",
						profiles[i].words));
		}
}

static void check_keys(const struct check *check, const struct json_at *at, bool are_labels)
{
	struct arena *arena = at->reader->arena;

	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		const char *value = cJSON_GetStringValue(e.json);

		if (is_filled_in(e.name))
			continue;
		if (!are_labels && value)
			check_profile(check, &e, value);
		if (!is_key_of(e.name, are_labels ? LETTERS "." : LETTERS UPPER "."))
			report(check, &e, "",
			       arena_printf(arena,
					    "the %s's name \"%.80s\" is invalid; write a name like "
					    "team or example.com/team",
					    are_labels ? "label" : "annotation", e.name));
		else if (are_labels && value && !is_filled_in(value) && !label_syntax_value(value))
			report(check, &e, "",
			       arena_printf(arena,
					    "the label's value \"%.80s\" is invalid: write up to "
					    "63 letters, digits, \"-\", \"_\" or \".\"",
					    value));
	}
}

/* "a, b and c" or "a and b" of the given members. */
static void check_choice(const struct check *check, const struct json_at *at, const char *name,
			 const char *words, bool needs_one)
{
	const char *given = "";
	const struct cJSON *one;
	size_t count = 0;

	cJSON_ArrayForEach(one, at->json)
	{
		bool empty = cJSON_IsNull(one) || (cJSON_IsArray(one) && !one->child) ||
			     (cJSON_IsString(one) && one->valuestring[0] == '\0');

		if (empty || (*words == '\0' ? strcmp(one->string, "name") == 0 :
					       !text_is_word(one->string, words)))
			continue;
		given = arena_printf(at->reader->arena, "%s%s%.63s", given,
				     count > 0 ? " and " : "", one->string);
		count++;
	}
	if (count > 1)
		report(check, at, "",
		       arena_printf(at->reader->arena, "%s%s has %s: remove all but one",
				    at->name ? "" : "an element of ", name, given));
	if (count > 0 || !needs_one)
		return;
	report(check, at, "",
	       arena_printf(at->reader->arena, "%s%s has none of %s: add one",
			    at->name ? "" : "an element of ", name,
			    list_of(words, at->reader->arena)));
}

static void check_member(const struct check *check, const struct json_at *at, const char *name,
			 const char *member)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(at->json, member));

	if (!text || *text == '\0')
		report(check, at, arena_printf(at->reader->arena, "%s: NAME", member),
		       arena_printf(at->reader->arena, "%s has no %s: add it", name, member));
}

/* The word of this number in "A|B|C". */
static const char *word_of(const char *words, size_t number, struct arena *arena)
{
	for (; number > 0; number--)
		words += strcspn(words, "|") + 1;
	return arena_strndup(arena, words, strcspn(words, "|"));
}

static void check_with(const struct check *check, const struct json_at *at, const char *words)
{
	struct arena *arena = at->reader->arena;
	const char *other = word_of(words, 1, arena), *value = word_of(words, 2, arena);
	struct json_at member = json_member(at, word_of(words, 0, arena));
	const char *is = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(at->json, other));

	if (json_is_given(&member) && (!is || strcmp(is, value) != 0))
		report(check, &member, arena_printf(arena, "%s: %s", other, value),
		       arena_printf(arena, "%s needs %s %s: write it, or remove %s", member.name,
				    other, value, member.name));
}

/* A string, or a boolean as text. */
static const char *value_of(const struct json_at *at, const char *name)
{
	const struct cJSON *json = cJSON_GetObjectItemCaseSensitive(at->json, name);
	const char *text = cJSON_GetStringValue(json);

	return text ? text : cJSON_IsTrue(json) ? "true" : cJSON_IsFalse(json) ? "false" : "";
}

static void check_needed(const struct check *check, const struct json_at *at, const char *words)
{
	struct arena *arena = at->reader->arena;
	const char *name = word_of(words, 0, arena), *other = word_of(words, 1, arena);
	const char *value = value_of(at, other);
	struct json_at member = json_member(at, name);
	bool is_empty = json_is_given(&member) && json_type(&member) == JSON_ARRAY &&
			!member.json->child;

	if (*value == '\0' || !text_is_word(value, words + strlen(name) + strlen(other) + 2) ||
	    (json_is_given(&member) && !is_empty))
		return;
	report(check, at, "", arena_printf(arena, "%s %s needs %s: add it", other, value, name));
}

static void check_both(const struct check *check, const struct json_at *at, const char *words)
{
	struct arena *arena = at->reader->arena;
	const char *name = word_of(words, 0, arena), *other = word_of(words, 2, arena);

	if (strcmp(value_of(at, name), word_of(words, 1, arena)) == 0 &&
	    strcmp(value_of(at, other), word_of(words, 3, arena)) == 0)
		report(check, at, "",
		       arena_printf(arena, "%s %s and %s %s exclude each other: remove one of them",
				    name, value_of(at, name), other, value_of(at, other)));
}

/* Those of a claim for a volume have "storage". */
static void check_amounts(const struct check *check, const struct json_at *at, const char *words)
{
	static const char *const lists[] = { "limits", "requests" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct json_at list = json_member(at, lists[i]);

		if (!json_is_given(&list) || json_type(&list) != JSON_OBJECT)
			continue;
		for (struct json_at e = json_first(&list); e.json; json_next(&e))
			if (!text_is_word(e.name, words) &&
			    !cJSON_HasObjectItem(list.json, "storage") &&
			    strncmp(e.name, "hugepages-", 10) != 0)
				report(check, &e, "",
				       arena_printf(e.reader->arena,
						    "resources of a whole Pod have no %.80s: write "
						    "it into resources of the container",
						    e.name));
	}
}

static void check_no(const struct check *check, const struct json_at *at, const char *name,
		     const char *member)
{
	struct json_at found = json_member(at, member);

	if (json_is_given(&found))
		report(check, &found, "",
		       arena_printf(at->reader->arena, "%s has no %s: remove it", name, member));
}

static void check_beside(const struct check *check, const struct json_at *at, const char *words)
{
	struct arena *arena = at->reader->arena;
	struct json_at found = json_member(at, word_of(words, 0, arena));
	struct json_at other = json_member(at, word_of(words, 1, arena));

	if (json_is_given(&found) && !json_is_given(&other))
		report(check, &found, "",
		       arena_printf(arena, "%s needs %s: add it, or remove %s", found.name,
				    other.name, found.name));
}

static void check_member_word(const struct check *check, const struct json_at *at,
			      const char *words)
{
	struct json_at member = json_member(at, word_of(words, 0, at->reader->arena));

	if (json_is_given(&member))
		check_word(check, &member, member.name, words + strlen(member.name) + 1);
}

static void check_few(const struct check *check, const struct json_at *at, const char *words)
{
	struct arena *arena = at->reader->arena;
	struct json_at list = json_member(at, word_of(words, 0, arena));
	long most = strtol(word_of(words, 1, arena), NULL, 10);

	if (cJSON_IsArray(list.json) && cJSON_GetArraySize(list.json) > most)
		report(check, &list, "",
		       arena_printf(arena, "%s has %d elements, more than %ld: remove the others",
				    list.name, cJSON_GetArraySize(list.json), most));
}

static void check_elements(const struct check *check, const struct json_at *at, const char *name,
			   const char *list)
{
	const struct cJSON *elements = cJSON_GetObjectItemCaseSensitive(at->json, list);

	if (!cJSON_IsArray(elements) || !elements->child)
		report(check, at, "",
		       arena_printf(at->reader->arena, "%s has no %s: add one", name, list));
}

/* Of a variable; a volume has others. */
static void check_field(const struct check *check, const struct json_at *at, const char *words)
{
	struct json_at path = json_member(at, "fieldPath");
	const char *text = cJSON_GetStringValue(path.json);

	if (text && strncmp(text, "metadata.labels['", 17) != 0 &&
	    strncmp(text, "metadata.annotations['", 22) != 0)
		check_word(check, &path, "fieldPath",
			   arena_printf(at->reader->arena,
					"%s|metadata.labels['KEY']|metadata.annotations['KEY']",
					words));
}

static void check_quantity(const struct check *check, const struct json_at *at, const char *name)
{
	const char *text = cJSON_GetStringValue(at->json), *problem;
	int64_t amount;

	if (text && !is_filled_in(text) && quantity_parse(text, &amount, &problem))
		report(check, at, "",
		       arena_printf(at->reader->arena,
				    "%s \"%.80s\" %s: write an amount such as 500m or 16Gi", name,
				    text, problem));
}

static void report_unknown(const struct check *check, const struct json_at *at, const char *of,
			   const char *words)
{
	struct arena *arena = at->reader->arena;
	struct nearest nearest = nearest_start(at->name);
	char hint[NEAREST_HINT_SIZE];

	for (const char *word = words; *word != '\0';
	     word += strcspn(word, "|"), word += *word == '|')
		nearest_offer(&nearest, arena_strndup(arena, word, strcspn(word, "|")));
	lint_add(arena, check->findings, LINT_RULE_UNKNOWN_FIELD, json_path(at),
		 arena_printf(arena,
			      "%.200s is not a field of %s; the API server drops or refuses it%s",
			      at->name, of,
			      nearest.word ? nearest_hint(&nearest, hint) :
					     ": check its indentation, or remove it"),
		 "")
		->severity = LINT_ERROR;
}

static void check_members(const struct check *check, const struct json_at *at, const char *name,
			  const char *words)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e))
		if (!text_is_word(e.name, words))
			report_unknown(check, &e, name, words);
}

static void check_values(const struct check *check, const struct json_at *at)
{
	struct json_at list = json_member(at, "values");

	if (!json_is_given(&list) || json_type(&list) != JSON_ARRAY)
		return;
	for (struct json_at e = json_first(&list); e.json; json_next(&e))
		check_text(check, &e, "values", IS_VALUE);
}

static void check_disk(const struct check *check, const struct json_at *at)
{
	struct json_at uri = json_member(at, "diskURI");
	const char *text = cJSON_GetStringValue(uri.json);
	bool managed = strcmp(value_of(at, "kind"), "Managed") == 0;
	const char *begin = managed ? "/subscriptions" : "https://";

	if (text && *text != '\0' && !is_filled_in(text) &&
	    strncmp(text, begin, strlen(begin)) != 0)
		report(check, &uri, managed ? "" : "kind: Managed",
		       arena_printf(at->reader->arena, "diskURI must begin with %s%s, is \"%.80s\"",
				    begin, managed ? "" : ", or add kind: Managed", text));
}

/* Of init containers, of a whole Pod and of a claim; those of containers have rules of their own. */
static void check_quantities(const struct check *check, const struct json_at *at)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (is_filled_in(e.name))
			continue;
		if (!is_key(e.name) && !cJSON_HasObjectItem(at->json, "storage"))
			report(check, &e, "",
			       arena_printf(e.reader->arena,
					    "\"%.80s\" is not the name of a resource: write one "
					    "like cpu or example.com/name",
					    e.name));
		else
			check_quantity(check, &e, e.name);
	}
}

/* ---- the walk ---- */

static void check_object(const struct check *check, const struct json_at *at, const char *name,
			 const struct form *form)
{
	if (json_type(at) != JSON_OBJECT)
		return;
	if (form->test == HAS_KEYS || form->test == HAS_LABELS)
		check_keys(check, at, form->test == HAS_LABELS);
	else if (form->test == HAS_MEMBER)
		check_member(check, at, name, form->words);
	else if (form->test == HAS_MEMBERS)
		check_members(check, at, name, form->words);
	else if (form->test == HAS_WITH)
		check_with(check, at, form->words);
	else if (form->test == NEEDS)
		check_needed(check, at, form->words);
	else if (form->test == NOT_BOTH)
		check_both(check, at, form->words);
	else if (form->test == HAS_ELEMENTS)
		check_elements(check, at, name, form->words);
	else if (form->test == HAS_FIELD)
		check_field(check, at, form->words);
	else if (form->test == HAS_AMOUNTS)
		check_amounts(check, at, form->words);
	else if (form->test == HAS_NO)
		check_no(check, at, name, form->words);
	else if (form->test == HAS_BESIDE)
		check_beside(check, at, form->words);
	else if (form->test == HAS_WORD)
		check_member_word(check, at, form->words);
	else if (form->test == HAS_FEW)
		check_few(check, at, form->words);
	else if (form->test == HAS_VALUES)
		check_values(check, at);
	else if (form->test == HAS_DISK)
		check_disk(check, at);
	else if (form->test == HAS_QUANTITIES)
		check_quantities(check, at);
	else
		check_choice(check, at, name, form->words, form->test == HAS_ONE);
}

static void check_one(const struct check *check, const struct json_at *at, const char *name,
		      const char *under)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *form = &forms[i];

		if (!text_is_word(name, form->name) ||
		    (*form->under != '\0' && !text_is_word(under, form->under)))
			continue;
		if (form->test == IS_QUANTITY)
			check_quantity(check, at, name);
		else if (form->test == IS_WORD)
			check_word(check, at, name, form->words);
		else if (form->test == IS_AT_LEAST || form->test == IS_AT_MOST)
			check_number(check, at, name, form->words, form->test == IS_AT_LEAST);
		else if (form->test == IS_FILLED)
			check_filled(check, at, name);
		else if (form->test == IS_RETIRED)
			check_retired(check, at, form->words);
		else if (form->test <= IS_RELATIVE)
			check_text(check, at, name, form->test);
		else
			check_object(check, at, name, form);
	}
}

/* As deep as the reader of the text allows. */
static void walk(const struct check *check, const struct json_at *at, const char *name,
		 const char *under)
{
	bool is_list = json_type(at) == JSON_ARRAY;

	if (!is_list)
		check_one(check, at, name, under);
	if (!is_list && json_type(at) != JSON_OBJECT)
		return;
	for (struct json_at e = json_first(at); e.json; json_next(&e))
		walk(check, &e, is_list ? name : e.name, is_list ? under : name);
}

void lint_form_check(struct lint_found value, const char *name, enum lint_rule_id rule,
		     const char *refused, struct arena *arena, struct lint_findings *findings)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(value.json, value.path, &reader);
	const struct check check = { rule, refused, findings, 0 };

	if (value.json)
		walk(&check, &root, name, "");
}
