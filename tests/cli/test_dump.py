#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack dump: the listing to the letter, native code beside it."""
import os
import pathlib
import platform
import re
import subprocess
import tempfile
import time

from tap import (EXIT, OBJECTS, PROGPACK, TIMEOUT, Skip, call, failure, has, ins, main, mov,
                 progpack, same, temporary, terminal, test)

PROGS = OBJECTS / "progs.bpf.o"

LISTED = (ins(0x61, 2, 1, off=4)                # 0: r2 = *(u32 *)(r1 + 4)
          + ins(0x15, 2, off=3, imm=7)          # 1: if r2 == 7 goto 5
          + ins(0x18, 0, imm=1) + ins(0, imm=2)  # 2: r0 = 0x200000001 ll
          + EXIT                                # 4
          + call(7)                             # 5: bpf_get_prandom_u32
          + ins(0x85, src=1, imm=1)             # 6: call sub_8
          + EXIT                                # 7
          + ins(0xB4, 0, imm=-1)                # 8: w0 = -1
          + EXIT)                               # 9

LISTING = """\
main:
     0  r2 = *(u32 *)(r1 +4)
     1  if r2 == 0x7 goto pc+3
     2  r0 = 0x200000001 ll
     4  exit
     5  call bpf_get_prandom_u32#7
     6  call pc+1 <sub_8>
     7  exit

sub_8:
     8  w0 = -1
     9  exit
"""


def dump(*args, **more):
    out, err = progpack("dump", *args, **more)
    same(err, "")
    return out


def need_jit():
    if platform.machine() != "x86_64":
        raise Skip("no JIT on this machine")


def headers(text):
    return re.findall(r"^(\S+.*):$", text, re.M)


@test
def raw_program_to_the_letter():
    same(dump("--raw", "-", stdin=LISTED), LISTING)


@test
def functions_are_listed_once():
    text = dump(PROGS)
    same(headers(text), ["sum  (section tc/sum)", "total  (section .text)",
                         "twice  (section tc/sum)", "bump  (section tc/bump)",
                         "count  (section tc/count)", "say  (section tc/say)"])


@test
def slots_count_within_the_section():
    text = dump(PROGS)
    starts = {name: int(slot) for name, slot in re.findall(r"^(\w+) .*:\n +(\d+)  ", text, re.M)}
    same((starts["sum"], starts["total"], starts["bump"]), (0, 0, 0))
    assert starts["twice"] > 0, text


@test
def one_program_with_what_it_calls():
    text = dump(PROGS, "--prog", "twice")
    same(headers(text), ["twice  (section tc/sum)", "total  (section .text)"])
    has(failure("dump", PROGS, "--prog", "nope"), "no program 'nope'", "sum, twice")


@test
def no_line_ends_in_a_blank():
    for text in (dump(PROGS), dump(PROGS, "--native")):
        assert not re.search(r"[ \t]$", text, re.M), text


@test
def calls_into_another_section_show_no_distance():
    has(dump(PROGS), " call <total>\n")
    assert " <total>" not in dump("--raw", "-", stdin=LISTED)


def many_functions(count):
    """main, which calls @count functions, all of them behind it."""
    calls = b"".join(ins(0x85, src=1, imm=count + i) for i in range(count))
    return calls + EXIT + b"".join(mov(0, i) + EXIT for i in range(count))


@test
def many_functions_are_listed_in_time():
    text = dump("--raw", "-", stdin=many_functions(100000))
    same(text.count("\nsub_"), 100000)
    same(text.count("\n"), 100000 + 2 + 100000 * 4)


@test
def progress_shows_on_a_terminal():
    """The listing waits for a reader until progress is due."""
    ours, theirs = terminal()
    with temporary(many_functions(20000)) as file:
        process = subprocess.Popen([PROGPACK, "dump", "--raw", file.name], stdout=subprocess.PIPE,
                                   stderr=theirs)
        try:
            time.sleep(2.5)
            process.communicate(timeout=TIMEOUT)
            same(process.returncode, 0)
            assert re.match(rb"\rdump: \d+ %", os.read(ours, 4096))
        finally:
            process.kill()
            process.wait()
            os.close(ours)
            os.close(theirs)


