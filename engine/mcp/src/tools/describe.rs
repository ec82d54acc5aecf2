//! The tool `describe`: returns the task of a competition and the files that participants get.

use prep_app::{Error, Remedy};
use serde_json::{Value, json};

use super::{Arguments, ToolDefinition, list};
use crate::answer::{Answer, ToolError};
use crate::options::McpOptions;

pub const DESCRIBE: ToolDefinition = ToolDefinition {
    name: "describe",
    description: "Describe a prepared competition: the task, the metric, and the public files with sizes, rows and columns. Paths of files are relative to `directory`.",
    parameters: &[("id", "id of the competition", true)],
    has_scores: false,
    call: describe,
};

/// The directory below `prepared` whose files are described. Private files are never described.
const PUBLIC_PREFIX: &str = "public/";

fn describe(options: &McpOptions, arguments: &Arguments) -> Answer {
    let id = arguments.text("id");
    let entry = options.catalog.get(id)?;
    let data_dir = &options.settings.data_dir;
    let Some(manifest) = prep_app::manifest(data_dir, id)? else {
        let remedy = Remedy::Prepare { id: id.to_owned() };
        return Err(
            ToolError::new(format!("`{id}` is not prepared; the user can prepare it")).help(remedy),
        );
    };
    let public = options.settings.prepared_dir(id).join(PUBLIC_PREFIX);
    // Relative to the directory of the server, the path would be useless for an agent elsewhere.
    let public = public
        .canonicalize()
        .map_err(|error| Error::reading("open", &public, &error))?;
    let files: Vec<Value> = manifest
        .outputs
        .iter()
        .filter_map(|output| Some((output.path.strip_prefix(PUBLIC_PREFIX)?, output)))
        .map(|(path, output)| {
            json!({
                "path": path,
                "files": output.files,
                "bytes": output.bytes,
                "rows": output.rows,
                "columns": output.columns,
            })
        })
        .collect();
    let mut found = list::row(options, entry);
    if let Value::Object(found) = &mut found {
        let description = std::fs::read_to_string(public.join("description.md"));
        found.insert("description".to_owned(), json!(description.ok()));
        found.insert("directory".to_owned(), json!(public.to_string_lossy()));
        found.insert("files".to_owned(), json!(files));
    }
    Ok(json!({ "competitions": [found] }))
}
