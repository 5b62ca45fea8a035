"""What perf export has written, read back without any of our code: each reader gives [(event, pid, tid, stack, period)], the stack's names from the outermost
on. Where the format adds up or has no event, None stands for it."""
import csv
import gzip
import io
import json

import parquet
import protobuf

csv.field_size_limit(1 << 24)


def folded(data):
    rows = []
    for line in data.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        rows.append((None, None, None, tuple(stack.split(";")[1:]), int(count)))
    return rows


def speedscope(data):
    profile, rows = json.loads(data), []
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    for one in profile["profiles"]:
        assert one["type"] == "sampled" and one["unit"] in ("none", "nanoseconds") and len(one["samples"]) == len(one["weights"])
        assert one["startValue"] == 0 and one["endValue"] == sum(one["weights"])
        event, _, who = one["name"].rpartition(": ")
        pid, tid = map(int, who.rsplit(" ", 1)[1].split("/"))
        rows += [(event or None, pid, tid, tuple(frames[frame] for frame in stack), weight) for stack, weight in zip(one["samples"], one["weights"])]
    return rows


def firefox_stack(shared, stack):
    """Names of a stack; parents come first."""
    names = []
    while stack is not None:
        function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
        names.append(shared["stringArray"][shared["funcTable"]["name"][function]])
        parent = shared["stackTable"]["prefix"][stack]
        assert parent is None or parent < stack
        stack = parent
    return tuple(reversed(names))


def check_columns(table):
    for name, column in table.items():
        assert not isinstance(column, list) or len(column) == table["length"], name


