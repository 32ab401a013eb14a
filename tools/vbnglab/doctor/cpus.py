# SPDX-License-Identifier: BSD-3-Clause
"""CPUs: are those of the layout there, do they belong to it alone, and do they run at one speed?"""

import os
import re

from .finding import BAD, NOTE, Finding, ok
from .machine import format_list, parse_list

DEEP_US = 10  # microseconds: an idle state that takes longer to leave is deep
BURST_US = 5000  # of a profile that says no other
CATCH_UP_US = 20000  # of a scheduler that says no other
STEAL_NOTE, STEAL_BAD = 0.001, 0.01
REBOOT = "update-grub && reboot"


def grub(parameters):
    return f"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{parameters} /' /etc/default/grub && {REBOOT}"


def present(machine, needs):
    allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", machine.read("proc/self/status") or "")
    usable = machine.online & (parse_list(allowed[1]) if allowed else machine.online)
    missing = needs.cpus - usable
    if missing:
        there = "not there or offline" if missing - machine.online else "not allowed for this process"
        yield Finding("cpus", BAD, f"CPU {format_list(missing)} of the layout: {there}", "there, online and allowed",
                      "each core of the layout is a thread pinned to its CPU",
                      f"change the layout (vbng --layout), or taskset -c {format_list(needs.cpus)} vbng ..."
                      if not missing - machine.online else "change the layout (vbng --layout)")
    elif needs.named:
        yield ok("cpus", f"CPU {format_list(needs.cpus)} of the layout is there; {len(machine.online)} online")


def isolated_cpus(machine):
    """CPUs that are isolated by isolcpus, or by a partition of cpuset."""
    return (parse_list(machine.read("sys/devices/system/cpu/isolated"))
            | parse_list(machine.read("sys/fs/cgroup/cpuset.cpus.isolated")))


def isolation(machine, needs):
    """Check isolcpus, nohz_full and rcu_nocbs; a change of the kernel's command line mends all three."""
    cpus = format_list(needs.cpus or machine.online - {min(machine.online, default=0)})
    mend = (grub(f"isolcpus=managed_irq,domain,{cpus} nohz_full={cpus} rcu_nocbs={cpus}")
            if machine.online - needs.cpus else "leave a CPU out of the layout")
    nohz = parse_list(machine.read("sys/devices/system/cpu/nohz_full"))
    rcu = parse_list(machine.parameter("rcu_nocbs")) | nohz
    for check, have, level, why in (
            ("isolated", isolated_cpus(machine), BAD,
             "what else the scheduler puts on a core that polls takes its time slices, and rings overflow meanwhile"),
            ("nohz_full", nohz, NOTE, "the timer interrupts each core up to 1000 times a second"),
            ("rcu_nocbs", rcu, NOTE, "the kernel's deferred work runs on the core that caused it")):
        missing = needs.cpus - have
        if missing or (not needs.named and not have):
            yield Finding(check, level if needs.named else NOTE, f"CPU {format_list(have) or 'none'}", f"CPU {cpus}",
                          why, mend)
            mend = "the same command"
        else:
            yield ok(check, f"CPU {format_list(have)}")


def balancer(machine, needs):
    running = any(machine.read(p) == "irqbalance" for p in machine.glob("proc/[0-9]*/comm"))
    if not running:
        yield ok("irqbalance", "not running")
    elif needs.named and needs.cpus <= isolated_cpus(machine):
        yield ok("irqbalance", "running; it leaves isolated CPUs alone")
    else:
        yield Finding("irqbalance", BAD if needs.named else NOTE, "running, and free to use all CPUs", "not running",
                      "it moves interrupts to the cores that poll", "systemctl disable --now irqbalance")


