# SPDX-License-Identifier: BSD-3-Clause
"""The guest of vbng-lab vm as a kernel and two cpio archives, from Debian packages only.

The kernel and its modules come from the package linux-image-amd64, which is downloaded and unpacked but not
installed; busybox, DPDK and the other libraries are those of this machine. They make the base archive, which
is cached and made again only when one of them has changed. vbng, /init and what they shall do make a second,
small archive, made for each run: the kernel unpacks one after the other into one root.
"""

import fcntl
import glob
import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import zlib
from contextlib import contextmanager
from dataclasses import dataclass

from ..lab import owned, places
from ..lab.failure import Failure

KERNEL_PACKAGE = "linux-image-amd64"
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "uio_pci_generic", "vfio_iommu_type1", "vfio_pci")
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_e1000", "net_vmxnet3", "net_ring", "net_null", "net_pcap", "net_tap",
           "net_af_packet", "net_memif")  # fmt: skip
BUSYBOX = "/bin/busybox"
DAY = 86400  # s
INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "init.sh")


class ImageError(Failure):
    """No image can be made; the text says why and what to do."""

    status = 2


class KernelError(ImageError):
    """The package of the kernel cannot be fetched."""


@dataclass(frozen=True)
class Image:
    """The parts of what QEMU boots that are the same in all runs."""

    kernel: str  # vmlinuz
    base: str  # cpio archive
    release: str  # of the kernel
    fresh: bool  # whether the base archive was made just now


def default_cache():
    """Folder in which images are kept: $XDG_CACHE_HOME/vbng, else ~/.cache/vbng."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vbng")


# --- cpio ---


class Cpio:
    """A cpio archive in the format that the kernel reads ("newc"). All files are root's, with time 0, so the same files make the
    same archive, and any user can make it."""

    def __init__(self, out):
        self._out, self._inode, self._folders = out, 0, set()

    def _entry(self, name, mode, data=b"", device=(0, 0)):
        self._inode += 1
        name = name.lstrip("/").encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
        header = b"070701" + b"".join(b"%08X" % f for f in fields) + name
        self._out.write(header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4))

    def folder(self, path):
        """Add a folder, and those above it."""
        path = path.strip("/")
        if path and path not in self._folders:
            self.folder(os.path.dirname(path))
            self._folders.add(path)
            self._entry(path, stat.S_IFDIR | 0o755)

    def file(self, path, data, mode):
        """Add a file with these bytes."""
        self.folder(os.path.dirname(path))
        self._entry(path, stat.S_IFREG | mode, data)

    def copy(self, source, path):
        """Add a file of this machine, executable, at a path."""
        with open(source, "rb") as f:
            self.file(path, f.read(), 0o755)

    def copy_shared(self, sources):
        """Add libraries of this machine once each, and links to them; a library that is there twice would be loaded twice."""
        for real in sorted({os.path.realpath(s) for s in sources}):
            self.copy(real, real)
        for link in sources:
            if os.path.realpath(link) != link:
                self.folder(os.path.dirname(link))
                self._entry(link, stat.S_IFLNK | 0o777, os.path.realpath(link).encode())

    def console(self):
        """Add /dev/console, which /init needs before it can make devices."""
        self.folder("dev")
        self._entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))

    def end(self):
        """Add the last entry, without which the kernel looks for no second archive."""
        self._entry("TRAILER!!!", 0)


# --- libraries ---


def libraries(*binaries):
    """Paths of all shared libraries that programs need, and of the dynamic linker. Raises ImageError."""
    done = subprocess.run(["ldd", *binaries], capture_output=True, text=True)
    missing = re.findall(r"(\S+) => not found", done.stdout)
    if done.returncode != 0 or missing:
        raise ImageError(f"{', '.join(binaries)}: {done.stderr.strip() or 'libraries are missing: ' + ', '.join(missing)}")
    return sorted(set(re.findall(r"(?:=> |^\s)(/\S+) \(0x", done.stdout, re.M)))


def drivers(libs):
    """Paths of the DPDK drivers that the guest needs; EAL loads all in its folder, so no other is put there."""
    eal = next((p for p in libs if "/librte_eal.so." in p), None)
    if eal is None:
        raise ImageError("vbng is not linked to DPDK's shared libraries, so its drivers are not known; "
                         "install Debian's libdpdk-dev and build it again")
    version = eal.rsplit(".so.", 1)[1]
    folders = glob.glob(f"/usr/lib/x86_64-linux-gnu/dpdk/pmds-{version}.*")
    found = [p for d in folders for name in DRIVERS for p in glob.glob(f"{d}/librte_{name}.so")]
    if not any(p.endswith("librte_net_virtio.so") for p in found):
        raise ImageError(f"no DPDK driver for virtio in /usr/lib/x86_64-linux-gnu/dpdk/pmds-{version}.*; "
                         f"install librte-net-virtio{version} (libdpdk-dev brings it)")
    return found


# --- kernel ---


def _apt(words, cwd, options=()):
    return subprocess.run([words[0], *options, *words[1:]], cwd=cwd, capture_output=True, text=True)


def _download(folder):
    """Fetch the package of the kernel into a folder, with lists of its own where those of apt know no kernel."""
    own = ("-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/apt", "-o", "APT::Sandbox::User=")
    why = []
    for options in ((), own):
        if options:
            os.makedirs(f"{folder}/lists/partial", exist_ok=True)
            os.makedirs(f"{folder}/apt/archives/partial", exist_ok=True)
            _apt(["apt-get", "update", "-qq"], folder, options)
        names = re.findall(r"Depends: (linux-image-\S+)", _apt(["apt-cache", "depends", KERNEL_PACKAGE], folder, options).stdout)
        if not names:
            why.append(f"apt knows no package {KERNEL_PACKAGE}")
            continue
        done = _apt(["apt-get", "download", "-qq", names[0]], folder, options)
        packages = glob.glob(f"{folder}/linux-image-*.deb")
        if done.returncode == 0 and packages:
            return packages[0]
        why.append(done.stderr.strip())
    raise KernelError(f"the package of a kernel cannot be fetched: {'; '.join(dict.fromkeys(why))}; is a Debian mirror in reach (apt-get update)?")


def _module(path):
    """Bytes of a module, not compressed: Debian 13 compresses modules, and insmod of busybox loads none that is."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as f:
        return f.read()


