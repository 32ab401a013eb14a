/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of the arp task, and the reasons for which it drops packets. */
#include <inttypes.h>

#include "base/diag.h"
#include "base/units.h"
#include "tasks/arp/instance.h"

static const char *const pcps[] = {[PCP_DSCP] = "dscp", [PCP_ZERO] = "zero", NULL};

const struct task_param arp_params[N_ARP_ARGS] = {
    [ARG_AGE] = {.name = "age",
                 .type = PARAM_DURATION,
                 .def = "20min",
                 .min = UINT64_C(1) * NS_PER_S,
                 .max = UINT64_C(7 * 86400) * NS_PER_S,
                 .help = "a learned MAC is asked for again at 3/4 of this, and forgotten at its "
                         "end"},
    [ARG_ARP_RATE] = {.name = "arp_rate",
                      .type = PARAM_COUNT,
                      .def = "10000",
                      .max = 1000000000,
                      .help = "ARP packets a second that are looked at, and requests that are "
                              "sent",
                      .more = "Subscribers and core each have so many, and so have requests for "
                              "MACs that are needed and for those that grow old. Neighbour "
                              "discovery of IPv6 has as many of its own, and asks out of the "
                              "same."},
    [ARG_ICMP_RATE] = {.name = "icmp_rate",
                       .type = PARAM_COUNT,
                       .def = "1000",
                       .max = 1000000000,
                       .help = "ICMP errors a second, and echo replies",
                       .more = "Subscribers and core each have so many of both."},
    [ARG_SUBSCRIBER_RATE] = {.name = "subscriber_rate",
                             .type = PARAM_COUNT,
                             .def = "20",
                             .min = 1,
                             .max = 1000000000,
                             .help = "packets a second that one subscriber may have looked at by "
                                     "the slow path, and at once",
                             .more = "Of each kind: ARP with neighbour discovery and pings to the "
                                     "gateway, packets whose TTL "
                                     "ends, those that are too big, and those for an unknown MAC. "
                                     "Others are dropped where they are found (punt_limited), "
                                     "before they cost anybody else anything."},
    [ARG_PUNT_LINE_RATE] = {.name = "punt_line_rate",
                            .type = PARAM_COUNT,
                            .def = "5",
                            .min = 1,
                            .max = 1000000,
                            .help = "frames a second that one line may send to the control plane, "
                                    "twice as many at once",
                            .more = "Of each kind: DHCP, DHCPv6 and PPPoE discovery; of each "
                                    "instance of the task classify. It counts where the "
                                    "configuration has punt_socket."},
    [ARG_PUNT_RATE] = {.name = "punt_rate",
                       .type = PARAM_COUNT,
                       .def = "10000",
                       .max = 1000000000,
                       .help = "frames a second that all lines together may send to the control "
                               "plane",
                       .more = "Lines with a subscriber, and those without, each have so many."},
    [ARG_KEEP] = {.name = "keep",
                  .type = PARAM_COUNT,
                  .def = "3",
                  .max = ARP_KEEP,
                  .help = "packets that are kept of each neighbour whose MAC is asked for",
                  .more =
                      "The latest; for 32 neighbours at a time, and for three seconds. Those to "
                      "the core need the output route."},
    [ARG_PCP] = {.name = "pcp",
                 .type = PARAM_ENUM,
                 .def = "dscp",
                 .choices = pcps,
                 .help = "priority in both tags of ICMP to a subscriber: the upper bits of the "
                         "DSCP, or 0"},
    [ARG_RA] = {.name = "ra",
                .type = PARAM_BOOL,
                .def = "true",
                .help = "send router advertisements to subscribers who have IPv6"},
    [ARG_ANNOUNCE] = {.name = "announce",
                      .type = PARAM_BOOL,
                      .def = "true",
                      .help = "announce the gateway on each subscriber's link after the start, and "
                              "when a port's link comes up"},
    [ARG_RA_INTERVAL] = {.name = "ra_interval",
                         .type = PARAM_DURATION,
                         .def = "10min",
                         .min = UINT64_C(4) * NS_PER_S,
                         .max = UINT64_C(1800) * NS_PER_S,
                         .help = "each subscriber gets a router advertisement so often, and one "
                                 "when he solicits it"},
    [ARG_RA_LIFETIME] = {.name = "ra_lifetime",
                         .type = PARAM_DURATION,
                         .def = "30min",
                         .max = UINT64_C(9000) * NS_PER_S,
                         .help = "how long a CPE uses the gateway as its default router after an "
                                 "advertisement; 0: it does not",
                         .more = "At least ra_interval."},
    [ARG_RA_VALID] = {.name = "ra_valid",
                      .type = PARAM_DURATION,
                      .def = "720h",
                      .min = NS_PER_S,
                      .max = UINT64_C(0xfffffffe) * NS_PER_S,
                      .help = "how long an address in the advertised prefix is valid (RFC 4862 "
                              "section 5.5.3)"},
    [ARG_RA_PREFERRED] = {.name = "ra_preferred",
                          .type = PARAM_DURATION,
                          .def = "168h",
                          .max = UINT64_C(0xfffffffe) * NS_PER_S,
                          .help = "how long it is preferred for new connections",
                          .more = "At most ra_valid."},
    [ARG_RA_MANAGED] = {.name = "ra_managed",
                        .type = PARAM_BOOL,
                        .def = "false",
                        .help = "the flag M: addresses are to be had by DHCPv6",
                        .more = "It is always set for a subscriber who has one address."},
    [ARG_RA_OTHER] = {.name = "ra_other",
                      .type = PARAM_BOOL,
                      .def = "false",
                      .help = "the flag O: other things are to be had by DHCPv6"},
    [ARG_ECHO] = {.name = "echo",
                  .type = PARAM_DURATION,
                  .def = "30s",
                  .max = UINT64_C(3600) * NS_PER_S,
                  .help = "each CPE in a PPPoE session gets an LCP echo request so often; 0s: none",
                  .more = "In whole seconds. The control plane is told of a CPE that leaves three "
                          "unanswered. It counts where the configuration has punt_socket."},
};

