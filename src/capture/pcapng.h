/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pcapng file that is being written (draft-ietf-opsawg-pcapng): one section with its interfaces,
 * then packets with their times in nanoseconds, at the end the statistics of each interface. The
 * file never grows beyond its limit: room for the statistics is reserved.
 */
#ifndef CAPTURE_PCAPNG_H
#define CAPTURE_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCAPNG_PATIENCE_S  5   /* with a stream whose reader takes nothing */
#define PCAPNG_COMMENT_MAX 256 /* bytes, with the end of the string */

/** epb_flags: section 4.3.1. */
enum pcapng_direction { PCAPNG_NO_DIRECTION = 0, PCAPNG_INBOUND = 1, PCAPNG_OUTBOUND = 2 };

struct pcapng_packet {
    uint32_t interface; /* in the order of pcapng_interface() */
    uint64_t ns;        /* since 1970 */
    uint32_t length;    /* on the line, without FCS */
    uint32_t kept;      /* bytes at data */
    const void *data;
    enum pcapng_direction direction;
    const char *comment; /* UTF-8, or NULL */
};

/** The statistics of an interface. */
struct pcapng_statistics {
    uint64_t start_ns, end_ns;
    uint64_t received;  /* packets that the capture wants */
    uint64_t accepted;  /* of received: packets that sampling selected */
    uint64_t dropped;   /* of accepted: packets that found no room in a ring */
    uint64_t delivered; /* of accepted: packets in the file */
};

struct pcapng {
    int fd, error; /* error: errno of the first write() that failed, or 0 */
    bool stream;   /* fd is a socket: it is waited for, PCAPNG_PATIENCE_S at most */
    uint64_t size; /* bytes of the file, with what is still in the buffer */
    uint64_t limit;
    uint32_t n_interfaces;
    size_t used;
    uint8_t buffer[1 << 17];
};

/** Begin a file with a section header. fd stays the caller's. comment: of the whole, or NULL. */
void pcapng_begin(struct pcapng *f, int fd, uint64_t limit, const char *program,
                  const char *comment);

/** Have the file go to a socket that does not block, after an answer, which is no part of it. Comes
 * right after pcapng_begin(). */
void pcapng_to_stream(struct pcapng *f, const char *answer);

/** Append an interface. snaplen 0: packets are whole. */
void pcapng_interface(struct pcapng *f, const char *name, const char *description,
                      uint32_t snaplen);

/** Tell whether the file is full: not even the shortest packet fits below the limit. */
bool pcapng_is_full(const struct pcapng *f);

/** Returns 0, or -EFBIG where it would not fit below the limit: nothing was written then. */
int pcapng_packet(struct pcapng *f, const struct pcapng_packet *p);

void pcapng_statistics(struct pcapng *f, uint32_t interface, const struct pcapng_statistics *s);

/** Write out what is in the buffer. Returns 0 or -errno of the first write that failed; of a stream
 * -EPIPE: nobody reads it any more; -ETIMEDOUT: the reader takes nothing. */
int pcapng_flush(struct pcapng *f);

#endif
