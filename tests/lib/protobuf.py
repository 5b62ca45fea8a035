"""Protocol buffers without their schema. Reading: decode(bytes) → {field: [values]}, where values of pieces are bytes. Writing: encode_field(number, value) + …"""


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def decode(data):
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = 8
            if key & 7 == 2:
                size, at = varint(data, at)
            else:
                assert key & 7 == 1, f"type {key & 7} of field {key >> 3}"
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
            if key & 7 == 1:
                value = int.from_bytes(value, "little")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed(data):
    """The numbers of a packed list."""
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def one(fields, number, default=0):
    """The value of a field that is there once at most."""
    values = fields.get(number, [default])
    assert len(values) == 1, (number, values)
    return values[0]


def encode_varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def encode_field(number, value):
    """A number, or bytes: a text or a message."""
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value)
    return encode_varint(number << 3 | 2) + encode_varint(len(value)) + value
