/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/socket/answer.h"

#include <stdlib.h>
#include <string.h>

char *answer_line(json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9)), *line;
    size_t len;

    json_decref(answer);
    if (text == NULL)
        return NULL;
    len = strlen(text);
    line = realloc(text, len + 2);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    memcpy(line + len, "\n", 2);
    return line;
}

char *answer_refused(const char *why)
{
    json_t *answer = json_pack("{s:s}", "error", why);

    if (answer == NULL) /* the reason was cut within a character of UTF-8 */
        answer = json_pack("{s:s}", "error", "the request is not right");
    return answer_line(answer);
}
