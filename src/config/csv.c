/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"

/* A table as a CSV file: a header line with the names of the columns, then one entry per line. */

/* What is wrong with a row: with a column's value, with their number, with quotation marks. */
#define WRONG_COUNT  CSV_MAX_COLUMNS
#define WRONG_QUOTES (CSV_MAX_COLUMNS + 1)
#define N_WRONGS     (CSV_MAX_COLUMNS + 2)

struct csv {
    struct loader *l; /* its at: the line that is being read */
    const struct csv_kind *kind;
    void *ctx;
    unsigned file; /* index in model.files[] */
    unsigned n_columns;
    uint8_t column[CSV_MAX_COLUMNS]; /* which one stands at each position */
    unsigned n_wrong[N_WRONGS];
    unsigned last_wrong[N_WRONGS]; /* line */
};

/* Take a cell off quotation marks, between which may be commas, and a mark that is written twice
 * (RFC 4180). Returns what is behind the cell, or NULL where the second mark is missing. */
static char *unquote(char *cell)
{
    char *to = cell, *from = cell + 1;

    for (; *from != '"' || from[1] == '"'; from++) {
        if (*from == '\0')
            return NULL;
        from += *from == '"';
        *to++ = *from;
    }
    *to = '\0';
    return from + 1;
}

/* Take the next cell off *line (NULL at the end), without spaces and quotation marks around it.
 * Returns NULL where its quotation marks are not those of RFC 4180. */
