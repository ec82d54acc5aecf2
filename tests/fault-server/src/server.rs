//! The servers of the API and the store, with their listening threads.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::answer::{Body, Unsent};
use crate::bundle::Bundle;
use crate::fault::Fault;
use crate::log::{Request, Side};
use crate::shared::Shared;
use crate::{api, store};

/// Returns the response to a request. If it is `None`, the server cuts the connection.
type Handler = fn(&Shared, &HttpRequest<Bytes>) -> Option<Response<Body>>;

/// The servers of the API and the store. Dropping this value stops them.
pub struct FaultServer {
    api: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FaultServer {
    /// Starts servers on two free ports, with these bundles and faults.
    pub fn start(bundles: Vec<Bundle>, faults: Vec<Fault>) -> io::Result<FaultServer> {
        Self::start_at(0, bundles, faults)
    }

    /// Same as [`start`](Self::start), with the API on this port.
    pub fn start_at(
        port: u16,
        bundles: Vec<Bundle>,
        faults: Vec<Fault>,
    ) -> io::Result<FaultServer> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (api, store) = runtime.block_on(async {
            let api = TcpListener::bind(("127.0.0.1", port)).await?;
            io::Result::Ok((api, TcpListener::bind(("127.0.0.1", 0)).await?))
        })?;
        let address = api.local_addr()?;
        let shared = Arc::new(Shared::new(address, store.local_addr()?, bundles, faults));
        let (stop, stopped) = oneshot::channel();
        let known = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fault-server".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        () = accept(&api, &known, api::serve) => {}
                        () = accept(&store, &known, store::serve) => {}
                    }
                });
            })?;
        Ok(FaultServer {
            api: address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the value for `KAGGLE_API_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}/api/v1", self.api)
    }

    pub fn store_host(&self) -> String {
        self.shared.store.to_string()
    }

    /// Returns a URL that serves a bundle without an account and a signature.
    pub fn file(&self, id: &str) -> String {
        format!("http://{}/files/{id}", self.shared.store)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().log.clone()
    }

    pub fn requests_of(&self, side: Side) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.side == side);
        requests
    }

    /// Returns the number of bundle bytes sent so far.
    pub fn sent(&self) -> u64 {
        self.requests().iter().map(Request::sent).sum()
    }

    /// Sets the server's clock, which starts at zero and expires access tokens.
    pub fn set_time(&self, now: Duration) {
        self.shared.state().now = now;
    }

    /// Issues an access token that expires after `seconds` seconds.
    pub fn issue_access_token(&self, seconds: u64) -> String {
        self.shared.state().issue(seconds)
    }

    pub fn api_host(&self) -> String {
        self.api.to_string()
    }

    pub fn set_bundle(&self, bundle: Bundle) {
        let mut state = self.shared.state();
        state.bundles.retain(|one| one.id != bundle.id);
        state.bundles.push(bundle);
    }

    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.shared.state().faults = faults;
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>, handler: Handler) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let service = service_fn(|request: HttpRequest<Incoming>| {
                let shared = Arc::clone(&shared);
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
                    let answer = handler(&shared, &HttpRequest::from_parts(head, body));
                    let unsent =
                        |answer: &Response<Body>| answer.extensions().get::<Unsent>().is_some();
                    if answer.as_ref().is_some_and(unsent) {
                        std::future::pending::<()>().await;
                    }
                    answer.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionReset))
                }
            });
            // Ignores errors of a connection, because faults cause them.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
