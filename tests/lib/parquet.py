"""Reads Parquet files of flat columns (github.com/apache/parquet-format), as far as what perf writes uses the format: nothing of it is shared with the program."""
import ctypes
import ctypes.util
import struct

INT32, INT64, BYTES = 1, 2, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
ZSTD = 6
DATA_PAGE, DICTIONARY_PAGE = 0, 2
UTF8, UINT_32, UINT_64 = 0, 13, 14


class Compact:
    """Thrift's compact protocol: structures as {field: value}."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def value(self, kind):
        if kind in (5, 6):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == 8:
            length = self.varint()
            self.at += length
            return self.data[self.at - length:self.at]
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 != 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        return self.structure()

    def structure(self):
        fields, last = {}, 0
        while head := self.byte():
            assert head >> 4, "long form of a field"
            last += head >> 4
            fields[last] = self.value(head & 15)
        return fields


def decompress(data, size):
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size or 1)
    assert library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) == size
    return out.raw[:size]


def hybrid(data, width, count):
    """Runs of one value, and of packed ones."""
    reader, values = Compact(data), []
    while len(values) < count:
        head = reader.varint()
        if head & 1:
            size = (head >> 1) * width
            packed = int.from_bytes(data[reader.at:reader.at + size], "little")
            assert reader.at + size <= len(data)
            reader.at += size
            values += [packed >> (i * width) & ((1 << width) - 1) for i in range((head >> 1) * 8)]
        else:
            size = (width + 7) // 8
            values += [int.from_bytes(data[reader.at:reader.at + size], "little")] * (head >> 1)
            reader.at += size
    return values[:count]


def plain(kind, converted, data):
    if kind == BYTES:
        texts, at = [], 0
        while at < len(data):
            length, = struct.unpack_from("<I", data, at)
            at += 4 + length
            texts.append(data[at - length:at].decode("utf-8", "strict"))
        assert at == len(data)
        return texts
    width, letter = (4, "I") if kind == INT32 else (8, "Q")
    assert converted == (UINT_32 if kind == INT32 else UINT_64)
    return list(struct.unpack(f"<{len(data) // width}{letter}", data))


def page(data, at):
    """Type, header, content, where the next page is."""
    reader = Compact(data, at)
    header = reader.structure()
    end = reader.at + header[3]
    return header[1], header[5 if header[1] == DATA_PAGE else 7], decompress(data[reader.at:end], header[2]), end


def column(data, meta, converted):
    start = at = meta.get(11, meta[9])
    assert meta[4] == ZSTD and at >= 4
    dictionary, values = None, []
    while at < start + meta[7]:
        kind, header, content, at = page(data, at)
        if kind == DICTIONARY_PAGE:
            assert header[2] == PLAIN
            dictionary = plain(meta[1], converted, content)
            assert len(dictionary) == header[1] == len(set(dictionary))
            continue
        assert kind == DATA_PAGE and (dictionary is None or at - start == meta[7]) and header[3] == header[4] == RLE and header[2] in meta[2]
        length, = struct.unpack_from("<I", content)
        known = hybrid(content[4:4 + length], 1, header[1])
        content = content[4 + length:]
        if header[2] == RLE_DICTIONARY:
            found = [dictionary[number] for number in hybrid(content[1:], content[0], sum(known))]
        else:
            found = plain(meta[1], converted, content)
        assert len(found) == sum(known)
        found = iter(found)
        values += [next(found) if there else None for there in known]
    assert at == start + meta[7] and len(values) == meta[5]
    return values


def read(data):
    """Columns by name, and the number of groups of rows."""
    assert data[:4] == data[-4:] == b"PAR1"
    length, = struct.unpack("<I", data[-8:-4])
    reader = Compact(data, len(data) - 8 - length)
    metadata = reader.structure()
    assert reader.at == len(data) - 8
    (root, *schema), table = metadata[2], {}
    assert root[5] == len(schema) and all(element[3] == 1 for element in schema)
    for group in metadata[4]:
        assert len(group[1]) == len(schema)
        for element, chunk in zip(schema, group[1]):
            meta = chunk[3]
            assert meta[3] == [element[4]] and meta[1] == element[1]
            values = column(data, meta, element[6])
            assert len(values) == group[3]
            table.setdefault(element[4].decode(), []).extend(values)
    assert all(len(values) == metadata[3] for values in table.values())
    return table, len(metadata[4])
