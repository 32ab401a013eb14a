/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, configuring, reading and closing the device of a port. */
#include "engine/port.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "base/log.h"
#include "engine/queues/queues.h"
#include "engine/queues/virtio.h"

#define TWO_TAGS     8 /* bytes that QinQ adds to a frame beyond the MTU */
#define WIRE_PREFIX  "wire:"
#define PROBE_LENGTH 128 /* bytes of EAL's message about a device, the final 0 included */

static bool is_wire(const struct cfg_port *cfg)
{
    return strncmp(cfg->device, WIRE_PREFIX, strlen(WIRE_PREFIX)) == 0;
}

/* The ring that carries packets to one end of a wire; the end that opens first makes both. */
static struct rte_ring *wire_ring(const struct plan *p, unsigned to)
{
    const struct cfg_port *cfg = &p->cfg->ports[to];
    unsigned flags = RING_F_SC_DEQ;
    char name[RTE_RING_NAMESIZE];
    struct rte_ring *r;

    snprintf(name, sizeof(name), "wire_%u", to);
    r = rte_ring_lookup(name);
    if (r != NULL)
        return r;
    if (p->tx_queues[wire_peer(p->cfg, to)] <= 1)
        flags |= RING_F_SP_ENQ;
    return queues_make_ring(name, cfg->rx_desc, queues_reader_socket(p, to, 0), flags);
}

/* Make the device of a wire's end. */
static int open_wire(struct port *port, const struct plan *p, unsigned i)
{
    struct rte_ring *rx, *tx[RTE_MAX_QUEUES_PER_PORT];
    unsigned n_tx = p->tx_queues[i] > 0 ? p->tx_queues[i] : 1;
    char name[32];
    int id;

    rx = wire_ring(p, i);
    tx[0] = wire_ring(p, wire_peer(p->cfg, i));
    if (rx == NULL || tx[0] == NULL) {
        log_error("port %s: no memory for its wire", port->cfg->name);
        return -ENOMEM;
    }
    for (unsigned q = 1; q < n_tx; q++)
        tx[q] = tx[0];
    snprintf(name, sizeof(name), "wire%u", i);
    id = rte_eth_from_rings(name, &rx, 1, tx, n_tx, 0);
    if (id < 0) {
        log_error("port %s: DPDK refuses the wire: %s", port->cfg->name, rte_strerror(rte_errno));
        return -rte_errno;
    }
    port->wire_rx = rx;
    port->dpdk_id = (uint16_t)id;
    return 0;
}

/* Probe a device with its arguments. name is the device without them. */
static int probe(const struct port *port, const char *name)
{
    char *device = virtio_device(port->cfg->device), *args;
    int rc;

    if (device == NULL)
        return -ENOMEM;
    args = strchr(device, ',');
    /* rte_dev_probe() tells the device to processes that share the memory of vbng, in a message
     * with room for PROBE_LENGTH. DPDK 22.11 cut the message, newer versions refuse the device. */
    if (strlen(device) < PROBE_LENGTH || args == NULL || !port->is_virtual)
        rc = rte_dev_probe(device);
    else
        rc = rte_vdev_init(name, args + 1);
    free(device);
    return rc;
}

/* The name of the network interface that a device of a driver stands for. Returns false for the
 * devices of other drivers. */
static bool interface_of(const char *device, const char *driver, char name[IF_NAMESIZE])
{
    const char *iface = strstr(device, ",iface=");

    if (iface == NULL || strncmp(device, driver, strlen(driver)) != 0)
        return false;
    snprintf(name, IF_NAMESIZE, "%.*s", (int)strcspn(iface + 7, ","), iface + 7);
    return true;
}

/* Is the network interface there that a device stands for? Drivers say "Operation not permitted"
 * or "No such device" of it, and do not name it. */
static int check_interface(const struct cfg_port *cfg)
{
    char name[IF_NAMESIZE];

    if ((!interface_of(cfg->device, "net_af_packet", name) &&
         !interface_of(cfg->device, "net_af_xdp", name)) ||
        if_nametoindex(name) != 0)
        return 0;
    log_error("%s:%u: port %s: there is no network interface '%s' here (ip link shows all)",
              cfg->loc.file, cfg->loc.line, cfg->name, name);
    return -ENODEV;
}

