/* SPDX-License-Identifier: BSD-3-Clause */
/* receive = { by; fields; symmetric; inner; nearest; queues = ( { name; ... }, ... ); } of a port:
 * how packets come to its receive queues. */
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"
#include "config/receive.h"

#define VLAN_MAX 4094
#define PCP_MAX  7
#define DSCP_MAX 63

const char *const receive_by_names[] = {[RECEIVE_RSS] = "rss",
                                        [RECEIVE_S_VLAN] = "s_vlan",
                                        [RECEIVE_PCP] = "pcp",
                                        [RECEIVE_DSCP] = "dscp",
                                        NULL};

const char *const rss_field_names[N_RSS_FIELDS + 1] = {"ip",     "ip_src", "ip_dst", "l4", "s_vlan",
                                                       "c_vlan", "pppoe",  "mpls",   NULL};

const struct task_param receive_params[N_RECEIVE_KEYS] = {
    [RECEIVE_BY] = {.name = "by",
                    .type = PARAM_ENUM,
                    .choices = receive_by_names,
                    .required = true,
                    .help = "by what the device chooses the queue of a packet",
                    .more = "A hash (rss) spreads over one queue for each core that reads "
                            "the port. The others are rules (rte_flow) for the queues that are "
                            "named: the outer VLAN, its priority (PCP), or the DSCP of IPv4 and "
                            "IPv6, behind two tags where the port has subscribers."},
    [RECEIVE_FIELDS] =
        {.name = "fields",
         .type = PARAM_ENUM,
         .choices = rss_field_names,
         .help = "what RSS hashes, one or a list",
         .more = "Both addresses are ip, one of them ip_src or ip_dst; l4 adds the ports "
                 "of TCP, UDP and SCTP. Without it: of ip, s_vlan and c_vlan all "
                 "that the device has."},
    [RECEIVE_SYMMETRIC] = {.name = "symmetric",
                           .type = PARAM_BOOL,
                           .def = "false",
                           .help = "both directions of a flow have one hash, by a key of RSS that "
                                   "repeats every 16 bits"},
    [RECEIVE_INNER] = {.name = "inner",
                       .type = PARAM_BOOL,
                       .def = "false",
                       .help = "RSS hashes the headers in a tunnel, such as GRE, not those of it"},
    [RECEIVE_NEAREST] = {.name = "nearest",
                         .type = PARAM_BOOL,
                         .def = "false",
                         .help = "where the device cannot do all of this, it does the nearest that "
                                 "it can, with a warning; else that is an error"},
    [RECEIVE_QUEUES] = {.name = "queues",
                        .type = PARAM_LIST,
                        .help = "the queues of rules, a list of 2 to 64 groups",
                        .more = "The first one gets what no other asks for, too. With fewer cores "
                                "than queues, the queues are dealt out to them in turn. A task "
                                "that reads some of them only names each as PORT.QUEUE."},
};

const struct task_param rxq_params[N_RXQ_KEYS] = {
    [RXQ_NAME] = {.name = "name",
                  .type = PARAM_NAME,
                  .required = true,
                  .help = "its name, which no other queue of the port has"},
    [RXQ_S_VLAN] = {.name = "s_vlan",
                    .type = PARAM_RANGE,
                    .min = 1,
                    .max = VLAN_MAX,
                    .help = "with by = \"s_vlan\": outer VLANs that come to it, a range or a "
                            "list of up to 32"},
    [RXQ_PCP] = {.name = "pcp",
                 .type = PARAM_RANGE,
                 .max = PCP_MAX,
                 .help = "with by = \"pcp\": priorities of the outer tag, the same"},
    [RXQ_DSCP] = {.name = "dscp",
                  .type = PARAM_RANGE,
                  .max = DSCP_MAX,
                  .help = "with by = \"dscp\": DSCPs, the same"},
};

/* --- words --- */

char *rss_fields_text(uint32_t fields, char *buf, size_t len)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < N_RSS_FIELDS && used < len; i++)
        if ((fields >> i & 1) != 0)
            used += (size_t)snprintf(buf + used, len - used, "%s%s", used > 0 ? ", " : "",
                                     rss_field_names[i]);
    return buf;
}

static size_t put_ranges(const struct cfg_queue *q, char *buf, size_t len)
{
    size_t used = 0;

    for (unsigned i = 0; i < q->n_ranges && used < len; i++) {
        const struct queue_range *r = &q->range[i];

        used += (size_t)snprintf(buf + used, len - used, i > 0 ? ", %u" : " %u", r->first);
        if (r->last != r->first && used < len)
            used += (size_t)snprintf(buf + used, len - used, "-%u", r->last);
    }
    return used;
}