def interrupts(machine, needs):
    """Check that no interrupt goes to a CPU of the layout."""
    if not needs.named:
        return
    hit = []
    for path in machine.glob("proc/irq/[0-9]*"):
        goes = machine.read(f"{path}/effective_affinity_list") or machine.read(f"{path}/smp_affinity_list")
        if parse_list(goes) & needs.cpus:
            hit.append(int(path.rsplit("/", 1)[1]))
    rest = format_list(machine.online - needs.cpus)
    if not hit:
        yield ok("interrupts", "none goes to a CPU of the layout")
        return
    yield Finding("interrupts", BAD, f"interrupt {format_list(hit)} goes to a CPU of the layout",
                  f"to CPU {rest}" if rest else "to another CPU",
                  "each costs microseconds, and a queue that fills in them",
                  f"for i in {' '.join(map(str, hit))}; do echo {rest} > /proc/irq/$i/smp_affinity_list; done"
                  if rest else "leave a CPU out of the layout")


def governor(machine, needs):
    cpus = needs.cpus or machine.online
    modes = {machine.cpu(c, "cpufreq/scaling_governor") for c in cpus} - {None}
    if not modes:
        yield ok("governor", "not visible: the host or the firmware decides")
    elif modes == {"performance"}:
        yield ok("governor", "performance")
    else:
        yield Finding("governor", BAD, ", ".join(sorted(modes)), "performance",
                      "the core's clock follows a load that a polling core does not show",
                      f"cpupower -c {format_list(cpus)} frequency-set -g performance")


