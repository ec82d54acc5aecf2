//! The server: accepts connections, and limits their number and duration.

use std::convert::Infallible;
use std::future::Future;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prep_app::{Catalog, GradingLog, Settings};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::connections::{Connection, Connections, Slots, Space};
use crate::grading::{Gradings, Worker};
use crate::routes;
use crate::routes::{Client, Handled, Shared};
use crate::upload::Limits;

/// Number of threads for connections.
const THREADS: usize = 2;

/// All uploads together may be as long as this number of uploads of the maximum length.
const MAX_LARGEST_UPLOADS: u64 = 16;

/// Time after which an idle thread for blocking work ends. Ten years, so that the threads never end.
const BLOCKING_THREAD_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Settings of a server.
pub struct ServerOptions {
    /// Host and port, for example `127.0.0.1:5000`. Port 0 takes any free port.
    pub address: (String, u16),
    /// The competition. If it is `None`, the header `exp-id` of each request names the competition, and responses have
    /// the member `is_valid`.
    pub competition: Option<String>,
    /// Whether `POST /grade` returns scores.
    pub scores: bool,
    /// Maximum length of an upload in bytes.
    pub max_upload: u64,
    /// Maximum time between two chunks of a request. An entire upload may take ten times as long.
    pub timeout: Duration,
    /// The log of gradings with scores.
    pub log: GradingLog,
    /// Maximum number of submissions that are graded at the same time.
    pub graders: usize,
    /// Directory for uploads while they are graded.
    pub uploads: PathBuf,
}

/// Errors when starting a server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on {host}:{port}")]
    Listen {
        host: String,
        port: u16,
        source: std::io::Error,
    },
    #[error("cannot serve")]
    Runtime(#[from] std::io::Error),
}

/// A listening server.
pub struct Server {
    listener: StdListener,
    shared: Arc<Shared>,
    log: EventSink,
    timeout: Duration,
}

impl Server {
    /// Starts to listen for connections. [`run`](Self::run) then handles the requests of clients.
    ///
    /// # Errors
    /// Returns an error if the address is not available.
    pub fn bind(
        options: ServerOptions,
        settings: Settings,
        catalog: Catalog,
        log: EventSink,
    ) -> Result<Server, ServeError> {
        let (host, port) = &options.address;
        let listen = || {
            let listener = StdListener::bind((host.as_str(), *port))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(|source| ServeError::Listen {
            host: host.clone(),
            port: *port,
            source,
        })?;
        let gradings_log = options.scores.then_some(options.log);
        let graders = u32::try_from(options.graders).unwrap_or(u32::MAX).max(1);
        let shared = Shared {
            host: host.clone(),
            competition: options.competition,
            scores: options.scores,
            limits: Limits {
                bytes: options.max_upload,
                idle: options.timeout,
                total: options.timeout.saturating_mul(10),
                slots: Slots::new(),
                space: Space::new(options.max_upload.saturating_mul(MAX_LARGEST_UPLOADS)),
            },
            uploads: options.uploads,
            gradings: Gradings::new(settings, catalog, gradings_log),
            permits: Semaphore::new(graders as usize),
            graders,
            large: Worker::start()?,
        };
        Ok(Server {
            listener,
            shared: Arc::new(shared),
            log,
            timeout: options.timeout,
        })
    }

    /// Returns the address on which the server listens.
    ///
    /// # Errors
    /// Returns an error if the operating system does not return the address.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers clients until `stop` completes. Requests that are not answered by then are dropped.
    ///
    /// # Errors
    /// Returns an error if threads cannot be started.
    pub fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        prep_cache::check_threads(THREADS + 1)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(64)
            .thread_keep_alive(BLOCKING_THREAD_LIFETIME)
            .enable_all()
            .build()?;
        // Start one thread for blocking work now. This thread suffices for all requests if the system later runs out of
        // threads.
        drop(runtime.spawn_blocking(|| ()));
        let ended = runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener.try_clone()?)?;
            tokio::select! {
                () = stop => {}
                () = self.accept(&listener) => {}
            }
            Ok(())
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    }

    async fn accept(&self, listener: &TcpListener) {
        let connections = Connections::new();
        loop {
            match listener.accept().await {
                Ok((stream, client)) => {
                    let Some(connection) = connections.open(client.ip()).await else {
                        return; // Does not happen, because the semaphore is never closed.
                    };
                    let serve_connection =
                        self.serve_connection(stream, client, Arc::clone(&connection));
                    tokio::spawn(async move {
                        tokio::select! {
                            () = serve_connection => {}
                            () = connection.evicted() => {}
                        }
                    });
                }
                // There may be too many open files. Waits until some are closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn serve_connection(
        &self,
        stream: TcpStream,
        client: SocketAddr,
        connection: Arc<Connection>,
    ) -> impl Future<Output = ()> + use<> {
        let (shared, log) = (Arc::clone(&self.shared), Arc::clone(&self.log));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.timeout)
            // A client that ends its side of the connection after the request still gets the response.
            .half_close(true)
            .max_buf_size(64 << 10);
        let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        let on = Client {
            connection,
            is_loopback: stream.local_addr().is_ok_and(is_loopback),
        };
        async move {
            let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
                let (shared, log) = (Arc::clone(&shared), Arc::clone(&log));
                let on = on.clone();
                async move {
                    let _busy = on.connection.begin_request();
                    let begun = Instant::now();
                    let request_line = format!("{} {}", request.method(), request.uri().path());
                    let Handled {
                        answer,
                        bytes,
                        valid,
                        trouble,
                    } = routes::handle(shared, &on, request).await;
                    log(&ServerEvent {
                        client,
                        request: request_line,
                        status: answer.status().as_u16(),
                        bytes,
                        valid,
                        time: begun.elapsed(),
                        trouble,
                    });
                    Ok::<_, Infallible>(answer)
                }
            });
            // A client that disconnects is not an error of the server.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        }
    }
}

/// An answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    pub client: SocketAddr,
    pub request: String,
    pub status: u16,
    /// Length of the upload in bytes.
    pub bytes: Option<u64>,
    /// Whether the submission is valid. `None` if it was not graded.
    pub valid: Option<bool>,
    pub time: Duration,
    /// An error of the server, which clients do not see.
    pub trouble: Option<String>,
}

/// A function that receives events. Several threads call it.
pub type EventSink = std::sync::Arc<dyn Fn(&ServerEvent) + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_fails_only_its_own_job_and_is_reported() {
        let worker = Worker::start().unwrap();
        let wait =
            |work: Box<dyn FnOnce() -> usize + Send>| futures::executor::block_on(worker.run(work));
        assert_eq!(wait(Box::new(|| 1)), Ok(1));
        assert_eq!(
            wait(Box::new(|| panic!("as it happens"))),
            Err("as it happens".to_owned())
        );
        assert_eq!(
            wait(Box::new(|| panic!("row {}", 7))),
            Err("row 7".to_owned())
        );
        assert_eq!(wait(Box::new(|| 2)), Ok(2));
    }
}
