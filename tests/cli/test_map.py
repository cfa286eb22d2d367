#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""progpack map, and run's --map and --dump-maps: what is in maps, and what cannot be put there."""
import json
import tempfile

from tap import OBJECTS, failure, has, main, progpack, same, test, usage_error

MAPS = OBJECTS / "maps.bpf.o"
PROGS = OBJECTS / "progs.bpf.o"


def filled(name, content, *args):
    """The entries of a map after it was filled from a file with @content."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
        file.flush()
        out, err = progpack("map", MAPS, name, "--map", f"{name}={file.name}", "--json", *args)
    same(err, "")
    (found,) = json.loads(out)["maps"]
    same(found["name"], name)
    return found["entries"]


def refused(name, content):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(content)
        file.flush()
        return failure("map", MAPS, "--map", f"{name}={file.name}")


@test
def list_shows_every_map():
    out, err = progpack("map", MAPS, "--list")
    same(err, "")
    lines = out.splitlines()
    same(lines[0], "first  array  key 4  value 8  max_entries 2")
    for kind in ("hash", "lru_hash", "array", "percpu_array", "percpu_hash", "queue", "stack", "bloom_filter",
                 "lpm_trie", "ringbuf", "array_of_maps", "hash_of_maps", "prog_array"):
        assert any(line.split("  ")[1] == kind for line in lines), kind


@test
def elements_have_the_types_of_the_object():
    same(filled("routes", [{"key": {"bits": 8, "address": [10]}, "value": 5}]),
         [{"key": {"bits": 8, "address": [10, 0, 0, 0]}, "value": 5}])
    same(filled("odds", [{"key": 2, "value": {"words": [1, 2]}}])[2], {"key": 2, "value": {"words": [1, 2, 0, 0, 0]}})
    same(filled("hash", [{"key": "0x2a", "value": -1}]), [{"key": 42, "value": 2**64 - 1}])
    same(filled("hash", [{"key": "2a 00 00 00", "value": 2**63}]), [{"key": 42, "value": 2**63}])
    out, _ = progpack("map", PROGS, ".bss", "--prog", "count", "--repeat", 3, "--json")
    same(json.loads(out)["maps"][0]["entries"], [{"key": 0, "value": {"counter": 3}}])


@test
def per_cpu_maps_have_a_value_for_each():
    cpus = len(filled("percpu_array", [])[0]["values"])
    entries = filled("percpu_array", [{"key": 1, "values": [7]}])
    same(entries[1], {"key": 1, "values": [7] + [0] * (cpus - 1)})


@test
def maps_and_programs_in_maps_are_shown():
    out, _ = progpack("map", MAPS, "--json")
    maps = {m["name"]: m for m in json.loads(out)["maps"]}
    same(maps["outer_hash"]["entries"], [{"key": 1, "value": maps["second"]["id"]}])
    same(maps["jumps"]["entries"], [{"key": 1, "value": "leaf"}])
    out, _ = progpack("map", MAPS, "outer_hash")
    same(out.splitlines()[1], '  {"key":1,"value":%d}' % maps["second"]["id"])


@test
def a_dump_fills_a_map_again():
    first, _ = progpack("map", MAPS, "odds", "--prog", "use_odds", "--json")
    (dumped,) = json.loads(first)["maps"]
    assert dumped["entries"][2]["value"]["words"][4] == 3, dumped
    same(filled("odds", dumped), dumped["entries"])


@test
def run_fills_and_dumps():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([{"key": 1, "value": 30}], file)
        file.flush()
        out, _ = progpack("run", MAPS, "--prog", "use_outer_hash", "--map", f"second={file.name}", "--dump-maps")
        lines = out.splitlines()
        has(lines[0], "use_outer_hash", "0x1e")
        at = lines.index("second  array  key 4  value 8  max_entries 2")
        same(lines[at + 1:at + 3], ['  {"key":0,"value":0}', '  {"key":1,"value":30}'])
        out, _ = progpack("run", MAPS, "--prog", "use_outer_hash", "--diff", "--json", "--map", f"second={file.name}",
                          "--dump-maps")
    got = json.loads(out)
    same((got["programs"][0]["result"], got["programs"][0]["agree"]), ("0x1e", True))
    same(len(got["maps"]), len(json.loads(progpack("map", MAPS, "--json")[0])["maps"]))


@test
def what_cannot_be_put_is_said():
    has(refused("hash", '[{"key":1,"value":1},\n{"key":1}]'), "map 'hash', element 2", "without a value")
    has(refused("hash", '[{"value":1}]'), "without a key")
    has(refused("hash", '[{"key":4294967296,"value":1}]'), "does not fit")
    has(refused("hash", '[{"key":-2147483649,"value":1}]'), "does not fit")
    has(refused("hash", '[{"key":"2a 00","value":1}]'), "another length")
    has(refused("odds", '[{"key":1,"value":{"wrods":[]}}]'), "a member that the type does not have")
    has(refused("odds", '[{"key":1,"value":{"words":[1,2,3,4,5,6]}}]'), "more elements")
    has(refused("odds", '[{"key":3,"value":{}}]'), "Argument list too long")
    has(refused("percpu_array", '[{"key":1,"value":1}]'), "one for each CPU")
    has(refused("hash", '{"entries":3}'), "no array")


@test
def json_that_is_none_is_refused_with_its_line():
    for text in ("", "[", "[1,]", '{"a" 1}', '"a', "01x", "1.5", "1e3", "18446744073709551616", "-9223372036854775809",
                 "[1] 2", "nul", "[" * 40, '{"a":1,}', "{1:2}", '"\\n"'):
        has(refused("hash", "\n" + text), ".json:2: ")


@test
def wrong_names_and_arguments_are_refused():
    has(failure("map", MAPS, "nothere"), "no such map: 'nothere'")
    has(failure("map", MAPS, "--map", "nothere=x"), "no such map: 'nothere'")
    has(failure("map", MAPS, "--map", "nothere"), "NAME=FILE")
    has(failure("map", MAPS, "--map", "hash=/nonexistent"), "/nonexistent")
    has(failure("map", MAPS, "--prog", "nothere"), "nothere")
    has(failure("map", PROGS, "--prog", "sum", "--mem", "0"), "--mem")
    usage_error("map")
    usage_error("map", MAPS, "--list", "--json")


main()
