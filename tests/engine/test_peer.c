/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device string says of the other end, and which sockets are taken away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/program.h"
#include "engine/link_state.h"

static void test_read(void)
{
    static const struct {
        const char *device;
        enum peer_reconnect reconnect;
        const char *path;
    } cases[] = {
        {"0000:05:00.0", PEER_NONE, ""},
        {"wire:w", PEER_NONE, ""},
        {"net_af_packet0,iface=path=x", PEER_NONE, ""},
        {"net_virtio_user0,path=/a.sock,queue_size=1024", PEER_REOPEN, "/a.sock"},
        {"net_virtio_user0,queue_size=1024,path=/a.sock", PEER_REOPEN, "/a.sock"},
        {"net_virtio_user0,path=/a.sock,server=1", PEER_BY_DRIVER, "/a.sock"},
        {"net_virtio_user0,path=/a.sock,server=0", PEER_REOPEN, "/a.sock"},
        {"net_virtio_user0,xserver=1,path=/a.sock", PEER_REOPEN, "/a.sock"},
        {"net_vhost0,iface=/a.sock", PEER_BY_DRIVER, ""},
        {"net_vhost0,iface=/a.sock,client=1", PEER_BY_DRIVER, ""},
        {"net_memif0,role=server,id=0", PEER_BY_DRIVER, ""},
        {"net_memif0,role=master,id=0", PEER_BY_DRIVER, ""},
        {"net_memif0,id=0,role=client", PEER_RESTART, ""},
        {"net_memif0", PEER_RESTART, ""},
    };
    struct peer p;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        peer_read(cases[i].device, &p);
        CU_ASSERT_EQUAL(p.reconnect, cases[i].reconnect);
        CU_ASSERT_STRING_EQUAL(p.path, cases[i].path);
    }
}

static void test_clear(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/vbng-peer-XXXXXX", device[256];
    struct peer server, client;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    snprintf(device, sizeof(device), "net_virtio_user0,server=1,path=%s", address.sun_path);
    peer_read(device, &server);
    snprintf(device, sizeof(device), "net_virtio_user0,path=%s", address.sun_path);
    peer_read(device, &client);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 4), 0);
    peer_clear(&server); /* somebody is there */
    CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
    close(fd);
    peer_clear(&client); /* not ours */
    CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
    peer_clear(&server);
    CU_ASSERT_NOT_EQUAL(access(address.sun_path, F_OK), 0);
    rmdir(folder);
}

static const struct test tests[] = {
    {"what a device string says", test_read},
    {"stale sockets", test_clear},
    {NULL, NULL},
};

const struct test_program test_program = {"peer", tests, NULL, NULL};
