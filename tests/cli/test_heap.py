#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack heap --demo: what it draws, and that the picture is one."""
import os
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET

from tap import PROGPACK, TIMEOUT, has, main, progpack, same, terminal, test, usage_error

SVG = "{http://www.w3.org/2000/svg}"
PACKS, LINES, CELLS = 8, 2, 64


def demo(*args, **more):
    return progpack("heap", "--demo", "--seconds", "1", *args, **more)


def check_picture(out):
    """Title, two lines of cells a pack, legend, figures; plain characters."""
    lines = out.splitlines()
    same(len(lines), 1 + PACKS * LINES + 2, "lines")
    for number, line in enumerate(lines[1:-2]):
        pack, first = divmod(number, LINES)
        assert re.fullmatch((rf"{pack:2} " if not first else "   ") + r"[#x+:.\- ]{64} .*", line), line
        if not first:
            assert line[4 + CELLS:] in ("huge page", "small pages", "growing", "not mapped"), line
    has(lines[-2], "code", "free", "not grown")
    assert re.fullmatch(r" +\d+ blocks, [\d.]+ MiB used, [\d.]+ committed \([\d.]+ %\), "
                        r"[\d.]+ on huge pages", lines[-1]), lines[-1]


@test
def one_picture_where_nobody_watches():
    for writer in ("poke", "alias", "auto"):
        out, err = demo("--writer", writer)
        same(err, "")
        assert "\x1b" not in out
        check_picture(out)
        if writer != "auto":
            has(out, f"writer {writer},")


@test
def terminals_get_a_moving_one():
    ours, theirs = terminal()
    env = {**os.environ, "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    with subprocess.Popen([PROGPACK, "heap", "--demo", "--seconds", "1"], stdout=theirs,
                          env=env) as child:
        os.close(theirs)
        out = b""
        try:
            while part := os.read(ours, 65536):
                out += part
        except OSError:  # the other end is closed
            pass
        same(child.wait(TIMEOUT), 0)
    os.close(ours)
    text = out.decode()
    has(text, "\x1b[38;5;", "█", "\x1b[0m")
    if text.count("progpack heap,") > 1:  # a slow machine has time for one picture only
        has(text, f"\x1b[{1 + PACKS * LINES + 2}A")


@test
def picture_is_well_formed():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "heap.svg"
        demo("--svg", path)
        root = ET.parse(path).getroot()
    same(root.tag, SVG + "svg")
    width, height = float(root.get("width")), float(root.get("height"))
    same(root.get("viewBox"), f"0 0 {width:.0f} {height:.0f}")
    texts = ["".join(text.itertext()) for text in root.iter(SVG + "text")]
    has("\n".join(texts), "A progpack heap", "blocks", "cell = 4 KiB", "not grown yet",
        *(f"pack {pack}" for pack in range(PACKS)))
    for rect in root.findall(SVG + "rect"):
        assert float(rect.get("x")) + float(rect.get("width")) <= width
        assert float(rect.get("y")) + float(rect.get("height")) <= height
    assert list(root.iter(SVG + "path")), "no cells"


@test
def settings_are_checked():
    has(usage_error("heap"), "progpack: heap: --demo is missing")
    has(usage_error("heap", "--demo", "--writer", "mmap"), "auto, poke or alias, not 'mmap'")
    has(usage_error("heap", "--demo", "--seconds", "0"), "not '0'")
    for bad in ("0", "3601", "x"):
        has(usage_error("heap", "--demo", "--seconds", bad), f"a number from 1 to 3600, not '{bad}'")
    has(usage_error("heap", "--demo", "x"), "unexpected argument 'x'")


@test
def unwritable_picture_is_a_failure():
    out, err = demo("--svg", "/nonexistent/heap.svg", status=1)
    same(out, "")  # told before the demonstration
    has(err, "progpack: heap: /nonexistent/heap.svg: No such file or directory")
    has(demo("--svg", "/dev/full", status=1)[1], "/dev/full: No space left on device")


@test
def no_memory_for_code_is_a_failure():
    code = "import resource, os, sys\n" \
           "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n" \
           "os.execv(sys.argv[1], sys.argv[1:])\n"
    done = subprocess.run(["python3", "-c", code, PROGPACK, "heap", "--demo", "--writer", "alias"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=TIMEOUT)
    same(done.returncode, 1)
    same(done.stdout, b"")
    has(done.stderr.decode(), "progpack: heap: no heap: File too large")


main()
