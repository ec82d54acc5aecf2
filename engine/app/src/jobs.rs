//! Generates scripts for Slurm and manifests for Kubernetes, which prepare competitions on a cluster. The generated files
//! contain no secrets.
//!
//! One job array downloads bundles to the mirror, a few at a time, because more downloads per account are not faster. The
//! other job array prepares one competition per job from the mirror, the largest first.
//!
//! A job is restarted after an error of the system, such as a full disk, but not after an error in its input.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::str::FromStr;

use prep_core::units;

use crate::catalog::Catalog;

/// The competitions to prepare, and the resources of the jobs.
#[derive(Debug, Clone)]
pub struct JobPlan {
    pub ids: Vec<String>,
    /// The remote's address, without secrets.
    pub remote: String,
    /// A directory that all workers can access. All paths of a plan must be absolute, because jobs may start in any directory.
    pub data_dir: PathBuf,
    /// A directory of additional pipelines that all workers can access.
    pub pipelines: Option<PathBuf>,
    /// A directory of bundles that all workers can access.
    pub source: Option<PathBuf>,
    /// The variant to prepare, if it is not the default one.
    pub variant: Option<String>,
    /// Whether outputs and bundles are not compared with published checksums.
    pub skips_verification: bool,
    /// Maximum number of jobs that download at the same time.
    pub downloads: usize,
    /// Maximum number of jobs that prepare competitions at the same time.
    pub workers: usize,
    /// Number of processors of a job that prepares a competition.
    pub processors: usize,
    /// Maximum memory of all steps of a worker, in bytes.
    pub memory: u64,
    /// Length of the largest bundle in bytes, 0 if unknown.
    pub disk: u64,
    /// Time limit of a job, in hours.
    pub hours: usize,
}

/// Options of Slurm's `sbatch`. If one is `None`, Slurm uses its default.
#[derive(Debug, Clone, Default)]
pub struct Slurm {
    pub partition: Option<String>,
    pub account: Option<String>,
    pub qos: Option<String>,
    /// Free space in bytes that a node must have in its temporary directory.
    pub tmp: Option<u64>,
}

impl Slurm {
    /// Returns the options of `sbatch`, each with a space before it.
    fn options(&self) -> String {
        let options = [
            ("partition", &self.partition),
            ("account", &self.account),
            ("qos", &self.qos),
        ];
        let given = options.iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!(" --{name}={}", quoted(value)))
        });
        given.collect()
    }
}

/// Memory in addition to the memory of steps: for the program, network buffers and the page cache.
const BASE_MEMORY_BYTES: u64 = 2 << 30;
/// Disk space in addition to unpacked archives, for tables and the records of the cache.
const BASE_DISK_BYTES: u64 = 8 << 30;
const MEBIBYTE: u64 = 1 << 20;

impl JobPlan {
    /// Returns the memory limit of a worker, in mebibytes.
    fn memory_limit(&self) -> u64 {
        (self.memory + self.memory / 4 + BASE_MEMORY_BYTES) / MEBIBYTE
    }

    /// Returns the disk space in bytes for a worker's cache, or `None` if the sizes of bundles are unknown.
    fn disk_limit(&self) -> Option<u64> {
        (self.disk > 0).then(|| self.disk + self.disk / 2 + BASE_DISK_BYTES)
    }

    /// Describes the disk space for a worker's cache in words, for a comment of the script.
    fn disk(&self) -> String {
        self.disk_limit().map_or_else(
            || "1.5 times the size of the largest bundle".to_owned(),
            units::bytes,
        )
    }

