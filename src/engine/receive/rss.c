/* SPDX-License-Identifier: BSD-3-Clause */
/* RSS: what the device is asked for, and what it lacks. */
#include <errno.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "base/log.h"
#include "engine/receive/receive.h"

#define FIELDS_TEXT 100

/* What tells subscribers apart: hashed where nothing is said. */
#define USUAL_FIELDS (FIELD_IP | FIELD_S_VLAN | FIELD_C_VLAN)

/* A key that repeats after 16 bits gives both directions of a flow one Toeplitz hash, as addresses
 * and ports are multiples of 16 bits (Woo and Park, "Scalable TCP Session Monitoring with Symmetric
 * Receive-side Scaling", 2012). */
#define KEY_4  0x6d, 0x5a, 0x6d, 0x5a
#define KEY_16 KEY_4, KEY_4, KEY_4, KEY_4
static const uint8_t symmetric_key[] = {KEY_16, KEY_16, KEY_16, KEY_16};

/* DPDK's types of a field, of which a device has some or none, and a flag that it needs. */
static const struct {
    uint64_t types, flag;
} of_field[N_RSS_FIELDS] = {
    {RTE_ETH_RSS_IP, 0},
    {RTE_ETH_RSS_IP, RTE_ETH_RSS_L3_SRC_ONLY},
    {RTE_ETH_RSS_IP, RTE_ETH_RSS_L3_DST_ONLY},
    {RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP, 0},
    {RTE_ETH_RSS_S_VLAN, 0},
    {RTE_ETH_RSS_C_VLAN, 0},
    {RTE_ETH_RSS_PPPOE, 0},
    {RTE_ETH_RSS_MPLS, 0},
};

static uint32_t fields_of_device(const struct rte_eth_dev_info *info)
{
    uint32_t fields = 0;

    for (unsigned i = 0; i < N_RSS_FIELDS; i++)
        if ((info->flow_type_rss_offloads & of_field[i].types) != 0 &&
            (info->flow_type_rss_offloads & of_field[i].flag) == of_field[i].flag)
            fields |= 1u << i;
    return fields;
}

static uint64_t types_of(uint32_t fields, const struct rte_eth_dev_info *info)
{
    uint64_t types = 0;

    for (unsigned i = 0; i < N_RSS_FIELDS; i++)
        if ((fields >> i & 1) != 0)
            types |= (info->flow_type_rss_offloads & of_field[i].types) | of_field[i].flag;
    return types;
}

/* "fields = [\"ip\", \"l4\"]", as a configuration says it. */
static const char *say_fields(uint32_t fields, char *buf, size_t len)
{
    size_t used = (size_t)snprintf(buf, len, "fields = [");

    for (unsigned i = 0; i < N_RSS_FIELDS && used < len; i++)
        if ((fields >> i & 1) != 0)
            used += (size_t)snprintf(buf + used, len - used, "%s\"%s\"",
                                     buf[used - 1] == '[' ? "" : ", ", rss_field_names[i]);
    if (used < len)
        snprintf(buf + used, len - used, "]");
    return buf;
}

/* Say what the device lacks: an error, or with nearest = true a warning. Returns 0 or -ENOTSUP. */
static int lack(const struct cfg_port *cfg, const char *what, const char *nearest)
{
    const struct cfg_receive *r = &cfg->receive;

    if (r->nearest) {
        log_warning("%s:%u: port %s: the device's RSS %s; nearest: %s", r->loc.file, r->loc.line,
                    cfg->name, what, nearest);
        return 0;
    }
    log_error("%s:%u: port %s: the device's RSS %s; nearest: %s; say so, or nearest = true, or %s",
              r->loc.file, r->loc.line, cfg->name, what, nearest, receive_remedy(RECEIVE_RSS));
    return -ENOTSUP;
}

/* Say that none of the fields that are asked for is the device's: an error in any case, as other
 * fields may part the packets in quite another way. Returns -ENOTSUP. */
