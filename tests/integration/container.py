"""The default restrictions of a container: a seccomp filter like those of the common engines, no
new privileges, no capabilities."""

import ctypes
import platform
import struct

PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ALLOW = 0x7FFF0000
SECCOMP_RET_ERRNO = 0x00050000
EPERM = 1
BPF_LOAD_WORD, BPF_JUMP_IF_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06
OFFSET_OF_NUMBER = 0  # in struct seccomp_data
CAPABILITIES = 41

# System call numbers of x86-64.
FORBIDDEN = {
    "ptrace": 101, "personality": 135, "pivot_root": 155, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "iopl": 172,
    "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238,
    "get_mempolicy": 239, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "unshare": 272, "move_pages": 279, "perf_event_open": 298, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)


def _filter() -> bytes:
    """Compares the call's number with each forbidden one; a match jumps to the last instruction."""
    numbers = sorted(FORBIDDEN.values())
    code = _instruction(BPF_LOAD_WORD, OFFSET_OF_NUMBER)
    for place, number in enumerate(numbers):
        code += _instruction(BPF_JUMP_IF_EQUAL, number, if_true=len(numbers) - place)
    return (code + _instruction(BPF_RETURN, SECCOMP_RET_ALLOW)
            + _instruction(BPF_RETURN, SECCOMP_RET_ERRNO | EPERM))


def can_confine() -> bool:
    return platform.machine() == "x86_64"


def confine() -> None:
    """Restricts this process and its children permanently."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    code = _filter()
    program = _Program(len(code) // 8, code)
    for capability in range(CAPABILITIES):
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails in a process without capabilities
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        if prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), f"prctl({arguments[0]})")
