"""A network that has the loopback alone, for a check whose programs are to reach nothing outside of the machine."""
import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "no network of its own can be made")


def leave():
    """Leaves the network of the machine, with all processes that are started from now on. A process with one thread alone can do that."""
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(CLONE_NEWNET)
    except PermissionError:
        # Who is not root may do it among users of its own, where it stays the same one.
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as place:
                place.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, name))[0]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def leave_if_possible():
    """The same, where the machine allows it. Says what the network is."""
    try:
        leave()
        print("network: the loopback alone", flush=True)
    except OSError as error:
        print(f"network: that of the machine ({error})", flush=True)