    /// Returns the ids as words of the shell.
    fn ids(&self) -> String {
        self.ids
            .iter()
            .map(|id| quoted(id))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn summary(&self) -> String {
        let count = units::count(self.ids.len() as u64, "competition");
        match self.disk {
            0 => format!("{count}, sizes of bundles unknown"),
            bytes => format!("{count}, the largest bundle has {}", units::bytes(bytes)),
        }
    }

    /// Returns the options of `prep fetch` that `prep run` does not share.
    fn fetch_options(&self) -> Vec<&str> {
        match self.skips_verification {
            true => vec!["--skip-bundle-verification"],
            false => Vec::new(),
        }
    }

    /// Returns the options of `prep run` that `prep fetch` does not share.
    fn run_options(&self) -> Vec<&str> {
        let variant = self.variant.iter();
        let variant = variant.flat_map(|variant| ["--variant", variant]);
        let skips = self.skips_verification.then_some("--skip-verification");
        variant.chain(skips).collect()
    }

    /// Returns the options that `prep fetch` and `prep run` share in a Slurm script, as one line for the shell.
    fn shared_options(&self) -> String {
        let path = |path: &PathBuf| Some(path.display().to_string());
        let options = [
            ("--unit", Some(self.ids.len().to_string())),
            ("--remote", Some(self.remote.clone())),
            ("--data-dir", path(&self.data_dir)),
            ("--pipelines", self.pipelines.as_ref().and_then(path)),
            ("--source", self.source.as_ref().and_then(path)),
        ];
        let given = options
            .iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", quoted(value.as_ref()?))));
        given.collect::<Vec<_>>().join(" ")
    }
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=+,@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns options as words of the shell, each with a space before it. The options and the names of variants need no
/// quotes.
fn words(options: &[&str]) -> String {
    options.iter().map(|option| format!(" {option}")).collect()
}

/// Exit codes after which another attempt may succeed: a system error, an unavailable server, a signal.
const TRANSIENT_EXIT_CODES: [u8; 5] = [6, 7, 130, 137, 143];
/// Exit codes after which another attempt cannot succeed: a negative result, a mistake in the command, the
/// pipeline or the input, a failed check, several failures, a bug.
const PERMANENT_EXIT_CODES: [u8; 7] = [1, 2, 3, 4, 5, 8, 101];
const MAX_ATTEMPTS: usize = 3;

const SLURM_TEMPLATE: &str = include_str!("../templates/slurm.sh");
const JOB_TEMPLATE: &str = include_str!("../templates/job.yaml");

/// Replaces each `@NAME@` of a template with its value. Values are inserted verbatim, even if they contain `@NAME@`.
fn fill_template(template: &str, values: &[(&str, String)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('@') {
        text.push_str(before);
        let value = after.split_once('@').and_then(|(name, remainder)| {
            let mut values = values.iter();
            Some((&values.find(|(own, _)| *own == name)?.1, remainder))
        });
        rest = match value {
            Some((value, remainder)) => {
                text.push_str(value);
                remainder
            }
            // The `@` of a shell array, for example `${common[@]}`.
            None => {
                text.push('@');
                after
            }
        };
    }
    text + rest
}

/// Returns a Slurm script that submits two job arrays.
pub fn slurm(plan: &JobPlan, slurm: &Slurm) -> String {
    let count = plan.ids.len();
    let values = [
        ("SUMMARY", plan.summary()),
        (
            "TRANSIENT",
            TRANSIENT_EXIT_CODES.map(|code| code.to_string()).join("|"),
        ),
        ("ATTEMPTS", MAX_ATTEMPTS.to_string()),
        ("IDS", quoted(&plan.ids())),
        // The options are quoted twice: `shared_options` quotes each one for a job's command, and this line quotes all
        // of them as the value of a shell variable.
        ("SHARED", quoted(&plan.shared_options())),
        ("FETCH", words(&plan.fetch_options())),
        ("RUN", words(&plan.run_options())),
        ("LAST", count.saturating_sub(1).to_string()),
        ("HOURS", plan.hours.to_string()),
        ("SBATCH", slurm.options()),
        ("DOWNLOADS", plan.downloads.to_string()),
        ("WORKERS", plan.workers.to_string()),
        ("PROCESSORS", plan.processors.to_string()),
        ("BYTES", plan.memory.to_string()),
        ("MEMORY", plan.memory_limit().to_string()),
        (
            "TMP",
            slurm.tmp.map_or_else(String::new, |bytes| {
                format!(" --tmp={}M", bytes.div_ceil(MEBIBYTE))
            }),
        ),
        ("DISK", plan.disk()),
    ];
    fill_template(SLURM_TEMPLATE, &values)
}

/// Returns a Kubernetes manifest with two indexed jobs.
pub fn kubernetes(plan: &JobPlan, pod: &PodOptions) -> String {
    let count = plan.ids.len().to_string();
    let mut text = format!(
        "# {}. Printed by `prep remote jobs k8s`.\n\
         #   kubectl apply -f THIS-FILE\n\
         #   for end in complete failed; do kubectl wait --for=condition=$end --timeout={}h job/prep-fetch & done; wait -n\n\
         #   kubectl patch job/prep-prepare -p '{{\"spec\":{{\"suspend\":false}}}}'\n\
         # The secret `prep-credentials` holds variables (KAGGLE_API_TOKEN, AWS_ACCESS_KEY_ID ...), and the secret\n\
         # `prep-config` holds the files `prep.toml` and `worker.key`.\n",
        plan.summary(),
        plan.hours
    );
    let shared = ["--unit", &count, "--remote", &plan.remote];
    let fetch = ["fetch"].into_iter().chain(shared);
    let fetch: Vec<&str> = fetch.chain(plan.fetch_options()).collect();
    let (processors, memory) = (plan.processors.to_string(), plan.memory.to_string());
    let prepare: Vec<&str> = ["run"]
        .into_iter()
        .chain(shared)
        .chain(plan.run_options())
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
            // Downloads go to the volume of the data directory, so the cache needs no space for them.
            disk: BASE_DISK_BYTES,
        },
        Pod {
            name: "prep-prepare",
            side_by_side: plan.workers,
            suspended: true,
            arguments: prepare,
            processors: plan.processors,
            memory: plan.memory_limit(),
            disk: plan.disk_limit().unwrap_or(BASE_DISK_BYTES),
        },
    ];
    for job in jobs {
        text.push_str(&job.text(plan, pod));
    }
    text
}

/// The container of the jobs of Kubernetes.
#[derive(Debug, Clone)]
pub struct PodOptions {
    pub image: String,
    /// The volume claim of the data directory.
    pub claim: String,
    /// The numeric id of the user and group that run `prep`.
    pub user: u32,
}

struct Pod<'a> {
    name: &'static str,
    side_by_side: usize,
    suspended: bool,
    arguments: Vec<&'a str>,
    processors: usize,
    /// Memory of the pod in MiB.
    memory: u64,
    /// Disk space of the cache in bytes.
    disk: u64,
}

