#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack bench count: its lines; numbers where the machine counts, reasons where it does not."""
import re

from tap import has, main, progpack, same, test, usage_error

QUICK = ("bench", "count", "--groups", 2, "--passes", 2, "--rounds", 1)
EVENTS = ["itlb-load-misses", "dtlb-load-misses", "dtlb-store-misses", "instructions"]
ARMS = ["page mprotect", "page-random mprotect", "pack-4k poke", "arena-4k poke", "arena-4k alias",
        "arena-2m poke", "arena-2m alias"]
LINE = re.compile(r"count/(\S+) scope=(\S+) arm=(\S+) writer=(\S+) loaded=16 called=(\d+) "
                  r"(value=\d+|not counted here: \w.*)")
CHANGE = re.compile(r"count/change scope=\w+ arm=\S+ writer=\w+ loaded=16 called=10 percent=[+-]\d+\.\d\d")


def lines_of(*more):
    out, err = progpack(*QUICK, *more)
    same(err, "")
    return out.splitlines()


@test
def every_event_of_every_arm_has_a_value_or_a_reason():
    lines = [line for line in lines_of() if not line.startswith("count/change ")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    same([(match[1], match[2], f"{match[3]} {match[4]}", match[5]) for match in found],
         [(event, scope, arm, "10") for arm in ARMS for scope in ("loop", "system")
          for event in EVENTS])


@test
def changes_are_of_what_was_counted():
    lines = lines_of()
    changes = [line for line in lines if line.startswith("count/change ")]
    assert all(map(CHANGE.fullmatch, changes)), changes
    for scope in ("loop", "system"):
        page = [line for line in lines if line.startswith(f"count/itlb-load-misses scope={scope} arm=page ")]
        counted = re.search(r"value=[1-9]", page[0])
        same(sum(f"scope={scope} " in line for line in changes), len(ARMS) - 1 if counted else 0)


@test
def all_may_be_called():
    has("\n".join(lines_of("--all")), "loaded=16 called=16 ")


@test
def wrong_usage_is_told():
    has(usage_error("bench", "count", "--groups", "4001"), "at most 4000")
    has(usage_error("bench", "count", "--passes", "1000001"), "at most 1000000")
    has(usage_error("bench", "count", "--rounds", "0"), "--rounds")


@test
def help_explains():
    has(progpack("bench", "count", "--help")[0], "--all", "--passes N", "scope=system", "Exit status")


main()
