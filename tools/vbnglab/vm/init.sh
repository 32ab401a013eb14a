#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# First process of the guest that vbng-lab vm boots: devices, huge pages, ports, then vbng. Its results go to
# /out, a folder of the host. /run.sh sets: driver (of the ports), inventory, hugepage_kib, hugepages, ports (PCI addresses), vbng().
/bin/busybox mkdir -p /proc /sys /dev /tmp /var/run /out /config/cfg /config/pkt_templates
/bin/busybox --install -s /bin
export PATH=/bin
chmod 755 / # EAL loads drivers from nowhere that others may write to
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /var/run
. /run.sh

say() { echo "guest: $*"; }

end() {
    say "$1"
    dmesg >/out/dmesg.log
    sync
    poweroff -f
}

while read -r module; do
    insmod "/modules/$module" || say "module $module did not load"
done </modules/order

# share TAG FOLDER ro|rw
share() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" "$1" "$2"; }
share out /out rw || end "the host's folder for results is not there"
share config /config/cfg ro || end "the host's folder with the configuration is not there"
share templates /config/pkt_templates ro 2>/dev/null # there may be none

pages=/sys/kernel/mm/hugepages/hugepages-${hugepage_kib}kB/nr_hugepages
echo "$hugepages" >"$pages"
[ "$(cat "$pages")" -ge "$hugepages" ] || end "only $(cat "$pages") of $hugepages huge pages: give the guest more memory"

for port in $ports; do
    device=/sys/bus/pci/devices/$port
    echo "$driver" >"$device/driver_override"
    [ -e "$device/driver" ] && echo "$port" >"$device/driver/unbind"
    echo "$port" >/sys/bus/pci/drivers_probe
    [ "$(basename "$(readlink "$device/driver")")" = "$driver" ] || say "port $port is not bound"
done

# keep FILE ...: copy files of /proc and /sys to /out/machine, by the names that their links have
keep() {
    for file in "$@"; do
        [ -f "$file" ] || continue
        mkdir -p "/out/machine/$(dirname "$file")"
        cat "$file" >"/out/machine/$file" 2>/dev/null
    done
}
if [ -n "$inventory" ]; then
    keep /proc/cpuinfo /proc/cmdline /proc/mounts /proc/stat /proc/swaps /proc/self/status /proc/self/limits /proc/irq/*/*affinity_list \
        /sys/devices/system/cpu/online /sys/devices/system/cpu/isolated /sys/devices/system/cpu/cpu*/topology/* \
        /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/hugepages/*/*_hugepages /sys/kernel/mm/hugepages/*/*_hugepages \
        /sys/kernel/mm/transparent_hugepage/enabled /sys/module/vfio/parameters/enable_unsafe_noiommu_mode
    for port in $ports; do
        keep /sys/bus/pci/devices/$port/numa_node /sys/bus/pci/devices/$port/current_link_*
        ln -s "$driver" /out/machine/sys/bus/pci/devices/$port/driver
    done
    for group in /sys/kernel/iommu_groups/*; do
        [ -d "$group" ] && mkdir -p "/out/machine/$group"
    done
fi

cd /out || end "no folder for results"
say "vbng starts after $(cut -d' ' -f1 /proc/uptime) s, $(nproc) vCPUs, $hugepages huge pages, ports: $ports"
vbng >/out/vbng.log 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null; do
    [ -e /out/stop ] && kill -INT "$pid" # again and again: before vbng handles it, it is ignored
    usleep 100000
done
wait "$pid"
status=$?
echo "$status" >/out/status.new
mv /out/status.new /out/status
end "vbng ended with status $status"