def firefox(data):
    profile, rows = json.loads(data), []
    shared = profile["shared"]
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
        check_columns(shared[name])
    assert any(category["color"] == "grey" for category in profile["meta"]["categories"])
    for thread in profile["threads"]:
        check_columns(thread["samples"])
        check_columns(thread["markers"])
        unit = 10**6 if thread["samples"]["weightType"] == "tracing-ms" else 1
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
        event = thread["name"].rpartition(" (")[2].rstrip(")") if " (" in thread["name"] else None
        rows += [(event, int(thread["pid"]), thread["tid"], firefox_stack(shared, stack), round(weight * unit))
                 for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"])]
    return rows


def pprof_tables(data):
    """The profile's fields, its strings, and by id the names of a location's functions from the outermost on."""
    profile = protobuf.decode(gzip.decompress(data))
    strings = [text.decode("utf-8", "strict") for text in profile[6]]
    assert strings[0] == ""
    functions = {protobuf.one(function, 1): strings[protobuf.one(function, 2)] for function in map(protobuf.decode, profile[5])}
    locations = {}
    for location in map(protobuf.decode, profile.get(4, [])):
        lines = [functions[protobuf.one(protobuf.decode(line), 1)] for line in location[4]]
        locations[protobuf.one(location, 1)] = tuple(reversed(lines))
    return profile, strings, locations


def pprof(data):
    profile, strings, locations = pprof_tables(data)
    types = [protobuf.decode(kind) for kind in profile[1]]
    events = [strings[protobuf.one(kind, 1)] for kind in types]
    assert events[0] == "samples" and strings[protobuf.one(profile, 14)] == events[1]
    rows = []
    for sample in map(protobuf.decode, profile[2]):
        labels = {strings[protobuf.one(label, 1)]: strings[label[2][0]] if 2 in label else protobuf.one(label, 3) for label in map(protobuf.decode, sample[3])}
        stack = [name for location in reversed(protobuf.packed(sample[1][0])) for name in locations[location]]
        values = protobuf.packed(sample[2][0])
        (event, period), = [(event, value) for event, value in list(zip(events, values))[1:] if value] or [(None, 0)]
        rows.append((event, labels["pid"], labels["tid"], tuple(stack), period))
    return rows


def perfetto(data):
    rows, interned, counts, events = [], {}, {}, {}
    for packet in map(protobuf.decode, protobuf.decode(data)[1]):
        sequence = protobuf.one(packet, 10)
        if protobuf.one(packet, 13) == 1:
            interned[sequence] = {5: {}, 6: {}, 7: {}}
            timebase = protobuf.decode(protobuf.decode(protobuf.decode(packet[59][0])[12][0])[1][0])
            events[sequence] = timebase[10][0].decode()
        for table in map(protobuf.decode, packet.get(12, [])):
            for field, known in interned[sequence].items():
                known.update((protobuf.one(entry, 1), entry) for entry in map(protobuf.decode, table.get(field, [])))
        if 66 not in packet:
            continue
        sample, tables = protobuf.decode(packet[66][0]), interned[sequence]
        frames = tables[7][sample[4][0]][2] if 4 in sample else []
        stack = tuple(tables[5][protobuf.one(tables[6][frame], 2)][2][0].decode("utf-8", "strict") for frame in frames)
        place = sequence, protobuf.one(sample, 1, None)
        count = protobuf.one(sample, 6)
        rows.append((events[sequence], protobuf.one(sample, 2), protobuf.one(sample, 3), stack, count - counts.get(place, 0)))
        counts[place] = count
    return rows


def otlp_rows(profiles, strings, stacks, locations, functions, attributes):
    """All by number; `profiles`: [(type's name, [(stack, attributes, period)])]."""
    rows = []
    for name, samples in profiles:
        for stack, numbers, period in samples:
            known = dict(attributes[number] for number in numbers)
            names = [strings[functions[function]] for location in stacks[stack] for function in locations[location]]
            rows.append((strings[name], known["process.pid"], known["thread.id"], tuple(reversed(names)), period))
    return rows


def otlp(data):
    fields = protobuf.decode(data)
    tables = protobuf.decode(fields[2][0])
    decode = {number: [protobuf.decode(element) for element in tables[number]] for number in (1, 2, 3, 4, 6, 7)}
    assert all(not decode[number][0] for number in decode)
    strings = [text.decode("utf-8", "strict") for text in tables[5]]
    attributes = [None]
    for attribute in decode[6][1:]:
        value = protobuf.decode(attribute[2][0])
        attributes.append((strings[protobuf.one(attribute, 1)], value[3][0] if 3 in value else value[1][0].decode()))
    scope = protobuf.decode(protobuf.decode(fields[1][0])[2][0])
    profiles = []
    for profile in map(protobuf.decode, scope[2]):
        samples = [protobuf.decode(sample) for sample in profile[2]]
        profiles.append((protobuf.one(protobuf.decode(profile[1][0]), 1),
                         [(protobuf.one(sample, 1), protobuf.packed(sample[2][0]), protobuf.packed(sample[4][0])[0]) for sample in samples]))
    return otlp_rows(profiles, strings, [protobuf.packed(stack[1][0]) if stack else [] for stack in decode[7]],
                     [[protobuf.one(protobuf.decode(line), 1) for line in location.get(3, [])] for location in decode[2]],
                     [protobuf.one(function, 1) for function in decode[3]], attributes)


def otlp_json(data):
    document = json.loads(data)
    tables = document["dictionary"]
    strings = tables["stringTable"]
    assert all(tables[name][0] == {} for name in tables if name != "stringTable") and strings[0] == ""
    attributes = [None] + [(strings[attribute["keyStrindex"]], int(value["intValue"]) if "intValue" in (value := attribute["value"]) else value.get("stringValue"))
                           for attribute in tables["attributeTable"][1:]]
    profiles = [(profile["sampleType"]["typeStrindex"], [(sample.get("stackIndex", 0), sample["attributeIndices"], int(sample["values"][0])) for sample in profile["samples"]])
                for profile in document["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]]
    return otlp_rows(profiles, strings, [stack.get("locationIndices", []) for stack in tables["stackTable"]],
                     [[line["functionIndex"] for line in location.get("lines", [])] for location in tables["locationTable"]],
                     [function.get("nameStrindex", 0) for function in tables["functionTable"]], attributes)


def chrome(data):
    trace, rows = json.loads(data), []
    for sample in trace["samples"]:
        stack, at = [], sample.get("sf")
        while at is not None:
            stack.append(trace["stackFrames"][str(at)]["name"])
            at = trace["stackFrames"][str(at)].get("parent")
        rows.append((sample["name"], sample["pid"], sample["tid"], tuple(reversed(stack)), sample["weight"]))
    return rows


def ndjson(data):
    rows = [json.loads(line) for line in data.splitlines()]
    assert all(row["stack"][-1:] == [row["symbol"]] if "symbol" in row else not row["stack"] for row in rows)
    return [(row["event"], row["pid"], row["tid"], tuple(row["stack"]), row["period"]) for row in rows]


def csv_rows(data):
    return [(row["event"], int(row["pid"]), int(row["tid"]), tuple(row["stack"].split(";")), int(row["period"]))
            for row in csv.DictReader(io.StringIO(data.decode(), newline=""))]


def parquet_rows(data):
    table, _ = parquet.read(data)
    return [(event, pid, tid, tuple(stack.split(";")), period)
            for event, pid, tid, stack, period in zip(*(table[name] for name in ("event", "pid", "tid", "stack", "period")))]


READERS = {"folded": folded, "speedscope": speedscope, "firefox": firefox, "pprof": pprof, "chrome": chrome, "otlp": otlp, "otlp-json": otlp_json, "perfetto": perfetto, "ndjson": ndjson, "csv": csv_rows,
           "parquet": parquet_rows}
