"""Runs a database server that ends with the tests, even when their process is killed.

    keep.py USER DIRECTORY PROGRAM [ARGUMENT ...]

Runs the program as USER, or as the caller if that is empty. When the standard input ends, the
program and all processes that it has started are ended, and DIRECTORY is removed. When the program
ends by itself, only the processes that it left behind are ended.
"""

import ctypes
import os
import pathlib
import pwd
import select
import shutil
import signal
import sys
import time

user, directory, *command = sys.argv[1:]


def children() -> list[int]:
    """The processes that this one started or inherited."""
    listed = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(number) for number in listed.split()]


def reap() -> None:
    """Collects what has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def end_all() -> None:
    """Kills children until no child is left, because orphans become children."""
    while remaining := children():
        for child in remaining:
            os.kill(child, signal.SIGKILL)
        reap()
        time.sleep(0.005)


# PR_SET_CHILD_SUBREAPER: a server's processes would otherwise outlive it.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
signal.set_wakeup_fd(wake)
signal.signal(signal.SIGCHLD, lambda *_: None)
program = os.fork()
if program == 0:
    if user:
        entry = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
        os.environ["HOME"] = "/"
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.chdir(directory)
    os.execv(command[0], command)

is_wanted = True
while program in children():
    if is_wanted and sys.stdin in select.select([sys.stdin, ended], [], [])[0]:
        is_wanted = False
        # A server that ends by itself leaves no shared memory behind. One that was stopped cannot.
        os.kill(program, signal.SIGQUIT)
        limit = time.monotonic() + 2
    if not is_wanted:
        if time.monotonic() > limit:
            break
        time.sleep(0.005)
    else:
        try:
            os.read(ended, 512)
        except BlockingIOError:
            pass
    reap()
end_all()
if not is_wanted:
    shutil.rmtree(directory, ignore_errors=True)
