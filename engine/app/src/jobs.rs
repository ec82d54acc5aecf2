//! Scripts and manifests that prepare competitions on a cluster: text, and nothing else.
//!
//! One competition per job of an array, the largest first. An array of downloads goes before, a few at a time, since Kaggle
//! serves an account no faster with more; it brings bundles into the mirror, from which workers read what they need. A job
//! that ended because of the machine starts again, one that ended because of its input does not. Nothing in the text is
//! a secret.

use std::fmt::Write;
use std::path::PathBuf;

use prep_core::units;

/// What is to be prepared, and with how much.
#[derive(Debug, Clone)]
pub struct JobPlan {
    pub ids: Vec<String>,
    /// The remote's address, without secrets.
    pub remote: String,
    /// A folder that all workers see.
    pub data_dir: PathBuf,
    pub downloads: usize,
    pub workers: usize,
    pub processors: usize,
    /// Bytes that a worker's steps may hold together.
    pub memory: u64,
    /// Length of the largest bundle, 0 if unknown.
    pub disk: u64,
    pub hours: usize,
}

/// Beyond what steps hold: the program, buffers of the network, the page cache.
const BESIDE: u64 = 2 << 30;
const MEBIBYTE: u64 = 1 << 20;

impl JobPlan {
    /// Memory that a worker is given, in mebibytes.
    fn memory_limit(&self) -> u64 {
        (self.memory + self.memory / 4 + BESIDE) / MEBIBYTE
    }

    /// Disk of a worker's own, in mebibytes: what the largest bundle's archives unpack to, with room to spare.
    fn disk_limit(&self) -> u64 {
        (self.disk + self.disk / 2 + (8 << 30)) / MEBIBYTE
    }

    fn ids(&self) -> String {
        self.ids
            .iter()
            .map(|id| quoted(id))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn summary(&self) -> String {
        format!(
            "{}, the largest bundle has {}",
            units::count(self.ids.len() as u64, "competition"),
            units::bytes(self.disk)
        )
    }
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=+,@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Exit codes after which another attempt may help: the machine, a server that stays away, a signal.
const TRANSIENT: [u8; 5] = [6, 7, 130, 137, 143];
/// Exit codes after which none does: usage, pipeline, input, check, several of them.
const PERMANENT: [u8; 5] = [1, 2, 3, 4, 5];
/// Attempts of a job.
const ATTEMPTS: usize = 3;

/// A script that submits two arrays.
pub fn slurm(plan: &JobPlan) -> String {
    let count = plan.ids.len();
    let (remote, data) = (
        quoted(&plan.remote),
        quoted(&plan.data_dir.display().to_string()),
    );
    let (last, memory) = (count.saturating_sub(1), plan.memory_limit());
    let mut text = String::new();
    // Writing into a text does not fail.
    let _ = write!(
        text,
        r#"#!/usr/bin/env bash
# {summary}. Printed by `prep jobs slurm`; submit with `bash THIS-FILE`.
# PREP names the program on the nodes, PREP_SCRATCH a folder of each node's own. Credentials come from the nodes.
set -euo pipefail
export PREP=${{PREP:-prep}} PREP_SCRATCH=${{PREP_SCRATCH:-${{TMPDIR:-/tmp}}/prep}}

# Starts a job anew when the machine was at fault: a task that was killed alone is not requeued by Slurm itself.
job() {{
    cat <<JOB
#!/usr/bin/env bash
code=0
$1 || code=\$?
case \$code in
{transient})
    if [ "\${{SLURM_RESTART_COUNT:-0}}" -lt {ATTEMPTS} ]; then
        echo "exit code \$code: starting again"
        scontrol requeue "\${{SLURM_ARRAY_JOB_ID}}_\${{SLURM_ARRAY_TASK_ID}}" && sleep 60
    fi;;
esac
exit \$code
JOB
}}

ids={ids}
common=(--parsable --requeue --open-mode=append --time={hours}:00:00 --array)

# The same script submitted twice: the second waits for the first, and finds everything done.
fetch=$(job "$PREP fetch --unit {count} --remote {remote} --data-dir {data} --cache-dir $PREP_SCRATCH/store --discard-bundle $ids" |
    sbatch "${{common[@]}}" 0-{last}%{downloads} --job-name=prep-fetch --dependency=singleton \
        --cpus-per-task=2 --mem=4096M --output=prep-fetch-%a.log)
prepare=$(job "$PREP run --unit {count} --remote {remote} --data-dir {data} --cache-dir $PREP_SCRATCH/store --jobs {processors} --memory {bytes} --discard-bundle $ids" |
    sbatch "${{common[@]}}" 0-{last}%{workers} --job-name=prep-prepare --dependency="aftercorr:$fetch,singleton" \
        --cpus-per-task={processors} --mem={memory}M --tmp={disk}M --output=prep-prepare-%a.log)
echo "submitted: downloads $fetch, preparation $prepare"
"#,
        transient = TRANSIENT.map(|code| code.to_string()).join("|"),
        summary = plan.summary(),
        ids = quoted(&plan.ids()),
        hours = plan.hours,
        downloads = plan.downloads,
        workers = plan.workers,
        processors = plan.processors,
        bytes = plan.memory,
        disk = plan.disk_limit(),
    );
    text
}

/// A manifest with two indexed jobs.
pub fn kubernetes(plan: &JobPlan, image: &str, claim: &str) -> String {
    let count = plan.ids.len().to_string();
    let mut text = format!(
        "# {}. Printed by `prep jobs k8s`.\n\
         #   kubectl apply -f THIS-FILE\n\
         #   kubectl wait --for=condition=complete --timeout={}h job/prep-fetch\n\
         #   kubectl patch job/prep-prepare -p '{{\"spec\":{{\"suspend\":false}}}}'\n\
         # The secret `prep-credentials` holds variables (KAGGLE_API_TOKEN, AWS_ACCESS_KEY_ID ...), the secret\n\
         # `prep-config` the files `prep.toml` and `NAME.key`.\n",
        plan.summary(),
        plan.hours
    );
    let shared = ["--unit", &count, "--remote", &plan.remote];
    let fetch: Vec<&str> = ["fetch"].into_iter().chain(shared).collect();
    let (processors, memory) = (plan.processors.to_string(), plan.memory.to_string());
    let prepare: Vec<&str> = ["run"]
        .into_iter()
        .chain(shared)
        .chain(["--jobs", &processors, "--memory", &memory])
        .collect();
    let jobs = [
        Pod {
            name: "prep-fetch",
            side_by_side: plan.downloads,
            suspended: false,
            arguments: fetch,
            processors: 2,
            memory: 4096,
        },
        Pod {
            name: "prep-prepare",
            side_by_side: plan.workers,
            suspended: true,
            arguments: prepare,
            processors: plan.processors,
            memory: plan.memory_limit(),
        },
    ];
    for job in jobs {
        job.write(&mut text, plan, image, claim);
    }
    text
}

struct Pod<'a> {
    name: &'static str,
    side_by_side: usize,
    suspended: bool,
    arguments: Vec<&'a str>,
    processors: usize,
    /// Mebibytes.
    memory: u64,
}

