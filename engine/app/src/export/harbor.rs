//! Exports prepared competitions as tasks for Harbor, a harness that runs agents in containers and grades their results.
//!
//! ```text
//! TARGET/dataset.toml                 the tasks with their content hashes
//! TARGET/ID/instruction.md            the description, and the paths of the data and of the submission
//! TARGET/ID/task.toml                 limits, and the digests of the data
//! TARGET/ID/environment               the agent's image: public files, no answers
//! TARGET/ID/tests                     the verifier's image: this program, the private files, test.sh
//! TARGET/ID/solution/solve.sh         submits the sample
//! ```
//!
//! The verifier runs in a container to which the agent has no access. It receives only the submission from the agent.
//!
//! If the answers are sealed, the verifier needs the variable `PREP_IDENTITY`, which Harbor passes from the host.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prep_core::Cancel;
use prep_digests::Sha256;
use prep_spec::{PackLayout, Pipeline};
use prep_steps::{Expand, Manifest, PublishedPaths};
use prep_trust::Recipient;
use serde::Serialize;
use serde_json::json;

use super::{
    Export, ExportForm, TemporaryCopy, export, files_below, parent_of, require_current, require_new,
};
use crate::catalog::{Catalog, CatalogEntry};
use crate::error::Error;
use crate::settings::Settings;
use crate::{digests, prepared, sealed};

const ORGANIZATION: &str = "prep";
/// Directories of the public files and of the submission in the agent's container.
const DATA: &str = "/home/data";
const SUBMISSION: &str = "/home/submission";
const AGENT_IMAGE: &str = "python:3.11-slim-bookworm";
const VERIFIER_IMAGE: &str = "debian:bookworm-slim";

/// The files that the verifier needs for a competition that is not built in.
const PIPELINE_FILES: &str = "pipeline.yaml description.md leaderboard.csv checksums.json";

/// The part of `task.toml` that passes the identity of the grader to the verifier.
const IDENTITY: &str = "\n[verifier.env]\nPREP_IDENTITY = \"${PREP_IDENTITY}\"\n";

#[derive(Debug, Clone)]
pub struct HarborExport {
    pub target: PathBuf,
    /// The program that the verifier runs.
    pub program: PathBuf,
    /// Whether the public files are mounted from the data directory instead of being copied into the image.
    pub mounts_public: bool,
    /// Public keys of graders. If there are any, the answers are sealed for these graders.
    pub recipients: Vec<Recipient>,
    pub expand: Expand,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HarborTask {
    pub id: String,
    pub variant: String,
    /// Whether the answers in the task are encrypted.
    pub sealed: bool,
    /// Harbor's content hash of the task.
    pub digest: String,
}

/// Exports competitions as tasks in a new directory, which gets its final name when all tasks are complete.
///
/// # Errors
/// Same as [`export`], for each competition.
pub fn export_harbor(
    catalog: &Catalog,
    settings: &Settings,
    ids: &[String],
    wanted: &HarborExport,
    cancel: &Cancel,
) -> Result<Vec<HarborTask>, Error> {
    let target = &wanted.target;
    require_new(target)?;
    let failed = |error: io::Error| Error::writing("write", target, &error);
    let parent = parent_of(target);
    fs::create_dir_all(parent).map_err(failed)?;
    let draft = TemporaryCopy::new(parent).map_err(failed)?;
    let made = draft.join("made");
    let mut tasks = Vec::new();
    for id in ids {
        // A task contains only the files of its pipeline, so the verifier would not recognize the pack.
        if id.contains('/') {
            let message = format!("`{id}` is in a pack, so it cannot be exported as a task");
            return Err(Error::request(message)
                .help("copy its pipeline to a directory of your own, and prepare it from there"));
        }
        let exporter = TaskExporter {
            entry: catalog.get(id)?,
            settings,
            wanted,
            copy: draft.join(&format!("copy-{id}")),
            task: made.join(id),
        };
        tasks.push(exporter.export(catalog, cancel)?);
    }
    fs::write(made.join("dataset.toml"), dataset(&tasks)).map_err(failed)?;
    fs::set_permissions(&made, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    fs::rename(&made, target).map_err(failed)?;
    Ok(tasks)
}

struct TaskExporter<'a> {
    entry: &'a CatalogEntry,
    settings: &'a Settings,
    wanted: &'a HarborExport,
    /// A temporary copy of the data. Its directories are moved into the task.
    copy: PathBuf,
    task: PathBuf,
}

impl TaskExporter<'_> {
    fn export(&self, catalog: &Catalog, cancel: &Cancel) -> Result<HarborTask, Error> {
        let (id, data_dir) = (&self.entry.id, &self.settings.data_dir);
        let manifest =
            prepared::complete_manifest(data_dir, id)?.ok_or_else(|| prepared::not_prepared(id))?;
        let is_sealed = sealed::is_sealed(data_dir, id);
        let copied = Export {
            form: ExportForm::Directory,
            private: !is_sealed && self.wanted.recipients.is_empty(),
            expand: self.wanted.expand,
            layout: Some(PackLayout::MleBench),
            target: self.copy.clone(),
        };
        export(catalog, self.settings, id, &copied, cancel)?;
        let published = PublishedPaths::new(data_dir, manifest.clone());
        let published = published.map_err(|error| prepared::unreadable(id, &error))?;
        let pipeline = self.entry.load(&manifest.variant)?;
        let written = self.write(&manifest, &pipeline, copied.private);
        written.map_err(|error| Error::writing("write", &self.task, &error))?;
        let home = self.verifier_home(&manifest.variant);
        if is_sealed {
            if !sealed::is_current(data_dir, &manifest) {
                return Err(sealed::outdated(data_dir, id));
            }
            copy_file(&sealed::path(data_dir, id), &home.join(sealed::SEALED_FILE))
                .map_err(|error| Error::writing("write", &home, &error))?;
        } else if !copied.private {
            let target = home.join(sealed::SEALED_FILE);
            sealed::seal_into(catalog, self.settings, id, &self.wanted.recipients, &target)?;
        }
        require_current(self.settings, id, &published)?;
        let digest = content_hash(&self.task);
        Ok(HarborTask {
            id: id.clone(),
            sealed: !copied.private,
            digest: digest.map_err(|error| Error::reading("read", &self.task, &error))?,
            variant: manifest.variant,
        })
    }