def _depends(path):
    """Names of the modules that one needs, from the module itself."""
    found = re.search(rb"\0depends=([^\0]*)\0", _module(path))
    return [m for m in found.group(1).decode().split(",") if m] if found else []


def _load_order(wanted, paths):
    """Names of the wanted modules and those that they need, in the order of loading. paths: {name: file}; a module without file is built in."""
    order = []

    def add(name):
        name = name.replace("-", "_")
        if name in order or name not in paths:
            return
        for other in _depends(paths[name]):
            add(other)
        order.append(name)

    for name in wanted:
        add(name)
    return order


def _set(names):
    """What stands behind the release in the name of a kernel's folder, which has these modules."""
    return "" if names == MODULES else f"@{zlib.crc32(' '.join(names).encode()):08x}"


def _fetch_kernel(cache, names):
    folder = tempfile.mkdtemp(prefix="kernel-", dir=cache)
    try:
        package = _download(folder)
        tree = os.path.join(folder, "tree")
        subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
        vmlinuz = glob.glob(f"{tree}/boot/vmlinuz-*")[0]
        release = os.path.basename(vmlinuz).removeprefix("vmlinuz-")
        # In lib up to Debian 12, in usr/lib from Debian 13 on.
        modules = next(d for d in (f"{tree}/usr/lib/modules/{release}", f"{tree}/lib/modules/{release}") if os.path.isdir(d))
        paths = {os.path.basename(p).partition(".ko")[0].replace("-", "_"): p
                 for p in glob.glob(f"{modules}/kernel/**/*.ko*", recursive=True)}  # fmt: skip
        with open(f"{modules}/modules.builtin", encoding="ascii") as f:
            builtin = f.read()
        gone = [name for name in names if name not in paths and f"/{name}.ko\n" not in builtin]
        if gone:
            raise KernelError(f"{os.path.basename(package)} has not the modules {', '.join(gone)}")
        keep = os.path.join(folder, "keep")
        os.makedirs(f"{keep}/modules")
        shutil.move(vmlinuz, f"{keep}/vmlinuz")
        order = _load_order(names, paths)
        for name in order:
            with open(f"{keep}/modules/{name}.ko", "wb") as f:
                f.write(_module(paths[name]))
        with open(f"{keep}/modules/order", "w", encoding="ascii") as f:
            f.write("".join(f"{name}.ko\n" for name in order))
        with open(f"{keep}/wanted", "w", encoding="ascii") as f:
            f.write(" ".join(names))
        target = os.path.join(cache, f"linux-{release}{_set(names)}")
        shutil.rmtree(target, ignore_errors=True)
        os.rename(keep, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kernels(cache, names):
    """Folders of the kernels in the cache that have all these modules."""
    found = []
    for path in glob.glob(f"{cache}/linux-*/wanted"):
        with open(path, encoding="ascii") as f:
            if f.read().split() == list(names):
                found.append(os.path.dirname(path))
    return found


def _kernel(cache, update, names=MODULES):
    """(folder, release) of the newest kernel in the cache with these modules."""
    if update or not _kernels(cache, names):
        _fetch_kernel(cache, names)
    folder = max(_kernels(cache, names), key=os.path.getmtime)
    return folder, os.path.basename(folder).removeprefix("linux-").removesuffix(_set(names))


def kernel(names, cache=None):
    """Path of a folder with Debian's kernel (vmlinuz) and these of its modules with what they need (modules/NAME.ko; modules/order: in which order they
    load). Raises KernelError."""
    cache = cache or default_cache()
    with _locked(cache):
        return _kernel(cache, False, names)[0]


# --- the image ---


@contextmanager
def _locked(cache):
    owned.folder(cache)
    with open(os.path.join(cache, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_base(path, files, kernel):
    with open(path + ".new", "wb") as out:
        archive = Cpio(out)
        archive.console()
        archive.copy(BUSYBOX, "bin/busybox")
        archive.copy_shared(files)
        for f in sorted(os.listdir(f"{kernel}/modules")):
            archive.copy(f"{kernel}/modules/{f}", f"modules/{f}")
        archive.end()
    os.rename(path + ".new", path)


def prepare(vbng, cache=None, update=False):
    """Make the image for a vbng, unless it is up to date. update: look for a newer kernel. Raises ImageError or owned.Unsafe."""
    cache = cache or default_cache()
    if not os.access(BUSYBOX, os.X_OK) or b"interp" in open(BUSYBOX, "rb").read(4096):
        raise ImageError(f"{BUSYBOX} is not there or needs libraries; install the package busybox-static")
    libs = libraries(vbng)
    pmds = drivers(libs)
    unwinder = os.path.join(os.path.dirname(next(p for p in libs if "/libc.so." in p)), "libgcc_s.so.1")
    files = sorted({*libs, *pmds, *libraries(*pmds), unwinder})  # the unwinder is loaded only when a thread is cancelled
    with _locked(cache):
        kernel, release = _kernel(cache, update)
        state = [(f, os.path.getsize(f), os.stat(f).st_mtime_ns) for f in (__file__, BUSYBOX, *files)]
        key = hashlib.sha256(repr((release, state)).encode()).hexdigest()[:16]
        base = os.path.join(cache, f"base-{key}.cpio")
        fresh = not os.path.exists(base)
        if fresh:
            for old in glob.glob(f"{cache}/base-*.cpio"):
                if time.time() - os.path.getmtime(old) > DAY:  # a younger archive may be in use
                    os.unlink(old)
            _write_base(base, files, kernel)
    return Image(f"{kernel}/vmlinuz", base, release, fresh)


def write_initrd(img, vbng, script, path):
    """Write the base archive, and behind it one with vbng, /init and the script of the run."""
    with open(path, "wb") as out:
        with open(img.base, "rb") as base:
            shutil.copyfileobj(base, out)
        archive = Cpio(out)
        archive.copy(INIT, "init")
        archive.copy(vbng, "bin/vbng")
        archive.file("run.sh", script.encode(), 0o644)
        archive.end()


def portable_vbng(folder=os.path.join(places.TOP, "build-guest"), options=()):
    """vbng of this tree for any x86-64-v2 CPU: an emulated one may lack what this machine's has. Kept in a build folder, with these options
    of Meson more."""
    if not os.path.exists(os.path.join(places.TOP, "meson.build")):
        raise ImageError("no source tree here to build vbng for the guest's CPU from; give one with --vbng")
    with _locked(folder + "-lock"):
        steps = [["ninja", "-C", folder, "vbng"]]
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            steps.insert(0, ["meson", "setup", folder, places.TOP, "-Dcpu=generic", "-Dtests=false", "-Dlab=false", *options])
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode != 0:
                raise ImageError("\n".join([f"{' '.join(step)} failed:", *(done.stdout + done.stderr).splitlines()[-20:]]))
    return os.path.join(folder, "vbng")
