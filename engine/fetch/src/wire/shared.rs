//! State that all downloads of a process share, and the function that sends all requests.
//!
//! If a host that has responded stops responding, a download waits for minutes, because the network may recover. A host
//! that has never responded usually does not exist, so requests to it fail soon.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::credentials::FoundCredentials;
use crate::error::{FetchError, Server, Trouble};
use crate::options::{DownloadOptions, REPORT_SILENCE_AFTER, WaitReport};
use crate::wire::calls::Endpoint;
use crate::wire::connect::NoConnection;
use crate::wire::location::{Addresses, Message, host};
use crate::wire::retry::RateLimit;

/// The timeout is short, so that an unreachable host is reported soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const RUNTIME_THREADS: usize = 2;

/// The thread for blocking work must never end, because the system may not be able to start another thread later.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) options: DownloadOptions,
    pub(crate) endpoint: Endpoint,
    credentials: OnceLock<FoundCredentials>,
    find: Box<CredentialsFinder>,
    /// Locked during a search for credentials, so that only one thread searches at a time.
    finding: Mutex<()>,
    pub(crate) rate: RateLimit,
    pub(crate) addresses: Addresses,
    pub(crate) contacts: Contacts,
    connections: Arc<Semaphore>,
    runtime: Option<Runtime>,
}

pub(crate) type CredentialsFinder = dyn Fn() -> Result<FoundCredentials, FetchError> + Send + Sync;

impl Shared {
    pub(crate) fn new(
        options: DownloadOptions,
        find: Box<CredentialsFinder>,
    ) -> Result<Shared, FetchError> {
        let setup = |cause: String| FetchError::Setup { cause };
        let rpc = options.rpc_endpoint.as_deref();
        let endpoint = Endpoint::parse(&options.endpoint, rpc, options.protocol)?;
        if let Some(proxies) = &options.variables.proxies {
            proxies.find(&options.endpoint)?;
        }
        let no_threads = |error: std::io::Error| {
            setup(format!(
                "the system cannot start another thread: {}",
                error.kind()
            ))
        };
        prep_cache::check_threads(RUNTIME_THREADS + 1).map_err(no_threads)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(RUNTIME_THREADS)
            .thread_name("fetch")
            .thread_keep_alive(THREAD_KEEP_ALIVE)
            .enable_all()
            .build()
            .map_err(no_threads)?;
        // The thread that resolves host names starts now, because the system may not be able to start threads later.
        drop(runtime.spawn_blocking(|| ()));
        let client = client(&options)?;
        Ok(Shared {
            client,
            endpoint,
            credentials: OnceLock::new(),
            find,
            finding: Mutex::default(),
            connections: Arc::new(Semaphore::new(options.connections.max(1))),
            rate: RateLimit::new(options.max_rate),
            addresses: Addresses::default(),
            contacts: Contacts::default(),
            runtime: Some(runtime),
            options,
        })
    }

    /// Returns the credentials for the API. Searches for them, unless an earlier call has found them.
    pub(crate) fn credentials(&self) -> Result<&FoundCredentials, FetchError> {
        if let Some(found) = self.credentials.get() {
            return Ok(found);
        }
        let _one_at_a_time = self.finding.lock();
        if let Some(found) = self.credentials.get() {
            return Ok(found);
        }
        let found = (self.find)()?;
        Ok(self.credentials.get_or_init(|| found))
    }

    pub(crate) fn known_credentials(&self) -> Option<&FoundCredentials> {
        self.credentials.get()
    }

    /// Returns the server that receives `message`, for messages of errors.
    pub(crate) fn server(&self, message: &Message) -> Server {
        Server {
            host: host(&message.url),
            role: self.endpoint.role(message),
        }
    }

    pub(crate) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.as_ref()
    }

    /// Waits until another connection may be opened.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, FetchError> {
        let semaphore = Arc::clone(&self.connections);
        semaphore
            .acquire_owned()
            .await
            .map_err(|error| FetchError::Setup {
                cause: error.to_string(),
            })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last handle may be dropped on one of the runtime's threads, which must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The variable that replaces the certificates of the system: `SSL_CERT_FILE` or `SSL_CERT_DIR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateVariable {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

impl CertificateVariable {
    /// Returns the variable that is set. `variable` returns the value of an environment variable. macOS uses its keychain
    /// instead.
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Option<CertificateVariable> {
        let mut names = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter();
        let found = names.find_map(|name| {
            let value = variable(name)?;
            Some(CertificateVariable { name, value })
        });
        found.filter(|_| cfg!(not(target_os = "macos")))
    }

    /// Checks the file or the directories. The verifier of certificates ignores those that it cannot use.
    ///
    /// # Errors
    /// [`FetchError::CertificateFile`] if they contain no valid certificate. The error names the first path.
    pub fn check(&self) -> Result<(), FetchError> {
        match self.name {
            "SSL_CERT_DIR" => check_paths(self.name, std::env::split_paths(&self.value).collect()),
            _ => check_paths(self.name, vec![PathBuf::from(&self.value)]),
        }
    }
}

