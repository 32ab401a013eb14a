/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/metrics.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "config/schema.h"
#include "telemetry/metrics_labels.h"

/*
 * Commands of each group on DPDK's telemetry socket, in the manner of DPDK's own:
 *
 *   /vbng/task            how many there are, and each metric: type, unit, name, meaning
 *   /vbng/task/list,N     names, from number N (default 0) on, as many as an answer holds
 *   /vbng/task/get,WHICH  figures of one, by name or number
 *   /vbng/task/page,N     names and figures of several from number N on, a line of CSV for each
 *   /vbng/task/top,KEY,N  those with the greatest figure, from rank N (default 0) on
 *
 * and of a group whose objects people give names to: /labels, /labelled, /find (metrics_labels.h).
 */

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint  rte_tel_data_add_dict_u64
#define rte_tel_data_add_array_uint rte_tel_data_add_array_u64
#define RTE_TEL_UINT_VAL            RTE_TEL_U64_VAL
#endif

#define LIST_MAX 200 /* names in an answer: it has room for 16 KiB */
#define ROWS_MAX 512 /* numbers in an answer */
#define TOP_MAX  25  /* objects in an answer, with their names */
#define ROW_MAX  (METRICS_MAX_NAME + METRICS_MAX_FIGURES * 21) /* bytes of a line of CSV */