def turbo(machine, needs):
    off = machine.number("sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = machine.number("sys/devices/system/cpu/cpufreq/boost")
    if off == 1 or boost == 0:
        yield ok("turbo", "off")
    elif off is None and boost is None:
        yield ok("turbo", "not visible: the host or the firmware decides")
    else:
        file, value = ("cpufreq/boost", 0) if off is None else ("intel_pstate/no_turbo", 1)
        yield Finding("turbo", NOTE, "on", "off while measuring",
                      "the clock depends on what the other cores do, so figures of one core cannot be compared",
                      f"echo {value} > /sys/devices/system/cpu/{file}")


def sleeps(machine, needs):
    """Check for idle states that take long to leave."""
    deep = set()
    for cpu in needs.cpus or machine.online:
        for path in machine.glob(f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state[0-9]*"):
            if (machine.number(f"{path}/latency") or 0) > DEEP_US and machine.number(f"{path}/disable") == 0:
                deep.add(machine.read(f"{path}/name") or path.rsplit("/", 1)[1])
    if not deep:
        yield ok("c-states", f"none enabled that takes more than {DEEP_US} us to wake from")
    else:
        yield Finding("c-states", NOTE, f"{', '.join(sorted(deep))} enabled", f"none above {DEEP_US} us",
                      "with idle = \"sleep\" a core wakes late; idle siblings change the clock of those that work",
                      f"cpupower -c {format_list(needs.cpus or machine.online)} idle-set -D {DEEP_US}")


def siblings(machine, needs):
    """Check the SMT siblings of the layout's CPUs: they may be in the layout, too, or be taken by other programs."""
    shared, open_ = [], set()
    isolated = isolated_cpus(machine)
    for cpu in sorted(needs.cpus):
        beside = machine.siblings(cpu) & machine.online
        if cpu in needs.alone:
            shared += [(cpu, other) for other in sorted(beside & needs.cpus)]
        open_ |= beside - needs.cpus - isolated
    for cpu, other in shared:
        yield Finding("smt", BAD, f"CPU {other} ({needs.tasks[other]}) is a sibling of CPU {cpu} ({needs.tasks[cpu]})",
                      f"CPU {cpu} has its physical core alone",
                      "it receives or schedules: the paper's Fig. 10, doc/describe.md",
                      "change the layout (vbng --layout)")
    if open_:
        cpus = format_list(open_)
        yield Finding("smt", NOTE, f"CPU {cpus}, siblings of the layout's, are open to others", "offline or isolated",
                      "what runs there takes its share of the physical core",
                      f"for c in {' '.join(map(str, sorted(open_)))}; do "
                      "echo 0 > /sys/devices/system/cpu/cpu$c/online; done")
    if not shared and not open_ and needs.named:
        yield ok("smt", "no sibling disturbs")


def steal(machine, needs):
    """Check the share of time since boot that the hypervisor gave to other guests."""
    worst, where = 0.0, None
    for line in (machine.read("proc/stat") or "").splitlines():
        match = re.match(r"cpu(\d+)\s+(.*)", line)
        if match and (not needs.cpus or int(match[1]) in needs.cpus):
            times = [int(n) for n in match[2].split()[:8]]
            share = times[7] / sum(times) if len(times) == 8 and sum(times) else 0.0
            if share > worst:
                worst, where = share, int(match[1])
    text = f"at most {worst:.2%} of the time since boot" + (f" (CPU {where})" if where is not None else "")
    if worst < STEAL_NOTE:
        yield ok("steal", text)
    else:
        yield Finding("steal", BAD if worst >= STEAL_BAD else NOTE, text, "none",
                      "the hypervisor runs others on the CPUs of this machine: rings overflow meanwhile",
                      "pin the virtual CPUs on the host, one to a core: virsh vcpupin DOMAIN VCPU CPU")


def own_groups(machine, controller):
    """The cgroup of this process and those above it, up to the root that it sees, below sys/fs/cgroup."""
    for line in (machine.read("proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            parts = [p for p in path.split("/") if p]
            return ["/".join(parts[:n]) for n in range(len(parts), -1, -1)]
    return []


def quotas(machine):
    """(file, us of CPU time, of a period of so many us) of each limit that holds for this process, or for the service."""
    for group in [*own_groups(machine, ""), "system.slice/vbng.service"]:
        file = os.path.normpath(f"sys/fs/cgroup/{group}/cpu.max")
        match = re.fullmatch(r"(\d+) (\d+)", machine.read(file) or "")
        if match:
            yield file, int(match[1]), int(match[2])
    for group in own_groups(machine, "cpu"):
        folder = os.path.normpath(f"sys/fs/cgroup/cpu/{group}")
        quota, period = (machine.number(f"{folder}/cpu.cfs_{n}_us") for n in ("quota", "period"))
        if quota and period and quota > 0:
            yield f"{folder}/cpu.cfs_quota_us", quota, period


def quota(machine, needs):
    """Check limits of CPU time: cores that poll use theirs up, and are all away for the rest of each period."""
    cores = len(needs.cpus or machine.online) or 1
    worst, text, mend = 0.0, "", ""
    for file, limit, period in quotas(machine):
        away = period - limit / cores
        if away > worst:
            bare = max(0.0, away - BURST_US) / period
            lost = max(0.0, away - BURST_US - CATCH_UP_US, (3 * away - period) / 2 - BURST_US) / period
            worst = away
            text = (f"/{file}: {limit / period:.4g} CPUs for {cores} cores that poll: each is away for {away / 1000:g} ms of "
                    f"{period / 1000:g} ms, {lost:.0%} of the rates lost with bursts of 5 ms and catch_up of 20 ms, {bare:.0%} without catch_up")
            mend = f"echo {'-1' if file.endswith('_us') else 'max'} > /{file}"
    if worst > 0:
        yield Finding("quota", BAD if needs.named else NOTE, text, "no limit",
                      "what subscribers earn while a core is away is lost beyond catch_up and the burst of their profile, and rings overflow",
                      f"{mend}, or a longer burst in the profiles")
    else:
        yield ok("quota", "no limit of CPU time that the cores would reach")


def kvm(machine, needs):
    flags = machine.cpuinfo()[1]
    if flags & {"vmx", "svm"} and machine.glob("dev/kvm"):
        yield ok("kvm", "usable")
    else:
        missing = "no /dev/kvm" if flags & {"vmx", "svm"} else "no vmx or svm in /proc/cpuinfo"
        yield Finding("kvm", NOTE, missing, "usable",
                      "guests run in emulation, much slower; only virtual machines need it",
                      "modprobe kvm_intel || modprobe kvm_amd" if flags & {"vmx", "svm"}
                      else "switch virtualisation on in the firmware, or let the host pass it on (-cpu host)")


CHECKS = (present, isolation, balancer, interrupts, governor, turbo, sleeps, siblings, steal, quota, kvm)
