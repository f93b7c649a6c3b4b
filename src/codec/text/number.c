#include "codec/text/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/resources.h"

/* The program never calls setlocale, so the decimal point of printf and strtod is ".". */
void number_print(double value, char ret_text[static NUMBER_TEXT_SIZE])
{
	if (!isfinite(value)) {
		snprintf(ret_text, NUMBER_TEXT_SIZE, "%s",
			 isnan(value) ? "NaN" :
			 value > 0    ? "Infinity" :
					"-Infinity");
		return;
	}
	/* Byte counts are easier to read as 17179869184 than as 1.7179869184e+10. */
	if (value == trunc(value) && fabs(value) < 1e15) {
		snprintf(ret_text, NUMBER_TEXT_SIZE, "%" PRId64, (int64_t)value);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(ret_text, NUMBER_TEXT_SIZE, "%.*g", digits, value);
		if (strtod(ret_text, NULL) == value)
			return;
	}
}

int number_parse(const char *text, double *ret_value)
{
	const char *p = text + (*text == '-' || *text == '+');
	char *end;

	/* strtod accepts spaces, hexadecimal and "nan(...)"; here decimals and the proto3 words. */
	if (strcmp(text, "NaN") != 0 && strcmp(p, "Infinity") != 0 &&
	    (p[strspn(p, "0123456789.eE+-")] != '\0' ||
	     !isdigit((unsigned char)(*p == '.' ? p[1] : *p))))
		return -1;
	double value = strtod(text, &end);
	if (end == text || *end != '\0')
		return -1;
	*ret_value = value;
	return 0;
}

int number_parse_integer(const char *text, int64_t *ret_value)
{
	const char *p = text + (*text == '-');
	char *end;

	if (!isdigit((unsigned char)*p))
		return -1;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0')
		return -1;
	*ret_value = value;
	return 0;
}

int64_t amount_from_double(double value, const char **ret_problem)
{
	*ret_problem = NULL;
	if (isnan(value))
		*ret_problem = "is NaN";
	else if (isinf(value))
		*ret_problem = "is infinite";
	else if (value < 0)
		*ret_problem = "is negative";
	else if (value > (double)(RESOURCE_AMOUNT_MAX / RESOURCE_UNIT))
		*ret_problem = "is too large";
	if (*ret_problem)
		return 0;
	return (int64_t)floor(value * (double)RESOURCE_UNIT + 0.5);
}
