//! Writes the file of a multipart body to disk, piece by piece and within limits.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use multer::{Field, Multipart};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout, timeout_at};

/// Maximum bytes that wait for the parser. There are more only if a field's header has no end.
const WAITING: u64 = 64 << 10;

/// Limits of an upload.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub bytes: u64,
    /// Maximum time between two pieces.
    pub idle: Duration,
    /// Maximum time for the entire upload.
    pub whole: Duration,
}

/// An uploaded file. It has no name, so the system deletes it when the process ends.
#[derive(Debug)]
pub(crate) struct Upload {
    pub file: File,
    pub bytes: u64,
}

/// Errors of an upload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    #[error("the body is not multipart/form-data")]
    NoMultipart,
    #[error("there is no file in the field `file`")]
    NoFile,
    #[error("the upload cannot be read: {0}")]
    Broken(String),
    #[error("a field's header is longer than {WAITING} bytes")]
    Header,
    #[error("the upload is larger than {0} bytes")]
    TooLarge(u64),
    #[error("nothing came for too long, or the upload took too long")]
    TooSlow,
    #[error("the upload cannot be kept")]
    Disk(#[source] std::io::Error),
}

/// Writes the first file in the field `file` into `folder`. Other fields are read and ignored.
pub(crate) async fn receive(
    content_type: Option<&str>,
    body: &mut Incoming,
    limits: &Limits,
    folder: &Path,
) -> Result<Upload, UploadError> {
    let boundary = content_type.and_then(|text| multer::parse_boundary(text).ok());
    let boundary = boundary.ok_or(UploadError::NoMultipart)?;
    let waiting = Arc::new(AtomicU64::new(0));
    let pieces = Box::pin(pieces(body, limits, Arc::clone(&waiting)));
    let mut parts = Multipart::new(pieces, boundary);
    let mut upload = None;
    while let Some(mut field) = parts.next_field().await.map_err(broken)? {
        let wanted = upload.is_none() && field.name() == Some("file") && is_file(&field);
        if wanted {
            upload = Some(save(&mut field, &waiting, folder).await?);
        } else {
            while next(&mut field, &waiting).await?.is_some() {}
        }
    }
    upload.ok_or(UploadError::NoFile)
}

/// Returns whether a field has a file's name, also in the form for names beyond ASCII (`filename*=UTF-8''...`).
fn is_file(field: &Field<'_>) -> bool {
    let extended = || {
        let header = field.headers().get(hyper::header::CONTENT_DISPOSITION);
        header.is_some_and(|value| {
            let text = value.as_bytes().to_ascii_lowercase();
            text.windows(10).any(|part| part == b"filename*=")
        })
    };
    field.file_name().is_some() || extended()
}

async fn save(
    field: &mut Field<'_>,
    waiting: &AtomicU64,
    folder: &Path,
) -> Result<Upload, UploadError> {
    let file = tempfile::tempfile_in(folder).map_err(UploadError::Disk)?;
    let mut out = tokio::fs::File::from_std(file);
    let mut bytes = 0;
    while let Some(piece) = next(field, waiting).await? {
        bytes += piece.len() as u64;
        out.write_all(&piece).await.map_err(UploadError::Disk)?;
    }
    out.flush().await.map_err(UploadError::Disk)?;
    let file = out.into_std().await;
    Ok(Upload { file, bytes })
}

async fn next(field: &mut Field<'_>, waiting: &AtomicU64) -> Result<Option<Bytes>, UploadError> {
    let piece = field.chunk().await.map_err(broken)?;
    // Bytes that the parser returns do not wait any more. The rest may be a part of the boundary.
    waiting.store(0, Ordering::Relaxed);
    Ok(piece)
}

/// The pieces of a body. Every second poll is pending, because the parser reads all ready pieces into memory.
fn pieces<'a>(
    body: &'a mut Incoming,
    limits: &Limits,
    waiting: Arc<AtomicU64>,
) -> impl Stream<Item = Result<Bytes, UploadError>> + Send + 'a {
    let Limits { bytes, idle, whole } = limits.clone();
    let end = Instant::now() + whole;
    stream::try_unfold((body, 0), move |(body, before)| {
        let waiting = Arc::clone(&waiting);
        async move {
            tokio::task::yield_now().await;
            loop {
                let frame = timeout_at(end, timeout(idle, body.frame()));
                let frame = match frame.await {
                    Ok(Ok(frame)) => frame,
                    _ => return Err(UploadError::TooSlow),
                };
                let Some(frame) = frame else { return Ok(None) };
                let frame = frame.map_err(|error| UploadError::Broken(error.to_string()))?;
                let Ok(piece) = frame.into_data() else {
                    continue;
                };
                let length = piece.len() as u64;
                let sum = before + length;
                if sum > bytes {
                    return Err(UploadError::TooLarge(bytes));
                }
                // One piece can be as long as the connection's buffer.
                let ahead = waiting.fetch_add(length, Ordering::Relaxed);
                if ahead > WAITING && ahead + length > (1 << 20) {
                    return Err(UploadError::Header);
                }
                return Ok(Some((piece, (body, sum))));
            }
        }
    })
}

/// Converts an error of the parser. Errors of the stream come through the parser, too.
fn broken(error: multer::Error) -> UploadError {
    match error {
        multer::Error::StreamReadFailed(inner) => match inner.downcast::<UploadError>() {
            Ok(own) => *own,
            Err(other) => UploadError::Broken(other.to_string()),
        },
        other => UploadError::Broken(other.to_string()),
    }
}

/// Continues to read for a short time, so that a client that is still sending can read the answer.
pub(crate) async fn drain(body: &mut Incoming) {
    const LITTLE: Duration = Duration::from_secs(2);
    const MUCH: usize = 64 << 20;
    if body.is_end_stream() {
        return;
    }
    let mut sum = 0;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            sum += frame.data_ref().map_or(0, Bytes::len);
            if sum > MUCH {
                break;
            }
        }
    };
    let _ = timeout(LITTLE, reading).await;
}
