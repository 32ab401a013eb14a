/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of config_load(), each of which reads one section of a configuration into the model,
 * and what the parts share. */
#ifndef CONFIG_READ_H
#define CONFIG_READ_H

#include <libconfig.h>

#include "config/model.h"

#define CFG_MAX_SAME_ERRORS 20 /* of one kind about one table; further ones are only counted */

struct csv;

/** A packet template that a task has named. The next task that names the template shares it, so
 * that each mistake in the template is reported once. */
struct template_use {
    const char *path, *sizes;
    uint32_t index; /* in model.templates[]; CFG_NONE: the template has errors */
};

/** The state of reading a configuration. Of a request to the control socket, only m (the model that
 * its names refer to), d and at are set. */
struct loader {
    struct cfg_model *m;
    struct diags *d;
    const struct config_options *opt;
    config_t *layout; /* the file of opt->layout, or NULL */
    /* Places of numbers that libconfig has truncated. load_wide_numbers() has reported them, so
     * that their keys report no further error. */
    struct loc *wide;
    size_t n_wide;
    struct template_use *templates;
    unsigned n_templates;
    bool live_topology;         /* model.topology is this machine */
    const char *other_topology; /* otherwise: the one of the file, or a large one */
    struct loc at;      /* of the row of a table, or the object of a request, that is being read */
    struct csv *table;  /* the table that is being read, or NULL */
    uint32_t last_port; /* index of the port that was looked up last */
    /* An entry had no usable name, so that a name which is not found may be meant for that entry
     * and is no further error. */
    bool pool_nameless, port_nameless, task_nameless;
};

/* --- sections: the setting is NULL where the configuration has none; errors are added to l->d ---
 */

void load_pools(struct loader *l, const config_setting_t *pools);
void load_ports(struct loader *l, const config_setting_t *ports);
/** The key receive of a port, whose device is known. */
void load_receive(struct loader *l, const config_setting_t *receive, struct cfg_port *port);
/** Comes before the subscribers, who name profiles. */
void load_qos(struct loader *l, const config_setting_t *qos);
void load_subscribers(struct loader *l, const config_setting_t *subscribers);
/** Give subscribers their pipes, and check that the schedulers can do what the profiles ask for.
 * Comes after the subscribers, and after the layout, by which schedulers have shards. */
void load_pipes(struct loader *l);
void load_routes(struct loader *l, const config_setting_t *routes);
void load_tasks(struct loader *l, const config_setting_t *tasks);
void load_layout(struct loader *l, const config_setting_t *layout);
/** The number of cores on which the layout places a task. */
unsigned cores_of(const struct cfg_model *m, unsigned task);

/** Find and report numbers that libconfig has truncated, in all files that were read. */
void load_wide_numbers(struct loader *l, const config_setting_t *root);

/** Resolve the links of the tasks and check the graph. settings[i] is the group of task i. */
void load_graph(struct loader *l, const config_setting_t *const *settings);

/** Count a wrong value under a key of a table. Returns whether it shall be listed, which only the
 * first CFG_MAX_SAME_ERRORS are. */
bool csv_lists(struct csv *c, const char *key);

struct value;

/** Take the value v of a key such as max_routes into room, where it is given; at least as many as
 * are configured are needed. */
void load_room(struct loader *l, const struct value *v, const char *key, uint32_t configured,
               uint32_t *room);

/** Take the machine that the layout is for: that of the command line, else of the file (said), else
 * this one. */
void load_topology(struct loader *l, const struct value *said);

/**
 * Load the packet template that a setting names: from the folder of the file with that setting,
 * else from opt->template_dir, else from ../pkt_templates beside the configuration's folder. sizes
 * is in the notation of frame_sizes_parse(). Returns the index in model.templates[], or CFG_NONE
 * after an error.
 */
uint32_t use_template(struct loader *l, const config_setting_t *setting, const char *key,
                      const char *sizes);

