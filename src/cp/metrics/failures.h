/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a CPE has no session, or not what it asked for: counted by reason, as the drops of vbng are.
 */
#ifndef CP_METRICS_FAILURES_H
#define CP_METRICS_FAILURES_H

enum cp_failure {
    FAIL_POOL,
    FAIL_TAKEN,
    FAIL_REJECTED,
    FAIL_UNUSABLE,
    FAIL_NO_ANSWER,
    FAIL_NAK,
    FAIL_IGNORED,
    FAIL_MALFORMED,
    FAIL_OFFER,
    FAIL_NEGOTIATION,
    FAIL_NO_SERVER,
    FAIL_STORE,
    FAIL_USERPLANE,
    N_FAILURES
};

struct cp_failure_words {
    const char *name, *meaning, *remedy;
};

/** By enum cp_failure. */
extern const struct cp_failure_words cp_failures[N_FAILURES];

#endif
