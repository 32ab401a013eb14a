/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/drops.h"

const struct task_drop engine_drops[N_ENGINE_DROPS] = {
    [DROP_NO_PATH -
     DROP_NO_PATH] = {"no_path",
                      "No link leads from the task to the port where the packet should leave",
                      "Connect the task's output to a task that sends to that port."},
    [DROP_PUNT_LIMITED - DROP_NO_PATH] =
        {"punt_limited",
         "Its subscriber, line or core port has had its share of the slow path: ARP, "
         "pings to the gateway, ICMP errors, frames for the control plane",
         "Normal when somebody scans or floods, and costs nobody else an answer; else "
         "raise subscriber_rate of the task of type arp, for a port arp_rate, for DHCP and PPPoE "
         "punt_line_rate and punt_rate."},
    [DROP_LINK_FULL - DROP_NO_PATH] =
        {"link_full",
         "The ring to the next core or the port's transmit queue was full, or the port's peer is "
         "away",
         "See the load of the core behind the link: another layout, a larger ring, or on_full = "
         "\"wait\"."},
};

const struct task_drop *drop_of(const struct task_schema *schema, unsigned i)
{
    if (i < schema->n_drops)
        return &schema->drops[i];
    return i >= DROP_NO_PATH && i <= DROP_LINK_FULL ? &engine_drops[i - DROP_NO_PATH] : NULL;
}

const char *drop_name(const struct task_schema *schema, unsigned i)
{
    const struct task_drop *drop = drop_of(schema, i);

    return drop != NULL ? drop->name : NULL;
}

const struct task_drop port_drops[N_PORT_DROPS] = {
    [PORT_RX_MISSED] = {"rx_missed", "Dropped by the device: no descriptor was free",
                        "The core that reads the port is too slow or was held up: see its load; "
                        "more rx_desc (net_af_packet: framecnt), or another layout."},
    [PORT_RX_ERRORS] = {"rx_errors", "Received with an error",
                        "Look at the cable, and at the mtu of the link's other end."},
    [PORT_RX_NO_MBUF] = {"rx_no_mbuf", "Receptions for which the pool was empty",
                         "More mbufs in the port's pool."},
    [PORT_TX_ERRORS] = {"tx_errors", "Failed to send",
                        "Is the device's interface up, and is its mtu as large as the port's?"},
    [PORT_TX_LOST] = {"tx_lost", "Taken by the device and never sent",
                      "Is the device's interface up? A NIC whose link went down keeps what its "
                      "descriptors hold."},
};

const struct task_drop ledger_words[N_LEDGER_WORDS] = {
    [LEDGER_RECEIVED] = {"received", "Received by all ports", "None."},
    [LEDGER_CREATED] = {"created", "Made by tasks", "None."},
    [LEDGER_SENT] = {"sent", "Sent by all ports", "None."},
    [LEDGER_CONSUMED] = {"consumed", "Ended in sinks and the slow path", "None."},
    [LEDGER_DROPPED] = {"dropped", "Dropped, for any reason",
                        "See the drops of the tasks, by reason."},
    [LEDGER_HELD] = {"held", "Held in links and queues",
                     "At the end of a run: more drain, or a peer that takes packets."},
    [LEDGER_UNEXPLAINED] = {"unexplained", "Received and created that is none of the others",
                            "While it runs: none, packets are under way. At the end it is a "
                            "mistake in vbng: report it "
                            "with the configuration."},
};
