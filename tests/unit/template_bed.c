/* SPDX-License-Identifier: BSD-3-Clause */
#include "template_bed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CUnit/CUnit.h>

char template_path[] = "/tmp/vbng-template-XXXXXX";

int make_file(void)
{
    int fd = mkstemp(template_path);

    if (fd >= 0)
        close(fd);
    return fd < 0;
}

int remove_file(void)
{
    return unlink(template_path);
}

void write_file(const void *data, size_t len)
{
    FILE *f = fopen(template_path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(data, 1, len, f), len);
    fclose(f);
}

char *said(struct diags *d)
{
    char *text = NULL, *out;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    diag_print(d, f);
    fclose(f);
    out = calloc(1, len + 1);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        CU_ASSERT_EQUAL(strncmp(line, template_path, strlen(template_path)), 0);
        line += strlen(template_path) + 1;
        strcat(out, line + (line[0] == ' '));
        strcat(out, "\n");
    }
    free(text);
    if (out[0] != '\0')
        out[strlen(out) - 1] = '\0';
    return out;
}

const struct frame_sizes *one(uint32_t size)
{
    static struct frame_sizes sizes;

    sizes.n = size != 0;
    sizes.size[0] = (uint16_t)size;
    return &sizes;
}

struct pkt_template *good(const char *text, uint32_t size)
{
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    write_file(text, strlen(text));
    t = template_load(template_path, one(size), &d);
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, "");
    if (words[0] != '\0')
        printf("\n    %s\n", words);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    free(words);
    diag_free(&d);
    return t;
}

void bad_bytes(const void *data, size_t len, uint32_t size, const char *want)
{
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    write_file(data, len);
    t = template_load(template_path, one(size), &d);
    CU_ASSERT_PTR_NULL(t);
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, want);
    if (strcmp(words, want) != 0)
        printf("\n    want: %s\n    got:  %s\n", want, words);
    free(words);
    diag_free(&d);
    template_free(t);
}

void bad(const char *text, const char *want)
{
    bad_bytes(text, strlen(text), 0, want);
}

void check_frame(const struct template_frame *f, const char *want)
{
    char hex[2 * 1600 + 1], expect[2 * 1600 + 1];
    size_t n = 0;

    CU_ASSERT_FATAL(f->len <= 1600);
    for (unsigned i = 0; i < f->len; i++)
        sprintf(hex + 2 * (size_t)i, "%02x", f->bytes[i]);
    hex[2 * (size_t)f->len] = '\0';
    for (; *want != '\0'; want++)
        if (isxdigit((unsigned char)*want))
            expect[n++] = *want;
    expect[n] = '\0';
    CU_ASSERT_STRING_EQUAL(hex, expect);
    if (strcmp(hex, expect) != 0)
        printf("\n    want: %s\n    got:  %s\n", expect, hex);
}

void check_field(const struct pkt_template *t, unsigned i, const struct template_field *want)
{
    const struct template_field *f = &t->fields[i];

    CU_ASSERT_FATAL(i < t->n_fields);
    CU_ASSERT_EQUAL(f->offset, want->offset);
    CU_ASSERT_EQUAL(f->size, want->size);
    CU_ASSERT_EQUAL(f->lshift, want->lshift);
    CU_ASSERT_EQUAL(f->var, want->var);
    CU_ASSERT_EQUAL(f->shift, want->shift);
    CU_ASSERT_EQUAL(f->mask, want->mask);
    CU_ASSERT_EQUAL(f->base, want->base);
}
