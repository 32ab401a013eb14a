/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "base/log.h"
#include "engine/wire.h"

#define TWO_TAGS 8 /* bytes that QinQ adds to a frame beyond the MTU */

static int open_device(struct port *port)
{
    const struct cfg_port *cfg = port->cfg;
    char name[RTE_ETH_NAME_MAX_LEN];
    int rc;

    snprintf(name, sizeof(name), "%s", cfg->device);
    name[strcspn(name, ",")] = '\0';
    if (rte_eth_dev_get_port_by_name(name, &port->dpdk_id) == 0)
        return 0; /* a PCI device, probed when EAL started */
    rc = rte_dev_probe(cfg->device);
    if (rc != 0) {
        if (port->away)
            return rc; /* its peer is not there yet */
        log_error(
            "%s:%u: port %s: device \"%s\" did not start: %s; start with --verbose to see the "
            "driver's own words",
            cfg->loc.file, cfg->loc.line, cfg->name, cfg->device, rte_strerror(-rc));
        return rc;
    }
    if (rte_eth_dev_get_port_by_name(name, &port->dpdk_id) != 0) {
        log_error(
            "%s:%u: port %s: \"%s\" is no Ethernet device that DPDK can use; is it bound to a "
            "driver (dpdk-devbind.py --status)?",
            cfg->loc.file, cfg->loc.line, cfg->name, cfg->device);
        return -ENODEV;
    }
    return 0;
}

/* More queues than the device has is an error that names the remedy; RSS only where there is a
 * choice of queues. */
static int fit_queues(const struct port *port, const struct rte_eth_dev_info *info, uint16_t n_rx,
                      uint16_t n_tx, struct rte_eth_conf *conf)
{
    const struct cfg_port *cfg = port->cfg;

    if (n_rx > info->max_rx_queues) {
        log_error("%s:%u: port %s: %u cores read it, but the device has %u receive queue(s); read "
                  "it on one core and "
                  "spread with a task of type lb",
                  cfg->loc.file, cfg->loc.line, cfg->name, n_rx, info->max_rx_queues);
        return -ENOTSUP;
    }
    if (n_tx > info->max_tx_queues) {
        log_error("%s:%u: port %s: %u cores send to it, but the device has %u transmit queue(s); "
                  "send by one task of "
                  "type forward",
                  cfg->loc.file, cfg->loc.line, cfg->name, n_tx, info->max_tx_queues);
        return -ENOTSUP;
    }
    if (n_rx > 1) {
        conf->rx_adv_conf.rss_conf.rss_hf =
            info->flow_type_rss_offloads &
            (RTE_ETH_RSS_IP | RTE_ETH_RSS_S_VLAN | RTE_ETH_RSS_C_VLAN);
        if (conf->rx_adv_conf.rss_conf.rss_hf != 0)
            conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        else
            log_warning("port %s has no RSS: how it spreads packets over its %u queues is the "
                        "device's own way",
                        cfg->name, n_rx);
    }
    return 0;
}

/* The MTU that two tags beyond the configured one need, as far as the device has one: ethdev also
 * refuses an MTU whose frame is longer than max_rx_pktlen. */
static uint16_t device_mtu(const struct cfg_port *cfg, const struct rte_eth_dev_info *info)
{
    uint32_t mtu = RTE_MAX((uint32_t)cfg->mtu + TWO_TAGS, info->min_mtu), overhead;

    overhead = info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu
                   ? info->max_rx_pktlen - info->max_mtu
                   : RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    if (info->max_rx_pktlen > overhead)
        mtu = RTE_MIN(mtu, info->max_rx_pktlen - overhead);
    return (uint16_t)RTE_MIN(mtu, info->max_mtu);
}

/* The driver looks after the link by itself, in a thread of its own. It must: without,
 * net_virtio_user as server forgets to take its socket from that thread after a connection that
 * came back, and the process ends when the port is closed. */
static void watch_link(const struct port *port, const struct rte_eth_dev_info *info,
                       struct rte_eth_conf *conf)
{
    if (strncmp(port->cfg->device, "net_virtio_user", 15) == 0 &&
        (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0)
        conf->intr_conf.lsc = 1;
}

/* A memif client may start before its server: it is then one whose peer has gone. */
static int start_device(struct port *port)
{
    int rc = rte_eth_dev_start(port->dpdk_id);

    if (rc == 0 || port->peer.comes_back != PEER_RESTART)
        return rc;
    log_warning("port %s: its peer is not there yet", port->cfg->name);
    port->away = port->left = true;
    return 0;
}

static int configure(struct port *port, const struct plan *p, unsigned i, struct rte_mempool *pool)
{
    const struct cfg_port *cfg = port->cfg;
    uint16_t n_rx = RTE_MAX(p->rx_queues[i], 1), n_tx = RTE_MAX(p->tx_queues[i], 1);
    uint16_t rx_desc = cfg->rx_desc, tx_desc = cfg->tx_desc;
    struct rte_eth_conf conf = {0};
    struct rte_eth_dev_info info;
    int rc;

    rc = rte_eth_dev_info_get(port->dpdk_id, &info);
    if (rc == 0)
        rc = fit_queues(port, &info, n_rx, n_tx, &conf);
    if (rc != 0)
        return rc;
    conf.rxmode.mtu = device_mtu(cfg, &info);
    watch_link(port, &info, &conf);
    rc = rte_eth_dev_configure(port->dpdk_id, n_rx, n_tx, &conf);
    if (rc == 0)
        rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->dpdk_id, &rx_desc, &tx_desc);
    for (uint16_t q = 0; rc == 0 && q < n_rx; q++)
        rc = rte_eth_rx_queue_setup(port->dpdk_id, q, rx_desc, (unsigned)port->socket, NULL, pool);
    for (uint16_t q = 0; rc == 0 && q < n_tx; q++)
        rc = rte_eth_tx_queue_setup(port->dpdk_id, q, tx_desc, (unsigned)port->socket, NULL);
    if (rc == 0)
        rc = start_device(port);
    if (rc != 0)
        log_error("%s:%u: port %s: the device refuses its configuration: %s", cfg->loc.file,
                  cfg->loc.line, cfg->name, rte_strerror(-rc));
    return rc;
}

