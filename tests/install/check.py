#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Install into an empty folder, and build and run the examples against that by pkg-config.

usage: check.py SOURCE BUILD. Prints TAP.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PREFIX = "/opt/pp"


class Tap:
    def __init__(self):
        self.count = 0

    def check(self, ok, what, detail=""):
        self.count += 1
        print(("ok" if ok else "not ok"), self.count, "-", what)
        for line in detail.splitlines() if not ok else []:
            print("#", line)

    def skip(self, what, why):
        self.count += 1
        print("ok", self.count, "-", what, "# SKIP", why)


def run(*command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, **kwargs)


def environment(root):
    """What finds the installed files where they lie now, instead of in PREFIX."""
    pc = next(root.rglob("progpack.pc")).parent
    lib = next(root.rglob("libprogpack.so")).parent
    return dict(os.environ, PKG_CONFIG_PATH=str(pc), PKG_CONFIG_SYSROOT_DIR=str(root),
                LD_LIBRARY_PATH=str(lib))


def flags(package, env):
    found = run("pkg-config", "--cflags", "--libs", package, env=env)
    return found.stdout.split()


def check_symbols(tap, archive, prefix):
    """A static library must not fill its users' name space."""
    listed = run("nm", "--defined-only", "--extern-only", str(archive))
    names = [line.split()[-1] for line in listed.stdout.splitlines() if len(line.split()) == 3]
    strange = [name for name in names if not name.startswith(prefix)]
    tap.check(names and not strange, f"{archive.name} shows {prefix}* alone", "\n".join(strange))


def build_and_run(tap, env, out, source, package, compiler, args=()):
    exe = str(out / source.stem)
    language = ["-x", "c++"] if compiler == "g++" else []
    built = run(compiler, "-Wall", "-Wextra", "-Werror", *language, str(source), "-x", "none", "-o", exe,
                *flags(package, env), env=env)
    tap.check(built.returncode == 0, f"{source.name} builds with pkg-config {package}", built.stdout)
    if built.returncode:
        return ""
    ran = run(exe, *args, env=env)
    tap.check(ran.returncode == 0, f"{source.name} runs", ran.stdout)
    return ran.stdout


def main(source, build):
    tap = Tap()
    if os.environ.get("PROGPACK_SANITIZER"):
        tap.skip("install", "sanitized libraries need a sanitized program")
        print("1..1")
        return
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        done = run("meson", "install", "-C", build, "--no-rebuild", "--destdir", str(out / "root"))
        tap.check(done.returncode == 0, "meson install into DESTDIR", done.stdout)
        names = {path.name for path in (out / "root").rglob("*")}
        wanted = {"progpack", "progpack.h", "progpack_bpf.h", "progpack_bpf_map.h",
                  "progpack_bpf_link.h", "libprogpack.so", "libprogpack.a",
                  "libprogpack-bpf.so", "libprogpack-bpf.a", "progpack.pc", "progpack-bpf.pc",
                  "progpack.1", "progpack.3"}
        tap.check(wanted <= names, "every file is installed", f"missing: {sorted(wanted - names)}")
        env = environment(out / "root")
        header = (pathlib.Path(source) / "include/progpack.h").read_text()
        manual = next((out / "root").rglob("progpack.3")).read_text()
        public = set(re.findall(r"\b(pp_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
        absent = sorted(name for name in public if f".Fn {name} " not in manual)
        tap.check(public and not absent, "progpack(3) has every function of the header", f"{absent}")
        examples = pathlib.Path(source) / "examples"
        text = build_and_run(tap, env, out, examples / "add.c", "progpack", "gcc")
        tap.check(text == "2 + 3 = 5\n", "add prints the sum", text)
        text = build_and_run(tap, env, out, examples / "filter.c", "progpack-bpf", "gcc",
                             [str(pathlib.Path(build) / "tests/install/filter.bpf.o")])
        tap.check(text == "dropped 14, verdict on the last 2\n", "filter counts what it drops", text)
        text = build_and_run(tap, env, out, examples / "replace.c", "progpack-bpf", "gcc")
        tap.check(text == "version 100, 0 calls lost\n", "replace loses no call", text)
        for name, prefix in (("libprogpack.a", "pp_"), ("libprogpack-bpf.a", "pp_bpf_")):
            check_symbols(tap, next((out / "root").rglob(name)), prefix)
        readme = (pathlib.Path(source) / "README.md").read_text()
        body = (examples / "add.c").read_text().split("\n\n", 1)[0].split("*/\n", 2)[-1]
        tap.check(body.strip() in readme, "the README shows examples/add.c as it is")
    print(f"1..{tap.count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
