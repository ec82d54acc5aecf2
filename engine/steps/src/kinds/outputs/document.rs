//! `document`: copies a JSON object from the bundle. Rows of queries replace some of the object's members.
//!
//! Members are read and written one by one, so memory depends only on the largest member that is copied.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;

use prep_core::{BoxError, Context, FileValue, Inputs, StepError, Value};
use prep_formats::json::{JsonElements, JsonString, JsonValue as Json};
use prep_formats::text_encoding::TextEncoding;
use prep_spec::alternatives;
use prep_spec::model::{Query, Setting};
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};
use prep_sql::Session;
use thiserror::Error;

use super::tables::{DIALECT, INDENT, SORT_KEYS, check, dialect};
use crate::emit::{JsonFormat, JsonObjectWriter, for_each_record};
use crate::kinds::{ENCODING, encoding};
use crate::kinds::{FunctionStep, StepKind};
use crate::limits::{limits, undecodable};
use crate::relation::{QueryRun, query_memory};
use crate::value::{Opener, file_content, only_tree};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a JSON document",
            doc: "Copies a JSON object from a file of the bundle, and replaces some of its members by lists. Each list contains the rows of a query. The other members are copied as Python's `json` reads and writes them.",
            keys: &[
                SectionKey::required(
                    "document",
                    KeyType::Source,
                    "Path of the object in the bundle.",
                    "metadata.json",
                ),
                SectionKey::required(
                    "members",
                    KeyType::Queries,
                    "Members that become lists. Each row becomes an object, with the names of the columns as keys. If the only column is `record`, each row becomes the JSON value of this column.",
                    "{ images: SELECT record FROM images }",
                ),
                SectionKey::optional(
                    "only",
                    KeyType::Texts,
                    "All members of the output, in this order. Default: the members of the file, followed by new ones from `members`.",
                    "[info, images]",
                ),
                ENCODING,
                INDENT,
                SORT_KEYS,
                DIALECT,
            ],
        },
        methods: &[],
        makes: Produces::File(&[]),
        check: Some(check),
    },
    step: |declaration, session| {
        let members = declaration.queries("members").iter();
        let document = Document {
            path: declaration.text("document")?.to_owned(),
            encoding: encoding(declaration),
            members: members
                .map(|(name, query)| (name.value.clone(), query.clone()))
                .collect(),
            only: match declaration.get("only").map(|only| &only.value) {
                Some(Setting::Texts(texts)) => Some(texts.clone()),
                _ => None,
            },
            dialect: dialect(declaration),
            session: session.clone(),
        };
        document.step().step()
    },
};

#[derive(Debug, Error)]
enum DocumentError {
    #[error("`{path}` is not a valid JSON object")]
    Format {
        path: String,
        #[source]
        cause: BoxError,
    },
    #[error("`{path}` has no member `{member}`; {}", alternatives(.member, "it", .found.iter().map(String::as_str)))]
    NoMember {
        path: String,
        member: String,
        found: Vec<String>,
    },
}

struct Document {
    path: String,
    encoding: TextEncoding,
    members: Vec<(String, Query)>,
    only: Option<Vec<String>>,
    dialect: JsonFormat,
    session: Session,
}

