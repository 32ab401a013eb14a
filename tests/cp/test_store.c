/* SPDX-License-Identifier: BSD-3-Clause */
/* The store: what was committed is there after a kill at any moment, and nothing else. */
#include "common/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cp/store.h"

static char folder[] = "/tmp/vbng-store-XXXXXX", path[64];

static int open_folder(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/store", folder);
    return 0;
}

static void clear(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char file[80];

    for (unsigned i = 0; i < 4; i++) {
        snprintf(file, sizeof(file), "%s%s", path, ends[i]);
        unlink(file);
    }
}

static int close_folder(void)
{
    clear();
    return rmdir(folder) != 0;
}

static struct store_session session(uint16_t cvlan, uint32_t address, int64_t expires)
{
    return (struct store_session){"cpe0",
                                  100,
                                  cvlan,
                                  {2, 0, 0, 0, 0, 1},
                                  address,
                                  expires,
                                  cvlan % 2 == 0 ? NULL : "what RADIUS has granted",
                                  cvlan % 3 == 0 ? "a lease of IPv6" : NULL,

                                  cvlan % 5 == 0 ? "a session of PPPoE" : NULL,
                                  cvlan % 7 == 0 ? "of a server behind" : NULL};
}

static void put(struct store *s, uint16_t cvlan, uint32_t address, int64_t expires)
{
    struct store_session o = session(cvlan, address, expires);

    CU_ASSERT(store_put(s, &o));
}

static uint64_t sum, found;

static void add(const struct store_session *o, void *ctx)
{
    (void)ctx;
    CU_ASSERT_STRING_EQUAL(o->port, "cpe0");
    CU_ASSERT(o->svlan == 100 && o->mac[5] == 1);
    CU_ASSERT((o->service == NULL) == (o->cvlan % 2 == 0));
    CU_ASSERT((o->v6 != NULL) == (o->cvlan % 3 == 0));
    CU_ASSERT((o->ppp != NULL) == (o->cvlan % 5 == 0));
    CU_ASSERT((o->relay != NULL) == (o->cvlan % 7 == 0));
    sum +=
        o->cvlan * UINT64_C(1000000) + (o->address & 0xff) * UINT64_C(1000) + (uint64_t)o->expires;
    found++;
}

/* What is in the store, each session as CVLAN * 10^6 + last byte of the address * 1000 + expiry,
 * together. */
static uint64_t content(struct store *s)
{
    sum = found = 0;
    CU_ASSERT(store_each(s, add, NULL));
    return sum;
}

static void changes(void)
{
    struct store *s = store_open(path);

    put(s, 1, 0x0a000001, 11);
    put(s, 2, 0x0a000002, 12);
    CU_ASSERT(store_commit(s) && store_commit(s));
    CU_ASSERT_EQUAL(content(s), 1001011 + 2002012);
    put(s, 1, 0x0a000001, 21); /* the line's again */
    put(s, 3, 0x0a000002, 13); /* an address that was another line's */
    CU_ASSERT(store_remove(s, "cpe0", 100, 9));
    CU_ASSERT(store_commit(s));
    CU_ASSERT_EQUAL(content(s), 1001021 + 3002013);
    CU_ASSERT(store_remove(s, "cpe0", 100, 1) && store_commit(s));
    store_close(s);
    s = store_open(path);
    CU_ASSERT_EQUAL(content(s), 3002013);
    CU_ASSERT_PTR_NULL(store_open(path)); /* one process alone */
    store_close(s);
    clear();
}

/* A child commits pairs and says so, until it is killed. Both of a pair are there, or none, and all
 * that it has said. */
static void one_kill(unsigned us)
{
    int said[2];
    uint16_t last = 0, n;
    struct store *s;
    pid_t child;

    CU_ASSERT_EQUAL(pipe(said), 0);
    child = fork();
    if (child == 0) {
        s = store_open(path);
        for (n = 1; n < 2000; n++) {
            struct store_session a = session(n, n, 0),
                                 b = session((uint16_t)(n + 2000), n + 2000u, 0);

            if (!store_put(s, &a) || !store_put(s, &b) || !store_commit(s) ||
                write(said[1], &n, sizeof(n)) != sizeof(n))
                _exit(1);
        }
        for (;;)
            pause();
    }
    close(said[1]);
    CU_ASSERT(read(said[0], &n, sizeof(n)) == sizeof(n)); /* it has begun */
    usleep(us);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    do
        last = n;
    while (read(said[0], &n, sizeof(n)) == sizeof(n));
    close(said[0]);
    s = store_open(path);
    content(s);
    EXPECT(found == 2u * last || found == 2u * last + 2, "%u said, %llu found", last,
           (unsigned long long)found);
    store_close(s);
    clear();
}

static void kills(void)
{
    srand(1);
    for (unsigned i = 0; i < 30; i++)
        one_kill((unsigned)rand() % 20000);
}

static void unusable(void)
{
    FILE *f = fopen(path, "w");

    fputs("This is no database, but a text that is long enough to be taken for the header of one, "
          "which has a hundred bytes.",
          f);
    fclose(f);
    CU_ASSERT_PTR_NULL(store_open(path));
    clear();
    CU_ASSERT_PTR_NULL(store_open("/nowhere/store"));
}

static const struct test tests[] = {
    {"changes", changes},
    {"kills", kills},
    {"unusable", unusable},
    {NULL, NULL},
};

const struct test_program test_program = {"store", tests, open_folder, close_folder};
