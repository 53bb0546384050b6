"""An engine child needs no network: the kernel refuses it every socket but a Unix one.

The sandbox of the service's unit cannot do this: the service itself serves TCP. A filter of the
child's own can, without any privilege, on every kernel since 3.5. The program is classic BPF over
``struct seccomp_data``, which linux/seccomp.h and seccomp(2) describe.
"""

import ctypes
import errno
import os
import platform
import socket
import sys
from typing import Final, NamedTuple

__all__ = ["unix_sockets_only"]


class _Machine(NamedTuple):
    architecture: int  # AUDIT_ARCH_*, linux/audit.h
    socket: int  # number of socket(2): asm/unistd_64.h, asm-generic/unistd.h


_MACHINES: Final = {
    "x86_64": _Machine(architecture=0xC000003E, socket=41),
    "aarch64": _Machine(architecture=0xC00000B7, socket=198),
}
_IO_URING_SETUP: Final = 425  # the same everywhere; a ring makes sockets past any filter
_X32: Final = 0x40000000  # __X32_SYSCALL_BIT: x86-64's second set of numbers

# linux/prctl.h, linux/seccomp.h
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_SECCOMP_MODE_FILTER: Final = 2
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_ALLOW: Final = 0x7FFF0000
# Offsets in struct seccomp_data; the low half of the first argument, as both are little-endian.
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16

# linux/bpf_common.h: BPF_LD+BPF_W+BPF_ABS, BPF_JMP+BPF_K+(BPF_JEQ, BPF_JGE), BPF_RET+BPF_K
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jump_true", ctypes.c_uint8),
        ("jump_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def unix_sockets_only() -> None:
    """Let this process, and all that it starts, make no socket but Unix ones, for ever.

    ``socket(2)`` of another family then fails with EAFNOSUPPORT, as under systemd's
    ``RestrictAddressFamilies=``.

    Raises:
        OSError: the kernel refused, or the filter is not written for this machine.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.byteorder != "little":
        raise OSError(errno.ENOSYS, f"no socket filter for {platform.machine()}")
    content = _instructions(machine)
    program = _Program(len(content), (_Instruction * len(content))(*content))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _instructions(machine: _Machine) -> list[_Instruction]:
    # A jump counts the instructions that it skips.
    return [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        _Instruction(_IF_EQUAL, 1, 0, machine.architecture),
        _Instruction(_RETURN, 0, 0, _KILL_PROCESS),
        _Instruction(_LOAD, 0, 0, _NUMBER),
        _Instruction(_IF_AT_LEAST, 6, 0, _X32),
        _Instruction(_IF_EQUAL, 5, 0, _IO_URING_SETUP),
        _Instruction(_IF_EQUAL, 0, 2, machine.socket),
        _Instruction(_LOAD, 0, 0, _ARGUMENT),
        _Instruction(_IF_EQUAL, 0, 1, socket.AF_UNIX),
        _Instruction(_RETURN, 0, 0, _ALLOW),
        _Instruction(_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT),
        _Instruction(_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]


def _prctl(option: int, first: int, second: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_ulong(value) for value in (first, second, 0, 0))
    if libc.prctl(option, *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
