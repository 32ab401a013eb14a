/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builders of JSON values for jansson: like json_pack(), they pass a part that is NULL, because
 * memory ran out, on as a whole that is NULL, so that only who prints the whole has to look.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdint.h>

/** The array with one more value, whose reference it takes. NULL: no memory, and both are freed. */
json_t *json_with_item(json_t *array, json_t *value);

/** The object with one more key; the same. */
json_t *json_with_key(json_t *object, const char *key, json_t *value);

/** Flag of a dump: digits of a real number, enough for all that json_rounded() leaves. */
#define JSON_DIGITS JSON_REAL_PRECISION(12)

/** A real number with so many decimals; v times 10^decimals must fit into 63 bits. */
json_t *json_rounded(double v, unsigned decimals);

/** A counter; beyond 2^63, which none of them reaches, it would be negative. */
static inline json_t *json_count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

#endif
