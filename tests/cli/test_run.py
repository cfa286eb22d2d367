#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack run: engines, data, output, and what can be wrong with a file."""
import json
import os
import re
import select
import signal
import subprocess
import tempfile

from tap import (EXIT, OBJECTS, PROGPACK, Skip, call, failure, has, ins, main, mov, progpack, same,
                 temporary, terminal, test, usage_error)

PROGS = OBJECTS / "progs.bpf.o"
RANDOM = OBJECTS / "random.bpf.o"
SEVEN = mov(0, 7) + EXIT
R1 = ins(0xBF, 0, 1) + EXIT
R2 = ins(0xBF, 0, 2) + EXIT
FIRST_WORD = ins(0x61, 0, 1) + EXIT
LINE = re.compile(r"(\S+) +0x([0-9a-f]+)  (\d+) runs  (\d+\.\d) ns/run  (\w+)( \(interp .*\))?")


def lines(*args, **more):
    """What run prints: name -> (result, runs, engine)."""
    out, _ = progpack("run", *args, **more)
    found = [LINE.fullmatch(line) for line in out.splitlines()]
    assert all(found), out
    return {m[1]: (int(m[2], 16), int(m[3]), m[5]) for m in found}


def raw(program, *args):
    return lines("--raw", "-", *args, stdin=program)["main"][0]


@test
def all_programs_run_in_order():
    got = lines(PROGS, "--mem", "01 02 03 04")
    same(list(got), ["sum", "twice", "bump", "count", "say"])
    same(got["sum"][0], 10)
    same(got["twice"][0], 20)


@test
def bad_pointers_give_0_with_probe_and_kill_who_is_trusted():
    for engine in "--jit", "--interp", "--diff":
        same(raw(FIRST_WORD + EXIT, "--probe", engine), 0)
    killed = subprocess.run([PROGPACK, "run", "--raw", "-", "--trusted"], input=FIRST_WORD, capture_output=True, check=False)
    assert killed.returncode in (-signal.SIGSEGV, 1, 66), killed  # 1, 66: a sanitizer's report
    same(killed.stdout, b"")


@test
def bad_accesses_end_the_run():
    for engine in "--jit", "--interp":
        err = failure("run", "--raw", "-", engine, "--mem", "00 00 00", stdin=FIRST_WORD)
        assert re.fullmatch(r"progpack: run: standard input: main: bad access to 0x[0-9a-f]+ \(main\), section '', "
                            rf"insn 0 \({engine[2:]}\)\n", err), err
    out, _ = progpack("run", "--raw", "-", "--json", stdin=FIRST_WORD, status=1)
    program, = json.loads(out)["programs"]
    same({key: program.get(key) for key in ("error", "function", "section", "insn", "address", "result")},
         {"error": "bad access", "function": "main", "section": "", "insn": 0, "address": "0x0", "result": None})
    out, err = progpack("run", "--raw", "-", "--diff", "--json", stdin=FIRST_WORD, status=1)
    same(json.loads(out)["programs"][0]["agree"], True)
    same(err.count("bad access to 0x0"), 2)


@test
def good_programs_run_behind_bad_ones():
    out, err = progpack("run", PROGS, "--budget", "20", "--mem", "01 02 03 04 " * 8, status=1)
    has(err, "sum: budget used up (total), section '.text', insn ")
    has(out, "count ")


@test
def budgets_are_exact():
    two = mov(0, 7) + mov(0, 8) + EXIT
    for engine in "--jit", "--interp", "--diff":
        for more in [], ["--trusted"], ["--probe"]:
            same(raw(two, engine, "--budget", "3", *more), 8)
            has(failure("run", "--raw", "-", engine, "--budget", "2", *more, stdin=two), "budget used up (main)",
                "insn 0")
    forever = ins(0x05, off=-1)
    has(failure("run", "--raw", "-", "--budget", "1000000", "--diff", stdin=forever), "budget used up")
    has(usage_error("run", "--raw", "-", "--budget", "0", stdin=SEVEN), "--budget")


@test
def threads_have_their_own_copies():
    got = lines(PROGS, "--prog", "bump", "--mem", "00 00 00 00", "--repeat", "5", "--threads", "4")
    same(got["bump"][:2], (20, 5))
    for more in [], ["--trusted"], ["--interp"]:
        has(failure("run", "--raw", "-", "--threads", "3", "--repeat", "9", "--budget", "1", *more, stdin=SEVEN), "budget")
    for wrong in "0", "1025", "many":
        has(usage_error("run", "--raw", "-", "--threads", wrong, stdin=SEVEN), "--threads")


@test
def data_come_out():
    with temporary(b"") as out:
        progpack("run", PROGS, "--prog", "bump", "--mem", "01 02 ff", "--repeat", "2", "--data-out", out.name)
        same(out.read(), bytes((3, 4, 1)))
    shown, _ = progpack("run", "--raw", "-", "--mem", "41", "--data-out", "-", stdin=SEVEN)
    assert shown.endswith("A"), shown
    _, err = progpack("run", "--raw", "-", "--data-out", "/nonexistent/x", stdin=SEVEN, status=1)
    has(err, "/nonexistent/x: No such")