impl Pod<'_> {
    fn text(&self, plan: &JobPlan, pod: &PodOptions) -> String {
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
        let values = [
            ("NAME", self.name.to_owned()),
            ("SUSPENDED", self.suspended.to_string()),
            ("COUNT", plan.ids.len().to_string()),
            ("SIDE_BY_SIDE", self.side_by_side.to_string()),
            ("ATTEMPTS", MAX_ATTEMPTS.to_string()),
            ("PERMANENT", format!("{PERMANENT_EXIT_CODES:?}")),
            ("DEADLINE", (plan.hours * 3600).to_string()),
            ("IMAGE", json(&pod.image)),
            ("USER", pod.user.to_string()),
            ("ARGUMENTS", arguments.join(", ")),
            ("PROCESSORS", self.processors.to_string()),
            ("MEMORY", self.memory.to_string()),
            ("DISK", (self.disk / MEBIBYTE).to_string()),
            ("CLAIM", json(&pod.claim)),
        ];
        fill_template(JOB_TEMPLATE, &values)
    }
}

/// One of several jobs that prepare a similar amount of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The number of the unit, from 1. `None` if the scheduler of the job determines it.
    pub number: Option<usize>,
    /// The number of units.
    pub of: usize,
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Unit, String> {
        let wrong = || {
            format!(
                "`{text}` is not a unit; write I/N for unit I of N units, for example 3/8, or only N in a job of a job array"
            )
        };
        let number = |text: &str| match text.parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(number) => Ok(number),
        };
        let unit = match text.split_once('/') {
            Some((first, of)) => Unit {
                number: Some(number(first)?),
                of: number(of)?,
            },
            None => Unit {
                number: None,
                of: number(text)?,
            },
        };
        match unit.number {
            Some(first) if first > unit.of => Err(wrong()),
            _ => Ok(unit),
        }
    }
}

/// Assumed length of a bundle without a published length, in bytes.
const ASSUMED_BUNDLE_BYTES: u64 = 1 << 30;

/// Returns the competitions of unit `number` (from 1) of `of` units, the largest first.
pub fn unit(catalog: &Catalog, ids: &[String], number: usize, of: usize) -> Vec<String> {
    let size = |id: &String| catalog.find(id).and_then(crate::CatalogEntry::size);
    let sized = ids
        .iter()
        .map(|id| (size(id).unwrap_or(ASSUMED_BUNDLE_BYTES), id));
    assign(sized.collect(), number, of)
}

