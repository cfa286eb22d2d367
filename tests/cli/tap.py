# SPDX-License-Identifier: MIT
"""What the command's tests share: running progpack, checking what it said, TAP output.

A test file decorates its tests with @test and ends in main(). Its arguments are the command and
the folder of the compiled test programs.
"""
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import traceback

PROGPACK = sys.argv[1]
OBJECTS = pathlib.Path(sys.argv[2])
TIMEOUT = 120  # bounds a hang; no test depends on time

_tests = []


class Skip(Exception):
    """Raised with the reason why a test cannot run here."""


def test(function):
    _tests.append(function)
    return function


def main():
    failed = 0
    print("TAP version 13")
    print(f"1..{len(_tests)}")
    for number, function in enumerate(_tests, 1):
        name = f"{number} - {function.__name__}"
        try:
            function()
            print(f"ok {name}")
        except Skip as reason:
            print(f"ok {name} # SKIP {reason}")
        except Exception:  # whatever it was, the other tests still run
            failed += 1
            print(f"not ok {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


def terminal():
    """A pseudo-terminal: (our end, theirs)."""
    try:
        return pty.openpty()
    except OSError as reason:
        raise Skip(f"no pseudo-terminals here: {reason.strerror}") from reason


def progpack(*args, stdin=b"", status=0, **more):
    """Run the command, check its exit status: (stdout, stderr) as text."""
    more.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([PROGPACK, *map(str, args)], input=stdin, stderr=subprocess.PIPE,
                          timeout=TIMEOUT, check=False, **more)
    out, err = (done.stdout or b"").decode(), done.stderr.decode()
    same(done.returncode, status, f"exit status; stderr: {err!r}; stdout: {out!r}")
    return out, err


def usage_error(*args, status=2, stdin=b""):
    """A usage error: nothing on stdout, the message, a hint to --help. Returns the message."""
    out, err = progpack(*args, status=status, stdin=stdin)
    same(out, "", "stdout")
    message, hint, rest = err.split("\n")
    same(rest, "", "after the hint")
    has(hint, "--help")
    return message


def failure(*args, stdin=b""):
    """A failure: exit status 1. Returns stderr."""
    out, err = progpack(*args, status=1, stdin=stdin)
    same(out, "", "stdout")
    return err


def same(value, wanted, what="value"):
    assert value == wanted, f"{what}: {value!r}, wanted {wanted!r}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in {text!r}"


def ins(op, dst=0, src=0, off=0, imm=0):
    """One encoded eBPF instruction."""
    return struct.pack("<BBhi", op, src << 4 | dst, off, imm)


EXIT = ins(0x95)


def mov(dst, imm):
    return ins(0xB7, dst, imm=imm)


def call(helper):
    return ins(0x85, imm=helper)


def temporary(content):
    """A file of that content; it lives as long as the object that is returned."""
    file = tempfile.NamedTemporaryFile()
    file.write(content)
    file.flush()
    return file
