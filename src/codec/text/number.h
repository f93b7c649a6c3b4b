/* Decimal text of numbers: the shortest text of a double that reads back the same.
 * Writes into the caller's bytes. Must not be used to decide a fit: amounts are fixed point. */
#ifndef CODEC_TEXT_NUMBER_H
#define CODEC_TEXT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define NUMBER_TEXT_SIZE 32

/* "1", "0.5", "1e+21", "NaN", "Infinity", "-Infinity"; independent of the locale. */
void number_print(double value, char ret_text[static NUMBER_TEXT_SIZE]);
/* The whole of text as a finite or infinite decimal number ("1e3"); -1 for anything else. */
int number_parse(const char *text, double *ret_value);
/* The whole of text as a decimal int64 ("-12"); -1 for anything else, also overflow. */
int number_parse_integer(const char *text, int64_t *ret_value);

/* A resource amount of Ray (a double in units) as 1/10000 units, rounded to nearest as Ray's
 * FixedPoint does. For NaN, infinite, negative and too large values *ret_problem is the problem
 * ("is NaN", "is negative", ...), the result is 0; else *ret_problem is NULL. */
int64_t amount_from_double(double value, const char **ret_problem);

#endif