/* Probe the device, unless EAL has done so already. */
static int open_device(struct port *port)
{
    const struct cfg_port *cfg = port->cfg;
    char name[RTE_ETH_NAME_MAX_LEN];
    int rc = check_interface(cfg);

    if (rc != 0)
        return rc;
    snprintf(name, sizeof(name), "%s", cfg->device);
    name[strcspn(name, ",")] = '\0';
    if (rte_eth_dev_get_port_by_name(name, &port->dpdk_id) == 0)
        return 0; /* a PCI device, probed when EAL started */
    rc = probe(port, name);
    if (rc != 0) {
        if (port->peer_gone)
            return rc; /* link_state.c tries again and says so once, not at each try */
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

/* RSS is set up only where a packet has a choice of queues. */
static int set_rss(struct port *port, const struct plan *p, unsigned i,
                   const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
    int rc;

    port->rss = (struct receive_rss){0};
    if (p->rx_queues[i] <= 1 || p->offline)
        return 0;
    rc = receive_choose_rss(p, i, info, p->rx_queues[i], &port->rss);
    if (rc != 0 || port->rss.types == 0)
        return rc;
    conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf->rx_adv_conf.rss_conf.rss_hf = port->rss.types;
    conf->rx_adv_conf.rss_conf.rss_key = (uint8_t *)(uintptr_t)port->rss.key; /* it is only read */
    conf->rx_adv_conf.rss_conf.rss_key_len = port->rss.key_len;
    return 0;
}

/* The MTU that lets two tags pass beyond the configured one, within the device's limits: ethdev
 * also refuses an MTU whose frame is longer than max_rx_pktlen. */
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

/* Let net_virtio_user watch its link in DPDK's interrupt thread. Without, the driver as a server
 * does not remove its socket from that thread after a reconnection, and closing the port ends the
 * process. */
static void enable_link_interrupt(const struct port *port, const struct rte_eth_dev_info *info,
                                  struct rte_eth_conf *conf)
{
    if (virtio_is_user(port->cfg->device) && (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0)
        conf->intr_conf.lsc = 1;
}

/* Start the device. A memif client may start before its server: its peer has gone, for the time
 * being. */
static int start_device(struct port *port)
{
    int rc = rte_eth_dev_start(port->dpdk_id);

    if (rc == 0 || port->peer.reconnect != PEER_RESTART)
        return rc;
    log_warning("port %s: its peer is not there yet", port->cfg->name);
    port->peer_gone = port->detached = true;
    return 0;
}

static int configure(struct port *port, const struct plan *p, unsigned i,
                     struct rte_mempool *const *pools)
{
    const struct cfg_port *cfg = port->cfg;
    struct rte_eth_conf conf = {0};
    struct rte_eth_dev_info info;
    struct queues q;
    int rc;

    rc = rte_eth_dev_info_get(port->dpdk_id, &info);
    if (rc == 0)
        rc = queues_fit(p, i, &info, &q);
    if (rc == 0)
        rc = set_rss(port, p, i, &info, &conf);
    if (rc != 0)
        return rc;
    conf.rxmode.mtu = device_mtu(cfg, &info);
    conf.txmode.offloads = queues_choose_offloads(port, p, i, &info);
    enable_link_interrupt(port, &info, &conf);
    rc = rte_eth_dev_configure(port->dpdk_id, q.n_rx, q.n_tx, &conf);
    if (rc == 0)
        rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->dpdk_id, &q.rx_desc, &q.tx_desc);
    if (rc == 0)
        rc = queues_open(port, p, i, &q, &info, pools);
    port->tx_room = port->is_virtual ? 0 : (uint32_t)q.n_tx * q.tx_desc;
    if (rc == 0 && !port->is_virtual)
        rte_eth_stats_reset(port->dpdk_id); /* those of a virtual function outlive its last user */
    if (rc == 0)
        rc = start_device(port);
    if (rc != 0)
        log_error("%s:%u: port %s: the device refuses its configuration: %s", cfg->loc.file,
                  cfg->loc.line, cfg->name, rte_strerror(-rc));
    return rc;
}

/* Give the device the configured MAC. The port has that MAC also where the device refuses it, and
 * then needs promiscuous mode to receive frames for it. */
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

int port_open(struct port *port, const struct plan *p, unsigned i, struct rte_mempool *const *pools)
{
    char name[IF_NAMESIZE];
    int rc;

    port->cfg = &p->cfg->ports[i];
    port->is_wire = is_wire(port->cfg);
    port->is_virtual = port->is_wire || strncmp(port->cfg->device, "net_", 4) == 0;
    peer_read(port->cfg->device, &port->peer);
    peer_clear(&port->peer);
    rc = port->is_wire ? open_wire(port, p, i) : open_device(port);
    if (rc != 0)
        return rc;
    port->socket = port->is_virtual ? SOCKET_ID_ANY : rte_eth_dev_socket_id(port->dpdk_id);
    queues_check_sockets(port, p, i);
    rc = configure(port, p, i, pools);
    if (rc != 0) {
        rte_eth_dev_close(port->dpdk_id);
        return rc;
    }
    if (!port->peer_gone && !p->offline)
        rc = receive_start(p, i, port->dpdk_id, &port->rss, &port->rules);
    if (rc != 0) {
        rte_eth_dev_stop(port->dpdk_id);
        rte_eth_dev_close(port->dpdk_id);
        return rc;
    }
    set_mac(port);
    if (interface_of(port->cfg->device, "net_af_packet", name))
        port->overflow = overflow_open(if_nametoindex(name));
    port->keeps_buffers = strncmp(port->cfg->device, "net_af_xdp", 10) == 0;
    port->up = true;
    return 0;
}

void port_read(const struct port *port, struct port_counters *out)
{
    struct rte_eth_stats s = {0};

    if (port->up) {
        rte_eth_stats_get(port->dpdk_id, &s);
        s.imissed += overflow_read(port->overflow);
    }
    *out = port->earlier;
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

int port_reconnect(struct port *port, const struct plan *p, unsigned i,
                   struct rte_mempool *const *pools)
{
    struct port_counters earlier;
    int rc;

    if (port->peer.reconnect == PEER_RESTART) {
        port_watch(port);
        rc = peer_stop(port->dpdk_id);
        if (rc == 0)
            rc = rte_eth_dev_start(port->dpdk_id);
        port_watch(port); /* the device has reset its counters */
        return rc;
    }
    port_read(port, &earlier);
    port_close(port);
    port->earlier = earlier;
    if (access(port->peer.path, F_OK) != 0)
        return -ENOENT;
    return port_open(port, p, i, pools);
}

void port_close(struct port *port)
{
    struct rte_eth_dev_info info;
    bool known;

    if (!port->up)
        return;
    port->up = false;
    overflow_close(port->overflow);
    port->overflow = NULL;
    known = rte_eth_dev_info_get(port->dpdk_id, &info) == 0;
    receive_stop(port->dpdk_id, &port->rules);
    rte_eth_dev_stop(port->dpdk_id);
    rte_eth_dev_close(port->dpdk_id);
    /* port_open() made a virtual device, so its sockets and interfaces must go, too */
    if (port->is_virtual && known && info.device != NULL)
        rte_dev_remove(info.device);
}
