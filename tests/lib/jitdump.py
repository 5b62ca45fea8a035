"""Makes a jitdump: what a run-time compiler writes of the code that it makes. Knows the format by itself.

    dump = Dump(pid=5)
    dump.load(100, 0x7f0000001000, CODE, "f", lines=[(0, 3, "f.js")])
    dump.move(200, 0, 0x7f0000002000)
    path.write_bytes(dump.data)
"""
import struct


class Dump:
    def __init__(self, pid, time=0, order="<", padding=0, flags=0, machine=62):
        self.order, self.codes = order, []
        self.pid = pid
        self.data = struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, machine, padding, pid, time, flags)

    def record(self, kind, time, body):
        self.data += struct.pack(self.order + "IIQ", kind, 16 + len(body), time) + body

    def load(self, time, address, code, name, lines=(), eh_frame=None, shift=0):
        """`lines`: (distance, line, file); `eh_frame`: what lies behind the code, without the search table."""
        if lines:
            body = struct.pack(self.order + "QQ", address, len(lines))
            last = None
            for distance, line, file in lines:
                body += struct.pack(self.order + "QII", address + distance + shift, line, 0)
                body += b"\xff\0" if file == last else file.encode() + b"\0"
                last = file
            self.record(2, time, body)
        if eh_frame is not None:
            self.record(4, time, struct.pack(self.order + "QQQ", len(eh_frame) + 20, 20, len(eh_frame) + 20) + eh_frame + bytes(20))
        self.codes.append((address, len(code)))
        self.record(0, time, struct.pack(self.order + "IIQQQQ", self.pid, self.pid, address, address, len(code), len(self.codes) - 1)
                    + (name if isinstance(name, bytes) else name.encode()) + b"\0" + code)

    def move(self, time, index, address):
        old, size = self.codes[index]
        self.codes[index] = (address, size)
        self.record(1, time, struct.pack(self.order + "IIQQQQQ", self.pid, self.pid, address, old, address, size, index))
