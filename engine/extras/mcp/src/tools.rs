//! The tools: `list`, `describe`, `validate` and `grade`. To add a tool, list it in [`ALL`].
//!
//! `validate` runs the same code as `grade`, but returns no score.

use prep_app::{
    CatalogEntry, Error, PreparedData, PreparedState, Remedy, Submission, SubmissionError,
    Validation,
};
use prep_grade::report::{JsonObject, JsonValue};
use prep_spec::alternatives;
use serde_json::{Map, Number, Value, json};

use crate::{Answer, McpOptions, ToolError};

pub struct ToolDefinition {
    pub name: &'static str,
    pub description: &'static str,
    /// Name, description, and whether the parameter is required.
    pub parameters: &'static [(&'static str, &'static str, bool)],
    /// The members of each competition in the answer and their JSON types: `id:string name:string|null`.
    pub members: &'static str,
    pub has_scores: bool,
    pub call: fn(&McpOptions, &Arguments) -> Answer,
}

pub const ALL: &[&ToolDefinition] = &[&LIST, &DESCRIBE, &VALIDATE, &GRADE];

impl ToolDefinition {
    /// Returns the tool's description for clients. All parameters are strings.
    pub fn schema(&self) -> Value {
        let property = |(name, description, _): &(&str, &str, bool)| {
            let schema = json!({ "type": "string", "description": description });
            ((*name).to_owned(), schema)
        };
        let required = self.parameters.iter().filter(|(_, _, required)| *required);
        let required: Vec<&str> = required.map(|(name, _, _)| *name).collect();
        let properties: Map<String, Value> = self.parameters.iter().map(property).collect();
        let members = self.members.split_whitespace();
        let members = members.filter_map(|member| member.split_once(':'));
        let types = |types: &str| json!({ "type": types.split('|').collect::<Vec<_>>() });
        let members = members.map(|(name, one)| (name.to_owned(), types(one)));
        let members: Map<String, Value> = members.collect();
        let names: Vec<&String> = members.keys().collect();
        let competition = json!({ "type": "object", "properties": members, "required": names });
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": { "competitions": { "type": "array", "items": competition } },
                "required": ["competitions"],
            },
            "annotations": { "readOnlyHint": true },
        })
    }
}

pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks the arguments of a call against the parameters of the tool.
    pub fn parse(
        definition: &ToolDefinition,
        given: Map<String, Value>,
    ) -> Result<Arguments, ToolError> {
        let names: Vec<&str> = definition
            .parameters
            .iter()
            .map(|(name, _, _)| *name)
            .collect();
        for (name, value) in &given {
            if !names.contains(&name.as_str()) {
                let message = format!("`{}` has no parameter `{name}`", definition.name);
                let help = alternatives(name, "it", names);
                return Err(ToolError::new(message).help(help));
            }
            if !value.is_string() {
                return Err(ToolError::new(format!("`{name}` is not a string")));
            }
        }
        for (name, description, required) in definition.parameters {
            if *required && !given.contains_key(*name) {
                let message = format!("`{}` needs `{name}`", definition.name);
                return Err(ToolError::new(message).help(*description));
            }
        }
        Ok(Arguments(given))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}

pub const LIST: ToolDefinition = ToolDefinition {
    name: "list",
    description: "List the competitions of MLE-bench and the user's own competitions: id, name, category, and whether its data are prepared on this system.",
    parameters: &[(
        "set",
        "only the competitions of this set: lite, low, medium, high, dev, all, the name of a pack, or PACK/NAME for a set of a pack",
        false,
    )],
    members: "id:string name:string|null category:string|null sets:array state:string",
    has_scores: false,
    call: list_competitions,
};

fn list_competitions(options: &McpOptions, arguments: &Arguments) -> Answer {
    let set = match arguments.get("set") {
        None => None,
        Some(name) => Some(options.catalog.set(name)?),
    };
    let entries = options.catalog.iter();
    let chosen = entries.filter(|entry| match &set {
        Some(ids) => ids.contains(&entry.id),
        None => true,
    });
    let competitions: Vec<Value> = chosen.map(|entry| row(options, entry)).collect();
    Ok(json!({ "competitions": competitions }))
}

