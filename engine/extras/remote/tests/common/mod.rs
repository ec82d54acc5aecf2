//! An object store that simulates faults.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// No connection to the store.
    Away,
    /// Responses have status 503 (slow down).
    Slow,
    /// Responses have status 500.
    Fails,
    /// Responses end early.
    Partial,
    /// One bit of every response is wrong.
    Corrupt,
    /// The disk of the store is full.
    Full,
    /// Writes are denied.
    ReadOnly,
    /// The credentials are rejected.
    Refuses,
    /// The client's clock is wrong.
    Clock,
    /// Objects below `private/` cannot be read.
    Forbids,
}

/// A store that adds a fault to the responses of `inner`.
#[derive(Debug)]
pub struct Faulty {
    pub inner: Arc<dyn ObjectStore>,
    fault: Mutex<Fault>,
    pub requests: AtomicUsize,
    /// Whether the faults [`Fault::Partial`] and [`Fault::Corrupt`] apply only to objects and bundles, not to records.
    pub spares_records: AtomicBool,
}

impl Faulty {
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Faulty> {
        Arc::new(Faulty {
            inner,
            fault: Mutex::new(Fault::None),
            requests: AtomicUsize::new(0),
            spares_records: AtomicBool::new(false),
        })
    }

    pub fn set(&self, fault: Fault) {
        *self.fault.lock() = fault;
    }

    fn fault(&self) -> Fault {
        *self.fault.lock()
    }

    fn check(&self, writing: bool) -> Result<()> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = |text: &str| {
            let end = "https://h/?X-Amz-Signature=s3cr3t";
            format!("Server returned non-2xx status code: {text} {end}")
        };
        let error = |text: &str| Error::Generic {
            store: "faulty",
            source: answer(text).into(),
        };
        Err(match (self.fault(), writing) {
            (Fault::Away, _) => Error::Generic {
                store: "faulty",
                source: Box::new(HttpError::new(
                    HttpErrorKind::Connect,
                    std::io::Error::other("https://h/?X-Amz-Signature=s3cr3t"),
                )),
            },
            (Fault::Slow, _) => error("503 Service Unavailable: <Code>SlowDown</Code>"),
            (Fault::Fails, _) => error("500 Internal Server Error: "),
            (Fault::Full, true) => error("507 Insufficient Storage: "),
            (Fault::ReadOnly, true) => Error::PermissionDenied {
                path: "p".into(),
                source: "AccessDenied s3cr3t".into(),
            },
            (Fault::Refuses, _) => Error::PermissionDenied {
                path: "p".into(),
                source: answer("403 Forbidden: <Code>InvalidAccessKeyId</Code>").into(),
            },
            (Fault::Clock, _) => Error::PermissionDenied {
                path: "p".into(),
                source: answer("403 Forbidden: <Code>RequestTimeTooSkewed</Code>").into(),
            },
            _ => return Ok(()),
        })
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.check(true)?;
        self.inner.put_opts(path, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check(true)?;
        self.inner.put_multipart_opts(path, opts).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.check(false)?;
        if self.fault() == Fault::Forbids && path.as_ref().contains("private/") {
            return Err(Error::PermissionDenied {
                path: path.to_string(),
                source: "403 Forbidden: <Code>AccessDenied</Code> s3cr3t".into(),
            });
        }
        let head = options.head;
        let mut got = self.inner.get_opts(path, options).await?;
        let is_record = !path.as_ref().contains("objects") && !path.as_ref().contains("bundles");
        let spared = self.spares_records.load(Ordering::Relaxed) && is_record;
        let fault = self.fault();
        if head || spared || !matches!(fault, Fault::Partial | Fault::Corrupt) {
            return Ok(got);
        }
        let (range, meta, attributes) =
            (got.range.clone(), got.meta.clone(), got.attributes.clone());
        let extensions = std::mem::take(&mut got.extensions);
        let bytes = got.bytes().await?;
        let bytes = match fault {
            Fault::Partial => bytes.slice(..bytes.len() / 2),
            _ => {
                let mut changed = bytes.to_vec();
                let middle = changed.len() / 2;
                if let Some(byte) = changed.get_mut(middle) {
                    *byte ^= 1;
                }
                Bytes::from(changed)
            }
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed()),
            meta,
            range,
            attributes,
            extensions,
        })
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check(false)?;
        self.inner.get_ranges(path, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.check(false) {
            Ok(()) => self.inner.list(prefix),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.check(false)?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
