/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of any bytes to the control socket's interpreter: each has one line of JSON as its
 * answer. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "control/request.h"
#include "fuzz.h"

static struct gateway gateway;
static struct control *control;

static void close_control(void)
{
    control_free(control);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    gateway_open(&gateway, "gateway.cfg");
    control = control_open(&gateway.engine, gateway.tables);
    if (control == NULL)
        fuzz_fail("no memory");
    atexit(close_control);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *answer = request_answer(control, (const char *)data, size);
    json_t *parsed;
    size_t len;

    if (answer == NULL)
        fuzz_fail("no answer");
    len = strlen(answer);
    if (len == 0 || memchr(answer, '\n', len) != answer + len - 1)
        fuzz_fail("not one line: %s", answer);
    parsed = json_loadb(answer, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(parsed) ||
        (json_object_get(parsed, "ok") == NULL) == (json_object_get(parsed, "error") == NULL))
        fuzz_fail("neither done nor refused: %s", answer);
    json_decref(parsed);
    free(answer);
    return 0;
}
