#!/usr/bin/env python3
"""Makes a longer recording out of a short one: repeat.py INPUT OUTPUT TIMES writes the data section TIMES times. The time stamps repeat as well, which sums
such as `report` don't mind; with --later each repetition is later than the one before, as reports on the scheduler, locks and memory need it, and TIMES
is how many samples there are to be at least. For measurements of growth and speed only."""
import argparse
import struct

HEADER = struct.Struct('<8sQQQQQQQQ32s')  # magic, size, attr size, attrs, data, event types (offset and size each), features
IP, TID, TIME, ID, CPU, STREAM_ID, IDENTIFIER = (1 << bit for bit in (0, 1, 2, 6, 7, 9, 16))
SAMPLE, USER_START, SAMPLE_TIME = 9, 64, 21
PAUSE_NS = 1000


def places_of_times(recording, fields):
    """Where the time is: in samples from their beginning, in other records from their end."""
    places = set()
    for at in range(fields[3], fields[3] + fields[4], fields[2]):
        has = struct.unpack_from('<Q', recording, at + 24)[0]
        places.add((8 + 8 * sum(bool(has & bit) for bit in (IDENTIFIER, IP, TID)), 8 * sum(bool(has & bit) for bit in (TIME, ID, STREAM_ID, CPU, IDENTIFIER))))
        assert has & TIME, 'an event without times'
    assert len(places) == 1, 'the events have their times at several places'
    return places.pop()


def times_of(recording, fields):
    """[(offset in the data section, time)], and how many samples there are."""
    in_samples, in_others = places_of_times(recording, fields)
    found, samples, at, end = [], 0, fields[5], fields[5] + fields[6]
    while at < end:
        kind, _, size = struct.unpack_from('<IHH', recording, at)
        samples += kind == SAMPLE
        if kind < USER_START:
            place = at + (in_samples if kind == SAMPLE else size - in_others)
            time = struct.unpack_from('<Q', recording, place)[0]
            if time:
                found.append((place - fields[5], time))
        at += size
    return found, samples


def later(data, times, distance):
    """The data section with its times so much later."""
    data, write = bytearray(data), struct.Struct('<Q').pack_into
    for at, time in times:
        write(data, at, time + distance)
    return data


def main(source, target, times, moves):
    with open(source, 'rb') as file:
        recording = file.read()
    fields = list(HEADER.unpack_from(recording))
    data_offset, data_size, features = fields[5], fields[6], fields[9]
    stamps, distance = [], 0
    if moves:
        stamps, samples = times_of(recording, fields)
        distance = max(time for _, time in stamps) - min(time for _, time in stamps) + PAUSE_NS
        times = -(-times // samples)
    grown = data_size * (times - 1)
    numbers = [number for number in range(8 * len(features)) if features[number // 8] >> number % 8 & 1]
    tail = bytearray(recording[data_offset + data_size:])
    for at, number in enumerate(numbers):
        offset, size = struct.unpack_from('<QQ', tail, 16 * at)
        struct.pack_into('<QQ', tail, 16 * at, offset + grown, size)
        if number == SAMPLE_TIME:
            place = offset - data_offset - data_size + 8
            struct.pack_into('<Q', tail, place, struct.unpack_from('<Q', tail, place)[0] + distance * (times - 1))
    fields[6] = data_size * times
    with open(target, 'wb') as out:
        out.write(HEADER.pack(*fields) + recording[HEADER.size:data_offset])
        data = recording[data_offset:data_offset + data_size]
        for number in range(times):
            out.write(later(data, stamps, number * distance))
        out.write(tail)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--later', action='store_true')
parser.add_argument('input')
parser.add_argument('output')
parser.add_argument('times', type=int)
arguments = parser.parse_args()
main(arguments.input, arguments.output, arguments.times, arguments.later)