char *receive_text(const struct cfg_receive *r, unsigned queue, char *buf, size_t len)
{
    static const char *const names[] = {
        [RECEIVE_S_VLAN] = "S-VLAN", [RECEIVE_PCP] = "PCP", [RECEIVE_DSCP] = "DSCP"};
    char fields[80] = "what the device has";
    size_t used = 0;

    if (!receive_by_rules(r)) {
        if (r->fields != 0)
            rss_fields_text(r->fields, fields, sizeof(fields));
        snprintf(buf, len, "RSS of %s%s%s", fields, r->symmetric ? ", symmetric" : "",
                 r->inner ? ", inner headers" : "");
        return buf;
    }
    if (r->queues[queue].n_ranges > 0) {
        used = (size_t)snprintf(buf, len, "%s", names[r->by]);
        used += put_ranges(&r->queues[queue], buf + used, len - used);
    }
    if (queue == 0 && used < len)
        snprintf(buf + used, len - used, used > 0 ? " and the rest" : "the rest");
    return buf;
}

/* --- reading --- */

/* The keys that a table of parameters describes; what is a list, too, is read here. */
static void make_keys(const struct task_param *params, unsigned n, struct key *keys)
{
    for (unsigned i = 0; i < n; i++)
        keys[i] = (struct key){.name = params[i].name,
                               .type = (enum key_type)params[i].type,
                               .def = params[i].def,
                               .min = params[i].min,
                               .max = params[i].max,
                               .choices = params[i].choices,
                               .required = params[i].required};
}

/* Call take for the value that a setting is, or for each that it is a list of; one that is wrong is
 * reported. */
static void each_value(struct loader *l, const struct key *k, const config_setting_t *s,
                       void (*take)(struct loader *l, const struct value *v, void *ctx), void *ctx)
{
    bool list = config_setting_is_list(s) || config_setting_is_array(s);
    int n = list ? config_setting_length(s) : 1;

    if (n == 0)
        key_error(l, s, k->name, "expected at least one");
    for (int i = 0; i < n; i++) {
        struct value v = {.setting = list ? config_setting_get_elem(s, (unsigned)i) : s};

        if (read_value(l, k, &v))
            take(l, &v, ctx);
    }
}

static void take_field(struct loader *l, const struct value *v, void *ctx)
{
    struct cfg_receive *r = ctx;

    if ((r->fields >> v->v.u & 1) != 0)
        value_error(l, v, "fields", "is named twice");
    r->fields |= 1u << v->v.u;
}

static void check_fields(struct loader *l, const struct cfg_receive *r, const struct value *v)
{
    const uint32_t one = r->fields & (FIELD_IP_SRC | FIELD_IP_DST);

    if ((r->fields & FIELD_IP) != 0 ? one != 0 : one == (FIELD_IP_SRC | FIELD_IP_DST))
        key_error(l, v[RECEIVE_FIELDS].setting, "fields",
                  "expected one of 'ip' (both addresses), 'ip_src' and 'ip_dst'");
    else if (r->symmetric && one != 0)
        key_error(l, v[RECEIVE_SYMMETRIC].setting, "symmetric",
                  "one address of a packet is the other one of the way back: expected 'ip' in "
                  "fields");
}

/* The queue that is being read. */
struct queue_reading {
    struct cfg_receive *r;
    struct cfg_queue *q;
};

static void take_range(struct loader *l, const struct value *v, void *ctx)
{
    const struct queue_reading *now = ctx;
    struct queue_range new = {(uint16_t)v->v.u, (uint16_t)v->v.u2};

    for (const struct cfg_queue *q = now->r->queues; q <= now->q; q++)
        for (unsigned i = 0; i < q->n_ranges; i++)
            if (q->range[i].first <= new.last &&new.first <= q->range[i].last) {
                value_error(l, v, receive_by_names[now->r->by], "overlaps queue '%s' at %s:%u",
                            q->name, q->loc.file, q->loc.line);
                return;
            }
    if (now->q->n_ranges == CFG_MAX_RANGES)
        value_error(l, v, receive_by_names[now->r->by], "expected at most %d ranges of a queue",
                    CFG_MAX_RANGES);
    else
        now->q->range[now->q->n_ranges++] = new;
}

static void check_name(struct loader *l, const struct queue_reading *now, const struct value *name)
{
    for (const struct cfg_queue *q = now->r->queues; q < now->q; q++)
        if (name->set && strcmp(q->name, now->q->name) == 0)
            key_error(l, name->setting, "name", "already a queue of this port at %s:%u",
                      q->loc.file, q->loc.line);
}

static void read_queue(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct cfg_receive *r = ctx;
    struct queue_reading now = {r, &r->queues[r->n_queues]};
    struct key keys[N_RXQ_KEYS], values[N_RXQ_KEYS];
    struct value v[N_RXQ_KEYS];
    unsigned by = RXQ_S_VLAN + (unsigned)r->by - RECEIVE_S_VLAN;

    make_keys(rxq_params, N_RXQ_KEYS, values);
    memcpy(keys, values, sizeof(keys));
    for (unsigned k = RXQ_S_VLAN; k < N_RXQ_KEYS; k++)
        keys[k].type = KEY_OTHER;
    read_group(l, group, "queue", keys, N_RXQ_KEYS, v);
    *now.q = (struct cfg_queue){.loc = setting_loc(l, group),
                                .name = v[RXQ_NAME].set ? v[RXQ_NAME].v.s : ""};
    r->n_queues++;
    check_name(l, &now, &v[RXQ_NAME]);
    for (unsigned k = RXQ_S_VLAN; k < N_RXQ_KEYS; k++)
        if (k != by && v[k].setting != NULL)
            key_error(l, v[k].setting, keys[k].name, "the queues of this port are by = \"%s\"",
                      receive_by_names[r->by]);
    if (v[by].setting != NULL)
        each_value(l, &values[by], v[by].setting, take_range, &now);
    else if (i > 0)
        diag_error(l->d, now.q->loc,
                   "key '%s': missing in this queue: only the first one may do without, as it "
                   "gets what no other asks for",
                   keys[by].name);
}

