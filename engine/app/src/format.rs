//! One layout for pipeline files: no space at the end of a line, no carriage return, and no empty line at the beginning, at
//! the end or next to another one. Comments stay.

use std::collections::BTreeMap;
use std::path::Path;

use prep_core::Failure;

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::outline::outline;

/// The formatted text of the pipeline in a file; none if the file is formatted.
///
/// # Errors
/// If the file cannot be read or has mistakes, or if its meaning depends on the layout.
pub fn format_pipeline(path: &Path) -> Result<Option<String>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::reading("read the pipeline", path, &error))?;
    let new = format(&text);
    if meaning(path, &text)? != meaning(path, &new)? {
        let message = format!(
            "cannot format {} without a change of its meaning",
            path.display()
        );
        return Err(Error::new(Failure::Pipeline, message)
            .help("quote the texts whose spaces or empty lines matter"));
    }
    Ok((new != text).then_some(new))
}

/// The settings of all variants.
fn meaning(path: &Path, text: &str) -> Result<Vec<BTreeMap<String, String>>, Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let entry = CatalogEntry::entry_of_directory(
        "formatted".to_owned(),
        path,
        folder,
        text.to_owned().into(),
    )?;
    prep_spec::variants(text)?
        .iter()
        .map(|variant| Ok(outline(&entry.load(variant)?)))
        .collect()
}

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
    fn only_the_layout_changes() {
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
}
