/* Versions of Ray and Python that the images of one RayCluster name. `ray start` of a worker compares its own with those
 * of the head and ends when they differ (ray/_private/node.py, check_version_info, Ray 2.60). */
#include <string.h>

#include "base/text.h"
#include "feature/lint/core/lint_subject.h"

#define VERSION_BYTES_MAX 31
#define DIGITS_DOT "0123456789."

/* Of an image of Ray, as rayproject/ray:2.60.0-py312-gpu. */
struct version {
	char ray[VERSION_BYTES_MAX + 1];    /* "" : unknown */
	char python[VERSION_BYTES_MAX + 1]; /* "py312", "": not named */
};

static bool is_of_ray(const char *name, size_t size)
{
	static const char *const names[] = { "ray", "ray-ml", "ray-llm" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == size && strncmp(name, names[i], size) == 0)
			return true;
	return false;
}

static void copy(char *to, const char *from, size_t size)
{
	size = size <= VERSION_BYTES_MAX ? size : 0;
	memcpy(to, from, size);
	to[size] = '\0';
}

/* "2.60.0"; 0: it is not three numbers. */
static size_t version_size(const char *text)
{
	size_t size = strspn(text, DIGITS_DOT), dots = 0;

	for (size_t i = 0; i < size; i++)
		dots += text[i] == '.';
	return dots == 2 && text[0] != '.' && text[size - 1] != '.' ? size : 0;
}

static struct version version_of(const char *image)
{
	const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image;
	const char *tag = strchr(name, ':'), *python;
	struct version version = { .ray = "", .python = "" };

	if (!tag || !is_of_ray(name, (size_t)(tag - name)))
		return version;
	tag++;
	copy(version.ray, tag, version_size(tag));
	python = strstr(tag, "-py3");
	if (python)
		copy(version.python, python + 1, strcspn(python + 1, "-@"));
	return version;
}

static const char *image_of(const struct pod_spec *pod)
{
	const char *image = pod->container_count > 0 ? pod->containers[0].image : NULL;

	return image ? image : "";
}

static void report(struct lint_subject *subject, const char *what, const char *own,
		   const char *of_head)
{
	const char *image = image_of(subject->pod), *at = strstr(image, own);

	lint_report_finding(
		subject, LINT_RULE_RAY_VERSION_DIFFERS,
		arena_printf(subject->arena, "%s.image", subject->container_path),
		arena_printf(subject->arena, "image: %.*s%s%s", (int)(at - image), image, of_head,
			     at + strlen(own)),
		"the image of %s has %s %s and that of the head %s: `ray start` of each worker ends "
		"with \"Version mismatch\"",
		subject->title, what, own, of_head);
}

static void check_group(struct lint_subject *subject)
{
	struct version head = version_of(image_of(&subject->cluster->head_template.spec));
	struct version own = version_of(image_of(subject->pod));

	if (head.ray[0] == '\0' || own.ray[0] == '\0')
		return;
	if (strcmp(head.ray, own.ray) != 0)
		report(subject, "Ray", own.ray, head.ray);
	else if (head.python[0] != '\0' && own.python[0] != '\0' &&
		 strcmp(head.python, own.python) != 0)
		report(subject, "Python", own.python, head.python);
}

/* KubeRay compares rayVersion with the versions that its features need. */
static void check_cluster(struct lint_subject *subject)
{
	const char *given = subject->cluster->ray_version;
	struct version image = version_of(image_of(subject->pod));
	const char *fix = arena_printf(subject->arena, "rayVersion: \"%s\"",
				       image.ray[0] != '\0' ? image.ray : "2.60.0");
	const char *why = "is not a version";

	if (given[0] == '\0')
		return;
	if (version_size(given) > 0) {
		if (image.ray[0] == '\0' || version_size(given) != strlen(given) ||
		    strcmp(given, image.ray) == 0)
			return;
		why = "is not that of the head's image";
	}
	lint_report_finding(
		subject, LINT_RULE_RAY_VERSION_DIFFERS, "spec.rayVersion", fix,
		"rayVersion \"%.40s\" %s; KubeRay decides by it which fields it accepts", given,
		why)
		->severity = LINT_WARNING;
}

void lint_ray_version_differs(struct lint_subject *subject)
{
	(subject->group ? check_group : check_cluster)(subject);
}

/* VERSIONS.md */
#define OLDEST_MAJOR 2
#define OLDEST_MINOR 47
#define NUMBER_MOST 1000000

/* Of "2.60.0", one by one. */
static int64_t next_number(const char **at)
{
	int64_t number = 0;

	for (; text_is_digit(**at) && number < NUMBER_MOST; (*at)++)
		number = number * 10 + (**at - '0');
	*at += **at == '.';
	return number;
}

void lint_ray_version_old(struct lint_subject *subject)
{
	struct version version = version_of(image_of(subject->pod));
	const char *at = version.ray;
	int64_t major = next_number(&at), minor = next_number(&at);

	if (subject->group || !subject->cluster->enable_in_tree_autoscaling ||
	    version.ray[0] == '\0' || major > OLDEST_MAJOR ||
	    (major == OLDEST_MAJOR && minor >= OLDEST_MINOR))
		return;
	lint_report_finding(
		subject, LINT_RULE_RAY_VERSION_OLD,
		arena_printf(subject->arena, "%s.image", subject->container_path), "",
		"the image has Ray %s, and autoscaling is supported from 2.47 on: use a later image "
		"for the head and all groups",
		version.ray);
}
