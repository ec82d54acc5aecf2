//! A source that reads a bundle from the mirror if the bundle is not on this machine.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use prep_cache::Content;
use prep_core::{Context, FileValue, Source, SourceState, StepError, Value};

use crate::link::Link;
use crate::queue::Job;

/// A source that uses the mirror before it downloads a bundle.
pub struct MirroredSource {
    inner: Box<dyn Source>,
    /// The name under which the cache records the source's content.
    name: String,
    /// The published checksums. A record of the mirror with different checksums is ignored.
    md5: Option<String>,
    sha256: Option<String>,
    link: Link,
    /// The content that the source had when it was last used.
    stated: Option<Content>,
    remote_answer: RemoteContent,
}

/// The content that the remote records for a source. Empty until the remote was queried.
pub type RemoteContent = Arc<OnceLock<Option<Content>>>;

impl MirroredSource {
    /// Wraps `inner`. The cache records its content under `name`.
    pub fn new(
        inner: Box<dyn Source>,
        name: &str,
        md5: Option<&str>,
        sha256: Option<&str>,
        link: Link,
    ) -> MirroredSource {
        MirroredSource {
            inner,
            name: name.to_owned(),
            md5: md5.map(str::to_owned),
            sha256: sha256.map(str::to_owned),
            link,
            stated: None,
            remote_answer: RemoteContent::default(),
        }
    }

    /// States the content that the source had when it was last used. It is used in place of the content that the remote
    /// records.
    #[must_use]
    pub fn with_content(self, stated: Option<Content>) -> MirroredSource {
        MirroredSource { stated, ..self }
    }

    /// Returns the content that the remote records, as soon as it was queried. It is queried only if the source is not on
    /// this machine and has no stated content.
    pub fn remote_answer(&self) -> RemoteContent {
        self.remote_answer.clone()
    }

    /// Returns the content that the remote records for this source, if it matches the published checksums.
    fn remote_content(&self) -> Option<&Content> {
        self.remote_answer
            .get_or_init(|| self.query_remote())
            .as_ref()
    }

    fn query_remote(&self) -> Option<Content> {
        let inner = self.link.inner();
        let (link, name) = (inner.clone(), self.name.clone());
        let known = inner.ask(async move { link.source(&name).await })??;
        let fits = self.is_published(&known.content);
        if !fits {
            inner.report_other(format!(
                "the bundle of `{}` in the mirror does not have the published checksum; it is not used",
                self.name
            ));
        }
        fits.then_some(known.content)
    }

    fn is_published(&self, content: &Content) -> bool {
        let sums = [(&self.md5, &content.md5), (&self.sha256, &content.sha256)];
        sums.iter().all(|(published, found)| {
            published.as_ref().is_none_or(|published| {
                found
                    .as_ref()
                    .is_some_and(|found| found.eq_ignore_ascii_case(published))
            })
        })
    }

    /// Returns the content, if it can be read from the mirror: the source is not on this machine, and the content was
    /// not found to be missing in the mirror.
    fn mirrored_content(&self, context: &Context) -> Result<Option<Content>, StepError> {
        if self.inner.location().is_some() {
            return Ok(None);
        }
        let stated = self.stated.as_ref();
        let stated = stated.filter(|content| self.is_published(content));
        let content = stated.or_else(|| self.remote_content()).cloned();
        Ok(content.filter(|content| !context.outside.is_lost(&content.digest)))
    }

    fn read_from_mirror(&self, context: &Context, content: &Content) {
        let bundle = self.link.bundle(content.digest, content.bytes);
        context.outside.set_ranges(content.digest, bundle);
    }

    /// Sends the fetched bundle to the mirror. Its record is written only after results were computed from the bundle
    /// ([`Link::offer_source`]).
    fn offer(&self, context: &Context, value: &Value) -> Result<(), StepError> {
        if !self.link.mirrors() {
            return Ok(());
        }
        let digest = FileValue::from_value(value)?.digest;
        let mut records = context.store.named_sources(&self.name)?.into_iter();
        // A part of a bundle is recorded under a different name.
        let record = records.find(|record| record.digest == digest);
        let file = self.inner.location().and_then(|path| File::open(path).ok());
        if let (Some(record), Some(file)) = (record, file) {
            let content = record.content();
            self.link.enqueue(Job::Bundle { content, file });
        }
        Ok(())
    }
}

fn value(content: &Content) -> Value {
    FileValue::outside(content.digest, content.bytes).into_value()
}

impl Source for MirroredSource {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        let state = self.inner.state(context)?;
        match (&state, self.mirrored_content(context)?) {
            (SourceState::Unread { .. }, _) | (_, None) => Ok(state),
            (SourceState::Known { value: known }, Some(content)) => {
                if value(&content).digest() == *known {
                    self.read_from_mirror(context, &content);
                }
                Ok(state)
            }
            (SourceState::Missing, Some(content)) => {
                self.read_from_mirror(context, &content);
                Ok(SourceState::Known {
                    value: value(&content).digest(),
                })
            }
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if let Some(content) = self.mirrored_content(context)? {
            context.store.name_content(&self.name, &content)?;
            self.read_from_mirror(context, &content);
            return Ok(value(&content));
        }
        let value = self.inner.run(context)?;
        self.offer(context, &value)?;
        Ok(value)
    }

    fn location(&self) -> Option<PathBuf> {
        self.inner.location()
    }
}