/// Divides competitions, with their sizes in bytes, into `of` units. Returns the competitions of unit `number`.
///
/// Adds each competition, the largest first, to the unit with the fewest bytes. The largest unit has at most 4/3 of the
/// bytes that it would have in the best division.
fn assign(mut sized: Vec<(u64, &String)>, number: usize, of: usize) -> Vec<String> {
    sized.sort_by_key(|(bytes, id)| (Reverse(*bytes), *id));
    let mut loads = vec![0u64; of.max(1)];
    let mut assigned = Vec::new();
    for (bytes, id) in sized {
        let least_loaded = loads
            .iter()
            .enumerate()
            .min_by_key(|(place, load)| (**load, *place));
        let Some(place) = least_loaded.map(|(place, _)| place) else {
            break;
        };
        if let Some(load) = loads.get_mut(place) {
            // Counts an empty bundle as one byte, so that empty bundles are distributed too.
            *load += bytes.max(1);
        }
        if place + 1 == number {
            assigned.push(id.clone());
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> JobPlan {
        JobPlan {
            ids: vec!["a".into(), "b-c".into()],
            remote: "s3://bucket/team x".into(),
            data_dir: "/shared/it's here".into(),
            pipelines: None,
            source: None,
            variant: None,
            skips_verification: false,
            downloads: 2,
            workers: 8,
            processors: 4,
            memory: 8 << 30,
            disk: 10_000_000_000,
            hours: 12,
        }
    }

    fn pod() -> PodOptions {
        PodOptions {
            image: "r/prep:1".into(),
            claim: "data".into(),
            user: 1000,
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
    fn templates_are_filled_completely_and_values_are_verbatim() {
        assert_eq!(
            fill_template("a@X@b@Y@@X@", &[("X", "@Y@".into()), ("Y", "2".into())]),
            "a@Y@b2@Y@"
        );
        let plan = JobPlan {
            remote: "s3://@IDS@/team".into(),
            ..plan()
        };
        for text in [slurm(&plan, &Slurm::default()), kubernetes(&plan, &pod())] {
            assert!(text.contains("s3://@IDS@/team"), "{text}");
            let left = text.replace("s3://@IDS@/team", "");
            assert!(!left.replace("[@]", "").contains('@'), "{left}");
        }
    }

    #[test]
    fn a_slurm_script_sets_resources_and_retries() {
        let text = slurm(&plan(), &Slurm::default());
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
            "--kill-on-invalid-dep=yes",
            "at most 23.6 GB",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("--tmp"));
        let tmp = Some(50 << 30);
        let text = slurm(
            &plan(),
            &Slurm {
                tmp,
                ..Slurm::default()
            },
        );
        assert!(text.contains("--mem=12288M --tmp=51200M"), "{text}");
    }

    #[test]
    fn jobs_get_the_options_of_variant_and_verification() {
        let plan = JobPlan {
            variant: Some("fixed:30,63".into()),
            skips_verification: true,
            ..plan()
        };
        let text = slurm(&plan, &Slurm::default());
        for part in [
            "run $shared --variant fixed:30,63 --skip-verification --cache-dir",
            "fetch $shared --skip-bundle-verification --cache-dir",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let text = kubernetes(&plan, &pod());
        for part in [
            r#""--variant", "fixed:30,63", "--skip-verification""#,
            r#""--skip-bundle-verification""#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn the_size_of_bundles_is_not_stated_if_it_is_unknown() {
        assert!(plan().summary().ends_with("the largest bundle has 10.0 GB"));
        let unknown = JobPlan { disk: 0, ..plan() };
        assert_eq!(
            unknown.summary(),
            "2 competitions, sizes of bundles unknown"
        );
    }

    #[test]
    fn a_kubernetes_manifest_does_not_retry_permanent_failures() {
        let text = kubernetes(&plan(), &pod());
        for part in [
            "completionMode: Indexed",
            "completions: 2",
            "action: FailIndex",
            "values: [1, 2, 3, 4, 5, 8, 101]",
            "suspend: true",
            "runAsUser: 1000",
            "ephemeral-storage: 8192Mi",
            "ephemeral-storage: 22497Mi",
            "memory: 12288Mi",
            r#""s3://bucket/team x""#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn units_are_balanced_disjoint_and_complete() {
        let names: Vec<String> = (0..23).map(|n| format!("c{n:02}")).collect();
        let sized: Vec<(u64, &String)> = names
            .iter()
            .enumerate()
            .map(|(n, name)| ((n * n) as u64, name))
            .collect();
        for of in [1, 2, 5, 23, 40] {
            let units: Vec<Vec<String>> = (1..=of)
                .map(|number| assign(sized.clone(), number, of))
                .collect();
            let mut all: Vec<&String> = units.iter().flatten().collect();
            all.sort();
            assert_eq!(all, names.iter().collect::<Vec<_>>());
            let load = |unit: &Vec<String>| -> u64 {
                unit.iter()
                    .map(|id| sized.iter().find(|(_, name)| *name == id).unwrap().0)
                    .sum()
            };
            let total: u64 = sized.iter().map(|(bytes, _)| bytes).sum();
            let most = units.iter().map(load).max().unwrap();
            assert!(
                3 * most <= 4 * (total / of as u64).max(22 * 22),
                "{of} units, the largest has {most} bytes"
            );
            for unit in units.iter().filter(|unit| !unit.is_empty()) {
                assert!(unit.is_sorted_by_key(|id| Reverse(id.clone())));
            }
        }
        // If there are as many units as competitions, each unit gets one, and the first gets the largest.
        assert_eq!(assign(sized, 1, 23), ["c22"]);
    }

    #[test]
    fn units_are_parsed() {
        let unit = |number, of| Ok(Unit { number, of });
        assert_eq!("3/8".parse::<Unit>(), unit(Some(3), 8));
        assert_eq!("8".parse::<Unit>(), unit(None, 8));
        for wrong in ["", "0/8", "9/8", "1/0", "a", "1/2/3", "-1/2"] {
            assert!(wrong.parse::<Unit>().is_err(), "{wrong}");
        }
    }
}