static int lack_all(const struct cfg_port *cfg, const char *what, uint32_t device)
{
    const struct cfg_receive *r = &cfg->receive;
    char nearest[FIELDS_TEXT + 40];

    if (device == 0)
        log_error("%s:%u: port %s: the device has no RSS; nearest: %s", r->loc.file, r->loc.line,
                  cfg->name, receive_remedy(RECEIVE_RSS));
    else
        log_error("%s:%u: port %s: the device's RSS %s; nearest: %s, or %s", r->loc.file,
                  r->loc.line, cfg->name, what, say_fields(device, nearest, sizeof(nearest)),
                  receive_remedy(RECEIVE_RSS));
    return -ENOTSUP;
}

/* The fields that are asked for, less those that the device lacks. Returns 0 or -ENOTSUP. */
static int choose_fields(const struct cfg_port *cfg, uint32_t device, uint32_t *fields)
{
    const struct cfg_receive *r = &cfg->receive;
    char lacks[FIELDS_TEXT], has[FIELDS_TEXT], what[2 * FIELDS_TEXT + 40],
        nearest[FIELDS_TEXT + 40];
    uint32_t wanted = r->fields != 0 ? r->fields : USUAL_FIELDS;

    *fields = wanted & device;
    if (*fields == wanted || (r->fields == 0 && *fields != 0))
        return 0;
    rss_fields_text(wanted & ~device, lacks, sizeof(lacks));
    rss_fields_text(device, has, sizeof(has));
    snprintf(what, sizeof(what), "does not know %s (it knows %s)", lacks, has);
    if (*fields == 0)
        return lack_all(cfg, what, device);
    return lack(cfg, what, say_fields(*fields, nearest, sizeof(nearest)));
}

static int choose_symmetric(const struct cfg_port *cfg, const struct rte_eth_dev_info *info,
                            struct receive_rss *out)
{
    if (!cfg->receive.symmetric)
        return 0;
    if (info->hash_key_size == 0 || info->hash_key_size > sizeof(symmetric_key))
        return lack(cfg, "takes no key, so that it cannot be symmetric", "symmetric = false");
    out->key = symmetric_key;
    out->key_len = info->hash_key_size;
    return 0;
}

/* A device without the flag may know inner headers in a rule. */
static void choose_inner(const struct cfg_port *cfg, const struct rte_eth_dev_info *info,
                         struct receive_rss *out)
{
    if (!cfg->receive.inner)
        return;
    if ((info->flow_type_rss_offloads & RTE_ETH_RSS_LEVEL_INNERMOST) != 0)
        out->types |= RTE_ETH_RSS_LEVEL_INNERMOST;
    else
        out->inner_by_rule = true;
}

/* Where nothing is asked for, what the device lacks is worth a warning. */
static void doubt(const struct plan *p, unsigned i, uint32_t fields, uint16_t n_queues)
{
    const struct cfg_port *cfg = &p->cfg->ports[i];

    if (fields == 0)
        log_warning("%s:%u: port %s has no RSS: how it spreads packets over its %u queues is the "
                    "device's own way",
                    cfg->loc.file, cfg->loc.line, cfg->name, n_queues);
    else if ((fields & (FIELD_S_VLAN | FIELD_C_VLAN)) == 0 && plan_port_has_tags(p, i))
        log_warning("%s:%u: port %s: the device's RSS knows no VLAN tags: frames with two of them "
                    "may all come to one of its %u queues; if they do, read it on one core and "
                    "spread with a task of type lb",
                    cfg->loc.file, cfg->loc.line, cfg->name, n_queues);
}

int receive_choose_rss(const struct plan *p, unsigned i, const struct rte_eth_dev_info *info,
                       uint16_t n_queues, struct receive_rss *out)
{
    const struct cfg_port *cfg = &p->cfg->ports[i];
    uint32_t device = fields_of_device(info), fields = USUAL_FIELDS & device;
    int rc = 0;

    *out = (struct receive_rss){0};
    if (receive_by_rules(&cfg->receive))
        return 0;
    if (cfg->receive.given)
        rc = choose_fields(cfg, device, &fields);
    if (rc == 0)
        rc = choose_symmetric(cfg, info, out);
    if (rc != 0)
        return rc;
    if (!cfg->receive.given || cfg->receive.fields == 0)
        doubt(p, i, fields, n_queues);
    out->types = types_of(fields, info);
    choose_inner(cfg, info, out);
    return 0;
}
