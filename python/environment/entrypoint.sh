#!/bin/bash
# Runs as root: makes the agent's directories writable, then validates submissions while the container runs.
#
# The answers are mounted below /private/data, which only root may read. COMPETITION_ID names the competition. Without this
# variable, the header `exp-id` of each request names the competition.
#
# An agent may have written into the directories before: in an earlier start of the container, or on a used volume. So this
# script trusts no path: it opens each file without following links, and changes the open file.
set -u
agents=/home

prepare='
import os, stat, sys

agents, *command = sys.argv[1:]
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
MAX_DEPTH = 100
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

def add_mode(opened, mode):
    found = os.fstat(opened)
    # A file with several hard links may also have a name in another directory.
    if stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1):
        os.fchmod(opened, stat.S_IMODE(found.st_mode) | mode)

def open_to_agents(opened, depth=0):
    add_mode(opened, 0o777)
    for name in os.listdir(opened):
        # The data may be mounted read-only.
        if depth == 0 and name == "data" or depth == MAX_DEPTH:
            continue
        try:
            is_directory = stat.S_ISDIR(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode)
            inner = os.open(name, DIRECTORY if is_directory else FILE, dir_fd=opened)
        except OSError:
            continue
        try:
            open_to_agents(inner, depth + 1) if is_directory else add_mode(inner, 0o666)
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
        finally:
            os.close(inner)

def create_log(directory):
    try:
        logs = os.open("logs", DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        os.mkdir("logs", dir_fd=directory)
        logs = os.open("logs", DIRECTORY, dir_fd=directory)
    try:
        os.unlink("entrypoint.log", dir_fd=logs)
    except FileNotFoundError:
        pass
    return os.open("entrypoint.log", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=logs)

directory = os.open(agents, os.O_RDONLY | os.O_DIRECTORY)
try:
    log = create_log(directory)
except OSError as error:
    print(f"no log in {agents}/logs: {error}", file=sys.stderr)
    log = os.open(os.devnull, os.O_WRONLY)
open_to_agents(directory)
os.dup2(log, 3)
os.set_inheritable(3, True)
os.execvp(command[0], command)
'

# -I: no module is imported from the current directory, which the agent can write.
exec python3 -I -c "$prepare" "$agents" \
    bash -c 'exec "$@" > >(tee /dev/fd/3) 2>&1' - \
    prep serve --host 0.0.0.0 --port 5000 --data-dir /private/data ${COMPETITION_ID:+"$COMPETITION_ID"}