impl Document {
    fn step(self) -> FunctionStep {
        let members = self.members.iter();
        let members: Vec<_> = members.map(|(name, query)| (name, &query.key)).collect();
        let params = serde_json::json!({
            "path": self.path,
            "encoding": self.encoding,
            "members": members,
            "only": self.only,
            "dialect": self.dialect,
        });
        let memory_members = self.members.clone();
        let run = move |context: &Context, inputs: &Inputs| self.run(context, inputs);
        // The queries run one after another, so the memory of the largest query suffices.
        FunctionStep::new("document", 3, params, run).memory(move |inputs| {
            let queries = memory_members.iter().map(|(_, query)| query);
            let memory = queries.map(|query| query_memory(query, inputs));
            memory.max().unwrap_or(0)
        })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Value, StepError> {
        let tree = only_tree(context, inputs)?;
        let content = file_content(&tree, &self.path, "document")?;
        let opener = Opener::new(context);
        let opened = opener.open(&content)?;
        let open = || -> Result<_, StepError> {
            let members = JsonElements::object(self.encoding.reader(opened.read_ahead()?));
            Ok(members.with_limits(&limits(context)))
        };
        let keys = self.keys(open()?)?;
        let mut out = JsonObjectWriter::new(context.store.writer()?, self.dialect);
        let mut rows = 0;
        // Each copied member is searched for from the current position. If the members keep their order, one pass suffices.
        let mut file = open()?;
        for key in &keys {
            context.check()?;
            let name = key.to_string_lossy();
            let query = self.members.iter().find(|(member, _)| *member == name);
            if let Some((_, query)) = query {
                out.list(&Json::String(key.clone()), |list| {
                    let run = QueryRun::new(&self.session, query, context, inputs);
                    let (count, _) = for_each_record(run, |value| list.push(value))?;
                    rows += count;
                    Ok(())
                })?;
                continue;
            }
            let value = match self.member(&mut file, key)? {
                Some(value) => value,
                None => {
                    file = open()?;
                    let disappeared = || StepError::internal("a member disappeared from the file");
                    self.member(&mut file, key)?.ok_or_else(disappeared)?
                }
            };
            out.member(&Json::String(key.clone()), &value)?;
        }
        let stored = out.finish()?.commit()?;
        Ok(FileValue::table(stored, rows, Vec::new()).into_value())
    }

    /// Returns the error for a file that cannot be parsed.
    fn failed(&self, cause: impl Into<BoxError>) -> StepError {
        undecodable(DocumentError::Format {
            path: self.path.clone(),
            cause: cause.into(),
        })
    }

    /// Returns the keys of the output's members, in order. Fails if `only` names a member that neither the file nor
    /// `members` has.
    fn keys(&self, mut file: JsonElements<impl Read>) -> Result<Vec<JsonString>, StepError> {
        let mut found: Vec<JsonString> = Vec::new();
        while let Some((key, _)) = file
            .next_member(|_| false)
            .map_err(|cause| self.failed(cause))?
        {
            found.push(key);
        }
        let in_file: HashSet<&JsonString> = found.iter().collect();
        let declared = self.members.iter().map(|(name, _)| name.as_str());
        let mut keys = match &self.only {
            Some(only) => only.iter().map(|name| name.as_str().into()).collect(),
            None => {
                let missing = declared.clone().map(JsonString::from);
                let missing: Vec<_> = missing.filter(|name| !in_file.contains(name)).collect();
                let mut keys = found.clone();
                keys.extend(missing);
                keys
            }
        };
        for key in &keys {
            let name = key.to_string_lossy();
            if !in_file.contains(key) && declared.clone().all(|declared| declared != name) {
                return Err(StepError::input(DocumentError::NoMember {
                    path: self.path.clone(),
                    member: name.into_owned(),
                    found: found
                        .iter()
                        .map(|key| key.to_string_lossy().into_owned())
                        .collect(),
                }));
            }
        }
        if self.dialect.sort_keys {
            // Python sorts strings by code point.
            let sorted: BTreeMap<Vec<u32>, JsonString> = keys
                .into_iter()
                .map(|key| (key.to_string_lossy().chars().map(u32::from).collect(), key))
                .collect();
            keys = sorted.into_values().collect();
        }
        Ok(keys)
    }

    /// Searches for a member in the rest of the file.
    fn member(
        &self,
        file: &mut JsonElements<impl Read>,
        target: &JsonString,
    ) -> Result<Option<Json>, StepError> {
        while let Some((_, value)) = file
            .next_member(|key| key == target)
            .map_err(|cause| self.failed(cause))?
        {
            if value.is_some() {
                return Ok(value);
            }
        }
        Ok(None)
    }
}
