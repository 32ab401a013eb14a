# SPDX-License-Identifier: BSD-3-Clause
"""vbng --help WORD, for people and for programs: complete, and in the form that its readers expect."""

import json

import pytest

from tests.common import need

REASONS_AT_LEAST = 60


@pytest.fixture(scope="module")
def help_of(vbng, run):
    """A function: what vbng says of a word. Its status must be 0."""

    def text(word):
        answer = run(vbng, "--help", word)
        assert answer.returncode == 0 and answer.stderr == "", answer.stderr
        return answer.stdout

    return text


@pytest.fixture(scope="module")
def schema(help_of):
    """What vbng says for programs."""
    return json.loads(help_of("json"))


def in_one_line(text):
    """A text without the breaks that fit it into a terminal."""
    return " ".join(text.split())


def test_json_is_as_documented(schema, top):
    jsonschema = need.module("jsonschema", "python3-jsonschema")
    documented = json.loads((top / "doc/schemas/tasks.json").read_text())
    jsonschema.Draft202012Validator.check_schema(documented)
    jsonschema.Draft202012Validator(documented).validate(schema)


def test_a_help_is_one_line_and_a_remedy_is_sentences(schema):
    rows = [*schema["tasks"], *(row for t in schema["tasks"] for row in [*t["parameters"], *t["outputs"]])]
    for row in rows:
        assert row["help"][-1] not in ".;,:" and "\n" not in row["help"], row
        assert row.get("more", ".").endswith("."), row
    for drop in [*schema["drops"], *schema["ports"], *schema["ledger"], *(d for t in schema["tasks"] for d in t["drops"])]:
        assert drop["meaning"][-1] not in ".;,:" and drop["meaning"][0].isupper(), drop
        assert drop["remedy"][-1] in ".?" and drop["remedy"][0].isupper(), drop


def test_names_are_there_once(schema):
    every = [d["name"] for d in schema["drops"]]
    for task in schema["tasks"]:
        for names in ([p["name"] for p in task["parameters"]], [o["name"] for o in task["outputs"]], [d["name"] for d in task["drops"]] + every):
            assert len(set(names)) == len(names), (task["type"], names)


def test_a_reason_of_the_same_name_means_the_same_where_its_words_are_those_of_several_tasks(schema):
    types = {}
    for task in schema["tasks"]:
        for d in task["drops"]:
            types.setdefault((d["name"], d["meaning"]), {}).setdefault(d["remedy"], []).append(task["type"])
    for (name, meaning), remedies in types.items():
        assert len(remedies) == 1, f"{name} ({meaning}) has several remedies: {remedies}"


def test_every_task_says_all_that_its_schema_has(schema, help_of):
    for task in schema["tasks"]:
        text = in_one_line(help_of(task["type"])).lower()
        for p in task["parameters"]:
            assert in_one_line(p["help"]).lower() in text and p["name"] in text, (task["type"], p)
            assert f"default {p.get('default', '')}".lower() in text or "default" not in p, (task["type"], p)
        for row in task["outputs"]:
            assert f"{row['name']} {row['help']}".lower() in text, (task["type"], row)
        for d in task["drops"]:
            assert f"{d['name']} {d['meaning']} remedy: {d['remedy']}".lower() in text, (task["type"], d)


def test_tasks_and_drops_list_all(schema, help_of):
    tasks, drops = in_one_line(help_of("tasks")).lower(), in_one_line(help_of("drops"))
    reasons = {d["name"] for t in schema["tasks"] for d in t["drops"]}
    assert len(reasons) > REASONS_AT_LEAST
    for task in schema["tasks"]:
        assert f"{task['type']} {task['help']}".lower() in tasks
        for d in task["drops"]:
            assert d["meaning"] in drops and d["remedy"] in drops, d
    for d in [*schema["drops"], *schema["ports"], *schema["ledger"]]:
        assert d["name"] in drops and d["meaning"] in drops, d


def test_one_reason_and_who_counts_it(help_of):
    text = help_of("too_big")
    assert all(f"too_big ({task})" in text for task in ("qinq_encap", "qos", "route"))
    assert "every task" in help_of("no_path")


@pytest.mark.parametrize("word, nearest", [("clasify", "classify"), ("spofed", "spoofed"), ("drop", "drops"), ("xyzzyx", None)])
def test_an_unknown_word_is_told_its_nearest(vbng, run, word, nearest):
    answer = run(vbng, "--help", word)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"--help {word}: expected a type of task" in answer.stderr
    assert ("did you mean" in answer.stderr) == (nearest is not None)
    assert nearest is None or f"did you mean '{nearest}'?" in answer.stderr


def test_without_a_word_it_is_the_usage(vbng, run):
    for arguments in (["--help"], ["-h"], ["--help", "--check"]):
        answer = run(vbng, *arguments)
        assert answer.returncode == 0 and answer.stdout.startswith("usage: vbng"), arguments
    assert run(vbng, "--help=forward").stdout == run(vbng, "--help", "forward").stdout == run(vbng, "-h", "forward").stdout
