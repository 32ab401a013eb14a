/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The description as a Pod. Requests are equal to limits and CPUs are whole, so that its class of
 * service is Guaranteed and the static CPU manager gives it CPUs of its own; huge pages are a
 * resource and a volume; each PCI interface is a device of the plugin and a network of Multus.
 */
#include "config/describe_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "config/json_write.h"

#define MIB      (1ull << 20)
#define GIB      (1ull << 30)
#define NAME_MAX 63 /* RFC 1123 section 2.1: of a label */

/* A name of the configuration as Kubernetes takes it: lower case, '-' for anything else. */
static const char *label(const char *name, char buf[NAME_MAX + 1])
{
    size_t n = 0;

    for (; *name != '\0' && n < NAME_MAX; name++) {
        bool fits = isalnum((unsigned char)*name) != 0;

        if (fits || n > 0)
            buf[n++] = fits ? (char)tolower((unsigned char)*name) : '-';
    }
    while (n > 0 && buf[n - 1] == '-')
        n--;
    buf[n] = '\0';
    return n > 0 ? buf : "vbng";
}

static unsigned pci_ports(const struct description *d)
{
    unsigned n = 0;

    for (unsigned i = 0; i < d->p->cfg->n_ports; i++)
        n += d->port[i].kind == KIND_PCI;
    return n;
}

/* The networks of Multus are called like the ports. */
static void annotations(FILE *to, const struct description *d)
{
    const char *sep = "";
    char name[NAME_MAX + 1];

    if (pci_ports(d) == 0)
        return;
    fputs("  annotations:\n"
          "    k8s.v1.cni.cncf.io/networks: '[",
          to);
    for (unsigned i = 0; i < d->p->cfg->n_ports; i++) {
        if (d->port[i].kind != KIND_PCI)
            continue;
        fprintf(to, "%s{\"name\": \"%s\"}", sep, label(d->p->cfg->ports[i].name, name));
        sep = ", ";
    }
    fputs("]'\n", to);
}

static void resource_list(FILE *to, const struct description *d, const struct describe_options *o,
                          const char *key)
{
    fprintf(to,
            "        %s:\n"
            "          cpu: \"%u\"\n"
            "          memory: \"%lluMi\"\n",
            key, d->whole_cpus, (unsigned long long)((d->ordinary + MIB - 1) / MIB));
    if (d->hugepages)
        fprintf(to, "          hugepages-%s: \"%lluMi\"\n", d->page_size == GIB ? "1Gi" : "2Mi",
                (unsigned long long)(d->pages * d->page_size / MIB));
    if (pci_ports(d) > 0) {
        fputs("          ", to);
        json_put_string(to, o->resource != NULL ? o->resource : DESCRIBE_RESOURCE);
        fprintf(to, ": \"%u\"\n", pci_ports(d));
    }
}

static void container(FILE *to, const struct description *d, const struct describe_options *o)
{
    char image[64];

    snprintf(image, sizeof(image), "vbng:%s", o->version);
    fputs("  containers:\n"
          "    - name: vbng\n"
          "      image: ",
          to);
    json_put_string(to, o->image != NULL ? o->image : image);
    fputs("\n"
          "      command: [\"vbng\", \"--quiet\", \"/etc/vbng/vbng.cfg\"]\n"
          "      securityContext:\n"
          "        capabilities:\n"
          "          add: [\"IPC_LOCK\"]\n"
          "      resources:\n",
          to);
    resource_list(to, d, o, "requests");
    resource_list(to, d, o, "limits");
    fputs("      volumeMounts:\n"
          "        - name: config\n"
          "          mountPath: /etc/vbng\n",
          to);
    if (d->hugepages)
        fputs("        - name: hugepages\n"
              "          mountPath: /dev/hugepages\n",
              to);
}

static void volumes(FILE *to, const struct description *d, const char *name)
{
    fprintf(to,
            "  volumes:\n"
            "    - name: config\n"
            "      configMap:\n"
            "        name: \"%s\"\n",
            name);
    if (d->hugepages)
        fprintf(to,
                "    - name: hugepages\n"
                "      emptyDir:\n"
                "        medium: HugePages-%s\n",
                d->page_size == GIB ? "1Gi" : "2Mi");
}

static void comments(FILE *to, const struct description *d)
{
    fputs(
        "# The node: kubelet with cpuManagerPolicy static (full-pcpus-only), memoryManagerPolicy\n"
        "# Static and topologyManagerPolicy single-numa-node, so that CPUs, huge pages and NICs "
        "are\n"
        "# of one socket; doc/describe.md says how the layout finds its CPUs.\n",
        to);
    for (unsigned i = 0; i < d->p->cfg->n_ports; i++)
        if (d->port[i].kind == KIND_VHOST || d->port[i].kind == KIND_OTHER)
            fprintf(to, "# Interface %s is a vdev: mount what its device string names.\n",
                    d->p->cfg->ports[i].name);
    for (unsigned i = 0; i < d->n_notes; i++)
        fprintf(to, "# note: %s\n", d->note[i]);
}

int describe_k8s(const struct plan *p, const struct describe_options *o, FILE *to)
{
    struct description *d = describe_make(p);
    char buf[NAME_MAX + 1];
    const char *name = label(p->cfg->name, buf);

    if (d == NULL)
        return -ENOMEM;
    comments(to, d);
    fprintf(to,
            "apiVersion: v1\n"
            "kind: Pod\n"
            "metadata:\n"
            "  name: \"%s\"\n",
            name);
    annotations(to, d);
    fputs("spec:\n"
          "  restartPolicy: Always\n",
          to);
    container(to, d, o);
    volumes(to, d, name);
    describe_free(d);
    return 0;
}
