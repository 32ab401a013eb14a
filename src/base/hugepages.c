/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts from sysfs, and the files of EAL that are found, swept and removed. */
#include "base/hugepages.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/owned.h"

#define SIZES "/sys/kernel/mm/hugepages"
#define FILES "map_" /* EAL's names: its --file-prefix, this, and a number */

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

/* Add a folder to the list, if it is in a hugetlbfs and the list has room. */
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

/* List every hugetlbfs, in the order of the mounts. */
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

/* Open a folder if it is in a hugetlbfs: the path of --huge-dir may lead elsewhere by now. */
static DIR *open_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs s;
    DIR *dir = NULL;

    if (fd >= 0 && fstatfs(fd, &s) == 0 && s.f_type == HUGETLBFS_MAGIC)
        dir = fdopendir(fd);
    if (fd >= 0 && dir == NULL)
        close(fd);
    return dir;
}

/* Is it a file of this user? A hugetlbfs may be open to everybody, as /tmp is, so that files and
 * FIFOs of other users may have such names. */
static bool is_own(int folder, const char *name)
{
    struct stat s;

    return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) &&
           s.st_uid == geteuid();
}

/* Does no process have it open? Each process of DPDK locks the files that it has mapped. */
static bool is_unused(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool unused;

    if (fd < 0)
        return false;
    unused = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return unused;
}

/* Remove the files of dead processes. A process that starts locks the folder until it has locked
 * its own files: then nothing is removed, and the next start will do it. */
static void sweep_folder(const char *path, const char *prefix)
{
    DIR *dir = open_folder(path);
    struct dirent *entry;

    if (dir == NULL)
        return;
    if (flock(dirfd(dir), LOCK_EX | LOCK_NB) == 0) {
        while ((entry = readdir(dir)) != NULL) {
            const char *rest = owned_dead_suffix(entry->d_name, prefix);

            if (rest != NULL && strncmp(rest, FILES, strlen(FILES)) == 0 &&
                is_own(dirfd(dir), entry->d_name) && is_unused(dirfd(dir), entry->d_name))
                unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
}

void hugepages_sweep(const struct hugepages_folders *in, const char *prefix)
{
    struct hugepages_folders mounts;

    for (unsigned i = 0; i < in->n; i++)
        sweep_folder(in->folder[i].path, prefix);
    list_mounts(&mounts);
    for (unsigned i = 0; i < mounts.n; i++)
        sweep_folder(mounts.folder[i].path, prefix);
}

static void remove_own(const char *path, const char *files, size_t len)
{
    DIR *dir = open_folder(path);
    struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, files, len) == 0 && is_own(dirfd(dir), entry->d_name))
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
