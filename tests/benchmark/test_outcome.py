# SPDX-License-Identifier: BSD-3-Clause
"""What a report of a made-up gateway says: figures, what was disturbed, schema, page, and the trend over earlier ones."""

import json
import pathlib

import pytest

from tests.benchmark.fake import OPTIONS, BufferedRig, report
from tests.common import need
from tests.config.test_plans import closed
from vbnglab.benchmark import command, outcome, page
from vbnglab.measure import plots

SCHEMA = pathlib.Path(__file__).parents[2] / "doc/schemas/benchmark.json"


@pytest.fixture(scope="module")
def quiet():
    return report()


@pytest.fixture(scope="module")
def disturbed():
    return report(BufferedRig(disturbed=range(100_000)))


def saved(folder, *reports):
    for i, r in enumerate(reports):
        (folder / f"{i}").mkdir(parents=True, exist_ok=True)
        outcome.write(r, folder / f"{i}")
    return folder


def places(schema, value):
    """(schema, value) of a value and of all objects in it that the schema describes."""
    if isinstance(value, list):
        for v in value[:1]:
            yield from places(schema.get("items", {}), v)
    elif isinstance(value, dict) and "properties" in schema:
        yield schema, value
        for key, v in value.items():
            yield from places(schema["properties"].get(key, {}), v)


def test_schema(quiet, disturbed):
    """Each report is as published; no figure has a key that is not; a key of another type, or a required one left out, is seen."""
    jsonschema = need.module("jsonschema", "python3-jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    figures = jsonschema.Draft202012Validator(closed(schema["properties"]["rows"]["items"]["properties"]["figure"]))
    for r in (quiet, disturbed):
        r = json.loads(json.dumps(r))
        checker.validate(r)
        figures.validate(r["rows"][0]["figure"])
    report = json.loads(json.dumps(quiet))
    seen = 0
    for described, place in list(places(schema, report)):
        for key in [k for k in place if k in described["properties"]]:
            right = place[key]
            place[key] = {"a": ["value"]} if not isinstance(right, dict) else "a value"
            assert not checker.is_valid(report), key
            del place[key]
            assert checker.is_valid(report) == (key not in described.get("required", ()) and key not in ("figure", "configuration", "program", "disturbed", "missing"))
            place[key] = right
            seen += 1
    assert seen > 80 and checker.is_valid(report)


def test_figures(quiet):
    """Bounds hold the capacity; latency is at 10, 50 and 90 % of PDR; nothing is disturbed, and nothing missing but the 4 cores."""
    row, absent = quiet["rows"]
    assert row["disturbed"] == row["missing"] == []
    for name in ("ndr", "pdr"):
        s = row["figure"][name]
        assert s["regular"] and s["lower"] < 3.1e6 and s["upper"] - s["lower"] <= 0.021 * s["upper"]
        assert s["conditional"] == pytest.approx(s["lower"] * (1 - s["loss_ratio"]))
    assert [x["load"] / row["figure"]["pdr"]["lower"] for x in row["figure"]["latency"]] == pytest.approx([0.1, 0.5, 0.9])
    assert not absent["possible"] and absent["why"] == "needs 5 CPUs"


def test_page(quiet, tmp_path):
    """The page needs nothing from elsewhere, and says what is not possible, the machine, the layout and the configuration."""
    pytest.importorskip("matplotlib")
    assert command.write(quiet, str(tmp_path), None) == 0
    html, markdown = (tmp_path / "benchmark.html").read_text(), (tmp_path / "benchmark.md").read_text()
    for text in (html, markdown):
        for words in ("RFC 9971", "RFC 9004", "not possible here: needs 5 CPUs", "Conditional throughput", "10 % of PDR", "90 % of PDR", "gen_cpe0 (up)",
                      "0123456789abcdef", quiet["machine"]["cpu"], quiet["machine"]["kernel"]):
            assert words in text, words
        assert "DISTURBED" not in text
    assert "<script" not in html and "src=" not in html and html.count("<svg") == 3
    for name in ("throughput", "latency", "bursts"):
        assert (tmp_path / f"{name}.png").exists() and f"({name}.png)" in markdown
    assert not (tmp_path / "trend.png").exists()


def test_disturbed(disturbed, tmp_path, capsys):
    """Figures of disturbed trials are marked as such wherever they stand, and the status says so."""
    pytest.importorskip("matplotlib")
    row = disturbed["rows"][0]
    assert len(row["disturbed"]) >= 9
    assert command.write(disturbed, str(tmp_path), None) == command.INCOMPLETE
    assert "trials of the search stayed disturbed" in capsys.readouterr().out
    for name in ("benchmark.html", "benchmark.md"):
        text = (tmp_path / name).read_text()
        assert "1 of 2 rows are DISTURBED" in text and text.count("DISTURBED") >= 6
    # A hollow bar has no fill in its colour.
    assert plots.COLORS["PDR"] in (tmp_path / "throughput.svg").read_text() and "stroke-dasharray" in (tmp_path / "throughput.svg").read_text()


def test_missing(tmp_path, capsys):
    """A gateway whose runs die has no figure: said in words, by the status, and by no bar."""
    dead = report(BufferedRig(dies=range(100_000)))
    assert command.write(dead, str(tmp_path), None) in (command.INCOMPLETE, command.NO_PICTURES)
    assert "R+: the runs die" in capsys.readouterr().out and "the runs die" in (tmp_path / "benchmark.md").read_text()
    assert not (tmp_path / "throughput.png").exists()


def test_history(quiet, tmp_path):
    """Reports of the same machine and options make a trend in the order of their dates; others are named, and not drawn."""
    older = report(BufferedRig(capacity=2e6), date="2026-01-01T00:00:00+00:00", commit="aaaaaaaaaaaa")
    elsewhere = report(date="2025-12-01T00:00:00+00:00", commit="bbbbbbbbbbbb", cpu="another CPU")
    quick = report(options=type(OPTIONS)(**{**vars(OPTIONS), "bursts": 0}), date="2025-12-02T00:00:00+00:00", commit="cccccccccccc")
    folder = saved(tmp_path / "history", quiet, older, elsewhere, quick)
    (folder / "other.json").write_text('{"format": "something else"}')
    before, other = outcome.history(folder, quiet)
    assert [outcome.name_of(r) for r in before] == ["aaaaaaaaa"]
    assert sorted(other) == ["2/benchmark.json (bbbbbbbbb): not compared, another CPU", "3/benchmark.json (ccccccccc): not compared, another options"]
    (key, points), = outcome.trend([*before, quiet]).items()
    assert key == ("bng-ipv4", 1, "64-78") and [name for name, _ in points] == ["aaaaaaaaa", "012345678"]
    assert points[0][1]["figure"]["ndr"]["lower"] < 2.1e6 < points[1][1]["figure"]["ndr"]["lower"]
    pytest.importorskip("matplotlib")
    assert command.write(quiet, str(tmp_path), str(folder)) == 0
    html = (tmp_path / "benchmark.html").read_text()
    assert html.count("<svg") == 4 and "aaaaaaaaa" in html and "(bbbbbbbbb): not compared" in html


def test_no_cores_is_no_core(quiet):
    assert "1 core," in page.markdown(quiet, {}, []) and "1 cores" not in page.markdown(quiet, {}, [])
