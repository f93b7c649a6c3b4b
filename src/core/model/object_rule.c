#include "core/model/object_rule.h"

#include <stdarg.h>

struct object_problem *object_problem_add(struct arena *arena, struct object_problems *problems,
					  const char *rule, const char *path, const char *format,
					  ...)
{
	struct object_problem *problem = VEC_ADD(arena, &problems->list);
	va_list arguments;

	va_start(arguments, format);
	*problem = (struct object_problem){ .rule = rule,
					    .path = path,
					    .message = arena_vprintf(arena, format, arguments),
					    .fix = "" };
	va_end(arguments);
	return problem;
}
