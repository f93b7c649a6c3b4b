#include "codec/utf8.h"

#include <stdbool.h>

static bool continuation(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

size_t utf8_length(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;

	if (left == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xC2 && p[0] <= 0xDF)
		return left >= 2 && continuation(p[1]) ? 2 : 0;
	if ((p[0] & 0xF0) == 0xE0) {
		if (left < 3 || !continuation(p[1]) || !continuation(p[2]))
			return 0;
		if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F))
			return 0;
		return 3;
	}
	if (p[0] >= 0xF0 && p[0] <= 0xF4) {
		if (left < 4 || !continuation(p[1]) || !continuation(p[2]) || !continuation(p[3]))
			return 0;
		if ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
			return 0;
		return 4;
	}
	return 0;
}
