#!/bin/bash
# Runs as root: makes the agent's directories writable, then validates submissions while the container runs.
#
# The answers are mounted below /private/data, which only root may read. COMPETITION_ID names the competition. If it is
# not set, the header `exp-id` of each request does.
set -u
agents=/home
mkdir -p "$agents/logs"

# Change all directories except the data, which may be mounted read-only.
find "$agents" -path "$agents/data" -prune -o -exec chmod a+rw {} +
find "$agents" -path "$agents/data" -prune -o -type d -exec chmod a+x {} +

exec prep serve --host 0.0.0.0 --port 5000 --data-dir /private/data ${COMPETITION_ID:+"$COMPETITION_ID"} \
    > >(tee "$agents/logs/entrypoint.log") 2>&1
