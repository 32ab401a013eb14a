/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folders and sockets in places that other users may write to (/tmp): who owns them, and removing
 * no more than the caller's own. Every check is made on a descriptor, so that nobody can put a
 * symbolic link in the place of what was checked.
 */
#ifndef BASE_OWNED_H
#define BASE_OWNED_H

/** Open a folder that is the caller's own and that neither its group nor others may write to.
 * parent: the folder that a relative name is in, or AT_FDCWD. Returns a descriptor for reading;
 * -ENOTDIR for a symbolic link or a file, -EPERM for another user's folder or one that others may
 * write to, or another -errno. */
int owned_open(int parent, const char *name);

/** Remove a folder that owned_open() accepts, with the files in it. A folder that contains another
 * folder stays, and so does the inner one. Returns 0 or -errno. */
int owned_remove(int parent, const char *name);

/** Remove a Unix socket of the caller's own on which nobody listens. Returns 0 where the
 * path is free then; -EADDRINUSE where somebody listens, -EEXIST for anything but a socket (a
 * symbolic link is none), -EPERM for another user's, or another -errno. */
int owned_clear_socket(const char *path);

/** Open the folder that a path leads into, for openat() and the like alone (O_PATH). *name: the
 * last part of the path. Returns a descriptor or -errno. */
int owned_folder_of(const char *path, const char **name);

/** Does a name begin with the prefix and the number of a process that does not exist? Returns what
 * follows the number, or NULL. */
const char *owned_dead_suffix(const char *name, const char *prefix);

#endif
