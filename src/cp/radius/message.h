/* SPDX-License-Identifier: BSD-3-Clause */
/* What the packets say: users, records, answers and changes, as attributes. Pure functions. */
#ifndef CP_RADIUS_MESSAGE_H
#define CP_RADIUS_MESSAGE_H

#include "cp/radius/radius.h"

#define RADIUS_CLASSES_MAX 510 /* octets of all Class attributes that are kept for a session */

/** The attributes of an Access-Request but for those that differ from server to server:
 * User-Password and Message-Authenticator. now_s: since 1970. */
void radius_write_access(struct radius_writer *w, const struct radius_config *config,
                         const struct radius_user *user,
                         const struct radius_credentials *credentials, uint64_t now_s);

/** All attributes of an Accounting-Request. user: NULL for RADIUS_ON and RADIUS_OFF. */
void radius_write_record(struct radius_writer *w, const struct radius_config *config,
                         const struct radius_user *user, const struct radius_record *record);

/** Read a genuine answer of len octets. The answer's octets point into the packet, but for the
 * classes, which are copied. */
void radius_read_answer(const uint8_t *packet, size_t len, uint8_t classes[RADIUS_CLASSES_MAX],
                        struct radius_answer *answer);

/** Read a genuine CoA-Request or Disconnect-Request. Returns why it cannot be done whatever the
 * session (RFC 5176 section 3), or RADIUS_NO_ERROR. */
enum radius_error radius_read_change(const uint8_t *packet, size_t len,
                                     const struct radius_config *config,
                                     struct radius_change *change);

#endif
