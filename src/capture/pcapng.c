/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks and their options, put into a buffer that write() empties. */
#include "capture/pcapng.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sections of draft-ietf-opsawg-pcapng. All numbers are in the byte order of the writer, which the
 * magic of the section header tells (4.1). */
enum {
    BLOCK_SECTION = 0x0a0d0d0a, /* 4.1 */
    BLOCK_INTERFACE = 1,        /* 4.2 */
    BLOCK_STATISTICS = 5,       /* 4.6 */
    BLOCK_PACKET = 6,           /* 4.3, "enhanced packet block" */
    BYTE_ORDER_MAGIC = 0x1a2b3c4d,
    LINKTYPE_ETHERNET = 1,
};

enum {
    OPT_END = 0,     /* 3.5 */
    OPT_COMMENT = 1, /* 3.5.1 */
    SHB_USERAPPL = 4,
    IF_NAME = 2,
    IF_DESCRIPTION = 3,
    IF_TSRESOL = 9,
    IF_FCSLEN = 13,
    EPB_FLAGS = 2,
    ISB_STARTTIME = 2,
    ISB_ENDTIME = 3,
    ISB_IFRECV = 4,
    ISB_IFDROP = 5,
    ISB_FILTERACCEPT = 6,
    ISB_USRDELIV = 8,
};

#define NANOSECONDS      9                  /* if_tsresol: units of 10^-9 s */
#define FRAME_BYTES      12                 /* type and twice the length: 3.1 */
#define PACKET_BYTES     (FRAME_BYTES + 20) /* without data and options */
#define FLAGS_BYTES      8                  /* epb_flags */
#define STATISTICS_BYTES (FRAME_BYTES + 12 + 6 * (4 + 8) + 4)

static void put(struct pcapng *f, const void *data, size_t n)
{
    const uint8_t *from = data;

    f->size += n;
    while (n > 0) {
        size_t k = sizeof(f->buffer) - f->used;

        if (k == 0) {
            pcapng_flush(f);
            continue;
        }
        k = k < n ? k : n;
        memcpy(f->buffer + f->used, from, k);
        f->used += k;
        from += k;
        n -= k;
    }
}

static void put32(struct pcapng *f, uint32_t value)
{
    put(f, &value, sizeof(value));
}

static size_t padded(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* Append bytes, and zeros up to a multiple of 4. */
static void put_padded(struct pcapng *f, const void *data, size_t n)
{
    static const uint8_t zeros[3];

    put(f, data, n);
    put(f, zeros, padded(n) - n);
}

static void put_option(struct pcapng *f, uint16_t code, const void *value, size_t n)
{
    const uint16_t head[2] = {code, (uint16_t)n};

    put(f, head, sizeof(head));
    put_padded(f, value, n);
}

static void put_text(struct pcapng *f, uint16_t code, const char *text)
{
    if (text != NULL)
        put_option(f, code, text, strnlen(text, PCAPNG_COMMENT_MAX - 1));
}

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : 4 + padded(strnlen(text, PCAPNG_COMMENT_MAX - 1));
}

static void put_count(struct pcapng *f, uint16_t code, uint64_t value)
{
    put_option(f, code, &value, sizeof(value));
}

/* Append a time as an option has it: upper half first (section 4.6). */
static void put_time(struct pcapng *f, uint16_t code, uint64_t ns)
{
    const uint32_t halves[2] = {(uint32_t)(ns >> 32), (uint32_t)ns};

    put_option(f, code, halves, sizeof(halves));
}

void pcapng_begin(struct pcapng *f, int fd, uint64_t limit, const char *program,
                  const char *comment)
{
    static const uint16_t version[2] = {1, 0};
    static const uint64_t unknown_length = UINT64_MAX;
    uint32_t bytes = (uint32_t)(FRAME_BYTES + 16 + text_bytes(comment) + text_bytes(program) + 4);

    *f = (struct pcapng){.fd = fd, .limit = limit};
    put32(f, BLOCK_SECTION);
    put32(f, bytes);
    put32(f, BYTE_ORDER_MAGIC);
    put(f, version, sizeof(version));
    put(f, &unknown_length, sizeof(unknown_length));
    put_text(f, OPT_COMMENT, comment);
    put_text(f, SHB_USERAPPL, program);
    put32(f, OPT_END);
    put32(f, bytes);
}

