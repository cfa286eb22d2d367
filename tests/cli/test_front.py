#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The front of the command: help, usage errors, exit codes, output that cannot be written."""
import os
import pathlib
import re
import subprocess

from tap import EXIT, PROGPACK, failure, has, main, mov, progpack, same, test, usage_error

MAN = pathlib.Path(__file__).resolve().parents[2] / "docs" / "man" / "progpack.1"
COMMANDS = ["run", "dump", "map", "plugin", "heap"]
BENCHMARKS = ["tag", "trigger", "stress", "count", "map", "heap"]
SEVEN = mov(0, 7) + EXIT


@test
def no_arguments_is_wrong_usage():
    out, err = progpack(status=2)
    same(out, "")
    has(err, "Usage: progpack COMMAND", *COMMANDS, "bench", "--help")


@test
def help_lists_the_commands():
    for option in ("--help", "-h"):
        out, err = progpack(option)
        same(err, "")
        has(out, "Usage:", "Examples:", "Exit status:", "progpack bench stress", *COMMANDS)


@test
def version_is_one_line():
    out, err = progpack("--version")
    same(err, "")
    assert re.fullmatch(r"progpack \d+\.\d+\.\d+\n", out), out


@test
def every_command_explains_itself():
    for command in COMMANDS:
        out, err = progpack(command, "--help")
        same(err, "")
        has(out, f"progpack {command} - ", f"Usage: progpack {command} ", "Arguments:", "Examples:",
            "Exit status:\n  0  success\n  1  ")
        assert max(map(len, out.splitlines())) <= 100, "help wider than 100 columns"
        same(progpack(command, "-h")[0], out)


@test
def bench_explains_itself():
    has(progpack("bench", "--help")[0], *BENCHMARKS)
    for name in BENCHMARKS:
        has(progpack("bench", name, "--help")[0], f"progpack bench {name} - ", "Examples:")


@test
def help_and_manual_know_the_same_options():
    manual = set(re.findall(r"Fl Fl ([a-z-]+)", MAN.read_text()))
    commands = [()] + [(name,) for name in COMMANDS] + [("bench", name) for name in BENCHMARKS]
    text = "".join(progpack(*command, "--help")[0] for command in commands)
    same(manual, set(re.findall(r"--([a-z-]+)", re.sub(r"bpf_\S+.*|--test_\S+.*", "", text))))


@test
def unknown_command():
    has(usage_error("frobnicate"), "progpack: unknown command 'frobnicate'")
    has(usage_error("--frobnicate"), "progpack: unknown option '--frobnicate'")


@test
def unknown_option():
    for command in ("run", "dump"):
        has(usage_error(command, "--frob", "x"), f"progpack: {command}: unknown option '--frob'")
        has(usage_error(command, "x", "--frob=1"), "unknown option '--frob'")
        has(usage_error(command, "-x"), "unknown option '-x'")


@test
def operands_are_counted():
    for command in ("run", "dump"):
        has(usage_error(command), f"progpack: {command}: FILE is missing")
        has(usage_error(command, "a", "b"), "unexpected argument 'b'")


@test
def values_are_checked():
    has(usage_error("run", "x", "--prog"), "--prog takes a value: NAME")
    has(usage_error("run", "x", "--json=yes"), "--json takes no value")
    for bad in ("0", "-1", "+1", " 1", "abc", "1e3", "", "0x10", "18446744073709551616"):
        has(usage_error("run", "x", "--repeat", bad),
            f"a number from 1 to 18446744073709551615, not '{bad}'")
    has(usage_error("run", "x", "--writer", "mmap"), "auto, poke or alias, not 'mmap'")


@test
def options_exclude_each_other():
    has(usage_error("run", "x", "--jit", "--interp"),
        "--jit and --interp exclude each other")
    has(usage_error("run", "x", "--diff", "--jit"),
        "--diff and --jit exclude each other")
    has(usage_error("run", "x", "--mem", "00", "--data", "y"), "--mem and --data exclude")
    has(usage_error("run", "-", "--data", "-"), "can be standard input")


@test
def statuses_tell_usage_from_failure():
    """A value that can be seen to be wrong is wrong usage; a file that cannot be read is not."""
    for args in (["--mem", "1"], ["--mem", "zz"], ["--writer", "foo"], ["--repeat", "0"],
                 ["--diff", "--interp"], ["--mem", "00", "--data", "x"]):
        usage_error("run", "/nonexistent", *args)
        usage_error("run", "--raw", "-", *args, stdin=SEVEN)
    for args in (["/nonexistent"], ["/"], ["/dev/null"], ["--raw", "-", "--data", "/nonexistent"],
                 ["--raw", "-", "--prog", "nope"]):
        failure("run", *args, stdin=SEVEN)
    for args in (["zz"], ["1"], ["--jit", "--interp"], ["--frob"], ["00", "00"]):
        progpack("plugin", *args, stdin=SEVEN, status=1)


@test
def options_and_operands_mix():
    wanted = "main  0x7  3 runs"
    for args in (["--raw", "-", "--repeat=3"], ["-", "--repeat", "3", "--raw"],
                 ["--raw", "--repeat", "3", "--", "-"]):
        assert progpack("run", *args, stdin=SEVEN)[0].startswith(wanted), args
    progpack("run", "--raw", "--", "--raw", status=1)  # a file of that name, which is not there


@test
def messages_carry_no_control_characters():
    err = usage_error("run", "x", "--\x1b[2J\n")
    assert "\x1b" not in err, err
    _, err = progpack("run", "\x1b[2J", status=1)
    has(err, "?[2J")
    assert "\x1b" not in err, err


@test
def full_disk_is_a_failure():
    for args in (["--help"], ["run", "--help"], ["run", "--raw", "-"], ["dump", "--raw", "-"],
                 ["run", "--raw", "-", "--json"], ["plugin", "--elf", "--help"]):
        with open("/dev/full", "wb") as full:
            _, err = progpack(*args, stdin=SEVEN, stdout=full, status=1)
        has(err, "cannot write to standard output: No space left on device")


@test
def closed_pipe_is_a_failure():
    read, write = os.pipe()
    os.close(read)
    try:  # Python ignores SIGPIPE; the child is told to go on doing so
        _, err = progpack("run", "--raw", "-", stdin=SEVEN, stdout=write, restore_signals=False,
                          status=1)
    finally:
        os.close(write)
    has(err, "cannot write to standard output: Broken pipe")


@test
def closed_stdout_is_a_failure():
    done = subprocess.run(["sh", "-c", '"$0" --help >&-', PROGPACK], stderr=subprocess.PIPE,
                          check=False, timeout=60)
    same(done.returncode, 1)
    has(done.stderr.decode(), "cannot write to standard output: Bad file descriptor")


main()
