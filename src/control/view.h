/* SPDX-License-Identifier: BSD-3-Clause */
/* QoS for people and programs: the block below the live table, and JSON. */
#ifndef CONTROL_VIEW_H
#define CONTROL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "control/control.h"

/** Print lag, sojourn times and shaping error of each qos task: of the last interval, or where
 * whole is true of the whole run, except for the shaping error, which is always that of the last
 * interval. Prints nothing without qos tasks. */
void show_qos_text(const struct control *c, FILE *to, bool whole);

/** The QoS of the whole run, with subports: the array qos[] of doc/report.md. NULL without memory.
 */
json_t *show_qos_json(const struct control *c);

/** Where the copies of the routes lie: the array routes[] of doc/report.md. NULL without memory. */
json_t *show_copies_json(const struct control *c);

/** Read the counters of the queues of n subscribers from id first on, on the cores of their
 * schedulers; the functions below show them. Returns 0, -ENOMEM or -ETIMEDOUT. */
int subscribers_read(struct control *c, uint32_t first, uint32_t n);

/** Print a line of CSV: the names of the columns; the figures of a subscriber. */
void subscribers_header(const struct control *c, FILE *to);
void subscribers_row(const struct control *c, uint32_t id, FILE *to);

/** Read all subscribers and print them as CSV. Returns 0 or -errno. */
int subscribers_dump(struct control *c, FILE *to);

struct arp_learned;

/** Where the MAC of a subscriber is from. */
enum mac_kind { MAC_UNKNOWN, MAC_CONFIGURED, MAC_LEARNED };

/** The MAC of a subscriber, whose id must be in use, of several hosts that of the first; address
 * and age are set only of a learned one. */
enum mac_kind subscriber_mac(const struct control *c, uint32_t id, struct arp_learned *out);

/** The IPv4 address or prefix of a subscriber in its notation, "" where he has none; buf is
 * returned. */
char *subscriber_addresses(const struct cfg_subscriber *s, char *buf, size_t len);

/** Who a subscriber is, without figures, as a JSON object. */
json_t *identity_json(const struct control *c, uint32_t id);

/** The figures of a subscriber as a JSON object, which begins with who that is. */
json_t *subscriber_json(const struct control *c, uint32_t id);

/** Add what a class of a subport has counted in all instances of the qos task of which s is the
 * first. Any thread may call it. */
void task_class_add(const struct shaper *s, uint32_t subport, unsigned class,
                    struct sched_class *sum);

/** Packets that wait, by such a sum. */
uint64_t class_waiting(const struct sched_class *c);

/** Offer the metrics of the qos tasks, their subports and each subscriber on the telemetry socket;
 * c must live until metrics_close(). Returns 0 or -errno. */
int metrics_qos_add(const struct control *c);

/** Of metrics_qos_add(): the metrics of the subports; there is one at least. Returns 0 or -errno.
 */
int metrics_subports_add(const struct control *c);

#endif
