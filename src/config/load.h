/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of config_load(): each reads one section of a configuration into the model. */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include <libconfig.h>

#include "config/model.h"

#define CFG_MAX_NAME         24 /* characters of a name: DPDK's objects bear them */
#define CFG_MAX_SUBSCRIBERS  4194304
#define CFG_MAX_ROUTES       1048576
#define CFG_MAX_SAME_ERRORS  20 /* of one kind about one table, then only how many more */
#define CFG_FALLBACK_MACHINE "1x64x2"

/** A template that was asked for: each mistake in it is told once. */
struct template_use {
    const char *path, *sizes;
    uint32_t index; /* CFG_NONE: it has errors */
};

/** What the sections share while a configuration is being read. */
struct loader {
    struct cfg_model *m;
    struct diags *d;
    const struct config_options *opt;
    config_t *layout; /* the file of opt->layout, or NULL */
    /* Numbers that libconfig has truncated. They are reported, so who reads them says no more. */
    struct loc *wide;
    size_t n_wide;
    struct template_use *templates;
    unsigned n_templates;
    bool live_topology;         /* model.topology is this machine */
    const char *other_topology; /* else: what the file says, or one large enough */
    /* An entry had no usable name: a name that is not found may well be meant for it. */
    bool pool_nameless, port_nameless, task_nameless;
};

/** Each reads its section; setting is NULL where the configuration has none. Errors go to l->d. */
void load_pools(struct loader *l, const config_setting_t *pools);
void load_ports(struct loader *l, const config_setting_t *ports);
/** Before the subscribers, who name profiles. */
void load_qos(struct loader *l, const config_setting_t *qos);
void load_subscribers(struct loader *l, const config_setting_t *subscribers);
/** After the subscribers: their pipes, and whether the schedulers can do what the profiles say. */
void load_pipes(struct loader *l);
void load_routes(struct loader *l, const config_setting_t *routes);
void load_tasks(struct loader *l, const config_setting_t *tasks);
void load_layout(struct loader *l, const config_setting_t *layout);

/** Find and report numbers without quotes in all files read that do not fit into what libconfig
 * makes of them. */
void load_wide_numbers(struct loader *l, const config_setting_t *root);

/** Links of the tasks: names to indices, and what the graph must obey. settings[i] is the group of
 * task i. */
void load_graph(struct loader *l, const config_setting_t *const *settings);

/** Read a CSV file of subscribers; at is where it is named. Overlaps are not checked here. */
void load_csv(struct loader *l, const char *path, struct loc at, const char *named);

/** Room for more of something than are configured, if a key says so. */
struct value;
void load_room(struct loader *l, const struct value *v, const char *key, uint32_t configured,
               uint32_t *room);

/** The machine that the layout is for: what the command line says, else the file, else this one. */
void load_topology(struct loader *l, const struct value *said);

/**
 * Load the packet template that a setting names: next to the file that names it, in the directory
 * of the command, or in ../pkt_templates. sizes: in the notation of frame_sizes_parse(). Returns
 * its index in model.templates[], or CFG_NONE after an error.
 */
uint32_t use_template(struct loader *l, const config_setting_t *setting, const char *key,
                      const char *sizes);

/** A copy of a string that lives as long as the model. */
const char *keep_string(struct loader *l, const char *s);
/** printf() into such a string. */
const char *keep_format(struct loader *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** The index in model.files[] of a file; it is added if it is new. */
unsigned keep_file(struct loader *l, const char *path);
/** Its name there. */
const char *keep_file_name(struct loader *l, const char *path);
/** Path of a file that is named in another: relative to that one's folder. */
const char *beside(struct loader *l, const char *file, const char *name);

/** Memory, or the end of the program: a configuration is read before anything runs. */
void *grow(void *p, size_t n, size_t size);

/** Make room for one more element of an array that doubles whenever its length is a power of
 * two. */
#define GROW_ONE(array, n)                                                                         \
    do {                                                                                           \
        if (((n) & ((n)-1)) == 0)                                                                  \
            (array) = grow((array), (n) == 0 ? 1 : (size_t)(n)*2, sizeof(*(array)));               \
    } while (0)

/** Add a subscriber that is checked as far as it can be alone. False: there are too many. */
bool add_subscriber(struct loader *l, const struct cfg_subscriber *s);

/** Report subscribers that share what each must have alone. */
void check_overlaps(struct loader *l);

/** Index of a pool, port or task by name, or CFG_NONE. */
uint32_t find_pool(const struct loader *l, const char *name);
uint32_t find_port(const struct loader *l, const char *name);
uint32_t find_task(const struct loader *l, const char *name);
uint32_t find_profile(const struct loader *l, const char *name);
uint32_t find_scheduler(const struct loader *l, const char *name);

/** The name nearest to a misspelt one, or NULL. */
const char *nearest_port(const struct loader *l, const char *name);
const char *nearest_profile(const struct loader *l, const char *name);
const char *nearest_scheduler(const struct loader *l, const char *name);
const char *nearest_task(const struct loader *l, const char *name);

/** One holder of first..last, which nobody else may hold. */
struct claim {
    uint64_t first, last;
    uint32_t who;
};

/**
 * Call clash(ctx, earlier, later) for each claim that overlaps another, once per such claim; the
 * one with the lower who is the earlier one. Leaves the claims sorted.
 */
void find_clashes(struct claim *c, size_t n,
                  void (*clash)(void *ctx, const struct claim *earlier, const struct claim *later),
                  void *ctx);

#endif
