/* SPDX-License-Identifier: BSD-3-Clause */
/* A template from its file: which format the file has, and the frames that either format gives. */
#include "base/input.h"
#include "template/template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "template/formats.h"

struct template_frame *template_add_frame(struct pkt_template *t, uint32_t len, const char *path,
                                          struct diags *d)
{
    struct template_frame *f;

    /* The list doubles whenever its length reaches a power of two. */
    if ((t->n_frames & (t->n_frames - 1)) == 0) {
        f = reallocarray(t->frames, t->n_frames == 0 ? 1 : (size_t)t->n_frames * 2, sizeof(*f));
        if (f == NULL)
            goto no_memory;
        t->frames = f;
    }
    f = &t->frames[t->n_frames];
    f->len = (uint16_t)len;
    f->bytes = calloc(1, len);
    if (f->bytes == NULL)
        goto no_memory;
    t->n_frames++;
    return f;

no_memory:
    diag_error(d, (struct loc){path, 0}, "out of memory");
    return NULL;
}

enum file_kind { FILE_UNREADABLE, FILE_TEXT, FILE_PCAP, FILE_PCAPNG };

/* The first four bytes of a capture are a magic number, which no text template begins with. */
static enum file_kind sniff(FILE *f)
{
    static const uint8_t pcap[4][4] = {{0xa1, 0xb2, 0xc3, 0xd4},
                                       {0xd4, 0xc3, 0xb2, 0xa1},
                                       {0xa1, 0xb2, 0x3c, 0x4d},
                                       {0x4d, 0x3c, 0xb2, 0xa1}};
    static const uint8_t pcapng[4] = {0x0a, 0x0d, 0x0d, 0x0a};
    uint8_t magic[4] = {0};
    size_t n = fread(magic, 1, sizeof(magic), f);

    if (ferror(f))
        return FILE_UNREADABLE;
    rewind(f);
    if (n < sizeof(magic))
        return FILE_TEXT;
    for (unsigned i = 0; i < 4; i++)
        if (memcmp(magic, pcap[i], sizeof(magic)) == 0)
            return FILE_PCAP;
    return memcmp(magic, pcapng, sizeof(magic)) == 0 ? FILE_PCAPNG : FILE_TEXT;
}

static bool read_open(struct pkt_template *t, FILE *f, const char *path,
                      const struct frame_sizes *sizes, struct diags *d)
{
    struct loc whole = {path, 0};

    switch (sniff(f)) {
    case FILE_UNREADABLE:
        diag_error(d, whole, "cannot be read: %s", strerror(errno));
        return false;
    case FILE_PCAPNG:
        diag_error(d, whole,
                   "this is a pcapng capture; convert it to a classic pcap: "
                   "editcap -F pcap IN.pcapng OUT.pcap");
        return false;
    case FILE_PCAP:
        if (sizes != NULL && sizes->n > 0) {
            diag_error(d, whole,
                       "size %u cannot be given for a pcap: its frames keep their own sizes",
                       sizes->size[0]);
            return false;
        }
        return template_read_pcap(t, f, path, d);
    case FILE_TEXT:
        break;
    }
    return template_read_text(t, f, path, sizes, d);
}

struct pkt_template *template_load(const char *path, const struct frame_sizes *sizes,
                                   struct diags *d)
{
    struct loc whole = {path, 0};
    struct pkt_template *t;
    const char *why;
    FILE *f;
    bool ok;

    f = input_open(path, &why);
    if (f == NULL) {
        diag_error(d, whole, "cannot be opened: %s", why);
        return NULL;
    }
    t = calloc(1, sizeof(*t));
    ok = t != NULL && (t->path = strdup(path)) != NULL;
    if (ok)
        ok = read_open(t, f, path, sizes, d);
    else
        diag_error(d, whole, "out of memory");
    fclose(f);
    if (ok)
        return t;
    template_free(t);
    return NULL;
}

void template_free(struct pkt_template *t)
{
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->n_frames; i++)
        free(t->frames[i].bytes);
    free(t->frames);
    free((char *)t->path);
    free(t);
}
