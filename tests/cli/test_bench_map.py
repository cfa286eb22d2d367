#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack bench map: what it prints; the kernel's arm only where bpf() is allowed."""
import json
import re

from tap import main, progpack, same, test, usage_error

QUICK = ("bench", "map", "--quick", "--runs", 2)
WHATS = ["hash-lookup", "hash-update", "array-lookup", "array-update"]


@test
def lines_are_as_documented():
    out, err = progpack(*QUICK)
    same(err, "")
    lines = out.splitlines()
    times = [re.fullmatch(r"map/(\S+) arm=jit threads=([12]) ns/op min=[\d.]+ med=[\d.]+ max=[\d.]+ runs=2", line)
             for line in lines]
    same([(t[1], int(t[2])) for t in times if t], [(what, n) for what in WHATS for n in (1, 2)])
    for line in lines:
        assert re.fullmatch(r"map/\S+ arm=(jit|kernel) threads=[12] ns/op min=[\d.]+ med=[\d.]+ max=[\d.]+ runs=2"
                            r"|map/ratio what=\S+ threads=[12] kernel/jit=[\d.]+|map/ratio skipped: .*", line), line
    ratios = [line for line in lines if line.startswith("map/ratio what=")]
    kernel = [line for line in lines if " arm=kernel " in line]
    same(len(ratios), len(kernel))
    same(len(kernel), 0 if any("skipped" in line for line in lines) else 8)


@test
def json_has_the_same():
    out, err = progpack(*QUICK, "--json")
    same(err, "")
    cells = json.loads(out)["cells"]
    for cell in cells:
        assert cell["what"] in WHATS and 0 < cell["ns_min"] <= cell["ns_med"] <= cell["ns_max"], cell
    same(len([cell for cell in cells if cell["arm"] == "jit"]), 8)


@test
def wrong_numbers_are_refused():
    for args in (("--runs", 0), ("--runs", 1001), ("--threads", 2)):
        usage_error("bench", "map", *args)


main()