    /// Returns the competition's directory in the verifier's data directory.
    fn verifier_home(&self, variant: &str) -> PathBuf {
        let settings = Settings {
            data_dir: self.task.join("tests/data"),
            ..self.settings.clone()
        };
        settings.data_dir_of(variant).join(&self.entry.id)
    }

    fn write(&self, manifest: &Manifest, pipeline: &Pipeline, has_private: bool) -> io::Result<()> {
        let (id, variant) = (&self.entry.id, manifest.variant.as_str());
        let (public, copy) = ("environment/public", self.copy.join(id).join("prepared"));
        self.text("instruction.md", &self.instruction(pipeline)?)?;
        self.text("task.toml", &self.config(manifest, pipeline, has_private))?;
        let copied = match self.wanted.mounts_public {
            true => {
                self.text("environment/docker-compose.yaml", &self.mount())?;
                String::new()
            }
            false => {
                move_directory(&copy.join("public"), &self.task.join(public))?;
                format!("COPY public {DATA}\n")
            }
        };
        let image =
            format!("FROM {AGENT_IMAGE}\n{copied}RUN mkdir -p {SUBMISSION}\nWORKDIR /home\n");
        self.text("environment/Dockerfile", &image)?;
        self.text(
            "tests/Dockerfile",
            &format!("FROM {VERIFIER_IMAGE}\nCOPY . /tests\n"),
        )?;
        let values = [
            ("id", id.as_str()),
            ("variant", variant),
            ("sample", sample(pipeline)),
        ];
        let test = filled(include_str!("../../templates/harbor/test.sh"), &values);
        self.script("tests/test.sh", &test)?;
        let solution = filled(include_str!("../../templates/harbor/solve.sh"), &values);
        self.script("solution/solve.sh", &solution)?;
        let home = self.verifier_home(variant);
        fs::create_dir_all(&home)?;
        if has_private {
            move_directory(&copy.join("private"), &home.join("prepared/private"))?;
        }
        for (name, content) in manifest.for_copy(&self.settings.data_dir)? {
            fs::write(home.join(name), content)?;
        }
        self.copy_pipeline()?;
        copy_file(&self.wanted.program, &self.task.join("tests/prep"))
    }

    fn text(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.task.join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        fs::write(path, text)
    }

    fn script(&self, name: &str, text: &str) -> io::Result<()> {
        self.text(name, text)?;
        fs::set_permissions(self.task.join(name), fs::Permissions::from_mode(0o755))
    }

