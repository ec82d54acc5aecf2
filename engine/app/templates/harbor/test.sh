#!/bin/sh
# Grades the submission, and writes Harbor's reward.json. The private files are next to this script.
tests=$(cd "$(dirname "$0")" && pwd)
logs=${VERIFIER_LOGS:-/logs/verifier}
set -- "$tests/prep" grade {id} "${SUBMISSION:-/home/submission/submission.csv}" --variant {variant} \
    --data-dir "$tests/data" --cache-dir "${TMPDIR:-/tmp}/prep-cache" --no-log \
    --output "$logs" --reward "$logs/reward.json"
if [ -d "$tests/pipelines" ]; then
    set -- "$@" --pipelines "$tests/pipelines"
fi
if [ -n "${PREP_IDENTITY:-}" ]; then
    printf '%s\n' "$PREP_IDENTITY" | "$@" --identity -
else
    "$@"
fi
# 1 is an invalid submission, whose reward is 0. After other errors there is no reward.
[ $? -le 1 ]
