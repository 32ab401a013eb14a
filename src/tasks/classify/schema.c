/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks/classify/schema.h"

#include "engine/drops.h"

static const char *const matches[] = {
    [MATCH_QINQ] = "qinq", [MATCH_IPV4] = "ipv4", [MATCH_ANY] = "any", NULL};
static const uint32_t match_gives[] = {
    [MATCH_QINQ] = FACT_QINQ_IPV4, [MATCH_IPV4] = FACT_IPV4, [MATCH_ANY] = 0};

const struct task_param classify_params[N_CLASSIFY_ARGS] = {
    [ARG_MATCH] = {.name = "match",
                   .type = PARAM_ENUM,
                   .def = "qinq",
                   .choices = matches,
                   .choice_gives = match_gives,
                   .help = "what names the subscriber: port and VLAN pair, or the destination "
                           "address; any: VLAN pair, and what is not IP passes, too"},
    [ARG_ANTI_SPOOF] = {.name = "anti_spoof",
                        .type = PARAM_BOOL,
                        .def = "true",
                        .help = "drop packets whose source is not the subscriber's (with match = "
                                "\"qinq\" or \"any\")"},
    [ARG_SCHEDULER] = {.name = "scheduler",
                       .type = PARAM_SCHEDULER,
                       .set_gives = FACT_PATH,
                       .help = "write the queue of this scheduler, by the packet's DSCP, into the "
                               "mbuf"},
    [ARG_SHED] = {PARAM_IS_SHED},
};

const struct task_drop classify_drops[N_CLASSIFY_DROPS] = {
    [DROP_SEGMENTED] = {DROP_IS_SEGMENTED},
    [DROP_SHORT_FRAME] = {DROP_IS_SHORT_FRAME},
    [DROP_NOT_QINQ] = {"not_qinq", "The frame has no two VLAN tags",
                       "Correct the access network's tags, or the port's tpid."},
    [DROP_UNKNOWN_SUBSCRIBER] = {"unknown_subscriber",
                                 "No subscriber has the VLAN pair on this port, or with match = "
                                 "\"ipv4\" the destination address of IPv4 or IPv6",
                                 "Add the subscriber, or correct its VLAN pair or address."},
    [DROP_NOT_IPV4] = {"not_ipv4",
                       "Neither IPv4 nor ARP, nor IPv6 where subscribers, or this one, have it",
                       "None, if rare; else give the subscriber ipv6, tell the sender, or let it "
                       "pass with match = \"any\"."},
    [DROP_BAD_IPV4] = {"bad_ipv4", "The IPv4 header is malformed",
                       "Find who sends it: a broken device, or a link with another encapsulation "
                       "than configured."},
    [DROP_BAD_LENGTH] = {"bad_length", "IPv4 says to be longer than the frame",
                         "Find who sends it: a device that cuts frames off."},
    [DROP_BAD_CHECKSUM] = {"bad_checksum", "The checksum of the IPv4 header is wrong",
                           "Look for a device or cable that damages packets."},
    [DROP_BAD_IPV6] = {"bad_ipv6", "The IPv6 header is cut off, or its version is not 6",
                       "Find who sends it: a broken device, or a link with another encapsulation "
                       "than configured."},
    [DROP_BAD_IPV6_LENGTH] = {"bad_ipv6_length", "IPv6 says to be longer than the frame",
                              "Find who sends it: a device that cuts frames off."},
    [DROP_LINK_LOCAL] =
        {"ipv6_link_local",
         "IPv6 from or to a link alone (RFC 4291 section 2.5.6), or from the "
         "unspecified address, that is neither neighbour discovery to a router nor a "
         "ping to it: DHCPv6, MLD, advertisements of other routers",
         "None; DHCPv6 is answered where the configuration has punt_socket."},
    [DROP_SPOOFED] = {"spoofed", "The source address is not the subscriber's",
                      "Correct its ipv4, ipv6 or delegated, or stop it."},
    [DROP_MARTIAN_SOURCE] = {DROP_IS_MARTIAN_SOURCE},
    [DROP_NO_SLOW_PATH] = {DROP_IS_NO_SLOW_PATH},
    [DROP_FOREIGN_MAC] = {DROP_IS_FOREIGN_MAC},
    [DROP_GROUP_MAC] = {"group_mac",
                        "IP to all stations or to a group of them, which a router does not "
                        "forward: DHCP, or multicast",
                        "None; DHCP is answered where the configuration has punt_socket."},
    [DROP_OVERLOAD] = {DROP_IS_OVERLOAD},
    [DROP_NOT_PPPOE] = {"not_pppoe",
                        "No session frame of PPPoE, from a subscriber who is in a PPPoE session",
                        "Find what else sends on his line; or remove the session, and he may have "
                        "his addresses without it."},
    [DROP_BAD_PPPOE] = {"bad_pppoe",
                        "The PPPoE header is cut off or malformed, or says to be longer than the "
                        "frame (RFC 2516 section 4)",
                        "Find who sends it: a broken device, or one that cuts frames off."},
    [DROP_UNKNOWN_SESSION] = {"unknown_session", "A PPPoE session that the line does not have",
                              "Normal for a moment after a session ends; else reset the CPE, or "
                              "look whether the control plane has lost the session."},
    [DROP_SESSION_MAC] = {"session_mac", "Not from the MAC that the PPPoE session was made with",
                          "Find the other device on the line, or the one that forges frames."},
    [DROP_PPP_CONTROL] = {"ppp_control", "A protocol of PPP other than IPv4 and IPv6",
                          "None, where the control plane gets it: the configuration has "
                          "punt_socket, and the output punt leads to a task arp."},
};