void pcapng_to_stream(struct pcapng *f, const char *answer)
{
    size_t n = strlen(answer);

    memmove(f->buffer + n, f->buffer, f->used);
    memcpy(f->buffer, answer, n);
    f->used += n;
    f->stream = true;
}

void pcapng_interface(struct pcapng *f, const char *name, const char *description, uint32_t snaplen)
{
    static const uint8_t resolution = NANOSECONDS, no_fcs = 0;
    uint32_t bytes =
        (uint32_t)(FRAME_BYTES + 8 + text_bytes(name) + text_bytes(description) + 2 * 8 + 4);

    put32(f, BLOCK_INTERFACE);
    put32(f, bytes);
    put32(f, LINKTYPE_ETHERNET);
    put32(f, snaplen);
    put_text(f, IF_NAME, name);
    put_text(f, IF_DESCRIPTION, description);
    put_option(f, IF_TSRESOL, &resolution, 1);
    put_option(f, IF_FCSLEN, &no_fcs, 1);
    put32(f, OPT_END);
    put32(f, bytes);
    f->n_interfaces++;
}

static bool has_room(const struct pcapng *f, uint64_t bytes)
{
    return f->size + bytes + (uint64_t)f->n_interfaces * STATISTICS_BYTES <= f->limit;
}

bool pcapng_is_full(const struct pcapng *f)
{
    return !has_room(f, PACKET_BYTES);
}

int pcapng_packet(struct pcapng *f, const struct pcapng_packet *p)
{
    bool options = p->direction != PCAPNG_NO_DIRECTION || p->comment != NULL;
    uint32_t flags = p->direction;
    uint32_t bytes = (uint32_t)(PACKET_BYTES + padded(p->kept) + text_bytes(p->comment) +
                                (flags != 0 ? FLAGS_BYTES : 0) + (options ? 4 : 0));

    if (!has_room(f, bytes))
        return -EFBIG;
    put32(f, BLOCK_PACKET);
    put32(f, bytes);
    put32(f, p->interface);
    put32(f, (uint32_t)(p->ns >> 32));
    put32(f, (uint32_t)p->ns);
    put32(f, p->kept);
    put32(f, p->length);
    put_padded(f, p->data, p->kept);
    put_text(f, OPT_COMMENT, p->comment);
    if (flags != 0)
        put_option(f, EPB_FLAGS, &flags, sizeof(flags));
    if (options)
        put32(f, OPT_END);
    put32(f, bytes);
    return 0;
}

void pcapng_statistics(struct pcapng *f, uint32_t interface, const struct pcapng_statistics *s)
{
    put32(f, BLOCK_STATISTICS);
    put32(f, STATISTICS_BYTES);
    put32(f, interface);
    put32(f, (uint32_t)(s->end_ns >> 32));
    put32(f, (uint32_t)s->end_ns);
    put_time(f, ISB_STARTTIME, s->start_ns);
    put_time(f, ISB_ENDTIME, s->end_ns);
    put_count(f, ISB_IFRECV, s->received);
    put_count(f, ISB_IFDROP, s->dropped);
    put_count(f, ISB_FILTERACCEPT, s->accepted);
    put_count(f, ISB_USRDELIV, s->delivered);
    put32(f, OPT_END);
    put32(f, STATISTICS_BYTES);
}

/* Send to a socket that does not block, as soon as its reader takes something. */
static ssize_t send_some(int fd, const void *data, size_t n)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

    if (sent >= 0 || errno != EAGAIN)
        return sent;
    if (poll(&p, 1, PCAPNG_PATIENCE_S * 1000) == 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    return send(fd, data, n, MSG_NOSIGNAL);
}

int pcapng_flush(struct pcapng *f)
{
    size_t done = 0;

    while (f->error == 0 && done < f->used) {
        const uint8_t *from = f->buffer + done;
        ssize_t n =
            f->stream ? send_some(f->fd, from, f->used - done) : write(f->fd, from, f->used - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR && errno != EAGAIN)
            f->error = errno;
    }
    f->used = 0;
    return -f->error;
}
