# SPDX-License-Identifier: MIT
"""What clang 14, 15 and 16 make of one source loads, and gives one result, on both engines.

Every optimisation, instruction set, with and without debugging information: what differs are
sections, relocations, BTF, and at -O0 calls by register.
"""
import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile

import tap

CLANGS = ["clang-14", "clang-15", "clang-16"]
SOURCES = pathlib.Path(__file__).resolve().parent.parent / "objects"
# name: needs BTF (its maps are defined by it), programs that give the same each time
PROGRAMS = {
    "whole": (True, ["count", "neighbour", "pointers", "strings", "maps", "fill", "drop"]),
    "table": (False, ["by_table", "by_value", "by_number", "same"]),
    "plain": (False, ["run"]),
    "text": (False, None),
}


def compile_with(clang, flags, name, folder):
    out = pathlib.Path(folder, f"{name}.o")
    subprocess.run(
        [clang, "-target", "bpf", *flags, "-c", SOURCES / f"{name}.bpf.c", "-o", out,
         "-I/usr/include/x86_64-linux-gnu", "-I/usr/include/aarch64-linux-gnu"],
        check=True, timeout=60, stderr=subprocess.PIPE)
    return out


def results(path, wanted):
    shown, _ = tap.progpack("run", str(path), "--diff", "--json", "--mem", "30 31 32 33 34")
    found = {p["name"]: p["result"] for p in json.loads(shown)["programs"]}
    return found if wanted is None else {name: found[name] for name in wanted}


def check(clang, level):
    if not shutil.which(clang):
        raise tap.Skip(f"no {clang} here")
    expected = {}
    with tempfile.TemporaryDirectory() as folder:
        for cpu, debug in itertools.product(["v1", "v2", "v3"], [["-g"], []]):
            flags = [level, f"-mcpu={cpu}", *debug]
            for name, (needs_btf, wanted) in PROGRAMS.items():
                if needs_btf and not debug:
                    continue
                found = results(compile_with(clang, flags, name, folder), wanted)
                assert found == expected.setdefault(name, found), (flags, name, found, expected)
    return expected


FIRST = {}


def agree(name, clang, level):
    found = check(clang, level)
    assert found == FIRST.setdefault("results", found), (name, found, FIRST)


for compiler, optimisation in itertools.product(CLANGS, ["-O0", "-O1", "-O2", "-O3", "-Os"]):
    title = f"{compiler}_{optimisation}"
    body = lambda c=compiler, o=optimisation, t=title: agree(t, c, o)
    body.__name__ = title
    tap.test(body)

if __name__ == "__main__":
    tap.main()
