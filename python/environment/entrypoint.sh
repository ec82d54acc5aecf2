#!/bin/bash
# Runs as root: opens the agent's folders, then validates submissions for as long as the container lives.
#
# The answers are mounted below /private/data, which only root may read. COMPETITION_ID names the competition.
set -u
agents=/home

# Everything but the data, which may be mounted read-only.
find "$agents" -path "$agents/data" -prune -o -exec chmod a+rw {} +
find "$agents" -path "$agents/data" -prune -o -type d -exec chmod a+x {} +

exec prep serve --host 0.0.0.0 --port 5000 --data-dir /private/data "$COMPETITION_ID" \
    > >(tee "$agents/logs/entrypoint.log") 2>&1