static char *take_cell(char **line)
{
    char *cell = *line + strspn(*line, " \t"), *end;

    if (*cell == '"') {
        end = unquote(cell);
        end = end != NULL ? end + strspn(end, " \t") : NULL;
        if (end == NULL || (*end != ',' && *end != '\0'))
            return NULL;
        *line = *end == ',' ? end + 1 : NULL;
        return cell;
    }
    end = strchrnul(cell, ',');
    *line = *end == ',' ? end + 1 : NULL;
    while (end > cell && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    return cell;
}

/* May this mistake still be listed? Counts it. */
static bool listed(struct csv *c, unsigned wrong)
{
    c->last_wrong[wrong] = c->l->at.line;
    return ++c->n_wrong[wrong] <= CFG_MAX_SAME_ERRORS;
}

bool csv_lists(struct csv *c, const char *key)
{
    unsigned k = 0;

    while (strcmp(c->kind->keys[k].name, key) != 0)
        k++;
    return listed(c, k);
}

#define QUOTES                                                                                     \
    "a quotation mark is open, or stands beside other text: expected \"...\", with \"\" for one"

/* Cut a row into cells; those beyond what the header has are only counted. Returns how many there
 * are, or 0 where a quotation mark is wrong. */
static unsigned cut(char *line, char *cell[CSV_MAX_COLUMNS])
{
    unsigned n = 0;

    while (line != NULL) {
        char *one = take_cell(&line);

        if (one == NULL)
            return 0;
        if (n < CSV_MAX_COLUMNS)
            cell[n] = one;
        n++;
    }
    return n;
}

/* An empty cell is a value that is not given. */
static bool read_cells(struct csv *c, char *const *cell, struct value *v)
{
    bool ok = true;

    memset(v, 0, c->kind->n_keys * sizeof(*v));
    for (unsigned i = 0; i < c->n_columns; i++) {
        const struct key *key = &c->kind->keys[c->column[i]];
        struct value *value = &v[c->column[i]];

        if (cell[i][0] == '\0' && !key->required)
            continue;
        value->cell = cell[i];
        ok &= read_value(c->l, key, value);
    }
    return ok;
}

/* False: no room for it. */
static bool read_row(struct csv *c, char *line)
{
    struct value v[CSV_MAX_COLUMNS];
    char *cell[CSV_MAX_COLUMNS];
    unsigned cells = cut(line, cell);

    if (cells == 0) {
        if (listed(c, WRONG_QUOTES))
            diag_error(c->l->d, c->l->at, QUOTES);
        return true;
    }
    if (cells != c->n_columns) {
        if (listed(c, WRONG_COUNT))
            diag_error(c->l->d, c->l->at, "%u fields: expected %u, as in the header line", cells,
                       c->n_columns);
        return true;
    }
    return !read_cells(c, cell, v) || c->kind->take(c->l, v, c->file, c->ctx);
}

/* Which column a cell of the header names, or CSV_MAX_COLUMNS. */
static unsigned find_column(struct csv *c, const char *cell)
{
    const char *names[CSV_MAX_COLUMNS], *nearest;
    char all[256];
    size_t len = 0;

    for (unsigned k = 0; k < c->kind->n_keys; k++) {
        if (strcmp(c->kind->keys[k].name, cell) == 0)
            return k;
        names[k] = c->kind->keys[k].name;
    }
    nearest = nearest_name(cell, names, c->kind->n_keys);
    for (unsigned k = 0; k < c->kind->n_keys; k++)
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", k > 0 ? ", " : "", names[k]);
    diag_error(c->l->d, c->l->at, "column '%.80s': unknown%s%s%s", cell,
               nearest != NULL ? "; did you mean '" : ": expected ",
               nearest != NULL ? nearest : all, nearest != NULL ? "'?" : "");
    return CSV_MAX_COLUMNS;
}

static bool read_header(struct csv *c, char *line)
{
    bool seen[CSV_MAX_COLUMNS] = {false}, ok = true;

    while (line != NULL) {
        const char *cell = take_cell(&line);
        unsigned k;

        if (cell == NULL) {
            diag_error(c->l->d, c->l->at, QUOTES);
            return false;
        }
        k = find_column(c, cell);
        if (k < CSV_MAX_COLUMNS && !seen[k]) {
            seen[k] = true;
            c->column[c->n_columns++] = (uint8_t)k;
            continue;
        }
        if (k < CSV_MAX_COLUMNS)
            diag_error(c->l->d, c->l->at, "column '%s': is there twice", cell);
        ok = false;
    }
    for (unsigned k = 0; k < c->kind->n_keys && ok; k++)
        if (c->kind->keys[k].required && !seen[k]) {
            diag_error(c->l->d, c->l->at, "column '%s': missing in the header line",
                       c->kind->keys[k].name);
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
    for (c->l->at.line = 1; line < end; c->l->at.line++) {
        char *eol = memchr(line, '\n', (size_t)(end - line));
        char *next = eol != NULL ? eol + 1 : end;

        eol = eol != NULL ? eol : end;
        if (eol > line && eol[-1] == '\r')
            eol--;
        *eol = '\0';
        if (strlen(line) != (size_t)(eol - line)) {
            diag_error(c->l->d, c->l->at, "a NUL byte: this is not a text file");
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
        diag_error(c->l->d, (struct loc){c->l->at.file, 0},
                   "empty: expected a header line such as %s", c->kind->header);
}

static void tell_the_rest(const struct csv *c)
{
    for (unsigned k = 0; k < N_WRONGS; k++)
        if (c->n_wrong[k] > CFG_MAX_SAME_ERRORS)
            diag_error(c->l->d, (struct loc){c->l->at.file, c->last_wrong[k]},
                       "%u more rows with a wrong %s, up to here",
                       c->n_wrong[k] - CFG_MAX_SAME_ERRORS,
                       k == WRONG_COUNT    ? "number of fields"
                       : k == WRONG_QUOTES ? "quotation mark"
                                           : c->kind->keys[k].name);
}

void load_csv(struct loader *l, const struct value *file, const struct csv_kind *kind, void *ctx)
{
    const char *path = beside(l, file->v.loc.file, file->v.s);
    struct csv c = {.l = l, .kind = kind, .ctx = ctx};
    const char *why;
    size_t size;
    char *text = read_whole(path, &size, &why);

    if (text == NULL) {
        diag_error(l->d, file->v.loc, "key 'csv': value '%s': cannot read %s: %s", file->v.s, path,
                   why);
        return;
    }
    c.file = keep_file(l, path);
    l->at.file = l->m->files[c.file];
    l->table = &c;
    read_lines(&c, text, size);
    tell_the_rest(&c);
    l->table = NULL;
    free(text);
}
