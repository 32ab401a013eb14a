/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers as a CSV file: a header line with the names of the columns, then one per line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/load_value.h"

enum { COL_PORT, COL_SVLAN, COL_CVLAN, COL_IPV4, COL_GRE_KEY, COL_MAC, COL_PROFILE, N_COLUMNS };

/* What is wrong with a row: with a column's value, or with their number. */
#define WRONG_COUNT N_COLUMNS
#define N_WRONGS    (N_COLUMNS + 1)

static const struct key columns[N_COLUMNS] = {
    [COL_PORT] = {"port", KEY_STRING, .required = true},
    [COL_SVLAN] = {"svlan", KEY_COUNT, .min = 1, .max = 4094, .required = true},
    [COL_CVLAN] = {"cvlan", KEY_COUNT, .min = 1, .max = 4094, .required = true},
    [COL_IPV4] = {"ipv4", KEY_PREFIX, .required = true},
    [COL_GRE_KEY] = {"gre_key", KEY_COUNT, .max = UINT32_MAX},
    [COL_MAC] = {"mac", KEY_MAC},
    [COL_PROFILE] = {"profile", KEY_STRING},
};

struct csv {
    struct loader *l;
    struct loc loc; /* of the line that is being read */
    unsigned file;  /* index in model.files[] */
    unsigned n_columns;
    uint8_t column[N_COLUMNS]; /* which one stands at each position */
    uint32_t port;             /* of the last row: most files name few, in runs */
    unsigned n_wrong[N_WRONGS];
    unsigned last_wrong[N_WRONGS]; /* line */
};

/* Take the next cell off *line (NULL at the end), without spaces and quotes around it. */
static char *take_cell(char **line)
{
    char *cell = *line, *end = strchrnul(cell, ',');

    *line = *end == ',' ? end + 1 : NULL;
    cell += strspn(cell, " \t");
    while (end > cell && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end - cell >= 2 && *cell == '"' && end[-1] == '"') {
        cell++;
        end--;
    }
    *end = '\0';
    return cell;
}

/* May this mistake still be listed? Counts it. */
static bool listed(struct csv *c, unsigned wrong)
{
    c->last_wrong[wrong] = c->loc.line;
    return ++c->n_wrong[wrong] <= CFG_MAX_SAME_ERRORS;
}

static bool wrong_cell(struct csv *c, unsigned column, const char *cell)
{
    char expected[128];

    if (!listed(c, column))
        return false;
    if (column == COL_IPV4)
        snprintf(expected, sizeof(expected),
                 "the IPv4 address of a host, or a prefix of length 24..32");
    else
        key_expected(&columns[column], expected, sizeof(expected));
    diag_error(c->l->d, c->loc, "key '%s': value '%.80s': expected %s", columns[column].name, cell,
               expected);
    return false;
}

static bool read_port(struct csv *c, const char *cell, struct cfg_subscriber *s)
{
    const struct cfg_model *m = c->l->m;
    const char *nearest;

    if (c->port == CFG_NONE || strcmp(m->ports[c->port].name, cell) != 0)
        c->port = find_port(c->l, cell);
    s->port = c->port;
    if (c->port != CFG_NONE)
        return true;
    if (c->l->port_nameless || !listed(c, COL_PORT))
        return false;
    nearest = nearest_port(c->l, cell);
    diag_error(c->l->d, c->loc, "key 'port': value '%.80s': no port of that name%s%s%s", cell,
               nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "'?" : "");
    return false;
}

static bool read_profile(struct csv *c, const char *cell, struct cfg_subscriber *s)
{
    const char *nearest;

    s->profile = find_profile(c->l, cell);
    if (s->profile != CFG_NONE)
        return true;
    if (!listed(c, COL_PROFILE))
        return false;
    nearest = nearest_profile(c->l, cell);
    diag_error(c->l->d, c->loc, "key 'profile': value '%.80s': no profile of that name%s%s%s", cell,
               nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "'?" : "");
    return false;
}

static bool read_cell(struct csv *c, unsigned column, const char *cell, struct cfg_subscriber *s)
{
    struct param_value v = {0};

    if (cell[0] == '\0' && !columns[column].required)
        return true;
    if (column == COL_PORT)
        return read_port(c, cell, s);
    if (key_parse(&columns[column], cell, &v) != 0)
        return wrong_cell(c, column, cell);
    switch (column) {
    case COL_SVLAN:
        s->svlan = (uint16_t)v.u;
        break;
    case COL_CVLAN:
        s->cvlan = (uint16_t)v.u;
        break;
    case COL_IPV4:
        s->ipv4 = (uint32_t)v.u;
        s->ipv4_len = (uint8_t)v.u2;
        if (v.u2 < 24 || !ipv4_is_host(s->ipv4))
            return wrong_cell(c, column, cell);
        break;
    case COL_GRE_KEY:
        s->gre_key = (uint32_t)v.u;
        s->has_gre_key = true;
        break;
    case COL_MAC:
        mac_from_u64(v.u, s->mac);
        s->has_mac = true;
        break;
    default:
        return read_profile(c, cell, s);
    }
    return true;
}

