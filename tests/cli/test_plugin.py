#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack plugin: the protocol of the conformance suite."""
import os
import subprocess

from tap import (EXIT, OBJECTS, PROGPACK, TIMEOUT, call, has, ins, main, mov, progpack, same,
                 test)

ELF = (OBJECTS / "progs.bpf.o").read_bytes()
R1 = ins(0xBF, 0, 1) + EXIT
R2 = ins(0xBF, 0, 2) + EXIT
ENGINES = ([], ["--jit"], ["--interp"])


def hexed(code):
    return code.hex(" ").encode()


def plugin(code, *args):
    out, err = progpack("plugin", *args, stdin=code)
    same(err, "")
    return out


def error(code, *args):
    out, err = progpack("plugin", *args, stdin=code, status=1)
    same(out, "")
    has(err, "progpack: plugin: ")
    return err


def on_all(code, *args):
    """What all engines print, which is the same."""
    results = {plugin(hexed(code), *args, *engine) for engine in ENGINES}
    same(len(results), 1, f"results {results}")
    return results.pop()


@test
def result_is_hex_and_nothing_else():
    same(on_all(mov(0, 7) + EXIT), "7\n")
    same(on_all(mov(0, -1) + EXIT), "ffffffffffffffff\n")
    same(on_all(mov(0, 0) + EXIT), "0\n")


@test
def arithmetic():
    same(on_all(mov(0, 6) + ins(0x27, 0, imm=7) + EXIT), "2a\n")
    same(on_all(ins(0xB4, 0, imm=1) + ins(0x64, 0, imm=31) + EXIT), "80000000\n")
    same(on_all(mov(0, 5) + mov(1, 0) + ins(0x3F, 0, 1) + EXIT), "0\n")  # division by zero
    same(on_all(mov(0, 5) + mov(1, 0) + ins(0x9F, 0, 1) + EXIT), "5\n")  # and its remainder


@test
def jumps():
    loop = (mov(0, 0) + mov(1, 10) + ins(0x0F, 0, 1) + ins(0x17, 1, imm=1)
            + ins(0x55, 1, off=-3, imm=0) + EXIT)
    same(on_all(loop), "37\n")


@test
def memory():
    same(on_all(ins(0x61, 0, 1) + EXIT, "78 56 34 12"), "12345678\n")
    same(on_all(R2, "00 01 02"), "3\n")
    store = ins(0x72, 1, off=1, imm=0x5A) + ins(0x71, 0, 1, off=1) + EXIT
    same(on_all(store, "aa bb cc"), "5a\n")


@test
def no_memory_is_null():
    for program in (R1, R2):
        same(on_all(program), "0\n")
        same(on_all(program, ""), "0\n")


@test
def options_may_come_first():
    same(plugin(hexed(R2), "--interp", "00 01"), "2\n")
    same(plugin(hexed(R2), "00 01", "--interp"), "2\n")


@test
def white_space_is_free():
    code = mov(0, 7) + EXIT
    for text in (code.hex(), code.hex(" "), code.hex("\n", 8) + "\n", " " + code.hex("\t").upper()):
        same(plugin(text.encode()), "7\n")


@test
def helper_five_is_not_zero():
    for argument in (0, 1, -1):
        same(on_all(mov(1, argument) + call(5) + mov(1, 0) + ins(0x55, 0, off=1) + mov(1, 9)
                    + ins(0xBF, 0, 1) + EXIT), "0\n")
    same(on_all(call(5) + EXIT), "1\n")


@test
def local_calls():
    same(on_all(mov(1, 20) + ins(0x85, src=1, imm=1) + EXIT
                + ins(0xBF, 0, 1) + ins(0x07, 0, imm=22) + EXIT), "2a\n")


@test
def elf_in_hex_and_as_it_is():
    for code in (ELF, hexed(ELF)):
        for engine in ENGINES:
            same(plugin(code, "01 02 03 04", "--elf", *engine), "a\n")


@test
def errors():
    has(error(b""), "standard input: is empty")
    has(error(b"b7 0"), "half a byte")
    has(error(b"b7 zz"), "'z'")
    has(error(hexed(mov(0, 0))), "standard input: ")  # no exit
    has(error(hexed(call(9999) + EXIT)), "no such helper")
    has(error(hexed(EXIT), "0"), "MEM: half a byte")
    has(error(ELF), "0x7f (character 1) is not a hex digit")
    has(error(b"b7 \0 95"), "standard input: 0x00 (character 4) is not a hex digit")


@test
def the_other_kind_of_program_is_named():
    text = error(hexed(EXIT), "--elf")
    has(text, "standard input: not an ELF object", "leave out --elf")
    assert "--raw" not in text, text
    has(error(hexed(ELF)), "standard input: is an ELF object", "say --elf")


@test
def standard_input_has_its_name():
    directory = os.open("/", os.O_RDONLY)
    try:
        done = subprocess.run([PROGPACK, "plugin"], stdin=directory, stderr=subprocess.PIPE,
                              check=False, timeout=TIMEOUT)
    finally:
        os.close(directory)
    same(done.returncode, 1)
    same(done.stderr.decode(), "progpack: plugin: standard input: Is a directory\n")


@test
def wrong_usage_is_an_error_like_any_other():
    has(error(b"", "--frob"), "unknown option '--frob'", "--help")
    has(error(b"", "00", "11"), "unexpected argument '11'")
    has(error(b"", "--jit", "--interp"), "--jit and --interp exclude")


main()
