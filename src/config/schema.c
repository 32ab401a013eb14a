/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"

const struct fact_words fact_words[] = {
    {FACT_SUBSCRIBER, "subscriber", "that name their subscriber", "a classify or gre_decap"},
    {FACT_NEXTHOP, "nexthop", "that name their next hop", "a route"},
    {FACT_EGRESS, "egress", "that name their egress port", "a route or qinq_encap"},
    {FACT_QINQ_IPV4, "qinq_ipv4", "with two VLAN tags and a checked IPv4 header", "a classify"},
    {FACT_IPV4, "ipv4", "without tags and with a checked IPv4 header",
     "a qinq_decap, gre_decap or mpls_pop"},
    {FACT_PATH, "path", "that name their scheduler path", "a classify"},
    {0, NULL, NULL, NULL},
};

const char *param_notation(enum param_type type)
{
    static const char *const notations[] = {
        [PARAM_COUNT] = "count",
        [PARAM_SIZE] = "size",
        [PARAM_RATE] = "rate",
        [PARAM_DURATION] = "duration",
        [PARAM_BOOL] = "true or false",
        [PARAM_ENUM] = "choice",
        [PARAM_IPV4] = "IPv4 address",
        [PARAM_STRING] = "string",
        [PARAM_SCHEDULER] = "name of a scheduler",
        [PARAM_RANGE] = "range",
        [PARAM_LOAD] = "load",
        [PARAM_SHARE] = "share",
        [PARAM_TEMPLATE] = "path",
        [PARAM_SIZES] = "size, or sizes with their shares",
        [PARAM_NAME] = "name",
        [PARAM_LIST] = "list of groups",
    };

    return notations[type];
}

#define HOUR_NS UINT64_C(3600000000000)

/* A bound as the configuration could have it. */
static const char *bound_text(enum param_type type, uint64_t bound, char *buf, size_t len)
{
    if (type == PARAM_RATE)
        return format_rate(bound, buf, len);
    if (type == PARAM_DURATION && bound % HOUR_NS != 0)
        return format_duration(bound, buf, len);
    if (type == PARAM_DURATION)
        snprintf(buf, len, "%" PRIu64 "h", bound / HOUR_NS);
    else
        snprintf(buf, len, "%" PRIu64, bound);
    return buf;
}

char *param_bounds(const struct task_param *p, char *buf, size_t len)
{
    char min[32], max[32];

    buf[0] = '\0';
    if (p->max == 0)
        return buf;
    bound_text(p->type, p->max, max, sizeof(max));
    if (p->type == PARAM_RANGE)
        snprintf(buf, len, "within %s to %s", bound_text(p->type, p->min, min, sizeof(min)), max);
    else if (p->min == 0)
        snprintf(buf, len, "at most %s", max);
    else
        snprintf(buf, len, "%s to %s", bound_text(p->type, p->min, min, sizeof(min)), max);
    return buf;
}

const char *param_scope_name(enum param_scope scope)
{
    static const char *const names[] = {[SCOPE_TASK] = "task",
                                        [SCOPE_ITEM] = "item",
                                        [SCOPE_INHERIT] = "inherit",
                                        [SCOPE_BOTH] = "both"};

    return names[scope];
}

const char *task_kind_name(enum task_kind kind)
{
    static const char *const names[] = {
        [TASK_WORKER] = "worker", [TASK_SOURCE] = "source", [TASK_SINK] = "sink"};

    return names[kind];
}