@test
def a_context_leads_to_the_data():
    load_data = ins(0x79, 2, 1) + ins(0x71, 0, 2, 1) + EXIT
    load_packet = ins(0xBF, 6, 1) + ins(0x30, imm=2) + EXIT
    store = ins(0x79, 2, 1) + ins(0x72, 2, imm=9) + mov(0, 0) + EXIT
    with temporary(b"") as empty, temporary(bytes(range(40))) as whole, temporary(b"") as out:
        for engine in "--jit", "--interp", "--diff":
            same(raw(load_data, "--ctx", empty.name, "--mem", "05 06 07", engine), 6)
            same(raw(load_packet, "--ctx", empty.name, "--mem", "05 06 07", engine), 7)
            same(raw(ins(0x79, 0, 1, 8) + EXIT, "--ctx", empty.name, "--mem", "05 06 07", engine), 3)
            same(raw(R2, "--ctx", empty.name, engine), 16)
            same(raw(ins(0x71, 0, 1, 39) + EXIT, "--ctx", whole.name, engine), 39)
            same(raw(store, "--ctx", whole.name, "--mem", "01", "--data-out", out.name, engine), 0)
            out.seek(0)
            same(out.read(), b"\x09")
        has(failure("run", "--raw", "-", "--ctx", whole.name, stdin=ins(0x71, 0, 1, 40) + EXIT), "bad access")
        has(usage_error("run", "-", "--ctx", "-"), "standard input")


@test
def trusted_and_probe_exclude_each_other():
    has(usage_error("run", "--raw", "-", "--trusted", "--probe", stdin=SEVEN), "--probe and --trusted")


@test
def columns_are_aligned():
    out, _ = progpack("run", PROGS)
    same(len({line.index("  0x") for line in out.splitlines()}), 1)


@test
def one_program_by_name():
    same(list(lines(PROGS, "--prog", "twice", "--mem", "0102")), ["twice"])


@test
def unknown_program_lists_those_that_exist():
    has(failure("run", PROGS, "--prog", "nope"), "progpack: run: ", "no program 'nope'",
        "there are: sum, twice, bump, count, say")


@test
def engines():
    same(lines(PROGS, "--prog", "sum", "--interp")["sum"][2], "interp")
    same(lines(PROGS, "--prog", "sum", "--jit")["sum"][2], "jit")
    same(lines(PROGS, "--prog", "sum")["sum"][2], "jit")


@test
def writers():
    for writer in ("auto", "poke", "alias"):
        same(raw(SEVEN, "--writer", writer), 7)


@test
def results_are_64_bits():
    same(raw(mov(0, -1) + EXIT), 2**64 - 1)
    same(raw(ins(0xB4, 0, imm=-1) + EXIT), 2**32 - 1)


@test
def data_comes_as_hex():
    for text in ("78563412", "78 56 34 12", "78:56:34:12", " 78\t56\n3412 "):
        same(raw(FIRST_WORD, "--mem", text), 0x12345678)
    same(raw(R2, "--mem", "aB cD"), 2)


@test
def no_data_is_null():
    for args in ([], ["--mem", ""], ["--data", "/dev/null"]):
        same(raw(R1, *args), 0)
        same(raw(R2, *args), 0)


@test
def bad_hex_is_shown():
    for text, wanted in (("0", "half a byte"), ("1 2", "half a byte"), ("0x10", "'x' (character 2)"),
                         ("00 zz", "'z' (character 4)"), ("00 1g", "'g' (character 5)"), ("00\x01", "0x01 (character 3)"),
                         ("\xe9", "0xc3 (character 1)")):
        has(usage_error("run", "--raw", "-", "--mem", text, stdin=SEVEN), "--mem: ", wanted)


@test
def data_comes_from_a_file():
    with temporary(b"\x78\x56\x34\x12") as data:
        same(raw(FIRST_WORD, "--data", data.name), 0x12345678)
        with temporary(FIRST_WORD) as program:
            got = lines("--raw", program.name, "--data", "-", stdin=b"\1\0\0\0")
            same(got["main"][0], 1)
    has(failure("run", "--raw", "-", "--data", "/nonexistent", stdin=SEVEN), "/nonexistent: No such")


@test
def each_program_gets_a_fresh_copy():
    got = lines(PROGS, "--mem", "01 02 03 04")
    same(got["bump"][0], 14)  # the sum after every byte grew by one


@test
def repeats_share_the_copy_and_the_variables():
    got = lines(PROGS, "--prog", "bump", "--mem", "00 00 00 00", "--repeat", "5")
    same(got["bump"][:2], (20, 5))
    for engine in ("--jit", "--interp"):
        got = lines(PROGS, "--prog", "count", "--repeat", "100000", engine)
        same(got["count"][:2], (100000, 100000))


@test
def printed_text_goes_to_stderr():
    for engine in ("--jit", "--interp"):
        out, err = progpack("run", PROGS, "--prog", "say", "--mem", "00", engine)
        has(err, "length 1")
        assert "length" not in out, out