fn check_paths(variable: &'static str, paths: Vec<PathBuf>) -> Result<(), FetchError> {
    let in_file = |path: &Path| -> io::Result<bool> {
        let text = std::fs::read(path)?;
        let certificates = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
        let (valid, _) = RootCertStore::empty().add_parsable_certificates(certificates);
        Ok(valid > 0)
    };
    let in_directory = |path: &Path| -> io::Result<bool> {
        let mut entries = std::fs::read_dir(path)?.flatten();
        Ok(entries.any(|entry| in_file(&entry.path()).is_ok_and(|found| found)))
    };
    let mut first = Ok(());
    for path in paths {
        let found = match variable {
            "SSL_CERT_DIR" => in_directory(&path),
            _ => in_file(&path),
        };
        let reason = match found {
            Ok(true) => return Ok(()),
            Ok(false) => "contains no valid certificate in PEM format".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        first = first.and(Err(FetchError::CertificateFile {
            variable,
            path,
            reason,
        }));
    }
    first
}

/// Creates an HTTP/1.1 client. With HTTP/2, all ranges would share one TCP connection, whose speed may be limited.
///
/// The callers of [`send`] follow redirects, because they know which hosts may receive credentials.
fn client(options: &DownloadOptions) -> Result<Client, FetchError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| FetchError::Certificates {
            cause: error.to_string(),
        })?
        .with_no_client_auth();
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("prep/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .redirect(Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(options.stall.min(CONNECT_TIMEOUT))
        .pool_max_idle_per_host(options.connections);
    let builder = match options.variables.proxies {
        Some(_) => builder,
        None => builder.no_proxy(),
    };
    builder.build().map_err(|error| FetchError::Setup {
        cause: error.to_string(),
    })
}

/// Sends the request of `message`. Waits for the header of the response until the stall timeout ends. After
/// [`REPORT_SILENCE_AFTER`], reports the wait. `offset` is the offset of the requested bytes. It is used only in
/// messages.
pub(crate) async fn send(
    shared: &Shared,
    request: RequestBuilder,
    message: &Message,
    offset: u64,
) -> Result<Response, Trouble> {
    let time = shared.options.stall;
    let host = shared.server(message);
    let proxy = || shared.options.variables.proxies.as_ref()?.of(&message.url);
    let began = Instant::now();
    let answer = timeout(time, request.send());
    let report = async {
        sleep(REPORT_SILENCE_AFTER).await;
        let host = match proxy() {
            Some(proxy) => format!("{host} through the proxy {}", proxy.address),
            None => host.to_string(),
        };
        (shared.options.watcher)(&WaitReport::Silence { host, until: time });
        // This future never ends, so that only the response or the timeout ends the wait.
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = answer => Some(answer),
        () = report => None,
    };
    let failed = || shared.contacts.record_failure(&host.host, began);
    match answer {
        Some(Ok(Ok(answer))) => {
            shared.contacts.record_answer(&host.host);
            Ok(answer)
        }
        Some(Ok(Err(error))) => {
            let unanswered = failed();
            let failed = NoConnection {
                certificates: shared.options.variables.certificates.clone(),
                ..NoConnection::new(host, proxy(), unanswered, &error)
            };
            Err(Trouble::NoConnection(Box::new(failed)))
        }
        Some(Err(_)) | None => Err(Trouble::Stalled {
            unanswered: failed(),
            host,
            offset,
            time,
        }),
    }
}

/// Whether each host has responded to a request of this process.
#[derive(Debug, Default)]
pub(crate) struct Contacts(Mutex<HashMap<String, Contact>>);

#[derive(Debug, Clone, Copy)]
enum Contact {
    Answered,
    /// The host never answered. The first request to it was sent at this time.
    Unanswered(Instant),
}

impl Contacts {
    pub(crate) fn record_answer(&self, host: &str) {
        let mut contacts = self.0.lock();
        if !matches!(contacts.get(host), Some(Contact::Answered)) {
            contacts.insert(host.to_owned(), Contact::Answered);
        }
    }

    /// Returns whether any host has answered.
    pub(crate) fn any_answered(&self) -> bool {
        let contacts = self.0.lock();
        contacts
            .values()
            .any(|one| matches!(one, Contact::Answered))
    }

    /// Records that a host did not respond to a request that was sent at `began`. If the host never responded to any
    /// request, returns the time since the first request.
    pub(crate) fn record_failure(&self, host: &str, began: Instant) -> Option<Duration> {
        let mut contacts = self.0.lock();
        match contacts
            .entry(host.to_owned())
            .or_insert(Contact::Unanswered(began))
        {
            Contact::Answered => None,
            Contact::Unanswered(first) => Some(first.elapsed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_never_answered_return_the_time_since_the_first_request() {
        let contacts = Contacts::default();
        let minute = Duration::from_secs(60);
        let first = Instant::now().checked_sub(minute).unwrap();
        assert!(contacts.record_failure("a", first) >= Some(minute));
        // A later request does not restart the time.
        assert!(contacts.record_failure("a", Instant::now()) >= Some(minute));
        contacts.record_answer("b");
        assert_eq!(contacts.record_failure("b", first), None);
        contacts.record_answer("a");
        assert_eq!(contacts.record_failure("a", first), None);
    }
}
