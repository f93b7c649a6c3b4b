#include "codec/text/utf8.h"

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

uint32_t utf8_code_point(const char *text, size_t length)
{
	const unsigned char *c = (const unsigned char *)text;

	if (length == 1)
		return c[0];
	uint32_t value = c[0] & (0x7FU >> length);
	for (size_t i = 1; i < length; i++)
		value = value << 6 | (c[i] & 0x3FU);
	return value;
}

bool utf8_is_visible(uint32_t code_point)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0, 0x1F },        { 0x7F, 0x9F },     { 0xAD, 0xAD },       { 0x61C, 0x61C },
		{ 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E },   { 0x2060, 0x206F },
		{ 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (code_point >= hidden[i].first && code_point <= hidden[i].last)
			return false;
	return true;
}

void utf8_add_json_escape(struct buf *buf, uint32_t code_point)
{
	if (code_point > 0xFFFF) {
		code_point -= 0x10000;
		(void)buf_printf(buf, "\\u%04x\\u%04x", 0xD800 + (code_point >> 10),
				 0xDC00 + (code_point & 0x3FF));
	} else {
		(void)buf_printf(buf, "\\u%04x", code_point);
	}
}
