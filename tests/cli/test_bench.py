#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack bench stress: what it prints, and the counts that do not depend on time."""
import csv
import json
import os
import pathlib
import re
import tempfile

from tap import Skip, has, main, progpack, same, test, usage_error

GROUPS = 3
LOADED, CALLED = 8 * GROUPS, 5 * GROUPS
QUICK = ("bench", "stress", "--groups", GROUPS, "--runs", 2)
ARMS = [("page", "mprotect"), ("page-random", "mprotect"), ("pack-4k", "poke"), ("arena-4k", "poke"),
        ("arena-4k", "alias"), ("arena-2m", "poke"), ("arena-2m", "alias")]
KEYS = ["name", "writer", "ns_per_call", "load_us", "unload_us", "native_bytes", "exec_bytes",
        "mappings", "huge_kb", "itlb_misses"]


def stress(*more):
    out, err = progpack(*QUICK, "--json", *more)
    same(err, "")
    return json.loads(out)


@test
def table_has_every_arm_and_ends_in_the_comparison():
    out, err = progpack(*QUICK)
    same(err, "")
    lines = out.rstrip().splitlines()
    has(lines[0], f"{LOADED} programs loaded, {CALLED} called", "50 % below 500, 75 % below 2000")
    rows = [tuple(line.split()[:2]) for line in lines if re.match(r"(page\S*|pack-4k|arena\S*) ", line)]
    same(rows, ARMS)
    found = re.fullmatch(r"packed calls are ([\d.]+)x as fast as page: arena-2m/poke ([\d.]+) ns, "
                         r"page/mprotect ([\d.]+) ns a call, medians of 2 runs", lines[-1])
    assert found, lines[-1]
    times, packed, page = map(float, found.groups())
    assert abs(times - page / packed) < 0.02 * times + 0.01, lines[-1]


@test
def json_has_the_documented_form():
    result = stress()
    same((result["benchmark"], result["loaded"], result["called"]), ("stress", LOADED, CALLED))
    same([(arm["name"], arm["writer"]) for arm in result["arms"]], ARMS)
    for arm in result["arms"]:
        same(list(arm), KEYS)
        times = arm["ns_per_call"]
        assert 0 < times["min"] <= times["med"] <= times["max"], arm
        assert arm["load_us"] > 0 and arm["unload_us"] > 0, arm


@test
def executable_bytes_are_what_each_way_takes():
    for arm in stress()["arms"]:
        native, taken = arm["native_bytes"], arm["exec_bytes"]
        same(native, stress_native(), "the same code in every arm")
        if arm["name"].startswith("arena"):
            assert native <= taken <= native + 64 * LOADED, arm
        elif arm["name"] == "pack-4k":
            assert taken % 4096 == 0 and native < taken < 4096 * LOADED, arm
        else:
            same(taken, 4096 * LOADED)


def stress_native(known=[]):
    if not known:
        known.append(stress()["arms"][0]["native_bytes"])
    return known[0]


@test
def huge_pages_are_where_they_are_asked_for():
    for arm in stress()["arms"]:
        assert arm["huge_kb"] in ((0, 2048) if arm["name"] == "arena-2m" else (0,)), arm


@test
def mappings_of_a_heap_do_not_grow_with_its_programs():
    if os.environ.get("PROGPACK_SANITIZER"):
        raise Skip("sanitizers map memory of their own meanwhile")
    few = {arm["name"] + arm["writer"]: arm["mappings"] for arm in stress()["arms"]}
    for arm in stress("--groups", 20)["arms"]:
        if arm["name"].startswith("arena"):
            # A few more or less, as the kernel happens to merge what lies next to another's.
            assert arm["mappings"] <= few[arm["name"] + arm["writer"]] + 4 <= 12, (arm, few)
        elif arm["name"] == "pack-4k":
            assert arm["mappings"] > few["pack-4kpoke"], arm


@test
def csv_is_the_table():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "stress.csv"
        path.write_text("what was there before, longer than nothing\n" * 100)
        progpack(*QUICK, "--csv", path)
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    same([(row["arm"], row["writer"]) for row in rows], ARMS)
    same(list(rows[0]), ["arm", "writer", "loaded", "called", "runs", "ns_min", "ns_med", "ns_max",
                         "load_us", "unload_us", "native_bytes", "exec_bytes", "mappings",
                         "huge_kb", "itlb_misses"])
    for row in rows:
        same((row["loaded"], row["called"], row["runs"]), (str(LOADED), str(CALLED), "2"))
        assert 0 < float(row["ns_min"]) <= float(row["ns_med"]) <= float(row["ns_max"]), row


@test
def csv_that_cannot_be_written_fails_at_once():
    out, err = progpack("bench", "stress", "--csv", "/nonexistent/stress.csv", status=1)
    same(out, "")
    has(err, "/nonexistent/stress.csv: No such file or directory")


@test
def output_that_cannot_be_written_is_a_failure():
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w", encoding="ascii") as full:
            progpack(*QUICK, status=1, stdout=full)
    progpack(*QUICK, "--csv", "/dev/full", status=1)


@test
def wrong_usage_is_told():
    has(usage_error("bench", "stress", "--groups", "0"), "--groups")
    has(usage_error("bench", "stress", "--groups", "4001"), "at most 4000")
    has(usage_error("bench", "stress", "--runs", "1001"), "at most 1000")
    has(usage_error("bench", "stress", "extra"), "extra")
    out, err = progpack("bench", "nonsense", status=2)
    same(out, "")
    has(err, "no such benchmark: 'nonsense'")
    out, err = progpack("bench", status=2)
    same(out, "")
    has(err, "stress")


@test
def help_explains():
    has(progpack("bench", "--help")[0], "Usage: progpack bench", "stress", "Exit status")
    has(progpack("bench", "stress", "--help")[0], "--groups N", "--runs N", "--json", "--csv FILE",
        *(name for name, _ in ARMS), "Exit status")


main()
