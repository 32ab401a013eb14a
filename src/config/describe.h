/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an orchestrator has to know before it places this configuration on a machine:
 * doc/describe.md has the rules and formulas. Free of DPDK, like the plan that it is made from.
 */
#ifndef CONFIG_DESCRIBE_H
#define CONFIG_DESCRIBE_H

#include "config/plan.h"

/** What the Kubernetes form cannot know: the container image, and the name under which a device
 * plugin offers the NICs. */
struct describe_options {
    const char *image;    /* NULL: "vbng:VERSION" */
    const char *resource; /* NULL: DESCRIBE_RESOURCE */
    const char *version;  /* of the program */
};

#define DESCRIBE_RESOURCE "example.com/dpdk_nic"

typedef int describe_form(const struct plan *p, const struct describe_options *o, FILE *to);

/** Each writes one form; returns 0, or -ENOMEM. */
describe_form describe_json;  /* stable keys: doc/describe.md */
describe_form describe_tosca; /* a VNFD fragment of ETSI GS NFV-SOL 001 v4.4.1 */
describe_form describe_k8s;   /* a Pod */

#endif
