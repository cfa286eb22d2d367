#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack bench tag and trigger: what they print, and the counts that do not depend on time."""
import json
import re

from tap import main, progpack, same, test, usage_error

QUICK = ("bench", "tag", "--quick", "--rounds", 1)
LENGTHS = len(range(2, 4097, 16)) + len(range(3, 4097, 16))


def arms_of(*args):
    out, err = progpack(*args, "--json")
    same(err, "")
    return json.loads(out)


@test
def a_free_takes_one_sync_and_one_write_whatever_the_size():
    arms = {arm["arm"]: arm for arm in arms_of(*QUICK)["arms"]}
    assert arms, "one writer works, or there would be no heap"
    for name, arm in arms.items():
        same((arm["cycles"], arm["frees"]), (LENGTHS, LENGTHS))
        assert arm["longest"] >= 4080 and arm["bytes_max"] > 20000, arm
        same((arm["syncs_max"], arm["syncs_mean"]), (1, 1.0))
        assert arm["syscalls_max"] == arm["syscalls_mean"] <= 2, arm
    if len(arms) == 2:  # what the arch's syncs take is the same in both
        same(arms["poke"]["syscalls_max"], arms["alias"]["syscalls_max"] + 1)


@test
def a_sync_for_each_word_is_what_per_word_does():
    (arm,) = [arm for arm in arms_of(*QUICK, "--per-word")["arms"] if arm["arm"] == "per-word"]
    assert arm["syncs_max"] == arm["bytes_max"] // 4 + 1, arm
    assert abs(arm["syncs_mean"] - arm["bytes_mean"] / 4 - 1) < 1, arm


@test
def lines_are_as_documented():
    out, err = progpack(*QUICK)
    same(err, "")
    for line in out.splitlines():
        assert re.fullmatch(
            r"tag/(cycle arm=\w+ cycles=\d+ longest=\d+ wall_s=[\d.]+ user_s=[\d.]+ sys_s=[\d.]+"
            r"|free arm=\w+ us mean=[\d.]+ max=[\d.]+ syscalls mean=[\d.]+ max=\d+ "
            r"syncs mean=[\d.]+ max=\d+ bytes mean=\d+ max=\d+"
            r"|cycle arm=\w+ skipped: .*)", line), line


@test
def trigger_calls_one_program_of_each_tenant():
    result = arms_of("bench", "trigger", "--tenants", 5, "--runs", 2, "--walk", 1)
    same((result["loaded"], result["called"], result["walk_mib"]), (35, 5, 1))
    same(result["arms"][0]["name"], "page")
    for arm in result["arms"]:
        times = arm["ns_per_call"]
        assert 0 < times["min"] <= times["med"] <= times["max"], arm


@test
def trigger_prints_a_line_an_arm_and_ratios():
    out, err = progpack("bench", "trigger", "--tenants", 3, "--runs", 1, "--walk", 1)
    same(err, "")
    lines = out.splitlines()
    calls = [line for line in lines if re.match(r"trigger/call arm=\S+ writer=\S+ loaded=21 called=3 ", line)]
    ratios = [line for line in lines if re.fullmatch(r"trigger/ratio what=page/\S+ writer=\S+ value=[\d.]+", line)]
    same(len(calls), len(ratios) + 1)
    same(len(calls) + len(ratios), len(lines))


@test
def wrong_numbers_are_refused():
    for args in (("tag", "--rounds", 1001), ("tag", "--rounds", 0), ("trigger", "--tenants", 5001),
                 ("trigger", "--walk", 257), ("trigger", "--runs", "x")):
        usage_error("bench", *args)


main()
