#include "codec/text/base64.h"

#include <stdint.h>
#include <string.h>

/* By their six bits; behind them the two of URLs. */
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";

/* The six bits of a letter, -1 for another character, which is not NUL. */
static int bits_of(char c)
{
	const char *letter = strchr(letters, c);
	int bits = letter ? (int)(letter - letters) : -1;

	return bits < 64 ? bits : bits - 2;
}

/* Collects 4 letters of 6 bits into 3 bytes. The last group may have 2 letters (1 byte) or 3
 * letters (2 bytes); a single letter is an error. After the padding only padding and line breaks
 * are allowed. */
int base64_decode(const char *text, struct arena *arena, char **ret_bytes, size_t *ret_size)
{
	char *bytes = arena_alloc(arena, strlen(text) / 4 * 3 + 4);
	uint32_t group = 0;
	size_t count = 0, size = 0;

	for (; *text != '\0' && *text != '='; text++) {
		int bits = bits_of(*text);

		if (*text == '\n' || *text == '\r')
			continue;
		if (bits < 0)
			return -1;
		group = group << 6 | (uint32_t)bits;
		if (++count % 4 == 0) {
			bytes[size++] = (char)(group >> 16 & 0xFF);
			bytes[size++] = (char)(group >> 8 & 0xFF);
			bytes[size++] = (char)(group & 0xFF);
		}
	}
	if (text[strspn(text, "=\r\n")] != '\0' || count % 4 == 1)
		return -1;
	if (count % 4 == 2)
		bytes[size++] = (char)(group >> 4 & 0xFF);
	if (count % 4 == 3) {
		bytes[size++] = (char)(group >> 10 & 0xFF);
		bytes[size++] = (char)(group >> 2 & 0xFF);
	}
	bytes[size] = '\0';
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

const char *base64_encode(const void *bytes, size_t size, struct arena *arena)
{
	char *text = arena_alloc(arena, (size + 2) / 3 * 4 + 1), *out = text;
	const unsigned char *in = bytes;

	for (; size > 0; in += 3, out += 4) {
		size_t step = size < 3 ? size : 3;
		uint32_t group = (uint32_t)in[0] << 16;

		if (step > 1)
			group |= (uint32_t)in[1] << 8;
		if (step > 2)
			group |= in[2];
		out[0] = letters[group >> 18];
		out[1] = letters[group >> 12 & 63];
		out[2] = step > 1 ? letters[group >> 6 & 63] : '=';
		out[3] = step > 2 ? letters[group & 63] : '=';
		size -= step;
	}
	*out = '\0';
	return text;
}
