#!/usr/bin/env bash
# @SUMMARY@. Printed by `prep remote jobs slurm`; submit with `bash THIS-FILE`.
# PREP is the path of the program on the nodes. Jobs use the credentials of the nodes. Each job makes a directory for its
# cache in PREP_SCRATCH (default: TMPDIR or /tmp of the node), and deletes it at the end. The cache grows to at most @DISK@.
set -euo pipefail
export PREP=${PREP:-prep}

# Prints the script of a job that runs the command $1. After a system error, the job requeues itself, because Slurm does
# not requeue a job if only its task was killed.
job() {
    cat <<JOB
#!/usr/bin/env bash
code=0
scratch=\${PREP_SCRATCH:-\${TMPDIR:-/tmp}}/prep-\$SLURM_ARRAY_JOB_ID-\$SLURM_ARRAY_TASK_ID
mkdir -p -m 700 "\$scratch" && [ -O "\$scratch" ] || { echo "cannot use \$scratch: set PREP_SCRATCH to a directory in which you may create directories"; exit 2; }
trap 'rm -rf "\$scratch"' EXIT
$1 || code=\$?
case \$code in
@TRANSIENT@)
    if [ "\${SLURM_RESTART_COUNT:-0}" -lt @ATTEMPTS@ ]; then
        echo "exit code \$code: starting again"
        scontrol requeue "\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}" && sleep 60
    fi;;
esac
exit \$code
JOB
}

ids=@IDS@
shared=@SHARED@
common=(--parsable --requeue --open-mode=append --time=@HOURS@:00:00@SBATCH@ --array)

# If the script is submitted twice, the second submission waits for the first and finds nothing left to do.
fetch=$(job "$PREP fetch $shared@FETCH@ --cache-dir \"\$scratch/store\" --discard-bundle $ids" |
    sbatch "${common[@]}" 0-@LAST@%@DOWNLOADS@ --job-name=prep-fetch --dependency=singleton \
        --cpus-per-task=2 --mem=4096M --output=prep-fetch-%a.log)
# If a download failed and is not restarted, Slurm cancels the preparation that depends on it.
prepare=$(job "$PREP run $shared@RUN@ --cache-dir \"\$scratch/store\" --jobs @PROCESSORS@ --memory @BYTES@ --discard-bundle $ids" |
    sbatch "${common[@]}" 0-@LAST@%@WORKERS@ --job-name=prep-prepare --dependency="aftercorr:$fetch,singleton" \
        --kill-on-invalid-dep=yes --cpus-per-task=@PROCESSORS@ --mem=@MEMORY@M@TMP@ --output=prep-prepare-%a.log)
echo "submitted: downloads $fetch, preparation $prepare"
