#include "codec/utf8.h"

#include <stdbool.h>

static bool continuation(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

static size_t length_3(const unsigned char *p, size_t left)
{
	if (left < 3 || !continuation(p[1]) || !continuation(p[2]))
		return 0;
	/* overlong, surrogates */
	if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F))
		return 0;
	return 3;
}

static size_t length_4(const unsigned char *p, size_t left)
{
	if (left < 4 || !continuation(p[1]) || !continuation(p[2]) || !continuation(p[3]))
		return 0;
	/* overlong, above U+10FFFF */
	if ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
		return 0;
	return 4;
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
	if ((p[0] & 0xF0) == 0xE0)
		return length_3(p, left);
	return p[0] >= 0xF0 && p[0] <= 0xF4 ? length_4(p, left) : 0;
}