static unsigned count_cells(const char *line)
{
    unsigned n = 1;

    for (line = strchr(line, ','); line != NULL; line = strchr(line + 1, ','))
        n++;
    return n;
}

/* False: no room for it. */
static bool read_row(struct csv *c, char *line)
{
    struct cfg_subscriber s = {
        .line = c->loc.line, .file = (uint16_t)c->file, .profile = CFG_NONE, .pipe = CFG_NONE};
    unsigned cells = count_cells(line);
    bool ok = true;

    if (cells != c->n_columns) {
        if (listed(c, WRONG_COUNT))
            diag_error(c->l->d, c->loc, "%u fields: expected %u, as in the header line", cells,
                       c->n_columns);
        return true;
    }
    for (unsigned i = 0; i < cells; i++)
        ok &= read_cell(c, c->column[i], take_cell(&line), &s);
    if (!ok || add_subscriber(c->l, &s))
        return true;
    diag_error(c->l->d, c->loc, "expected at most %d subscribers in all", CFG_MAX_SUBSCRIBERS);
    return false;
}

/* Which column a cell of the header names, or N_COLUMNS. */
static unsigned find_column(struct csv *c, const char *cell)
{
    const char *names[N_COLUMNS], *nearest;

    for (unsigned k = 0; k < N_COLUMNS; k++) {
        if (strcmp(columns[k].name, cell) == 0)
            return k;
        names[k] = columns[k].name;
    }
    nearest = nearest_name(cell, names, N_COLUMNS);
    diag_error(c->l->d, c->loc, "column '%.80s': unknown%s%s%s", cell,
               nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "'?" : ": expected port, svlan, cvlan, ipv4, gre_key, mac");
    return N_COLUMNS;
}

static bool read_header(struct csv *c, char *line)
{
    bool seen[N_COLUMNS] = {false}, ok = true;

    while (line != NULL) {
        const char *cell = take_cell(&line);
        unsigned k = find_column(c, cell);

        if (k < N_COLUMNS && !seen[k]) {
            seen[k] = true;
            c->column[c->n_columns++] = (uint8_t)k;
            continue;
        }
        if (k < N_COLUMNS)
            diag_error(c->l->d, c->loc, "column '%s': is there twice", cell);
        ok = false;
    }
    for (unsigned k = 0; k < N_COLUMNS && ok; k++)
        if (columns[k].required && !seen[k]) {
            diag_error(c->l->d, c->loc, "column '%s': missing in the header line", columns[k].name);
            ok = false;
        }
    return ok;
}

static void read_lines(struct csv *c, char *text, size_t size)
{
    char *line = text, *end = text + size;
    bool header = false;

    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) /* a byte order mark, as spreadsheets write */
        line += 3;
    for (c->loc.line = 1; line < end; c->loc.line++) {
        char *eol = memchr(line, '\n', (size_t)(end - line));
        char *next = eol != NULL ? eol + 1 : end;

        eol = eol != NULL ? eol : end;
        if (eol > line && eol[-1] == '\r')
            eol--;
        *eol = '\0';
        if (strlen(line) != (size_t)(eol - line)) {
            diag_error(c->l->d, c->loc, "a NUL byte: this is not a text file");
            return;
        }
        line += strspn(line, " \t");
        if (*line != '\0' && *line != '#') {
            if (header ? !read_row(c, line) : !read_header(c, line))
                return;
            header = true;
        }
        line = next;
    }
    if (!header)
        diag_error(c->l->d, (struct loc){c->loc.file, 0},
                   "empty: expected a header line such as port,svlan,cvlan,ipv4");
}

static void tell_the_rest(const struct csv *c)
{
    for (unsigned k = 0; k < N_WRONGS; k++)
        if (c->n_wrong[k] > CFG_MAX_SAME_ERRORS)
            diag_error(c->l->d, (struct loc){c->loc.file, c->last_wrong[k]},
                       "%u more rows with a wrong %s, up to here",
                       c->n_wrong[k] - CFG_MAX_SAME_ERRORS,
                       k == WRONG_COUNT ? "number of fields" : columns[k].name);
}

/* The whole file with a NUL behind it, or NULL with errno. */
static char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "re");
    size_t room = 1 << 16, n = 0;
    char *text = NULL;
    int err;

    if (f == NULL)
        return NULL;
    do {
        room *= 2;
        text = grow(text, room, 1);
        n += fread(text + n, 1, room - 1 - n, f);
    } while (n == room - 1);
    err = ferror(f) ? errno : 0;
    fclose(f);
    text[n] = '\0';
    *size = n;
    if (err == 0)
        return text;
    free(text);
    errno = err;
    return NULL;
}

void load_csv(struct loader *l, const char *path, struct loc at, const char *named)
{
    struct csv c = {.l = l, .port = CFG_NONE};
    size_t size;
    char *text = read_all(path, &size);

    if (text == NULL) {
        diag_error(l->d, at, "key 'csv': value '%s': cannot read %s: %s", named, path,
                   strerror(errno));
        return;
    }
    c.file = keep_file(l, path);
    c.loc.file = l->m->files[c.file];
    read_lines(&c, text, size);
    tell_the_rest(&c);
    free(text);
}
