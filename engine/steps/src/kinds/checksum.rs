//! `checksum`: compares the MD5 of an output with the published checksum.
//!
//! Some formats have several valid encodings of the same rows, which depend on the library that wrote the file. For
//! these, a different MD5 is not an error. The step then succeeds, and its result records the difference.

use std::io::Read;

use md5::{Digest as _, Md5};
use prep_cache::Digest;
use prep_core::{
    Context, Failure, FileValue, Inputs, Outputs, Remedy, Step, StepError, Value, WithRemedy,
};
use thiserror::Error;

use super::single_output;
use crate::value::{ContentRef, Opener, Tree, input};

#[derive(Debug, Error)]
#[error("`{path}` has MD5 {found}, but the published MD5 is {expected}")]
struct ChecksumError {
    path: String,
    found: String,
    expected: String,
}

pub(crate) struct Checksum {
    /// For messages, such as `public/train.csv`.
    pub path: String,
    /// Path of the file within the input, if the input is a directory.
    pub inside: Option<String>,
    pub md5: String,
    pub strictness: Strictness,
}

/// The consequence of a different MD5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// The step fails.
    Fixed,
    /// The run continues and reports the difference, because another version of the library may have written the file.
    WriterDependent,
}

/// Returns whether a checksum step found a different MD5 that may be due to the library that wrote the file.
pub fn is_writer_dependent(result: &Digest) -> bool {
    *result == outcome(DEPENDS_ON_WRITER).digest()
}

const PASSED: &str = "passed";
const DEPENDS_ON_WRITER: &str = "depends on the writer";

fn outcome(state: &str) -> Value {
    Value::new(serde_json::json!({ "value": state }), Vec::new())
}

impl Step for Checksum {
    fn kind(&self) -> &'static str {
        "checksum"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        match self.strictness {
            Strictness::Fixed => serde_json::json!({ "md5": self.md5, "inside": self.inside }),
            Strictness::WriterDependent => {
                serde_json::json!({ "md5": self.md5, "inside": self.inside, "depends": "writer" })
            }
        }
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let value = input(inputs, "file")?;
        let content = match FileValue::from_value(value) {
            Ok(file) => ContentRef::Object {
                digest: file.digest,
                bytes: file.bytes,
            },
            Err(_) => {
                let tree = Tree::load(context, value)?;
                let content = tree.get(self.inside.as_deref().unwrap_or_default());
                content.ok_or_else(|| {
                    StepError::internal(format!("`{}` is not in its directory", self.path))
                })?
            }
        };
        let opener = Opener::new(context);
        let md5 = md5_of(context, &opener, &content)?;
        if md5.eq_ignore_ascii_case(&self.md5) {
            return Ok(single_output(outcome(PASSED)));
        }
        if self.strictness == Strictness::WriterDependent {
            return Ok(single_output(outcome(DEPENDS_ON_WRITER)));
        }
        let error = ChecksumError {
            path: self.path.clone(),
            found: md5,
            expected: self.md5.clone(),
        };
        let error = WithRemedy::new(error, Remedy::AcceptOutputs);
        Err(StepError::new(Failure::Check, error))
    }
}

fn md5_of(context: &Context, opener: &Opener, content: &ContentRef) -> Result<String, StepError> {
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
