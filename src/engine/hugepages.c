/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/hugepages.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/runtime.h"

#define SIZES "/sys/kernel/mm/hugepages"
#define FILES "map_" /* of EAL: its prefix, this, and a number */

static uint64_t read_count(uint64_t page, const char *name)
{
    unsigned long long n = 0;
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), SIZES "/hugepages-%llukB/%s", (unsigned long long)page / 1024,
             name);
    f = fopen(path, "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%llu", &n) != 1)
        n = 0;
    fclose(f);
    return n;
}

struct hugepages_count hugepages_count(uint64_t page)
{
    return (struct hugepages_count){.reserved = read_count(page, "nr_hugepages"),
                                    .free = read_count(page, "free_hugepages")};
}

uint64_t hugepages_free_bytes(void)
{
    DIR *dir = opendir(SIZES);
    struct dirent *entry;
    unsigned long long kib;
    uint64_t bytes = 0;

    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL)
        if (sscanf(entry->d_name, "hugepages-%llukB", &kib) == 1)
            bytes += kib * 1024 * hugepages_count(kib * 1024).free;
    closedir(dir);
    return bytes;
}

static bool has_size(const struct hugepages_folders *list, uint64_t page)
{
    for (unsigned i = 0; i < list->n; i++)
        if (list->folder[i].page == page)
            return true;
    return false;
}

/* A folder, if it is in a hugetlbfs and there is room in the list. */
static void add(struct hugepages_folders *list, const char *path)
{
    struct hugepages_folder *f = &list->folder[list->n];
    struct statfs s;

    if (list->n == HUGEPAGES_FOLDERS || strlen(path) >= sizeof(f->path) || statfs(path, &s) != 0 ||
        s.f_type != HUGETLBFS_MAGIC)
        return;
    snprintf(f->path, sizeof(f->path), "%s", path);
    f->page = (uint64_t)s.f_bsize;
    list->n++;
}

/* Every hugetlbfs, in the order of their mounts. */
static void list_mounts(struct hugepages_folders *out)
{
    FILE *mounts = setmntent("/proc/mounts", "r");
    struct mntent *entry;

    out->n = 0;
    if (mounts == NULL)
        return;
    while ((entry = getmntent(mounts)) != NULL)
        if (strcmp(entry->mnt_type, "hugetlbfs") == 0)
            add(out, entry->mnt_dir);
    endmntent(mounts);
}

void hugepages_find(struct hugepages_folders *out, const char *huge_dir)
{
    struct hugepages_folders mounts;

    out->n = 0;
    if (huge_dir != NULL) {
        add(out, huge_dir);
        return;
    }
    list_mounts(&mounts);
    for (unsigned i = 0; i < mounts.n; i++)
        if (!has_size(out, mounts.folder[i].page))
            out->folder[out->n++] = mounts.folder[i];
}

/* Nobody has it open: each process of DPDK holds a lock of the files that it has mapped. */
static bool is_unused(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool unused;

    if (fd < 0)
        return false;
    unused = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return unused;
}

/* A process that starts there makes files that it has not locked yet: it has locked the folder
 * meanwhile, and the next start will do. */
static void sweep_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (dir == NULL)
        return;
    if (flock(dirfd(dir), LOCK_EX | LOCK_NB) == 0) {
        while ((entry = readdir(dir)) != NULL) {
            const char *rest = runtime_of_the_dead(entry->d_name);

            if (rest != NULL && strncmp(rest, FILES, strlen(FILES)) == 0 &&
                is_unused(dirfd(dir), entry->d_name))
                unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
}

void hugepages_sweep(const struct hugepages_folders *in)
{
    struct hugepages_folders mounts;

    for (unsigned i = 0; i < in->n; i++)
        sweep_folder(in->folder[i].path);
    list_mounts(&mounts);
    for (unsigned i = 0; i < mounts.n; i++)
        sweep_folder(mounts.folder[i].path);
}

static void remove_own(const char *path, const char *files, size_t len)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, files, len) == 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

void hugepages_remove(const struct hugepages_folders *in, const char *prefix)
{
    char files[NAME_MAX + 1];
    int len = snprintf(files, sizeof(files), "%s" FILES, prefix);

    if (prefix[0] == '\0' || len >= (int)sizeof(files))
        return;
    for (unsigned i = 0; i < in->n; i++)
        remove_own(in->folder[i].path, files, (size_t)len);
}
