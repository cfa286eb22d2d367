#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack bench heap: its lines and its JSON. No figure is judged here: machines are noisy."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ET

from tap import PROGPACK, TIMEOUT, Skip, has, main, progpack, same, test, usage_error

SMALL = ["--live", "200", "--runs", "2"]
REAL = r"\d+\.\d+"
SPREAD = rf"ns/op min={REAL} med={REAL} max={REAL} runs=2"
LINE = re.compile(
    rf"heap/(fill|churn|drain) arm=\S+ live=200 threads=[12] {SPREAD}"
    rf"|heap/call arm=\S+ live=200 threads=1 {SPREAD}"
    rf"|heap/density arm=\S+ live=200 percent={REAL}"
    r"|heap/mappings arm=\S+ live=200 count=-?\d+"
    r"|heap/resident arm=\S+ bytes=\d+"
    rf"|heap/ratio what=\S+/\S+ live=200 threads=[12] value={REAL}")


def arms_of(out, what):
    return [match.group(1) for match in re.finditer(rf"^heap/{what} arm=(\S+)", out, re.M)]


@test
def lines_can_be_grepped():
    out, err = progpack("bench", "heap", *SMALL)
    same(err, "")
    for line in out.splitlines():
        assert LINE.fullmatch(line), line
    needed = {"poke", "alias", "malloc", "mmap-per-block"}
    for phase in ("fill", "churn", "drain"):
        assert needed <= set(arms_of(out, phase)), phase
    needed.remove("malloc")  # is not executable
    for what in ("call", "density", "mappings", "resident"):
        assert needed <= set(arms_of(out, what)), what
        assert "malloc" not in arms_of(out, what), what
    has(out, "what=poke-churn/mmap-per-block-churn live=200 threads=2",
        "what=alias-churn-ops-2-threads/1-thread live=200 threads=2")


@test
def one_arm_and_one_thread_can_be_picked():
    out, _ = progpack("bench", "heap", *SMALL, "--arm", "alias", "--threads", "1")
    same(set(arms_of(out, "churn")), {"alias"})
    assert "threads=2" not in out
    assert "heap/ratio" not in out, "nothing to compare with"


@test
def min_is_no_more_than_med_and_max():
    out, _ = progpack("bench", "heap", *SMALL, "--arm", "poke")
    for spread in re.findall(rf"min=({REAL}) med=({REAL}) max=({REAL})", out):
        low, mid, high = map(float, spread)
        assert 0 < low <= mid <= high, spread


@test
def json_has_the_same_figures():
    out, err = progpack("bench", "heap", *SMALL, "--json")
    same(err, "")
    result = json.loads(out)
    same(result["benchmark"], "heap")
    for row in result["arms"]:
        same((row["wanted"], row["live"], row["runs"]), (200, 200, 2))
        assert row["churn"]["min"] <= row["churn"]["med"] <= row["churn"]["max"], row
        same(row["call"] is None, row["arm"] == "malloc")
    same({row["threads"] for row in result["arms"]}, {1, 2})
    assert result["resident_bytes"]["poke"] > 0
    has([ratio["what"] for ratio in result["ratios"]], "poke-churn/mmap-per-block-churn")


@test
def plot_is_well_formed():
    if not shutil.which("gnuplot"):
        raise Skip("no gnuplot")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "churn it's.svg"
        progpack("bench", "heap", *SMALL, "--plot", path)
        text = path.read_text()
        same(ET.fromstring(text).tag, "{http://www.w3.org/2000/svg}svg")
    has(text, "alias", "mmap-per-block", "200 live, 2 threads")


def without_gnuplot(*args):
    return subprocess.run([PROGPACK, "bench", "heap", *args], env={"PATH": "/nonexistent"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          check=False)


@test
def missing_gnuplot_is_told_before_anything_is_measured():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "churn.svg")
        done = without_gnuplot(*SMALL, "--plot", path)
        assert not os.path.exists(path)
    same((done.returncode, done.stdout), (1, b""))
    has(done.stderr.decode(), "--plot needs gnuplot, which was not found")


@test
def unwritable_plot_is_told_before_anything_is_measured():
    if not shutil.which("gnuplot"):
        raise Skip("no gnuplot")
    out, err = progpack("bench", "heap", *SMALL, "--plot", "/nonexistent/x.svg", status=1)
    same(out, "")
    has(err, "progpack: bench heap: /nonexistent/x.svg: No such file or directory")


@test
def settings_are_checked():
    for args, message in ((["--live", "99"], "--live: from 100 to 100000"),
                          (["--live", "100001"], "--live: from 100 to 100000"),
                          (["--threads", "3"], "--threads: 1 or 2"),
                          (["--runs", "1001"], "--runs: at most 1000"),
                          (["--arm", "tcmalloc"], "--arm: there is no 'tcmalloc' here"),
                          (["x"], "unexpected argument 'x'")):
        has(usage_error("bench", "heap", *args), "progpack: bench heap: ", message)


@test
def out_of_addresses_is_measured_with_less_or_skipped():
    code = "import resource, os, sys\n" \
           "resource.setrlimit(resource.RLIMIT_AS, (120 << 20, 120 << 20))\n" \
           "os.execv(sys.argv[1], sys.argv[1:])\n"
    done = subprocess.run(["python3", "-c", code, PROGPACK, "bench", "heap", "--live", "20000",
                           "--runs", "1", "--arm", "mmap-per-block", "--threads", "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          check=False)
    out = done.stdout.decode()
    if "AddressSanitizer" in done.stderr.decode() or "ThreadSanitizer" in done.stderr.decode():
        raise Skip("the sanitizer needs more addresses")
    live = int(re.search(r"heap/churn arm=mmap-per-block live=(\d+)", out).group(1))
    assert live < 20000 or "skipped reason=" in out, out


main()