static void read_queues(struct loader *l, struct cfg_receive *r, const config_setting_t *s)
{
    int n;

    if (s == NULL) {
        diag_error(
            l->d, r->loc,
            "key 'queues': missing in this receive: expected ( { name = \"a\"; %s = \"...\"; "
            "}, ... )",
            receive_by_names[r->by]);
        return;
    }
    n = config_setting_is_aggregate(s) ? config_setting_length(s) : 0;
    if (config_setting_is_group(s) == CONFIG_FALSE &&
        config_setting_is_aggregate(s) == CONFIG_TRUE && (n < 2 || n > CFG_MAX_QUEUES)) {
        key_error(l, s, "queues", "%d of them: expected 2 to %d", n, CFG_MAX_QUEUES);
        return;
    }
    r->queues = grow(NULL, (size_t)n, sizeof(*r->queues));
    each_group(l, s, "queues", read_queue, r);
}

static void read_rss(struct loader *l, struct cfg_receive *r, const struct key *fields,
                     const struct value *v)
{
    if (v[RECEIVE_QUEUES].setting != NULL)
        key_error(l, v[RECEIVE_QUEUES].setting, "queues",
                  "RSS spreads over a queue for each core that reads the port: expected none");
    if (v[RECEIVE_FIELDS].setting == NULL)
        return;
    each_value(l, fields, v[RECEIVE_FIELDS].setting, take_field, r);
    check_fields(l, r, v);
}

static void read_rules(struct loader *l, struct cfg_receive *r, const struct value *v)
{
    for (unsigned k = RECEIVE_FIELDS; k <= RECEIVE_INNER; k++)
        if (v[k].setting != NULL)
            key_error(l, v[k].setting, receive_params[k].name, "is for by = \"rss\" only");
    read_queues(l, r, v[RECEIVE_QUEUES].setting);
}

/* Report a software device that has no rules, so that a start would fail. */
static void check_software(struct loader *l, const config_setting_t *s, const struct cfg_port *p)
{
    static const char *const without[] = {"net_af_packet", "net_af_xdp",     "net_memif",
                                          "net_null",      "net_pcap",       "net_ring",
                                          "net_vhost",     "net_virtio_user"};
    const struct cfg_receive *r = &p->receive;

    if (p->device == NULL)
        return;
    if (port_is_wire(p)) {
        key_error(l, s, "receive",
                  "a wire has one receive queue: read it on one core, and put an lb behind");
        return;
    }
    for (size_t i = 0; receive_by_rules(r) && i < sizeof(without) / sizeof(without[0]); i++)
        if (strncmp(p->device, without[i], strlen(without[i])) == 0)
            key_error(l, s, "receive", "%s has no rte_flow rules for queues by %s; nearest: %s",
                      without[i], receive_by_names[r->by], receive_remedy(r->by));
}

const char *receive_remedy(enum receive_by by)
{
    switch (by) {
    case RECEIVE_PCP:
    case RECEIVE_DSCP:
        return "read the port on one core by a task that names a scheduler (classify, gre_decap or "
               "mpls_pop), which drops the lower classes first when there is too much";
    case RECEIVE_RSS:
    case RECEIVE_S_VLAN:
        break;
    }
    return "read the port on one core and spread with a task of type lb";
}

void load_receive(struct loader *l, const config_setting_t *s, struct cfg_port *p)
{
    struct cfg_receive *r = &p->receive;
    struct key keys[N_RECEIVE_KEYS], fields;
    struct value v[N_RECEIVE_KEYS];

    if (s == NULL)
        return;
    if (!config_setting_is_group(s)) {
        key_error(l, s, "receive", "expected a group: { by = \"rss\"; ... }");
        return;
    }
    make_keys(receive_params, N_RECEIVE_KEYS, keys);
    fields = keys[RECEIVE_FIELDS];
    keys[RECEIVE_FIELDS].type = KEY_OTHER;
    read_group(l, s, "receive", keys, N_RECEIVE_KEYS, v);
    r->loc = setting_loc(l, s);
    if (!v[RECEIVE_BY].set)
        return;
    r->given = true;
    r->by = (enum receive_by)v[RECEIVE_BY].v.u;
    r->symmetric = v[RECEIVE_SYMMETRIC].v.u != 0;
    r->inner = v[RECEIVE_INNER].v.u != 0;
    r->nearest = v[RECEIVE_NEAREST].v.u != 0;
    if (r->by == RECEIVE_RSS)
        read_rss(l, r, &fields, v);
    else
        read_rules(l, r, v);
    check_software(l, s, p);
}
