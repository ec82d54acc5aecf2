//! Writes the file of a multipart body to disk in chunks, within limits.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout, timeout_at};

use crate::multipart::{self, Decoder, Event, MultipartError};

/// Limits of an upload.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub bytes: u64,
    /// Maximum time between two chunks.
    pub idle: Duration,
    /// Maximum time for the entire upload.
    pub total: Duration,
}

/// An uploaded file. It has no name, so the system deletes it when the process ends.
#[derive(Debug)]
pub(crate) struct Upload {
    pub file: File,
    pub bytes: u64,
}

/// Errors when receiving an upload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    #[error("the body is not multipart/form-data")]
    NoMultipart,
    #[error("there is no file in the field `file`")]
    NoFile,
    #[error("the upload cannot be read: {0}")]
    Broken(String),
    #[error("the upload cannot be read")]
    Multipart(#[from] MultipartError),
    #[error("the upload is larger than {0} bytes")]
    TooLarge(u64),
    #[error("no data arrived for too long, or the upload took too long")]
    TooSlow,
    #[error("the upload cannot be stored")]
    Disk(#[source] std::io::Error),
}

/// Writes the first file in the field `file` into `directory`. Other fields are read and ignored.
pub(crate) async fn receive(
    content_type: Option<&str>,
    body: &mut Incoming,
    limits: &Limits,
    directory: &Path,
) -> Result<Upload, UploadError> {
    let boundary = content_type.and_then(multipart::boundary);
    let boundary = boundary.ok_or(UploadError::NoMultipart)?;
    let mut decoder = Decoder::new(&boundary);
    let mut chunks = Chunks::new(body, limits);
    let mut upload = None;
    let mut current: Option<(tokio::fs::File, u64)> = None;
    loop {
        match decoder.next()? {
            Event::Part(part) => {
                let is_wanted = part.is_file && part.name.as_deref() == Some("file");
                if upload.is_none() && is_wanted {
                    let file = tempfile::tempfile_in(directory).map_err(UploadError::Disk)?;
                    current = Some((tokio::fs::File::from_std(file), 0));
                }
            }
            Event::Data(chunk) => {
                if let Some((out, bytes)) = &mut current {
                    *bytes += chunk.len() as u64;
                    out.write_all(&chunk).await.map_err(UploadError::Disk)?;
                }
            }
            Event::PartEnd => {
                if let Some((mut out, bytes)) = current.take() {
                    out.flush().await.map_err(UploadError::Disk)?;
                    let file = out.into_std().await;
                    upload = Some(Upload { file, bytes });
                }
            }
            Event::End => {
                while chunks.next().await?.is_some() {}
                return upload.ok_or(UploadError::NoFile);
            }
            Event::NeedData => match chunks.next().await? {
                Some(chunk) => decoder.feed(&chunk),
                None => decoder.finish(),
            },
        }
    }
}

/// Reads the chunks of a body, within limits.
struct Chunks<'a> {
    body: &'a mut Incoming,
    limits: Limits,
    end: Instant,
    received: u64,
}

impl<'a> Chunks<'a> {
    fn new(body: &'a mut Incoming, limits: &Limits) -> Chunks<'a> {
        Chunks {
            body,
            limits: limits.clone(),
            end: Instant::now() + limits.total,
            received: 0,
        }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, UploadError> {
        loop {
            let frame = timeout(self.limits.idle, self.body.frame());
            let Ok(Ok(frame)) = timeout_at(self.end, frame).await else {
                return Err(UploadError::TooSlow);
            };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| UploadError::Broken(error.to_string()))?;
            let Ok(chunk) = frame.into_data() else {
                continue;
            };
            self.received += chunk.len() as u64;
            if self.received > self.limits.bytes {
                return Err(UploadError::TooLarge(self.limits.bytes));
            }
            return Ok(Some(chunk));
        }
    }
}

/// Continues to read for a short time, so that a client that is still sending can read the response.
pub(crate) async fn drain(body: &mut Incoming) {
    const MAX_DRAIN_TIME: Duration = Duration::from_secs(2);
    const MAX_DRAIN_BYTES: usize = 64 << 20;
    if body.is_end_stream() {
        return;
    }
    let mut sum = 0;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            sum += frame.data_ref().map_or(0, Bytes::len);
            if sum > MAX_DRAIN_BYTES {
                break;
            }
        }
    };
    let _ = timeout(MAX_DRAIN_TIME, reading).await;
}