pub fn row(options: &McpOptions, entry: &CatalogEntry) -> Value {
    let pipeline = entry.load(&options.variant).ok();
    json!({
        "id": entry.id,
        "name": pipeline.as_ref().map(|pipeline| &pipeline.name),
        "category": pipeline.as_ref().map(|pipeline| &pipeline.category),
        "sets": entry.sets(),
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
        PreparedState::Prepared | PreparedState::Sealed => "prepared",
        PreparedState::NotPrepared => "not prepared",
        problem => problem.problem().unwrap_or("not prepared"),
    }
}

pub const DESCRIBE: ToolDefinition = ToolDefinition {
    name: "describe",
    description: "Describe a prepared competition: the task, the metric, and the public files with sizes, rows and columns. Paths of files are relative to `directory`.",
    parameters: &[("id", "id of the competition", true)],
    members: "id:string name:string|null category:string|null sets:array state:string description:string|null \
        directory:string files:array",
    has_scores: false,
    call: describe_competition,
};

const PUBLIC_PREFIX: &str = "public/";

fn describe_competition(options: &McpOptions, arguments: &Arguments) -> Answer {
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
    // The agent may run in a different directory, so the path must be absolute.
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
    let mut found = row(options, entry);
    if let Value::Object(found) = &mut found {
        let description = std::fs::read_to_string(public.join("description.md"));
        found.insert("description".to_owned(), json!(description.ok()));
        found.insert("directory".to_owned(), json!(public.to_string_lossy()));
        found.insert("files".to_owned(), json!(files));
    }
    Ok(json!({ "competitions": [found] }))
}

pub const GRADE: ToolDefinition = ToolDefinition {
    name: "grade",
    description: "Grade a submission against the prepared answers: score, medal, and the thresholds of the leaderboard.",
    parameters: PARAMETERS,
    members: "id:string score:number|null gold_threshold:number|null silver_threshold:number|null \
        bronze_threshold:number|null median_threshold:number|null any_medal:boolean gold_medal:boolean \
        silver_medal:boolean bronze_medal:boolean above_median:boolean submission_exists:boolean \
        valid_submission:boolean is_lower_better:boolean created_at:string submission_path:string \
        variant:string reason:object|null comparable_with_v1:boolean not_comparable_because:array \
        submission_is_answers:boolean own_metric:boolean digests:object program:string log:object|null",
    has_scores: true,
    call: grade_submission,
};

fn grade_submission(options: &McpOptions, arguments: &Arguments) -> Answer {
    let id = arguments.text("id");
    let refused = |error| refused(options, arguments, &error);
    let submission = open(options, arguments).map_err(refused)?;
    let grading = options.grading(id)?;
    let report = grading.report(&submission, grading.grade(&submission))?;
    let mut entry = Map::from_iter([("id".to_owned(), json!(id))]);
    entry.extend(members(&report.to_json())?.filter(|(name, _)| name != "competition_id"));
    Ok(json!({ "competitions": [entry] }))
}

/// Converts the members of a JSON object. Fails if a score is NaN or infinite, which JSON cannot represent.
fn members(object: &JsonObject) -> Result<impl Iterator<Item = (String, Value)>, ToolError> {
    let members = object.iter().map(|(name, value)| {
        let name = name.as_str().unwrap_or_default().to_owned();
        Ok((name, converted(value)?))
    });
    Ok(members.collect::<Result<Vec<_>, ToolError>>()?.into_iter())
}

/// Converts a value. Numbers are not formatted as text, because that could change their last digit.
fn converted(value: &JsonValue) -> Answer {
    Ok(match value {
        JsonValue::Null => Value::Null,
        JsonValue::Bool(value) => json!(value),
        JsonValue::Int(value) => json!(value),
        JsonValue::BigInt(digits) => json!(digits),
        JsonValue::Float(value) => Number::from_f64(*value)
            .map(Value::Number)
            .ok_or_else(|| ToolError::new("the score is not a number"))?,
        JsonValue::String(_) => json!(value.as_str()),
        JsonValue::List(values) => {
            Value::Array(values.iter().map(converted).collect::<Result<_, _>>()?)
        }
        JsonValue::Object(object) => Value::Object(members(object)?.collect()),
    })
}

pub const PARAMETERS: &[(&str, &str, bool)] = &[
    ("id", "id of the competition", true),
    (
        "submission",
        "path of the CSV file with the submission, absolute or relative to the directory of submissions",
        true,
    ),
];

/// Opens the submission. A relative path refers to a file below the directory of submissions.
pub fn open(options: &McpOptions, arguments: &Arguments) -> Result<Submission, SubmissionError> {
    options.submissions.open(arguments.text("submission"))
}

pub fn refused(options: &McpOptions, arguments: &Arguments, error: &SubmissionError) -> ToolError {
    let name = arguments.text("submission");
    let directory = options.submissions.path().display();
    let help = match error {
        SubmissionError::Competition(error) => return ToolError::from((**error).clone()),
        SubmissionError::Changed => {
            "write the submission completely, and then call the tool again".to_owned()
        }
        _ => format!(
            "write the submission as a regular file below {directory}; relative paths start in this directory"
        ),
    };
    let message = match error {
        SubmissionError::Missing => format!("there is no file `{name}`"),
        SubmissionError::Outside => {
            format!("`{name}` is not below the directory of submissions")
        }
        SubmissionError::Read { source, .. } => format!("cannot read `{name}`: {source}"),
        error => format!("cannot read `{name}`: {error}"),
    };
    ToolError::new(message).help(help)
}

pub const VALIDATE: ToolDefinition = ToolDefinition {
    name: "validate",
    description: "Check whether a submission is valid: columns, ids, types. The result contains no score.",
    parameters: PARAMETERS,
    members: "id:string valid:boolean message:string|null reason:object|null",
    has_scores: false,
    call: validate_submission,
};

fn validate_submission(options: &McpOptions, arguments: &Arguments) -> Answer {
    let id = arguments.text("id");
    let outcome = match open(options, arguments) {
        Ok(submission) => options.grading(id)?.grade(&submission),
        Err(error) => Err(error),
    };
    let found = match &outcome {
        Ok(_) | Err(SubmissionError::NotCsv) => Validation::of("", &outcome)?,
        Err(error) => return Err(refused(options, arguments, error)),
    };
    Ok(json!({ "competitions": [{
        "id": id,
        "valid": found.valid,
        "message": found.message,
        "reason": found.reason,
    }]}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_all_digits() {
        for number in [0.1, 1e60, 8.41e119, 1.234_567_890_123_45e150, 5e-324, -0.0] {
            let value = converted(&JsonValue::from(number)).unwrap();
            assert_eq!(value.as_f64().map(f64::to_bits), Some(number.to_bits()));
        }
        for number in [f64::NAN, f64::INFINITY] {
            assert!(converted(&JsonValue::from(number)).is_err());
        }
    }
}
