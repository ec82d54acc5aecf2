//! `checksum`: an output must have its published MD5.

use std::io::Read;

use md5::{Digest as _, Md5};
use prep_core::{Context, Failure, FileValue, Inputs, Outputs, Step, StepError, Value};
use thiserror::Error;

use super::one;
use crate::value::{Content, Opener, Tree, input};

#[derive(Debug, Error)]
#[error("`{path}` has MD5 {found}, published is {expected}; --skip-verification accepts it")]
struct ChecksumError {
    path: String,
    found: String,
    expected: String,
}

pub(crate) struct Checksum {
    /// For messages: `public/train.csv`.
    pub path: String,
    /// The file within the input, when that is a folder.
    pub inside: Option<String>,
    pub md5: String,
}

impl Step for Checksum {
    fn kind(&self) -> &'static str {
        "checksum"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "md5": self.md5, "inside": self.inside })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let value = input(inputs, "file")?;
        let content = match FileValue::of(value) {
            Ok(file) => Content::Object {
                digest: file.digest,
                bytes: file.bytes,
            },
            Err(_) => {
                let tree = Tree::load(context, value)?;
                let content = tree.get(self.inside.as_deref().unwrap_or_default());
                content.ok_or_else(|| {
                    StepError::internal(format!("`{}` is not in its folder", self.path))
                })?
            }
        };
        let opener = Opener::new(context);
        let found = md5_of(context, &opener, &content)?;
        if !found.eq_ignore_ascii_case(&self.md5) {
            let error = ChecksumError {
                path: self.path.clone(),
                found,
                expected: self.md5.clone(),
            };
            return Err(StepError::new(Failure::Check, error));
        }
        Ok(one(Value::new(
            serde_json::json!({ "value": "passed" }),
            Vec::new(),
        )))
    }
}

fn md5_of(context: &Context, opener: &Opener, content: &Content) -> Result<String, StepError> {
    let opened = opener.open(content)?;
    let mut reader = opened.reader()?;
    let mut hasher = Md5::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        context.check()?;
        let count = reader.read(&mut buffer).map_err(StepError::input)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        context.progress.add_bytes(count as u64);
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