/* Written by the main thread, read by the threads of the telemetry library. */
static struct {
    pthread_mutex_t lock;
    const struct metric_group *group[METRICS_MAX_GROUPS];
    unsigned n;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct metric_out {
    struct rte_tel_data *data;
};

struct ranked {
    uint64_t value;
    unsigned i; /* number of the object */
};

/* "/vbng/task/get" -> the group of "task". Called with the lock. */
static const struct metric_group *group_of(const char *cmd)
{
    const char *object = cmd + strlen("/vbng/");
    size_t len = strcspn(object, "/");

    for (unsigned i = 0; i < registry.n; i++)
        if (strlen(registry.group[i]->object) == len &&
            memcmp(registry.group[i]->object, object, len) == 0)
            return registry.group[i];
    return NULL;
}

/* Read a parameter as a number; a missing one is 0. Returns -1 where the text is no number. */
static long number_of(const char *params)
{
    char *end;
    unsigned long n;

    if (params == NULL || *params == '\0')
        return 0;
    n = strtoul(params, &end, 10);
    return *end == '\0' && *params >= '0' && *params <= '9' && n <= INT32_MAX ? (long)n : -1;
}

static const char *help_of(const struct metric_group *g, const struct metric *m)
{
    unsigned i = 0;

    if (m->help != NULL)
        return m->help;
    while (i < g->n_words && strcmp(g->words[i].name, m->key) != 0)
        i++;
    assert(i < g->n_words); /* a metric without a help has words */
    return g->words[i].meaning;
}

static int describe(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    static const char *const types[] = {[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge"};
    char text[RTE_TEL_MAX_STRING_LEN];

    rte_tel_data_start_dict(d);
    rte_tel_data_add_dict_uint(d, "count", g->count(g->of));
    for (const struct metric *m = g->metrics; m->key != NULL; m++) {
        snprintf(text, sizeof(text), "%s %s %s %s", types[m->type], m->unit, m->name,
                 help_of(g, m));
        rte_tel_data_add_dict_string(d, m->key, text);
    }
    return 0;
}

static int list(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    long first = number_of(params);
    unsigned count = g->count(g->of);

    if (first < 0)
        return -EINVAL;
    rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
    for (unsigned i = (unsigned)first; i < count && i < (unsigned)first + LIST_MAX; i++) {
        char name[METRICS_MAX_NAME];

        g->name(g->of, i, name);
        rte_tel_data_add_array_string(d, name);
    }
    return 0;
}

void metric_extra(struct metric_out *out, const struct metric *row, const char *which,
                  uint64_t value)
{
    char key[METRICS_MAX_NAME];

    snprintf(key, sizeof(key), "%s%s", row->key, which);
    rte_tel_data_add_dict_uint(out->data, key, value);
}

/* The number of the object that a parameter names, or count. */
static unsigned find(const struct metric_group *g, const char *which)
{
    unsigned count = g->count(g->of);
    long number = number_of(which);

    if (which == NULL || *which == '\0')
        return count;
    if (g->find != NULL && g->find(g->of, which) < count)
        return g->find(g->of, which);
    for (unsigned i = 0; g->find == NULL && i < count; i++) {
        char name[METRICS_MAX_NAME];

        g->name(g->of, i, name);
        if (strcmp(name, which) == 0)
            return i;
    }
    return number >= 0 && number < (long)count ? (unsigned)number : count;
}

static int get(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    unsigned i = find(g, params);
    uint64_t figures[METRICS_MAX_FIGURES] = {0};
    struct metric_out out = {.data = d};

    if (i == g->count(g->of) || (g->has != NULL && !g->has(g->of, i)))
        return -EINVAL;
    g->read(g->of, i, figures);
    rte_tel_data_start_dict(d);
    for (const struct metric *m = g->metrics; m->key != NULL; m++)
        if (!metric_is_extra(m))
            rte_tel_data_add_dict_uint(d, m->key, metric_value_of(figures, m));
    if (g->extra != NULL)
        g->extra(g->of, i, &out);
    return 0;
}

/* How many figures a row has. */
static unsigned row_length(const struct metric_group *g)
{
    unsigned n = 0;

    for (const struct metric *m = g->metrics; m->key != NULL; m++)
        n += !metric_is_extra(m);
    assert(n > 0); /* a group without figures is none */
    return n;
}

static void add_row(const struct metric_group *g, unsigned i, struct rte_tel_data *d)
{
    uint64_t figures[METRICS_MAX_FIGURES] = {0};

    g->read(g->of, i, figures);
    for (const struct metric *m = g->metrics; m->key != NULL; m++)
        if (!metric_is_extra(m))
            rte_tel_data_add_array_uint(d, metric_value_of(figures, m));
}

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

/* Write the objects from number first on as CSV, as many lines as fit into room bytes with the 0 at
 * the end. */
static void put_csv(const struct metric_group *g, unsigned first, char *text, size_t room)
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

/* Order by value, greatest first, and equal values by number of the object. */
static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->i < y->i ? -1 : 1;
}

/* Tell whether a metric adds to the rank by a key: "drops" takes up_drops and down_drops. */
static bool ranks_by(const struct metric *m, const char *key, size_t len)
{
    size_t whole = strlen(m->key);

    return !metric_is_extra(m) && whole >= len && memcmp(m->key + whole - len, key, len) == 0 &&
           (whole == len || m->key[whole - len - 1] == '_');
}

/*
 * Rank all objects of a group, those with the greatest value first: the sum of the figures whose
 * key is, or ends in '_' and, the len characters of key. Sets *n. Returns NULL where no metric has
 * such a key, and without memory; the caller frees it.
 */
static struct ranked *rank(const struct metric_group *g, const char *key, size_t len, unsigned *n)
{
    const struct metric *by[METRICS_MAX_FIGURES];
    unsigned count = g->count(g->of), n_by = 0;
    struct ranked *all;

    for (const struct metric *m = g->metrics; m->key != NULL; m++)
        if (ranks_by(m, key, len))
            by[n_by++] = m;
    all = n_by > 0 ? calloc(count + 1, sizeof(*all)) : NULL;
    *n = 0;
    for (unsigned i = 0; all != NULL && i < count; i++) {
        uint64_t figures[METRICS_MAX_FIGURES] = {0}, sum = 0;

        if (g->has != NULL && !g->has(g->of, i))
            continue;
        g->read(g->of, i, figures);
        for (unsigned k = 0; k < n_by; k++)
            sum += metric_value_of(figures, by[k]);
        all[(*n)++] = (struct ranked){sum, i};
    }
    if (all != NULL)
        qsort(all, *n, sizeof(*all), by_rank);
    return all;
}

/* Answer with a text, as one string holds far more than an array. */
static int page(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    long first = number_of(params);
    char text[RTE_TEL_MAX_SINGLE_STRING_LEN];

    if (first < 0)
        return -EINVAL;
    put_csv(g, (unsigned)first, text, sizeof(text));
    return rte_tel_data_string(d, text);
}

static int top(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    size_t len = params != NULL ? strcspn(params, ",") : 0;
    long first = len > 0 ? number_of(params[len] == ',' ? params + len + 1 : NULL) : -1;
    struct rte_tel_data *numbers = rte_tel_data_alloc(), *names = rte_tel_data_alloc(),
                        *rows = rte_tel_data_alloc();
    unsigned n = row_length(g), count = 0, room = RTE_MIN((unsigned)TOP_MAX, ROWS_MAX / n);
    struct ranked *ranks = first >= 0 ? rank(g, params, len, &count) : NULL;

    if (ranks == NULL || numbers == NULL || names == NULL || rows == NULL) {
        rte_tel_data_free(numbers);
        rte_tel_data_free(names);
        rte_tel_data_free(rows);
        free(ranks);
        return -EINVAL;
    }
    rte_tel_data_start_array(numbers, RTE_TEL_UINT_VAL);
    rte_tel_data_start_array(names, RTE_TEL_STRING_VAL);
    rte_tel_data_start_array(rows, RTE_TEL_UINT_VAL);
    for (unsigned k = (unsigned)first; k < count && room > 0; k++, room--) {
        char name[METRICS_MAX_NAME];

        g->name(g->of, ranks[k].i, name);
        rte_tel_data_add_array_uint(numbers, ranks[k].i);
        rte_tel_data_add_array_string(names, name);
        add_row(g, ranks[k].i, rows);
    }
    free(ranks);
    rte_tel_data_start_dict(d);
    rte_tel_data_add_dict_uint(d, "count", count);
    rte_tel_data_add_dict_container(d, "numbers", numbers, 0);
    rte_tel_data_add_dict_container(d, "names", names, 0);
    rte_tel_data_add_dict_container(d, "rows", rows, 0);
    return 0;
}

static int answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
    static const struct {
        const char *suffix;
        int (*fn)(const struct metric_group *g, const char *params, struct rte_tel_data *d);
    } verbs[] = {{"/list", list},        {"/get", get},          {"/page", page},
                 {"/top", top},          {"/labels", labels_of}, {"/labelled", labels_all},
                 {"/find", labels_find}, {"", describe}};
    const struct metric_group *g;
    unsigned v = 0;
    int rc = -ENOENT;

    while (strlen(cmd) < strlen(verbs[v].suffix) ||
           strcmp(cmd + strlen(cmd) - strlen(verbs[v].suffix), verbs[v].suffix) != 0)
        v++;
    pthread_mutex_lock(&registry.lock);
    g = group_of(cmd);
    if (g != NULL)
        rc = verbs[v].fn(g, params, d);
    pthread_mutex_unlock(&registry.lock);
    return rc;
}

int metrics_add(const struct metric_group *g)
{
    static const struct {
        const char *suffix, *help;
    } commands[] = {
        {"", "What is counted of each, and how many there are. No parameters."},
        {"/list", "Names. Parameter: number of the first; default 0."},
        {"/get", "Figures of one. Parameter: its name or number."},
        {"/page", "Names and figures of several, as CSV. Parameter: number of the first."},
        {"/top", "Those with most of something, in rows. Parameters: key, first rank."},
        {"/labels", "Names of people, percent-encoded. Parameters: numbers."},
        {"/labelled", "Who has a name of people. Parameter: number of the first."},
        {"/find", "Who may be meant. Parameters: number of the first, text, percent-encoded."}};
    unsigned n_commands = g->label != NULL ? RTE_DIM(commands) : RTE_DIM(commands) - 3;
    char cmd[METRICS_MAX_NAME];
    int rc = 0;

    if (registry.n == METRICS_MAX_GROUPS)
        return -ENOSPC;
    pthread_mutex_lock(&registry.lock);
    registry.group[registry.n++] = g;
    pthread_mutex_unlock(&registry.lock);
    for (unsigned i = 0; i < n_commands && rc == 0; i++) {
        snprintf(cmd, sizeof(cmd), "/vbng/%s%s", g->object, commands[i].suffix);
        rc = rte_telemetry_register_cmd(cmd, answer, commands[i].help);
    }
    return rc;
}

void metrics_hold(void)
{
    pthread_mutex_lock(&registry.lock);
}

void metrics_release(void)
{
    pthread_mutex_unlock(&registry.lock);
}

void metrics_close(void)
{
    metrics_hold();
    registry.n = 0;
    metrics_release();
}
