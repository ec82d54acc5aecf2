//! Checks and formats pipeline files. Needs no bundle, no cache and no network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_core::Failure;
use prep_spec::{Diagnostic, Diagnostics, Pipeline, Span, nearest};

use crate::catalog::{
    COMPETITION_FILES, CatalogEntry, PIPELINE_FILE, is_missing, misplaced_pipeline, rename_pipeline,
};
use crate::error::Error;
use crate::outline::outline;
use crate::stages::load::Loader;

/// Checks a pipeline file in all variants, and the leaderboard and checksums in its directory. Returns the warnings.
///
/// # Errors
/// Returns an error if the file cannot be read or the pipeline has mistakes. One error lists all mistakes.
pub fn check(path: &Path) -> Result<Option<Diagnostics>, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::reading_pipeline(path, &error))?;
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = whole.parent().unwrap_or(Path::new(""));
    let id = directory.file_name().unwrap_or_default();
    let id = id.to_string_lossy().into_owned();
    let entry = CatalogEntry::entry_of_directory(id, path, directory, text.into())?;
    let pipeline = Loader::without_notes().load(&entry, prep_spec::BASE_VARIANT)?;
    entry.check_checksums(&pipeline)?;
    Ok(warnings(&pipeline, directory))
}

/// Returns the warnings about a pipeline, and about the files in its directory.
pub(crate) fn warnings(pipeline: &Pipeline, directory: &Path) -> Option<Diagnostics> {
    let warnings = pipeline.warnings.iter().flat_map(Diagnostics::iter);
    let warnings = warnings.cloned().chain(similar_files(directory)).collect();
    Diagnostics::new(Arc::clone(&pipeline.source), warnings)
}

/// Returns a warning for each file whose name is similar to the name of a file that the directory lacks.
fn similar_files(directory: &Path) -> Vec<Diagnostic> {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    let lacking = COMPETITION_FILES
        .into_iter()
        .filter(|file| names.iter().all(|name| name != file));
    let mut found = Vec::new();
    for name in names
        .iter()
        .filter(|name| !COMPETITION_FILES.contains(&name.as_str()))
    {
        if let Some(near) = nearest(name, lacking.clone()) {
            let message = format!("the file `{name}` next to the pipeline has no effect");
            let warning = Diagnostic::warning("unknown-file", Span::default(), message);
            found.push(warning.suggest(Some(near)));
        }
    }
    found
}

/// Returns the pipeline files at a path.
///
/// If `path` is a file, returns only that file. If `path` is a directory, returns the `pipeline.yaml` in it. If the
/// directory contains none, returns the `pipeline.yaml` of each of its subdirectories.
///
/// # Errors
/// Returns an error if the directory cannot be read or contains no pipeline.
pub fn pipeline_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let own = path.join(PIPELINE_FILE);
    if own.is_file() {
        return Ok(vec![own]);
    }
    let failed = |error: std::io::Error| Error::reading("read the directory", path, &error);
    let (mut files, mut misplaced) = (Vec::new(), misplaced_pipeline(path));
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let file = path.join(PIPELINE_FILE);
        misplaced = misplaced.or_else(|| misplaced_pipeline(&path));
        // A file that cannot be read is listed too, so that it is reported.
        let is_pipeline = match file.metadata() {
            Ok(metadata) => metadata.is_file(),
            Err(error) => !is_missing(&error),
        };
        files.extend(is_pipeline.then_some(file));
    }
    files.sort();
    match files.is_empty() {
        true => {
            let error = Error::request(format!("{} contains no pipeline", path.display()));
            let help = misplaced.map(|(id, path)| rename_pipeline(&id, &path).into());
            Err(Error { help, ..error })
        }
        false => Ok(files),
    }
}

/// Returns the JSON Schema of pipeline files, for editors.
pub fn schema() -> serde_json::Value {
    prep_spec::schema::schema(
        prep_steps::vocabulary(),
        &prep_grade::spec::definition::grade_schema(),
    )
}

/// Formats a pipeline file: removes superfluous whitespace, and keeps comments. Returns `None` if nothing changes.
///
/// # Errors
/// Returns an error if the file cannot be read or has mistakes, or if formatting would change its meaning.
pub fn format_pipeline(path: &Path) -> Result<Option<String>, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::reading_pipeline(path, &error))?;
    let new = format(&text);
    if meaning(path, &text)? != meaning(path, &new)? {
        let message = format!(
            "cannot format {} without changing its meaning",
            path.display()
        );
        return Err(Error::new(Failure::Pipeline, message)
            .help("quote the strings whose spaces or empty lines matter"));
    }
    Ok((new != text).then_some(new))
}

/// Returns the settings of the pipeline in each of its variants.
fn meaning(path: &Path, text: &str) -> Result<Vec<BTreeMap<String, String>>, Error> {
    let file_name = path.display().to_string();
    let entry = CatalogEntry::of_text("formatted", &file_name, text.to_owned());
    // The base variant is loaded first, because an error of `load` names the file, unlike an error of `variants`.
    entry.load(prep_spec::BASE_VARIANT)?;
    prep_spec::variants(text)?
        .iter()
        .map(|variant| Ok(outline(&entry.load(variant)?)))
        .collect()
}

/// Removes trailing whitespace, empty lines at the start and the end, and all but one of several consecutive empty lines.
fn format(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let text = lines.get(first..).unwrap_or_default().join("\n");
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_changes_only_the_layout() {
        let text = "\n\nname: A  \r\n\n\n\n# why\nx: 1\n\n";
        assert_eq!(format(text), "name: A\n\n# why\nx: 1\n");
        assert_eq!(format(&format(text)), format(text));
    }

    #[test]
    fn built_in_pipelines_are_formatted() {
        let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../pipelines"));
        for competition in std::fs::read_dir(directory).unwrap() {
            let file = competition.unwrap().path().join("pipeline.yaml");
            if file.is_file() {
                assert_eq!(format_pipeline(&file).unwrap(), None, "{}", file.display());
            }
        }
    }

    #[test]
    fn a_file_with_a_similar_name_is_a_warning() {
        let temp = tempfile::tempdir().unwrap();
        for (name, near) in [
            ("leaderbord.csv", Some("leaderboard.csv")),
            ("descriptions.md", Some("description.md")),
            ("notes.txt", None),
            ("pipeline.yaml", None),
        ] {
            let directory = temp.path().join(name);
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join("pipeline.yaml"), "").unwrap();
            std::fs::write(directory.join(name), "").unwrap();
            let help = similar_files(&directory).pop().and_then(|one| one.help);
            let expected = near.map(|near| format!("did you mean `{near}`?"));
            assert_eq!(help, expected, "{name}");
        }
    }
}