@test
def native_code_stands_beside():
    need_jit()
    text = dump("--raw", "-", "--native", stdin=LISTED)
    has(text, "; native code: ", "main:", "sub_8:", " ret", "mov ", "call ")
    listed = re.findall(r"^[ \d]{5}\d  (.*?)  ", text, re.M)
    same(listed, re.findall(r"^[ \d]{5}\d  (.*)", LISTING, re.M), "eBPF column")


@test
def native_bytes_are_all_there():
    """Offsets follow each other without a hole, from each function's first byte on."""
    need_jit()
    text = dump(PROGS, "--native")
    size = int(re.match(r"; native code: (\d+) bytes", text)[1])
    rows = re.findall(r"  ([0-9a-f]+)  ((?:[0-9a-f]{2} )+) *[a-z.]", text)
    spans = sorted((int(at, 16), len(code.split())) for at, code in rows)
    assert spans, text
    for (at, length), (following, _) in zip(spans, spans[1:]):
        assert at + length <= following <= at + length + 15, (at, length, following)
    assert spans[-1][0] + spans[-1][1] <= size


@test
def native_columns_are_aligned():
    need_jit()
    text = dump("--raw", "-", "--native", stdin=LISTED)
    columns = {match.start(1) - 8 + len(match[1]) for match in
               (re.search(r"  ( *[0-9a-f]+)  (?:[0-9a-f]{2} )+ ", line)
                for line in text.splitlines()[2:]) if match}
    same(len(columns), 1, f"end of the offset column in {text}")


@test
def local_calls_are_named():
    need_jit()
    assert re.search(r"call (0x)?[0-9a-f]+  ; total$", dump(PROGS, "--native"), re.M)


@test
def failures_are_told():
    has(failure("dump", "/nonexistent"), "progpack: dump: /nonexistent: No such file")
    has(failure("dump", "-", stdin=EXIT), "not an ELF object", "--raw")
    has(failure("dump", "--raw", "-", stdin=call(9999) + EXIT), "no such helper")