#define RATE "Normal when somebody scans or floods; else raise "

const struct task_drop arp_drops[N_DROPS] = {
    [DROP_ARP_FOREIGN] = {"arp_foreign", "ARP that asks for an address which is not ours",
                          "None, or give the port that address."},
    [DROP_ARP_MALFORMED] = {"arp_malformed", "ARP that breaks RFC 826",
                            "Find who sends it: a broken device."},
    [DROP_ARP_OWN_MAC] = {"arp_own_mac",
                          "ARP or neighbour discovery from a sender that claims a MAC of the "
                          "gateway's",
                          "Look for a loop in the network behind the port, or stop the sender."},
    [DROP_ARP_RATE] = {"arp_rate_limited",
                       "More ARP a second from all subscribers, or from the core, than arp_rate",
                       RATE "arp_rate."},
    [DROP_ARP_SPOOFED] = {"arp_spoofed",
                          "ARP from an address that is not the sender's, or is the gateway's",
                          "Correct the subscriber's ipv4, or stop it."},
    [DROP_ARP_UNSOLICITED] =
        {"arp_unsolicited",
         "ARP that tells the MAC of a next hop, which nobody had asked for: it "
         "is asked for then",
         "Normal when a next hop is replaced; else find who claims its "
         "address."},
    [DROP_ARP_UNTAGGED] = {"arp_untagged",
                           "ARP or neighbour discovery without the VLAN pair of a subscriber",
                           "Correct the tags of the access network."},
    [DROP_BAD_FRAME] = {"bad_frame", "A frame that the slow path cannot read",
                        "Find who sends it: a broken device, or a link with another encapsulation "
                        "than configured."},
    [DROP_BAD_PORT] = {"bad_port", "Came from a port that the gateway does not have",
                       "Correct the links to the task."},
    [DROP_CONTROL_FULL] = {"control_full",
                           "The control plane does not take frames of lines as fast as they come",
                           "Is vbng-cp overloaded, or stopped? The CPE asks again."},
    [DROP_CONTROL_LONG] = {"control_too_long",
                           "A frame for the control plane is longer than 1984 bytes",
                           "Find who sends it: DHCP and PPPoE discovery are shorter."},
    [DROP_CONTROL_MALFORMED] = {"control_malformed",
                                "A message of the control plane with a wrong magic number, length "
                                "or kind",
                                "Both programs must be of versions that fit: packet/punt.h."},
    [DROP_CONTROL_MTU] = {"control_over_mtu",
                          "A frame of the control plane is larger than the port's mtu",
                          "Larger mtu of the port, or let the control plane send less."},
    [DROP_CONTROL_NO_MBUF] = {"control_no_mbuf",
                              "No mbuf, or none that is large enough, for a frame of the control "
                              "plane",
                              "More mbufs in the pool of the task of type arp, or a larger "
                              "data_room."},
    [DROP_CONTROL_PORT] = {"control_unknown_port",
                           "A message of the control plane names a port that has no lines",
                           "Let the control plane name the ports that the gateway tells it."},
    [DROP_CONTROL_RATE] = {"control_rate_limited",
                           "More frames a second for the control plane, of all lines with a "
                           "subscriber or of all without, than punt_rate",
                           "Normal after an outage, when all CPEs come at once; else raise "
                           "punt_rate."},
    [DROP_CONTROL_VLAN] = {"control_bad_vlan",
                           "A message of the control plane has a VLAN id that is not in 1 to 4094",
                           "Correct the control plane."},
    [DROP_ICMP_FRAGMENT] = {"icmp_fragment",
                            "ICMP, or anything of IPv6, to the gateway in fragments", "None."},
    [DROP_ICMP_MALFORMED] = {"icmp_malformed",
                             "ICMP to the gateway that breaks RFC 792, or ICMPv6 that breaks "
                             "RFC 4443",
                             "Find who sends it: a broken device."},
    [DROP_ICMP_NOT_ALLOWED] = {"icmp_not_allowed",
                               "A packet that must not be answered: RFC 1812 section 4.3.2.7, RFC "
                               "1122 section 3.2.1.3, RFC 4443 section 2.4 (e)",
                               "None."},
    [DROP_ICMP_RATE] = {"icmp_rate_limited",
                        "More ICMP a second for all subscribers, or for the core, than icmp_rate",
                        RATE "icmp_rate."},
    [DROP_IP_MALFORMED] = {"ip_malformed",
                           "IPv4 to the gateway that breaks RFC 791, or IPv6 that breaks RFC 8200",
                           "Find who sends it: a broken device."},
    [DROP_ND_FOREIGN] = {"nd_foreign",
                         "A neighbour solicitation for an address that is not the gateway's, or an "
                         "advertisement of one that is no next hop's",
                         "None: a host looks for others that have its address, or for another host "
                         "of its link."},
    [DROP_ND_MALFORMED] =
        {"nd_malformed",
         "Neighbour discovery that breaks RFC 4861: hop limit, checksum, length, options, or a MAC "
         "that is no host's",
         "Find who sends it: a broken device, or somebody who is not on the link."},
    [DROP_ND_RATE] = {"nd_rate_limited",
                      "More neighbour discovery a second from all subscribers, or from the core, "
                      "than arp_rate",
                      RATE "arp_rate."},
    [DROP_ND_SPOOFED] = {"nd_spoofed",
                         "Neighbour discovery or a ping on a link from or about an address that is "
                         "not the sender's, or is the gateway's",
                         "Correct the subscriber's ipv6, or stop it."},
    [DROP_ND_UNSOLICITED] =
        {"nd_unsolicited",
         "A neighbour advertisement of another MAC of a next hop than is known, which nobody had "
         "asked for, or which says that it overrides nothing: the next hop is asked then",
         "Normal when a next hop is replaced; else find who claims its address."},
    [DROP_RA_OFF] = {"ra_off", "A router solicitation, and router advertisements are not sent",
                     "Say ra = true, if CPEs are to find the gateway by them."},
    [DROP_NO_ANSWER] = {"no_answer",
                        "It was kept while a MAC was asked for, no answer came in 3 seconds, and "
                        "its sender is not told: that is limited, and some must not be told",
                        "Is the neighbour up?"},
    [DROP_NO_CONTROL_PLANE] = {"no_control_plane",
                               "DHCP or PPPoE discovery, and no control plane is connected to "
                               "punt_socket",
                               "Start vbng-cp; sessions that are up go on."},
    [DROP_NO_GATEWAY_ADDRESS] = {"no_gateway_address",
                                 "The port has no address to answer from; for IPv6 beyond "
                                 "the subscriber's link, none of the ports has",
                                 "Give the port addresses."},
    [DROP_NO_MTU] = {"no_mtu", "The packet was too big for its way, but no MTU on that is known",
                     "Correct the next hop's port."},
    [DROP_NO_ROOM] = {"no_room", "No room before the packet for the headers of the answer",
                      "Larger data_room of the pool that the packet came in."},
    [DROP_NO_ROUTE_OUTPUT] = {"no_route_output",
                              "An answer that needs a route, and no task to look for it",
                              "Connect the output route."},
    [DROP_NO_TUNNEL] = {"no_tunnel",
                        "ICMP \"fragmentation needed\", or ICMPv6 \"packet too big\", about a "
                        "packet that no tunnel of the gateway has sent",
                        "Find who forges it, if there are many."},
    [DROP_NOT_FOR_US] = {"not_for_us", "For an address that is not the gateway's",
                         "None, if rare and IPv6: a ping to another host of the link; else "
                         "correct the links to the task."},
    [DROP_NOT_PUNTED] = {"not_punted", "Came to the slow path without a reason",
                         "Connect only outputs punt to the task."},
    [DROP_TOO_MANY_HOSTS] = {"too_many_hosts",
                             "ARP of a host in a subscriber's prefix of whose hosts 8 are known",
                             "Say routed = true of the subscriber where one CPE has the prefix; "
                             "else such a network needs a router."},
    [DROP_UNKNOWN_SUBSCRIBER] = {"unknown_subscriber",
                                 "No subscriber has the VLAN pair or the address",
                                 "Add the subscriber, or correct its VLAN pair or address."},
    [DROP_UNRESOLVED] = {"unresolved",
                         "The MAC on the way is not known: it is asked for by ARP or neighbour "
                         "discovery, and a later packet is kept, or as many as are kept",
                         "Normal for a few packets; else: is the neighbour up?"},
    [DROP_UNSUPPORTED] = {"unsupported", "A packet to the gateway that nobody answers", "None."},
};

void arp_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d)
{
    const struct param_value *interval = &t->param[ARG_RA_INTERVAL],
                             *lifetime = &t->param[ARG_RA_LIFETIME];

    (void)m;
    if (lifetime->u != 0 && lifetime->u < interval->u)
        diag_error(d, lifetime->loc,
                   "key 'ra_lifetime': shorter than ra_interval, so that the CPE would have no "
                   "default router in between: expected %" PRIu64 "s or more, or 0",
                   (interval->u + NS_PER_S - 1) / NS_PER_S);
    if (t->param[ARG_RA_PREFERRED].u > t->param[ARG_RA_VALID].u)
        diag_error(d, t->param[ARG_RA_PREFERRED].loc,
                   "key 'ra_preferred': longer than ra_valid (RFC 4861 section 4.6.2): expected "
                   "%" PRIu64 "s or less",
                   t->param[ARG_RA_VALID].u / NS_PER_S);
}