/* --- strings and files that live as long as the model --- */

/** A model without any section, which is read from the file at path. */
struct cfg_model *model_open(const char *path);

/** Free the model with its strings and names of files, but nothing of its sections. */
void model_close(struct cfg_model *m);

/** Parse a file and all files that it includes. Returns 0, or a negative errno after an error. */
int parse_file(struct loader *l, const char *path, config_t *config);

/** Copy a string. */
const char *keep_string(struct loader *l, const char *s);

/** Print into a new string, as printf() does. */
const char *keep_format(struct loader *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** The index of a file in model.files[], to which a new one is added. */
unsigned keep_file(struct loader *l, const char *path);

/** The name of a file as model.files[] holds it. */
const char *keep_file_name(struct loader *l, const char *path);

/** The path of a file whose name stands in another file, and is relative to that file's folder. */
const char *beside(struct loader *l, const char *file, const char *name);

/** The path of a file that libconfig read because of an @include line, top being the file that
 * libconfig was given. libconfig 1.5 names the included file as the line does; 1.7 puts the include
 * folder and a slash in front, which this function removes. */
const char *included_file(struct loader *l, const char *top, const char *file);

/** reallocarray() that ends the program where there is no memory: nothing runs yet that could go
 * on. */
void *grow(void *p, size_t n, size_t size);

/**
 * Read a plain file whole (base/input.h). Returns its text with a NUL behind its *size bytes, to be
 * freed, or NULL with the reason in *why. Aborts without memory.
 */
char *read_whole(const char *path, size_t *size, const char **why);

/** Make room for one more element of an array that doubles whenever its length is a power of
 * two. */
#define GROW_ONE(array, n)                                                                         \
    do {                                                                                           \
        if (((n) & ((n)-1)) == 0)                                                                  \
            (array) = grow((array), (n) == 0 ? 1 : (size_t)(n)*2, sizeof(*(array)));               \
    } while (0)

/** Add a subscriber whose own values are right. Returns false where there are too many. */
bool add_subscriber(struct loader *l, const struct cfg_subscriber *s);

/* --- names --- */

/** The index of a port, task, profile or scheduler by name, or CFG_NONE. */
uint32_t find_port(const struct loader *l, const char *name);
uint32_t find_task(const struct loader *l, const char *name);
uint32_t find_profile(const struct loader *l, const char *name);
uint32_t find_scheduler(const struct loader *l, const char *name);

/** The name nearest to a misspelt one, for a message, or NULL. */
const char *nearest_port(const struct loader *l, const char *name);
const char *nearest_profile(const struct loader *l, const char *name);
const char *nearest_scheduler(const struct loader *l, const char *name);
const char *nearest_task(const struct loader *l, const char *name);

/* --- what only one may have --- */

/** A claim of one holder to first..last, which no other may claim. */
struct claim {
    uint64_t first, last;
    uint32_t who; /* number of the holder */
};

/**
 * Find claims that overlap: call clash(ctx, earlier, later) once for each claim that overlaps
 * another. The claim with the lower number is the earlier one. The claims are sorted afterwards.
 */
void find_clashes(struct claim *c, size_t n,
                  void (*clash)(void *ctx, const struct claim *earlier, const struct claim *later),
                  void *ctx);

/**
 * Put the values of opt->set[] into the tree of settings below root, before a section is read. Each
 * is PATH=VALUE, where PATH is TASK.KEY, or leads from the root to a key: "pools.default.mbufs",
 * "ports.cpe0.mtu", "memory". VALUE is true, false or a string. A key that the tree lacks is added;
 * the groups above it must be there, except for the pool "default". The reader of the section
 * checks the key and its value; the place of such an error is "--set PATH=VALUE".
 */
void override_values(struct loader *l, config_setting_t *root);

/** The option that gave a setting its value, "--set PATH=VALUE", or NULL where a file did. */
const char *override_of(const config_setting_t *s);

#endif