    /// Copies the files of the pipeline, unless the pipeline is built in.
    fn copy_pipeline(&self) -> io::Result<()> {
        let Some(source) = &self.entry.directory else {
            return Ok(());
        };
        let target = self.task.join("tests/pipelines").join(&self.entry.id);
        fs::create_dir_all(&target)?;
        for name in PIPELINE_FILES.split(' ') {
            if source.join(name).is_file() {
                copy_file(&source.join(name), &target.join(name))?;
            }
        }
        Ok(())
    }

    fn instruction(&self, pipeline: &Pipeline) -> io::Result<String> {
        let description = self.settings.prepared_dir(&self.entry.id);
        let description = fs::read_to_string(description.join("public/description.md"))?;
        let values = [
            ("sample", sample(pipeline)),
            ("description", description.trim_end()),
        ];
        Ok(filled(
            include_str!("../../templates/harbor/instruction.md"),
            &values,
        ))
    }

    fn config(&self, manifest: &Manifest, pipeline: &Pipeline, has_private: bool) -> String {
        let (id, variant, trees) = (&self.entry.id, &manifest.variant, manifest.trees);
        let description = digests::description(&self.settings.data_dir, id);
        let found = digests::report_digests(self.entry, pipeline, variant, trees, description);
        let values = [
            ("organization", ORGANIZATION),
            ("id", id),
            ("name", &json!(pipeline.name).to_string()),
            ("variant", variant),
            ("program", crate::VERSION),
            ("verifier_env", if has_private { "" } else { IDENTITY }),
        ];
        let mut text = filled(include_str!("../../templates/harbor/task.toml"), &values);
        let digests = [
            ("digest", found.all),
            ("public", found.public),
            ("answers", found.answers),
            ("rules", found.rules),
            ("leaderboard", found.leaderboard),
            ("pipeline", found.pipeline),
        ];
        for (name, digest) in digests {
            let line = digest.map(|digest| format!("{name} = \"{digest}\"\n"));
            text.push_str(&line.unwrap_or_default());
        }
        text
    }

    fn mount(&self) -> String {
        let public = self.settings.prepared_dir(&self.entry.id).join("public");
        let public = std::path::absolute(&public).unwrap_or(public);
        let volume = format!("{}:{DATA}:ro", public.display());
        format!(
            "services:\n  main:\n    volumes:\n      - {}\n",
            json!(volume)
        )
    }
}

fn sample(pipeline: &Pipeline) -> &str {
    let grade = pipeline.grade.as_ref();
    let sample = grade.map_or("sample_submission.csv", |grade| {
        grade.value.sample.value.as_str()
    });
    sample.strip_prefix("public/").unwrap_or(sample)
}

/// Replaces `{name}` in a template by values.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let fill =
        |text: String, (name, value): &(&str, &str)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(template.to_owned(), fill)
}

fn dataset(tasks: &[HarborTask]) -> String {
    let mut text = format!(
        "[dataset]\nname = \"{ORGANIZATION}/competitions\"\ndescription = \"Competitions that prep {} prepared\"\n",
        crate::VERSION
    );
    for task in tasks {
        let name = format!("{ORGANIZATION}/{}", task.id);
        text.push_str(&format!(
            "\n[[tasks]]\nname = {}\ndigest = {}\n",
            json!(name),
            json!(task.digest)
        ));
    }
    text
}

/// Copies a file with its permissions. In addition, all users may read the copy, and its owner may write it.
fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    fs::copy(source, target)?;
    let mode = fs::metadata(source)?.permissions().mode();
    fs::set_permissions(target, fs::Permissions::from_mode(mode & 0o777 | 0o644))
}

fn move_directory(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(target.parent().unwrap_or(Path::new(".")))?;
    fs::rename(source, target)
}

/// Returns Harbor's content hash of a task.
///
/// The content hash is the SHA-256 of a list with one line per file: its path and its SHA-256. The list is sorted by path.
fn content_hash(task: &Path) -> io::Result<String> {
    let mut names = files_below(task, "")?;
    names.sort();
    let mut text = String::new();
    for name in names {
        let (digest, _) = prep_digests::digest_of_file(&task.join(&name))?;
        text.push_str(&format!("{name}\0{digest}\n"));
    }
    Ok(digests::text(Sha256::of_bytes(text.as_bytes())))
}
