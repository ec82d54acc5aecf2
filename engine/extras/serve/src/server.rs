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

const THREADS: usize = 2;

/// All current uploads together may be this number of times as long as the longest permitted upload.
const MAX_LARGEST_UPLOADS: u64 = 16;

/// Time after which an idle thread for blocking work ends. It is ten years, so that the threads never end.
const BLOCKING_THREAD_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

pub struct ServerOptions {
    /// Host and port, for example `127.0.0.1:5000`. Port 0 takes any free port.
    pub address: (String, u16),
    /// Id of the only competition of the server. If it is `None`, the header `exp-id` of a request names the competition,
    /// and responses have the member `is_valid`.
    pub competition: Option<String>,
    /// Whether `POST /grade` returns scores.
    pub scores: bool,
    /// Maximum length of an upload in bytes.
    pub max_upload: u64,
    /// Maximum time between two chunks of an upload. An entire upload may take ten times as long.
    pub timeout: Duration,
    pub log: GradingLog,
    pub graders: usize,
    pub uploads: PathBuf,
}

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

pub struct Server {
    listener: StdListener,
    shared: Arc<Shared>,
    log: EventSink,
    timeout: Duration,
}

impl Server {
    /// Starts to listen. [`run`](Self::run) handles the requests.
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

    /// If the server serves a single competition, opens its answers now, and returns the reason if this fails. After such a
    /// failure, the server tries again at each request.
    pub fn trouble(&self) -> Option<prep_app::Error> {
        self.shared
            .gradings
            .get(self.shared.competition.as_ref()?)
            .err()
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` completes, and drops requests that are not answered by that time.
    pub fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        prep_cache::check_threads(THREADS + 1)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(64)
            .thread_keep_alive(BLOCKING_THREAD_LIFETIME)
            .enable_all()
            .build()?;
        // Start one thread for blocking work now, because the system may have no free thread later. One thread is enough for
        // all requests.
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
                // Probably too many files are open. Wait until some are closed.
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
            // A client that closes its side of the connection after the request still gets the response.
            .half_close(true)
            .max_buf_size(64 << 10);
        let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        let client_state = Client {
            connection,
            is_loopback: stream.local_addr().is_ok_and(is_loopback),
        };
        async move {
            let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
                let (shared, log) = (Arc::clone(&shared), Arc::clone(&log));
                let client_state = client_state.clone();
                async move {
                    let _busy = client_state.connection.begin_request();
                    let begun = Instant::now();
                    let request_line = format!("{} {}", request.method(), request.uri().path());
                    let Handled {
                        answer,
                        bytes,
                        valid,
                        trouble,
                    } = routes::handle(shared, &client_state, request).await;
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
            // An error means that the client disconnected.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    pub client: SocketAddr,
    pub request: String,
    pub status: u16,
    /// Length of the upload in bytes.
    pub bytes: Option<u64>,
    /// `None` if no submission was graded.
    pub valid: Option<bool>,
    pub time: Duration,
    /// An error that is not sent to the client.
    pub trouble: Option<String>,
}

/// Receives events from several threads.
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
