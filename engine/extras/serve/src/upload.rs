//! Writes the file of a multipart body to disk in chunks, within limits.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout, timeout_at};

use crate::connections::{Reserved, Slots, Space};
use crate::multipart;
use crate::multipart::{Decoder, Event, MultipartError};

const MIN_BYTES_PER_SECOND: u64 = 4 << 10;

/// Period over which the rate of an upload is measured while other uploads wait.
const SCARCE_PERIOD: Duration = Duration::from_secs(2);

/// Interval at which the rate of an upload is checked while no data arrive.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) struct Limits {
    pub bytes: u64,
    /// Maximum time between two chunks. Also the period over which the rate is measured while no other uploads wait.
    pub idle: Duration,
    pub total: Duration,
    pub slots: Slots,
    pub space: Arc<Space>,
}

/// An uploaded file. It has no name, so the system deletes it when the process ends.
#[derive(Debug)]
pub(crate) struct Upload {
    pub file: File,
    pub bytes: u64,
    pub reserved: Reserved,
}

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
    #[error("no data arrived for too long, or the upload was too slow")]
    TooSlow,
    #[error("the uploads in progress have too many bytes in total; try again later")]
    TooMuch,
    #[error("the upload cannot be stored")]
    Disk(#[source] std::io::Error),
}

/// Writes the first file in the field `file` to `directory`. Ignores other fields.
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
    let mut reserved = limits.space.begin();
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
                    if !reserved.grow(chunk.len() as u64) {
                        return Err(UploadError::TooMuch);
                    }
                    out.write_all(&chunk).await.map_err(UploadError::Disk)?;
                }
            }
            Event::PartEnd => {
                if let Some((mut out, bytes)) = current.take() {
                    out.flush().await.map_err(UploadError::Disk)?;
                    upload = Some((out.into_std().await, bytes));
                }
            }
            Event::End => {
                while chunks.next().await?.is_some() {}
                let (file, bytes) = upload.ok_or(UploadError::NoFile)?;
                return Ok(Upload {
                    file,
                    bytes,
                    reserved,
                });
            }
            Event::NeedData => match chunks.next().await? {
                Some(chunk) => decoder.feed(&chunk),
                None => decoder.finish(),
            },
        }
    }
}

struct Chunks<'a> {
    body: &'a mut Incoming,
    limits: &'a Limits,
    end: Instant,
    received: u64,
    /// Time that the server waited for data, and bytes that arrived, since the last check of the rate.
    period: (Duration, u64),
}

impl<'a> Chunks<'a> {
    fn new(body: &'a mut Incoming, limits: &'a Limits) -> Chunks<'a> {
        Chunks {
            body,
            limits,
            end: Instant::now() + limits.total,
            received: 0,
            period: (Duration::ZERO, 0),
        }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, UploadError> {
        loop {
            let Some(frame) = self.frame().await? else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| UploadError::Broken(error.to_string()))?;
            let Ok(chunk) = frame.into_data() else {
                continue;
            };
            self.received += chunk.len() as u64;
            self.period.1 += chunk.len() as u64;
            if self.received > self.limits.bytes {
                return Err(UploadError::TooLarge(self.limits.bytes));
            }
            return Ok(Some(chunk));
        }
    }
}

impl Chunks<'_> {
    /// Waits for the next frame, and checks the rate regularly.
    async fn frame(&mut self) -> Result<Option<hyper::Result<Frame<Bytes>>>, UploadError> {
        let latest = self.end.min(Instant::now() + self.limits.idle);
        loop {
            let begun = Instant::now();
            let check = latest.min(begun + CHECK_INTERVAL);
            let frame = timeout_at(check, self.body.frame()).await;
            self.period.0 += begun.elapsed();
            self.check_rate()?;
            match frame {
                Ok(frame) => return Ok(frame),
                Err(_) if Instant::now() >= latest => return Err(UploadError::TooSlow),
                Err(_) => {}
            }
        }
    }

    /// Returns an error if the client sent bytes more slowly than the minimum rate. If other uploads wait, the rate is
    /// measured over a shorter period.
    fn check_rate(&mut self) -> Result<(), UploadError> {
        let (time, bytes) = self.period;
        let is_over = match self.limits.slots.are_scarce() {
            true => time >= SCARCE_PERIOD.min(self.limits.idle),
            false => time >= self.limits.idle,
        };
        if !is_over {
            return Ok(());
        }
        self.period = (Duration::ZERO, 0);
        match bytes < MIN_BYTES_PER_SECOND.saturating_mul(time.as_secs().max(1)) {
            true => Err(UploadError::TooSlow),
            false => Ok(()),
        }
    }
}

/// Reads the rest of the body for a short time, because some clients read the response only after sending the entire body.
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