def arches():
    """Those that this build has a JIT for."""
    found = [arch for arch in ("x86-64", "arm64", "riscv64")
             if subprocess.run([PROGPACK, "dump", PROGS, "--native", "--arch", arch], timeout=TIMEOUT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode == 0]
    assert len(found) == 3, found
    return found


@test
def every_arch_is_shown_on_every_machine():
    shown, _ = progpack("dump", PROGS)
    for arch in arches():
        out, err = progpack("dump", PROGS, "--native", "--arch", arch)
        same(err, "")
        has(out.splitlines()[1], f"for {arch}, as if it lay there")
        for line in shown.splitlines():  # the eBPF is all there
            has(out, line.strip())
        assert ".byte" not in out, arch
        # a return for each function, whatever it is called
        assert len(re.findall(r" ret$", out, re.M)) >= 3 or " .2byte" in out, out


@test
def targets_are_offsets_in_every_arch():
    for arch in arches():
        out, _ = progpack("dump", PROGS, "--native", "--arch", arch)
        if " .2byte" in out:
            raise Skip("no LLVM here to show RISC-V by")
        begins = re.search(r"total  \(section .text\):\n.*?  ([0-9a-f]+)  ", out).group(1)
        calls = re.findall(r"(?:call|bl|jal) #?(?:0x)?([0-9a-f]+)  ; total$", out, re.M)
        assert calls and set(calls) == {begins}, (arch, begins, calls)


@test
def features_choose_instructions():
    with_c, _ = progpack("dump", PROGS, "--native", "--arch", "riscv64", "--features", "c")
    without, _ = progpack("dump", PROGS, "--native", "--arch", "riscv64", "--features", "none")
    size = [int(re.match(r"; native code: (\d+) bytes", out).group(1)) for out in (with_c, without)]
    assert size[0] < size[1], size
    without, _ = progpack("dump", PROGS, "--native", "--arch", "arm64", "--features", "lse")
    assert "hint #0x22" in progpack("dump", PROGS, "--native", "--arch", "arm64")[0]  # bti c
    assert "hint" not in without, without
    same(progpack("dump", PROGS, "--native", "--arch", "riscv64", "--features", "all")[0].count("\n"),
         progpack("dump", PROGS, "--native", "--arch", "riscv64")[0].count("\n"))


@test
def every_run_shows_the_same():
    """Whatever is random about addresses: helpers, maps, and what native code calls by itself."""
    by_register = mov(1, 5) + ins(0x8D, 1) + EXIT
    packet = ins(0xBF, 6, 1) + ins(0x30, imm=9) + EXIT
    for arch in arches():
        for program in (PROGS, by_register, packet):
            args = (program,) if program == PROGS else ("--raw", "-")
            more = {} if program == PROGS else {"stdin": program}
            shown = {dump(*args, "--native", "--arch", arch, **more) for _ in range(4)}
            same(len(shown), 1, arch)


@test
def helpers_are_named_at_native_calls():
    for arch in arches():
        out = dump(PROGS, "--native", "--arch", arch)
        if " .2byte" in out:
            raise Skip("no LLVM here to show RISC-V by")
        assert re.search(r" (call|blr?|jalr) .*  ; bpf_trace_printk#6$", out, re.M), out
    need_jit()
    has(dump(PROGS, "--native"), "; bpf_trace_printk#6")


@test
def immediates_are_no_targets():
    """bseti is no branch, though its name begins as theirs do."""
    out = dump("--raw", "-", "--native", "--arch", "riscv64",
               stdin=ins(0x18, 0) + ins(0, imm=1 << 8) + mov(1, 99) * 20 + EXIT)
    if " .2byte" in out:
        raise Skip("no LLVM here to show RISC-V by")
    assert re.search(r"bseti \w+, zero, 40$", out, re.M), out


def words_of(out):
    """(bytes in order of memory, number shown) of each line."""
    return [(bytes.fromhex(code), int(number, 16)) for code, number in
            re.findall(r"  ((?:[0-9a-f]{2} )+) *\.(?:4byte|2byte|byte) 0x([0-9a-f]+)$", out, re.M)]


@test
def words_need_no_disassembler():
    for arch in arches():
        shown = dump(PROGS, "--native", "--arch", arch)
        out = dump(PROGS, "--native", "--arch", arch, "--words")
        words = words_of(out)
        assert words and "libllvm" not in out, out
        for code, number in words:
            same(int.from_bytes(code, "little"), number)
        code = re.findall(r"  [0-9a-f]+  ((?:[0-9a-f]{2} )+)", shown)
        same(b"".join(word for word, _ in words), b"".join(map(bytes.fromhex, code)), arch)
    _, err = progpack("dump", PROGS, "--words", status=2)
    has(err, "goes with")


@test
def without_llvm_words_are_shown():
    """Libraries of its names that are none, where they are looked for first."""
    with tempfile.TemporaryDirectory() as folder:
        for version in range(11, 25):
            for name in (f"libLLVM-{version}.so.1", f"libLLVM.so.{version}.1"):
                pathlib.Path(folder, name).write_text("not a library")
        out = dump(PROGS, "--native", "--arch", "riscv64",
                   env={**os.environ, "LD_LIBRARY_PATH": folder})
    has(out, "; shown as words: ")
    assert words_of(out), out


@test
def wrong_arches_and_features_are_refused():
    has(failure("dump", PROGS, "--native", "--arch", "vax"), "no JIT for 'vax'", "riscv64")
    has(failure("dump", PROGS, "--native", "--arch", "riscv64", "--features", "c,foo"),
        "riscv64 has no 'foo'", "zba")
    for args in (("--arch", "riscv64"), ("--native", "--features", "c")):
        _, err = progpack("dump", PROGS, *args, status=2)
        has(err, "goes with")


main()
