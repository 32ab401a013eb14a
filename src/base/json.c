/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

json_t *json_with_item(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

json_t *json_with_key(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *json_rounded(double v, unsigned decimals)
{
    double unit = 1;

    for (; decimals > 0; decimals--)
        unit *= 10;
    return json_real((double)(int64_t)(v * unit + (v < 0 ? -0.5 : 0.5)) / unit);
}
