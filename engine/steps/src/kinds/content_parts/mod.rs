//! Reads parts of files in the bundle, mostly in ascending order of offsets.
//!
//! A compressed member is read sequentially, and steps that read the same member [share](shared_member) its inflated bytes.
//! If a step reads a part before its current position, the step extracts the member into the cache and reads the extracted
//! file.

mod shared_member;

use std::collections::HashMap;
use std::sync::Arc;

use prep_cache::Digest;
use prep_core::{BoxError, Context, Inputs, StepError};
use prep_formats::read_at::ReadAt;

use self::shared_member::{SequentialReader, SharedMember, SharedReader};
use super::unpack::extract;
use crate::value::{BaseFile, Chunks, ContentRef, Opener, Tree, trees};

pub(crate) struct ContentParts<'c> {
    context: &'c Context,
    opener: Opener,
    trees: Vec<Arc<Tree>>,
    files: HashMap<String, OpenedFile>,
}

struct OpenedFile {
    content: ContentRef,
    source: PartSource,
}

enum PartSource {
    /// A compressed member, read from its start.
    Sequential(SharedReader),
    /// A file that allows random access. The content starts at this offset.
    Random(BaseFile, u64),
}

impl<'c> ContentParts<'c> {
    pub fn new(context: &'c Context, inputs: &Inputs) -> Result<ContentParts<'c>, StepError> {
        Ok(ContentParts {
            context,
            opener: Opener::new(context),
            trees: trees(context, inputs)?,
            files: HashMap::new(),
        })
    }

    /// Appends `bytes` bytes at offset `at` of the file `path` to `out`.
    pub fn read(
        &mut self,
        path: &str,
        at: u64,
        bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), BoxError> {
        if !self.files.contains_key(path) {
            let found = self.trees.iter().find_map(|tree| tree.get(path));
            let content = found.ok_or("the bundle has no such file")?;
            let source = self.open(&content)?;
            self.files
                .insert(path.to_owned(), OpenedFile { content, source });
        }
        let opened = self.files.get_mut(path);
        let opened = opened.ok_or("the file is not open")?;
        let end = at.checked_add(bytes);
        if end.is_none_or(|end| end > opened.content.bytes()) {
            return Err("the file ends before the requested part".into());
        }
        if matches!(&opened.source, PartSource::Sequential(reader) if at < reader.reached) {
            opened.content = extract(self.context, &self.opener, &opened.content)?;
            opened.source = PartSource::Random(self.opener.base(&opened.content)?, 0);
        }
        match &mut opened.source {
            PartSource::Sequential(reader) => {
                let open = || open_sequential(self.context, &self.opener, &opened.content);
                reader.read(at, bytes, out, open)
            }
            PartSource::Random(file, offset) => {
                let from = out.len();
                out.resize(from + usize::try_from(bytes)?, 0);
                let part = out.get_mut(from..).unwrap_or_default();
                Ok(file.read_exact_at(part, *offset + at)?)
            }
        }
    }

    fn open(&self, content: &ContentRef) -> Result<PartSource, BoxError> {
        Ok(match content {
            ContentRef::Object { .. } => PartSource::Random(self.opener.base(content)?, 0),
            ContentRef::Slice { offset, .. } => {
                PartSource::Random(self.opener.base(content)?, *offset)
            }
            ContentRef::Member { base, entry, .. } => {
                // Steps that read the same member compute the same digest, and so share its inflated bytes.
                let name = format!("{base} {}", entry.header_offset);
                let shared =
                    self.context
                        .objects
                        .shared(&Digest::of_bytes(name.as_bytes()), || {
                            let reader = open_sequential(self.context, &self.opener, content);
                            let reader = reader.map_err(StepError::input)?;
                            Ok(SharedMember::new(Chunks::new(
                                reader,
                                &self.context.threads,
                            )))
                        })?;
                PartSource::Sequential(SharedReader::new(shared))
            }
        })
    }
}

/// Opens a compressed member for reading from its start.
fn open_sequential(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
) -> Result<SequentialReader, BoxError> {
    let ContentRef::Member { entry, .. } = content else {
        return Err("only members of archives are read sequentially".into());
    };
    let member = entry.clone().into_reader(opener.base(content)?)?;
    Ok(Box::new(context.cancel.reader(member)))
}
