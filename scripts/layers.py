#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the layers from the includes: base < os < heap < jit, and bpf/insn < verify, jit < prog < tools.

A file may include headers of its own layer and of those listed for it below. Public headers count
as a layer of their own. Also: only src/os may include <sys/mman.h>, and arch #ifs stay in the
files made for them.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# layer -> layers it may include
ALLOWED = {
    "base": {"public"},
    "memfd": set(),
    "os": {"base", "memfd"},
    "fault": {"base", "public"},
    "mirror": {"memfd"},
    "heap": {"base", "os", "public"},
    "insn": {"base", "fault", "public"},
    "verify": {"base", "insn"},
    "jit": {"base", "fault", "insn", "public"},
    "prog": {"base", "fault", "mirror", "insn", "verify", "jit", "public"},
    "tools": {"base", "os", "fault", "insn", "verify", "jit", "prog", "public"},
}
INSN_FILES = {"insn", "slot", "decode", "calls", "flow", "disasm", "interp", "access", "guard", "packet"}
ARCH_IF_FILES = {"src/os/cpu.c", "src/os/fault_arch.c", "src/jit/host.c"}
ARCH_IF = re.compile(r"#\s*(?:el)?if.*__(?:x86_64|aarch64|riscv|i386|arm)")
INCLUDE = re.compile(r'\s*#\s*include\s*[<"](?:\.\./)*([^>"]+)[>"]')


def layer_of(path):
    """The layer of a path like src/heap/pack.c, or of an include like heap/pack.h."""
    parts = path.removeprefix("src/").split("/")
    if parts[-1] in ("progpack.h", "progpack_bpf.h", "progpack_bpf_map.h", "progpack_bpf_link.h"):
        return "public"
    if parts[0] in ("tools", "bench"):
        return "tools"
    if parts[0] == "bpf" and len(parts) > 1:
        stem = re.split(r"[._]", parts[-1])[0]
        return "insn" if stem in INSN_FILES else "prog"
    if parts[0] == "os" and re.match(r"(?:fault|memfd|mirror)[._]", parts[-1]):
        return re.split(r"[._]", parts[-1])[0]
    return parts[0] if parts[0] in ALLOWED else None


def faults_in(path):
    name = path.relative_to(ROOT).as_posix()
    layer = layer_of(name)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{name}:{number}"
        if ARCH_IF.search(line) and name.startswith("src/") and name not in ARCH_IF_FILES:
            yield f"{where}: arch #if outside {', '.join(sorted(ARCH_IF_FILES))}"
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(1)
        if header == "sys/mman.h" and layer not in ("os", "memfd", "mirror"):
            yield f"{where}: only src/os may include <sys/mman.h>"
        target = layer_of(header)
        if target and target != layer and target not in ALLOWED.get(layer, set()):
            yield f"{where}: {layer} must not include {header} ({target})"


def main():
    files = [p for folder in ("src", "tools", "bench") for p in sorted((ROOT / folder).rglob("*.[ch]"))
             if not p.name.endswith(".bpf.c") and p.name != "progs.h"]
    faults = [fault for path in files for fault in faults_in(path)]
    print("\n".join(faults) or f"layers: {len(files)} files, no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
