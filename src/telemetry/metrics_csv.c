/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/metrics_csv.h"

#include <string.h>

#define ROW_MAX (METRICS_MAX_NAME + METRICS_MAX_FIGURES * 21)

/* Decimal digits: a page has a thousand of them, too many for printf(). Returns the end. */
static char *put_number(char *to, uint64_t n)
{
    char digits[20];
    unsigned k = 0;

    do {
        digits[k++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    while (k > 0)
        *to++ = digits[--k];
    return to;
}

/* "NAME,FIGURE,FIGURE\n". Returns its length. */
static size_t put_line(const struct metric_group *g, unsigned i, char line[ROW_MAX])
{
    uint64_t figures[METRICS_MAX_FIGURES] = {0};
    char *end;

    g->name(g->of, i, line);
    end = line + strlen(line);
    g->read(g->of, i, figures);
    for (const struct metric *m = g->metrics; m->key != NULL; m++) {
        if (metric_is_extra(m))
            continue;
        *end++ = ',';
        end = put_number(end, metric_value_of(figures, m));
    }
    *end++ = '\n';
    return (size_t)(end - line);
}

void metrics_csv(const struct metric_group *g, unsigned first, char *text, size_t room)
{
    unsigned count = g->count(g->of);
    size_t used = 0;

    for (unsigned i = first; i < count; i++) {
        char line[ROW_MAX];
        size_t len = put_line(g, i, line);

        if (used + len >= room)
            break;
        memcpy(text + used, line, len);
        used += len;
    }
    text[used] = '\0';
}