/* The configured MAC is the gateway's, whether the device can take it or needs promiscuous mode to
 * receive it. */
static void set_mac(struct port *port)
{
    const struct cfg_port *cfg = port->cfg;
    struct rte_ether_addr own;
    bool refused = false;

    rte_eth_macaddr_get(port->dpdk_id, &own);
    port->mac = own;
    if (cfg->mac_set) {
        memcpy(&port->mac, cfg->mac, sizeof(port->mac));
        refused = rte_eth_dev_default_mac_addr_set(port->dpdk_id, &port->mac) != 0;
    }
    if (cfg->promiscuous && rte_eth_promiscuous_enable(port->dpdk_id) != 0 && refused)
        log_warning(
            "port %s can neither take the MAC of the configuration nor be promiscuous: it may "
            "receive only what is sent to its own MAC",
            cfg->name);
}

int port_open(struct port *port, const struct plan *p, unsigned i, struct rte_mempool *pool)
{
    int rc;

    port->cfg = &p->cfg->ports[i];
    port->is_wire = wire_is(port->cfg);
    peer_read(port->cfg->device, &port->peer);
    peer_clear(&port->peer);
    rc = port->is_wire ? wire_open(port, p, i) : open_device(port);
    if (rc != 0)
        return rc;
    port->socket = RTE_MAX(rte_eth_dev_socket_id(port->dpdk_id), 0);
    rc = configure(port, p, i, pool);
    if (rc != 0) {
        rte_eth_dev_close(port->dpdk_id);
        return rc;
    }
    set_mac(port);
    port->is_virtual = port->is_wire || strncmp(port->cfg->device, "net_", 4) == 0;
    port->keeps_buffers = strncmp(port->cfg->device, "net_af_xdp", 10) == 0;
    port->up = true;
    return 0;
}

int port_socket(const struct cfg_port *cfg)
{
    uint16_t id;

    return rte_eth_dev_get_port_by_name(cfg->device, &id) == 0
               ? RTE_MAX(rte_eth_dev_socket_id(id), 0)
               : 0;
}

void port_read(const struct port *port, struct port_counters *out)
{
    struct rte_eth_stats s = {0};

    if (port->up)
        rte_eth_stats_get(port->dpdk_id, &s);
    *out = port->before;
    out->rx_packets += s.ipackets;
    out->rx_bytes += s.ibytes;
    out->tx_packets += s.opackets;
    out->tx_bytes += s.obytes;
    out->rx_missed += s.imissed;
    out->rx_errors += s.ierrors;
    out->rx_no_mbuf += s.rx_nombuf;
    out->tx_errors += s.oerrors;
}

void port_watch(struct port *port)
{
    struct port_counters c;

    if (!port->up || !port->is_virtual || port->is_wire)
        return;
    port_read(port, &c);
    if (c.rx_packets < port->seen_rx || c.tx_packets < port->seen_tx)
        port->resets++;
    port->seen_rx = c.rx_packets;
    port->seen_tx = c.tx_packets;
}

bool port_link_up(const struct port *port)
{
    struct rte_eth_link link = {0};

    return port->up && rte_eth_link_get_nowait(port->dpdk_id, &link) == 0 &&
           link.link_status == RTE_ETH_LINK_UP;
}

bool port_hides_counters(const struct port *port)
{
    return strncmp(port->cfg->device, "net_memif", 9) == 0 && !port_link_up(port);
}

int port_reconnect(struct port *port, const struct plan *p, unsigned i, struct rte_mempool *pool)
{
    struct port_counters before;
    int rc;

    if (port->peer.comes_back == PEER_RESTART) {
        port_watch(port);
        rte_eth_dev_stop(port->dpdk_id);
        rc = rte_eth_dev_start(port->dpdk_id);
        port_watch(port); /* it has forgotten its counters */
        return rc;
    }
    port_read(port, &before);
    port_close(port);
    port->before = before;
    if (access(port->peer.path, F_OK) != 0)
        return -ENOENT;
    return port_open(port, p, i, pool);
}

void port_close(struct port *port)
{
    struct rte_eth_dev_info info = {0};

    if (!port->up)
        return;
    port->up = false;
    rte_eth_dev_info_get(port->dpdk_id, &info);
    rte_eth_dev_stop(port->dpdk_id);
    rte_eth_dev_close(port->dpdk_id);
    /* a virtual device was made by port_open(): take it away with its sockets and interfaces */
    if (port->is_virtual && info.device != NULL)
        rte_dev_remove(info.device);
}