@test
def json_has_the_documented_form():
    out, _ = progpack("run", PROGS, "--mem", "01 02", "--repeat", "3", "--json")
    programs = json.loads(out)["programs"]
    same([p["name"] for p in programs], ["sum", "twice", "bump", "count", "say"])
    for program in programs:
        same(set(program), {"name", "result", "runs", "ns_per_run", "engine"})
        same((program["runs"], program["engine"]), (3, "jit"))
        assert isinstance(program["ns_per_run"], (int, float)) and program["ns_per_run"] >= 0
    same(programs[0]["result"], "0x3")


@test
def diff_passes_where_engines_agree():
    out, err = progpack("run", PROGS, "--diff", "--mem", "01 02 03 04", "--repeat", "10")
    same(len(re.findall(r"both \(interp \d+\.\d ns/run\)", out)), 5)
    assert "differ" not in out + err


@test
def diff_as_json():
    out, _ = progpack("run", PROGS, "--diff", "--json", "--prog", "count", "--repeat", "7")
    program, = json.loads(out)["programs"]
    same((program["engine"], program["agree"], program["result"]), ("both", True, "0x7"))
    assert program["interp_ns_per_run"] >= 0


@test
def diff_fails_on_results():
    out, err = progpack("run", RANDOM, "--diff", "--prog", "result", status=1)
    has(err, "result: results differ: 0x", " by jit, 0x", " by interp")
    has(out, "differ (interp")


@test
def diff_fails_on_data():
    out, err = progpack("run", RANDOM, "--diff", "--prog", "data", "--mem", "00" * 24, status=1)
    has(err, "data: data differ in ", " of 24 bytes, first at byte ", " by jit, 0x", " by interp")
    assert "results differ" not in err, err
    has(out, "data  0x0  1 runs")


@test
def diff_goes_on_after_a_difference():
    out, _ = progpack("run", RANDOM, "--diff", "--json", "--mem", "00" * 24, status=1)
    agree = {p["name"]: p["agree"] for p in json.loads(out)["programs"]}
    same(agree, {"result": False, "data": False, "steady": True})


@test
def a_file_that_is_not_there():
    has(failure("run", "/nonexistent"), "progpack: run: /nonexistent: No such file or directory")


@test
def a_directory():
    has(failure("run", "/"), "/: Is a directory")


@test
def an_unreadable_file():
    if os.geteuid() == 0:
        raise Skip("root reads every file")
    with temporary(SEVEN) as file:
        os.chmod(file.name, 0)
        has(failure("run", "--raw", file.name), "Permission denied")


@test
def an_empty_file():
    has(failure("run", "/dev/null"), "/dev/null: is empty")
    has(failure("run", "--raw", "-"), "run: standard input: is empty")


@test
def a_file_of_another_kind():
    has(failure("run", "-", stdin=SEVEN), "not an ELF object", "say --raw")
    has(failure("run", "-", stdin=b"\x7fEL"), "not an ELF object")
    has(failure("run", "--raw", PROGS), "is an ELF object, not raw", "leave out --raw")


@test
def an_object_of_another_machine():
    err = failure("run", PROGPACK)
    has(err, f"progpack: run: {PROGPACK}: ")


@test
def a_truncated_object():
    whole = PROGS.read_bytes()
    for size in (4, 63, 64, len(whole) // 2, len(whole) - 1):
        has(failure("run", "-", stdin=whole[:size]), "progpack: run: standard input: ")


@test
def half_an_instruction():
    has(failure("run", "--raw", "-", stdin=SEVEN + b"\0\0\0\0"), "progpack: run: standard input: ")


@test
def too_large_a_file():
    with tempfile.NamedTemporaryFile() as file:
        file.truncate((256 << 20) + 1)
        has(failure("run", "--raw", file.name), "larger than 256 MiB")


@test
def an_unknown_helper_is_named():
    for engine in ("--jit", "--interp", "--diff"):
        err = failure("run", "--raw", "-", engine, stdin=mov(0, 0) + call(9999) + EXIT)
        has(err, "progpack: run: standard input: ", "insn 1", "call 9999", "no such helper")
        same(err.count("\n"), 1, "lines")


@test
def a_bad_instruction_is_named():
    has(failure("run", "--raw", "-", stdin=mov(0, 0) + ins(0xFF) + EXIT), "insn 1")


@test
def nothing_but_results_is_printed():
    _, err = progpack("run", PROGS, "--prog", "count", "--repeat", "1000")
    same(err, "")


def until(fd, process, wanted):
    """Read a terminal until @wanted shows, the process ends, or time is up."""
    seen = b""
    while wanted not in seen and process.poll() is None:
        if not select.select([fd], [], [], 60)[0]:
            break
        seen += os.read(fd, 4096)
    return seen


@test
def progress_shows_on_a_terminal():
    ours, theirs = terminal()
    with temporary(SEVEN) as program:
        process = subprocess.Popen([PROGPACK, "run", "--raw", program.name, "--repeat", str(10**15)],
                                   stdout=subprocess.DEVNULL, stderr=theirs)
        try:
            has(until(ours, process, b"%").decode(), "main: 0 %")
        finally:
            process.kill()
            process.wait()
            os.close(ours)
            os.close(theirs)


main()
