#!/usr/bin/env python3
"""Makes a longer recording out of a short one: repeat.py INPUT OUTPUT TIMES writes the data section TIMES times. The time stamps repeat as well, which sums
such as `report` don't mind. For growth measurements only."""
import struct
import sys

HEADER = struct.Struct('<8sQQQQQQQQ32s')  # magic, size, attr size, attrs, data, event types (offset and size each), features


def main(source, target, times):
    with open(source, 'rb') as file:
        recording = file.read()
    fields = list(HEADER.unpack_from(recording))
    data_offset, data_size, features = fields[5], fields[6], fields[9]
    grown = data_size * (times - 1)
    table_size = 16 * sum(bin(byte).count('1') for byte in features)
    tail = recording[data_offset + data_size:]
    sections = bytearray(tail[:table_size])
    for at in range(0, table_size, 16):
        offset, size = struct.unpack_from('<QQ', sections, at)
        struct.pack_into('<QQ', sections, at, offset + grown, size)
    fields[6] = data_size * times
    with open(target, 'wb') as out:
        out.write(HEADER.pack(*fields) + recording[HEADER.size:data_offset])
        for _ in range(times):
            out.write(recording[data_offset:data_offset + data_size])
        out.write(bytes(sections) + tail[table_size:])


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
