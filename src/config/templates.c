/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates of tasks: which file a name stands for, and each file loaded once for each
 * choice of sizes. */
#include <string.h>
#include <unistd.h>

#include "config/read.h"
#include "config/keys.h"

/* The path of a template that can be read, or NULL after an error. */
static const char *find(struct loader *l, const config_setting_t *setting, const char *key,
                        const char *name)
{
    const char *places[3];
    unsigned n = 0;

    /* A path in --set is relative to the working directory, one in a file to that file. */
    places[n++] =
        override_of(setting) != NULL ? name : beside(l, setting_loc(l, setting).file, name);
    if (name[0] != '/') {
        if (l->opt->template_dir != NULL)
            places[n++] = keep_format(l, "%s/%s", l->opt->template_dir, name);
        places[n++] = beside(l, l->m->path, keep_format(l, "../pkt_templates/%s", name));
    }
    for (unsigned i = 0; i < n; i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    key_error(l, setting, key, "no such template: looked for %s%s%s%s%s", places[0],
              n > 1 ? ", " : "", n > 1 ? places[1] : "", n > 2 ? ", " : "", n > 2 ? places[2] : "");
    return NULL;
}

/* Load a template with frame sizes. Returns its index in model.templates[], or CFG_NONE after an
 * error. */
static uint32_t load(struct loader *l, const char *path, const char *text)
{
    struct cfg_model *m = l->m;
    struct frame_sizes sizes;
    struct pkt_template *t;

    if (frame_sizes_parse(text, &sizes) != 0)
        return CFG_NONE;
    t = template_load(path, &sizes, l->d);
    if (t == NULL)
        return CFG_NONE;
    GROW_ONE(m->templates, m->n_templates);
    m->templates[m->n_templates] = t;
    return m->n_templates++;
}

uint32_t use_template(struct loader *l, const config_setting_t *setting, const char *key,
                      const char *sizes)
{
    const char *path = find(l, setting, key, config_setting_get_string(setting));
    uint32_t index;

    if (path == NULL)
        return CFG_NONE;
    for (unsigned i = 0; i < l->n_templates; i++)
        if (strcmp(l->templates[i].sizes, sizes) == 0 && strcmp(l->templates[i].path, path) == 0)
            return l->templates[i].index;
    index = load(l, path, sizes);
    GROW_ONE(l->templates, l->n_templates);
    l->templates[l->n_templates++] = (struct template_use){path, sizes, index};
    return index;
}
