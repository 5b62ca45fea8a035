#!/usr/bin/python3
"""Runs a command behind a seccomp filter, as containers do: confine.py CALL=ANSWER... -- COMMAND

CALL is perf_event_open or bpf; ANSWER the name of an errno (EPERM, ENOSYS …), or KILL.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {"x86_64": {"perf_event_open": 298, "bpf": 321}, "aarch64": {"perf_event_open": 241, "bpf": 280}}[platform.machine()]
LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def main():
    at = sys.argv.index("--")
    steps = [(LOAD_NUMBER, 0, 0, 0)]
    for word in sys.argv[1:at]:
        call, answer = word.split("=")
        steps += [(EQUAL, 0, 1, NUMBERS[call]), (RETURN, 0, 0, KILL if answer == "KILL" else FAIL | getattr(errno, answer))]
    steps.append((RETURN, 0, 0, ALLOW))
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(code))
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, program, 0, 0):
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[at + 1], sys.argv[at + 1:])


main()
