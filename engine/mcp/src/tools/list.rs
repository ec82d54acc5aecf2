//! The tool `list`: lists all competitions, and shows which are prepared.

use prep_app::{CatalogEntry, PreparedData, PreparedState};
use serde_json::{Value, json};

use super::{Arguments, ToolDefinition};
use crate::answer::{Answer, ToolError};
use crate::options::McpOptions;

pub const LIST: ToolDefinition = ToolDefinition {
    name: "list",
    description: "List the competitions of MLE-bench and the user's own: id, name, category, and whether its data are prepared on this system.",
    parameters: &[(
        "set",
        "only the competitions of this set: lite, low, medium, high, dev or all",
        false,
    )],
    has_scores: false,
    call: list,
};

fn list(options: &McpOptions, arguments: &Arguments) -> Answer {
    let set = match arguments.get("set") {
        None => None,
        Some(name) => Some(prep_splits::set(name).ok_or_else(|| {
            let names: Vec<&str> = prep_splits::set_names().collect();
            ToolError::new(format!("there is no set `{name}`"))
                .help(format!("the sets are {}", names.join(", ")))
        })?),
    };
    let entries = options.catalog.iter();
    let chosen = entries.filter(|entry| match &set {
        Some(ids) => ids.iter().any(|id| *id == entry.id),
        None => true,
    });
    let competitions: Vec<Value> = chosen.map(|entry| row(options, entry)).collect();
    Ok(json!({ "competitions": competitions }))
}

/// Returns a short description of a competition.
pub fn row(options: &McpOptions, entry: &CatalogEntry) -> Value {
    let pipeline = entry.load(&options.variant).ok();
    json!({
        "id": entry.id,
        "name": pipeline.as_ref().map(|pipeline| &pipeline.name),
        "category": pipeline.as_ref().map(|pipeline| &pipeline.category),
        "sets": entry.sets().collect::<Vec<_>>(),
        "state": state(options, &entry.id),
    })
}

fn state(options: &McpOptions, id: &str) -> &'static str {
    let settings = &options.settings;
    let data = prep_app::manifest(&settings.data_dir, id)
        .and_then(|manifest| PreparedData::new(manifest.as_ref(), &settings.data_dir, settings));
    let Ok(data) = data else {
        return "unreadable";
    };
    match data.state {
        PreparedState::Prepared => "prepared",
        PreparedState::NotPrepared => "not prepared",
        problem => problem.problem().unwrap_or("not prepared"),
    }
}
