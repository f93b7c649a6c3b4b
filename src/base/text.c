#include "base/text.h"

#include <string.h>

const char *text_cut(struct arena *arena, const char *text, size_t max_bytes)
{
	static const char dots[] = "...";
	size_t size = strlen(text);
	if (size <= max_bytes)
		return text;
	size = max_bytes - (sizeof(dots) - 1);
	while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return arena_printf(arena, "%.*s%s", (int)size, text, dots);
}