impl Pod<'_> {
    fn write(&self, text: &mut String, plan: &JobPlan, image: &str, claim: &str) {
        let json = |word: &str| serde_json::Value::from(word).to_string();
        let last = [
            "--data-dir",
            "/data",
            "--cache-dir",
            "/scratch/store",
            "--discard-bundle",
        ];
        let arguments = self.arguments.iter().copied().chain(last);
        let ids = plan.ids.iter().map(String::as_str);
        let arguments: Vec<String> = arguments.chain(ids).map(json).collect();
        // Writing into a text does not fail.
        let _ = write!(
            text,
            r#"---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  suspend: {suspended}
  completionMode: Indexed
  completions: {count}
  parallelism: {side_by_side}
  backoffLimitPerIndex: {ATTEMPTS}
  maxFailedIndexes: {count}
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
      - action: FailIndex
        onExitCodes:
          containerName: prep
          operator: In
          values: {PERMANENT:?}
  template:
    spec:
      restartPolicy: Never
      activeDeadlineSeconds: {deadline}
      containers:
        - name: prep
          image: {image}
          command: ["prep"]
          args: [{arguments}]
          env:
            - name: XDG_CONFIG_HOME
              value: /config
          envFrom:
            - secretRef:
                name: prep-credentials
          resources:
            requests:
              cpu: "{processors}"
              memory: {memory}Mi
              ephemeral-storage: {disk}Mi
            limits:
              memory: {memory}Mi
          volumeMounts:
            - name: data
              mountPath: /data
            - name: scratch
              mountPath: /scratch
            - name: config
              mountPath: /config/prep
              readOnly: true
      volumes:
        - name: data
          persistentVolumeClaim:
            claimName: {claim}
        - name: scratch
          emptyDir: {{}}
        - name: config
          projected:
            defaultMode: 0400
            sources:
              - secret:
                  name: prep-config
                  items:
                    - key: prep.toml
                      path: prep.toml
                    - key: worker.key
                      path: keys/worker.key
"#,
            name = self.name,
            suspended = self.suspended,
            count = plan.ids.len(),
            side_by_side = self.side_by_side,
            deadline = plan.hours * 3600,
            image = json(image),
            arguments = arguments.join(", "),
            processors = self.processors,
            memory = self.memory,
            disk = plan.disk_limit(),
            claim = json(claim),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> JobPlan {
        JobPlan {
            ids: vec!["a".into(), "b-c".into()],
            remote: "s3://bucket/team x".into(),
            data_dir: "/shared/it's here".into(),
            downloads: 2,
            workers: 8,
            processors: 4,
            memory: 8 << 30,
            disk: 10_000_000_000,
            hours: 12,
        }
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        for (word, expected) in [
            ("s3://b/p", "s3://b/p"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn a_script_says_what_the_cluster_has_to_know() {
        let text = slurm(&plan());
        for part in [
            "0-1%2",
            "0-1%8",
            "aftercorr:$fetch,singleton",
            "--requeue",
            "scontrol requeue",
            "--mem=12288M",
            "6|7|130|137|143)",
            "ids='a b-c'",
            "--unit 2",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_manifest_fails_for_good_only_where_trying_again_is_no_use() {
        let text = kubernetes(&plan(), "r/prep:1", "data");
        for part in [
            "completionMode: Indexed",
            "completions: 2",
            "action: FailIndex",
            "values: [1, 2, 3, 4, 5]",
            "suspend: true",
            "memory: 12288Mi",
            r#""s3://bucket/team x""#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
