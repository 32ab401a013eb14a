# SPDX-License-Identifier: BSD-3-Clause
"""What a measurement leaves: JSON, CSV, table, pictures, and a report that needs nothing else."""

import contextlib
import csv
import html.parser
import io
import json
import os
import re
import tempfile
import unittest
from unittest import mock

from tests.measure import fake
from vbnglab import cli
from vbnglab.lab import journal, machine, progress
from vbnglab.lab.failure import not_installed
from vbnglab.measure import html as report, plots, procedure, result, table, trial

try:
    import matplotlib  # noqa: F401
    HAVE_MATPLOTLIB = True
except ImportError:
    HAVE_MATPLOTLIB = False


def outcome(partial=None, **options):
    rig = fake.FakeRig(**options)
    m = procedure.Measurement(rig, procedure.Options(), [fake.SIZE], ("up", "both"), journal.Journal(None, {}),
                              progress.Progress(io.StringIO()))
    m.run()
    with mock.patch.object(result, "files", lambda _: [{"file": "fake.cfg", "sha256": "0" * 64, "text": "name = \"<fake> & co\";"}]):
        return json.loads(json.dumps(result.build(rig, m.options, m, ["vbng-lab", "measure", "fake.cfg"], partial)))


class References(html.parser.HTMLParser):
    """Everything that a browser would fetch, and whether tags are closed."""

    VOID = {"meta", "br", "img", "link", "input", "hr"}

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster", "action") or (name in ("href", "xlink:href") and not value.startswith("#")):
                self.found.append((tag, name, value))
            if value and "url(" in value and not re.search(r"url\(#", value):
                self.found.append((tag, name, value))
        if tag in ("script", "link", "iframe", "object", "embed", "base"):
            self.found.append((tag, "", ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.found.append((tag, "closes", "what is not open"))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = outcome(noise=0.005)
        cls.pictures = plots.draw(cls.result) if HAVE_MATPLOTLIB else {}
        cls.page = report.page(cls.result, cls.pictures)

    def test_needs_nothing_else(self):
        r = References()
        r.feed(self.page)
        self.assertEqual(r.found, [])
        self.assertEqual(r.open, [])
        self.assertEqual(re.findall(r"@import|https?://\S*|url\((?!#)", self.page), [])

    def test_would_notice_a_reference(self):
        """The test above can fail."""
        for bad in ('<img src="x.png">', '<link rel="stylesheet" href="x.css">', '<use xlink:href="http://x/y#z"/>',
                    '<p style="background:url(x)">a</p>', "<p>a</div>"):
            r = References()
            r.feed(bad)
            self.assertTrue(r.found, bad)

    def test_escapes(self):
        self.assertIn("&lt;fake&gt; &amp; co", self.page)
        self.assertNotIn("<fake>", self.page)

    def test_has_every_figure_with_its_trials(self):
        for figure in self.result["figures"]:
            for cells in (*table.throughput_cells(figure), *table.latency_cells(figure)):
                self.assertIn("".join(f"<td>{report.escape(c)}</td>" for c in cells), self.page)
        self.assertIn("min – max", self.page)

    @unittest.skipUnless(HAVE_MATPLOTLIB, not_installed("Matplotlib", "python3-matplotlib"))
    def test_pictures(self):
        self.assertEqual(set(self.pictures), {"throughput", "loss", "latency"})
        ids = re.findall(r'\bid="([^"]+)"', self.page)
        self.assertEqual(len(ids), len(set(ids)))
        for name in re.findall(r'(?:href="#|url\(#)([^")]+)', self.page):
            self.assertIn(name, ids)
        for svg in self.pictures.values():
            self.assertIn("currentColor", svg)  # readable in light and dark
            self.assertEqual(re.findall(f"{plots.INK}|#000000|#ffffff", svg), [])

    def test_says_that_it_is_partial(self):
        self.assertIn("partial: stopped here", report.page(outcome("stopped here"), {}))
        self.assertNotIn("partial", self.page)


class Text(unittest.TestCase):
    def test_marks_reach_the_table(self):
        text = table.text(outcome(ceiling=2e6))
        self.assertIn("limited by the generator", text)
        self.assertIn(trial.MARKS[trial.GENERATOR], text)
        self.assertIn("generator's ceiling, up 64-78 B: 2 Mpps made", text)

    def test_dead_runs_are_told(self):
        self.assertIn("no memory", json.dumps(outcome(dies=(1,))))
        text = table.text(outcome(dies=range(1000)))
        self.assertIn("the runs die; exit status 3", text)

    def test_units(self):
        self.assertEqual(table.microseconds(3544.2), "3.54")
        self.assertEqual(table.microseconds(33_650_730), "33651")
        self.assertEqual(table.gbps(14_880_952, 64), "7.62")


class Machine(unittest.TestCase):
    FILES = {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\nflags\t\t: sse2 hypervisor avx2\n\nprocessor\t: 1\n",
             "proc/meminfo": "MemTotal:       16777216 kB\n",
             "sys/devices/system/cpu/isolated": "1\n",
             "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
             "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
             "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
             "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n", "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
             "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0\n", "sys/devices/system/cpu/cpu1/topology/core_id": "0\n",
             "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "64\n",
             "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "60\n",
             "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}

    def test_describe(self):
        with tempfile.TemporaryDirectory() as root:
            for name, text in self.FILES.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w") as f:
                    f.write(text)
            m = machine.describe(root)
        expected = {"cpu": "Some CPU @ 2.00GHz", "cpus": 2, "cores": 1, "sockets": 1, "smt": True, "isolated_cpus": "1",
                    "memory_mib": 16384, "hugepages": [{"size_kib": 2048, "total": 64, "free": 60}],
                    "transparent_hugepages": "madvise", "governor": "performance, powersave", "turbo": False, "virtual": True,
                    "flags": ["avx2", "hypervisor", "sse2"]}
        self.assertEqual({k: m[k] for k in expected}, expected)
        self.assertIn("2-CPU virtual machine, Some CPU @ 2.00GHz, 16 GiB, huge pages 64 × 2 MiB", machine.sentence(m))

    def test_nothing_visible(self):
        m = machine.describe("/nonexistent")
        self.assertEqual((m["governor"], m["turbo"], m["memory_mib"], m["hugepages"], m["flags"]), (None, None, None, [], []))
        self.assertIn("huge pages none", machine.sentence(m))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_csv(self):
        r = outcome()
        result.write_csv(r, self.folder)
        with open(os.path.join(self.folder, "figures.csv"), newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([row["figure"] for row in rows[:3]], ["R+", "NDR", "PDR"])
        self.assertAlmostEqual(float(rows[0]["pps"]), 3e6, delta=1)
        with open(os.path.join(self.folder, "trials.csv"), newline="") as f:
            self.assertEqual(len(list(csv.DictReader(f))), len(r["trials"]))

    def test_render_again(self):
        path = os.path.join(self.folder, "result.json")
        result.write_json(outcome(), path)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(cli.main(["measure", "--render", path]), 0 if HAVE_MATPLOTLIB else 3)
        self.assertIn("NDR", out.getvalue())
        self.assertTrue(os.path.exists(os.path.join(self.folder, "report.html")))

    def test_render_what_is_no_result(self):
        path = os.path.join(self.folder, "x.json")
        for text in ("{", "[]", '{"format": "other"}'):
            with open(path, "w") as f:
                f.write(text)
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(cli.main(["measure", "--render", path]), 1)

    def test_configuration_with_includes(self):
        for name, text in (("a.cfg", '@include "b.cfg"\nx = "t.tmpl"; template = "t.tmpl";\n# @include "no"\n'),
                           ("b.cfg", '  @include "c.cfg"\n'), ("c.cfg", "c\n"), ("t.tmpl", "size 64\n")):
            with open(os.path.join(self.folder, name), "w") as f:
                f.write(text)
        found = {f["file"]: f for f in result.files(os.path.join(self.folder, "a.cfg"))}
        self.assertEqual(set(found), {"a.cfg", "b.cfg", "c.cfg", "t.tmpl"})
        self.assertEqual(found["c.cfg"]["text"], "c\n")
        self.assertNotIn("text", found["t.tmpl"])
        self.assertNotIn(self.folder, json.dumps(list(found.values())))
