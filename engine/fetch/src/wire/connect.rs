//! The reasons why there is no connection to a server. The reason decides whether the request is repeated, and which action
//! an error suggests.

use std::error::Error;
use std::fmt;
use std::io;
use std::io::ErrorKind;
use std::time::Duration;

use reqwest::Url;

use crate::error::{CHECK_NETWORK, CORRECT_ENDPOINT, FetchError, Server, transport_cause};
use crate::wire::location::host;
use crate::wire::proxy::{Proxies, Proxy, ProxyRefusal, is_tunnel_error};
use crate::wire::shared::CertificateVariable;

/// A failed attempt to connect to a server.
#[derive(Debug, PartialEq, Eq)]
pub struct NoConnection {
    /// The server.
    pub host: Server,
    /// The proxy of the connection, if there is one.
    pub proxy: Option<Proxy>,
    /// Whether the connection to the proxy itself failed.
    pub is_at_proxy: bool,
    /// The reason.
    pub fault: ConnectionFault,
    /// The variable that replaces the certificates of the system, if it is set.
    pub certificates: Option<CertificateVariable>,
    /// Time since the first request to the server. `None` if the server has answered a request.
    pub unanswered: Option<Duration>,
}

/// The reason why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// The certificate is not valid.
    Certificate(CertificateFault),
    /// The proxy refuses to connect to the server.
    Refusal(ProxyRefusal),
    /// The address begins with `https:`, but the response is not that of a TLS server.
    NoTls,
    /// The address of the proxy begins with `https:`, but the proxy ended the TLS handshake, or sent nothing until the
    /// timeout.
    NoHandshake(String),
    /// No program listens on the port, or the name of the host does not resolve.
    NoListener(String),
    /// Another error of the operating system or of the HTTP library.
    Other(String),
}

/// Maximum number of attempts to reach a proxy that never connected to the server, and an address with
/// [`ConnectionFault::NoListener`]. The address is probably wrong.
const MAX_UNREACHED_ATTEMPTS: u32 = 3;

impl NoConnection {
    /// Finds the reason for `error`, which the HTTP library returned in place of a response.
    pub(crate) fn new(
        host: Server,
        proxy: Option<Proxy>,
        unanswered: Option<Duration>,
        error: &(dyn Error + 'static),
    ) -> NoConnection {
        let is_at_proxy = is_tunnel_error(error, "failed to create underlying connection");
        let proxy_address = proxy.as_ref().map_or("", |proxy| &proxy.address);
        let uses_tls = proxy_address.starts_with("https:");
        let refusal = proxy.as_ref();
        let refusal = refusal.and_then(|proxy| ProxyRefusal::of(error, proxy));
        let tls = prep_core::causes(error).find_map(|cause| cause.downcast_ref());
        let is_timeout = of_library(error).any(reqwest::Error::is_timeout);
        let fault = match (rejected_certificate(error), refusal, tls) {
            (Some(fault), ..) => ConnectionFault::Certificate(fault),
            (_, Some(refusal), _) => ConnectionFault::Refusal(refusal),
            (.., Some(rustls::Error::InvalidMessage(_))) => ConnectionFault::NoTls,
            _ if uses_tls && (is_timeout || is_at_proxy && ends_early(error)) => {
                ConnectionFault::NoHandshake(transport_cause(error))
            }
            _ if has_no_listener(error) => ConnectionFault::NoListener(transport_cause(error)),
            _ => ConnectionFault::Other(transport_cause(error)),
        };
        NoConnection {
            host,
            proxy,
            is_at_proxy,
            fault,
            certificates: None,
            unanswered,
        }
    }

    /// Returns the maximum number of attempts. Returns `None` if only the limit for all failures applies, for example
    /// because the server has answered before, so that a new attempt may succeed.
    pub(crate) fn max_attempts(&self) -> Option<u32> {
        match self.fault {
            ConnectionFault::Certificate(_) => Some(1),
            _ if self.unanswered.is_none() => None,
            ConnectionFault::Refusal(_)
            | ConnectionFault::NoTls
            | ConnectionFault::NoHandshake(_) => Some(1),
            ConnectionFault::NoListener(_) => Some(MAX_UNREACHED_ATTEMPTS),
            ConnectionFault::Other(_) => self.is_at_proxy.then_some(MAX_UNREACHED_ATTEMPTS),
        }
    }

    /// Returns an action that the user can take.
    pub(crate) fn remedy(&self) -> String {
        let variable = self.proxy.as_ref().map(|proxy| proxy.variable);
        match (&self.fault, variable) {
            (ConnectionFault::Certificate(fault), _) => fault.remedy(self.certificates.as_ref()),
            (ConnectionFault::Refusal(refusal), Some(variable)) => refusal.remedy(variable),
            (ConnectionFault::NoTls, Some(variable)) if self.is_at_proxy => {
                format!("write `http://` instead of `https://` into {variable}")
            }
            (ConnectionFault::NoHandshake(_), Some(variable)) => format!(
                "if the proxy does not use TLS, write `http://` instead of `https://` into {variable}"
            ),
            (_, Some(variable)) if self.is_at_proxy => {
                format!(
                    "check that {variable} is correct and that the proxy runs, or unset {variable}"
                )
            }
            (_, Some(variable)) => format!("check the network connection and {variable}"),
            (_, None) if self.host.is_of_endpoint() => CORRECT_ENDPOINT.to_owned(),
            (_, None) => CHECK_NETWORK.to_owned(),
        }
    }
}

/// Returns the errors of the HTTP library among the causes of `error`.
fn of_library<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e reqwest::Error> {
    prep_core::causes(error).filter_map(|cause| cause.downcast_ref())
}

/// Returns whether a client of this HTTP library did not connect, for example because no connection was established in time.
pub fn is_connecting(error: &(dyn Error + 'static)) -> bool {
    of_library(error).any(reqwest::Error::is_connect)
}

/// The proxies and certificates that environment variables name.
#[derive(Debug, Clone, Default)]
pub struct NetworkVariables {
    /// The proxies that `HTTPS_PROXY` and similar variables name. With `None`, no proxy is used.
    pub proxies: Option<Proxies>,
    /// The variable that replaces the certificates of the system, for error messages.
    pub certificates: Option<CertificateVariable>,
}

impl NetworkVariables {
    /// Returns the reason why another client of this HTTP library has no connection. `error` is the error of the client, and
    /// `url` is the URL of its request.
    pub fn connection_error(&self, url: &str, error: &(dyn Error + 'static)) -> FetchError {
        let proxies = self.proxies.as_ref();
        let proxy = match proxies.map(|proxies| proxies.find(url)).transpose() {
            Ok(proxy) => proxy.flatten(),
            Err(error) => return error,
        };
        let parsed = Url::parse(url);
        let shown = parsed.map_or_else(|_| "?".to_owned(), |url| host(&url));
        FetchError::NoConnection(Box::new(NoConnection {
            certificates: self.certificates.clone(),
            ..NoConnection::new(shown.into(), proxy, None, error)
        }))
    }

    /// Returns the error for a response that a proxy probably sent in place of the server. `url` is the URL of the request,
    /// and `status` the HTTP status of the response. Returns `None` if no proxy sees the request, or sends such a status.
    pub fn proxy_error(&self, url: &str, status: u16) -> Option<FetchError> {
        let url = Url::parse(url).ok().filter(|url| url.scheme() == "http")?;
        let proxy = self.proxies.as_ref()?.of(&url)?;
        Some(FetchError::NoConnection(Box::new(NoConnection {
            host: host(&url).into(),
            fault: ConnectionFault::Refusal(ProxyRefusal::of_status(status, &proxy)?),
            proxy: Some(proxy),
            is_at_proxy: true,
            certificates: None,
            unanswered: None,
        })))
    }
}

impl fmt::Display for NoConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.to_string();
        let proxy = self.proxy.as_ref();
        let proxy = proxy.map(|proxy| format!("the proxy {}", proxy.address));
        let (target, through) = match &proxy {
            Some(proxy) if self.is_at_proxy => (proxy, String::new()),
            Some(proxy) => (&host, format!(" through {proxy}")),
            None => (&host, String::new()),
        };
        match &self.fault {
            ConnectionFault::Certificate(fault) => {
                write!(
                    formatter,
                    "the certificate of {target} is not valid: {fault}"
                )
            }
            ConnectionFault::Refusal(refusal) => {
                let proxy = proxy.as_deref().unwrap_or("the proxy");
                write!(formatter, "{proxy} does not connect to {host}: {refusal}")
            }
            ConnectionFault::NoTls => write!(formatter, "{target} does not use TLS"),
            ConnectionFault::NoHandshake(cause)
            | ConnectionFault::NoListener(cause)
            | ConnectionFault::Other(cause) => {
                write!(formatter, "no connection to {target}{through}: {cause}")?;
                match &self.fault {
                    ConnectionFault::NoHandshake(_) => {
                        write!(formatter, "; the proxy may not use TLS")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// The reason why the certificate of a server was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum CertificateFault {
    #[error("no trusted authority (CA) issued it")]
    UnknownIssuer,
    #[error("it has expired, or is not valid yet")]
    OtherTime,
    #[error("it was issued for another host")]
    OtherHost,
    #[error("it is the certificate of an authority (CA), which a server must not use as its own")]
    Authority,
    #[error("{0}")]
    Other(String),
}

impl CertificateFault {
    /// Returns an action that the user can take. `variable` replaces the certificates of the system.
    fn remedy(&self, variable: Option<&CertificateVariable>) -> String {
        if let (CertificateFault::UnknownIssuer, Some(CertificateVariable { name, value })) =
            (self, variable)
        {
            return format!(
                "unset {name}, which is `{value}` and replaces the certificates of the system, or add the certificate of the \
                 authority (CA) to it"
            );
        }
        let words = match self {
            CertificateFault::OtherTime => {
                "check the clock of this machine; if it is right, the server or a proxy needs a new certificate"
            }
            CertificateFault::OtherHost => {
                "check the address; a proxy or a login page may answer in place of this host"
            }
            CertificateFault::Authority => {
                "let the authority issue a certificate for the server or proxy (with `CA:FALSE`), and install that one"
            }
            CertificateFault::UnknownIssuer | CertificateFault::Other(_) => {
                "if a proxy decrypts the connections of this network, set SSL_CERT_FILE to a PEM file that contains the certificate \
                 of its authority (CA), or add this certificate to those of the system"
            }
        };
        words.to_owned()
    }
}

/// Returns whether an I/O error of kind `kind` is among the causes of `error`.
fn is_io_error(error: &(dyn Error + 'static), kind: ErrorKind) -> bool {
    let mut causes = prep_core::causes(error).filter_map(|one| one.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == kind)
}

fn ends_early(error: &(dyn Error + 'static)) -> bool {
    is_io_error(error, ErrorKind::UnexpectedEof)
}

/// Returns whether no program listens on the port, or the name of the host does not resolve. The type of the error about the
/// name is private, so its text is compared.
fn has_no_listener(error: &(dyn Error + 'static)) -> bool {
    is_io_error(error, ErrorKind::ConnectionRefused)
        || prep_core::causes(error).any(|cause| cause.to_string() == "dns error")
}

/// Returns the reason if the certificate of a server was rejected.
fn rejected_certificate(error: &(dyn Error + 'static)) -> Option<CertificateFault> {
    use rustls::CertificateError as Reason;
    let mut causes = prep_core::causes(error).filter_map(|one| one.downcast_ref());
    causes.find_map(|cause| match cause {
        rustls::Error::InvalidCertificate(reason) => Some(match reason {
            Reason::UnknownIssuer => CertificateFault::UnknownIssuer,
            Reason::Expired
            | Reason::ExpiredContext { .. }
            | Reason::NotValidYet
            | Reason::NotValidYetContext { .. } => CertificateFault::OtherTime,
            Reason::NotValidForName | Reason::NotValidForNameContext { .. } => {
                CertificateFault::OtherHost
            }
            // The type of this error is that of a crate below `rustls`.
            Reason::Other(error) if error.to_string() == "CaUsedAsEndEntity" => {
                CertificateFault::Authority
            }
            reason => CertificateFault::Other(reason.to_string()),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_for_an_unknown_authority_names_the_variable_in_use() {
        for (name, part) in [
            (None, "set SSL_CERT_FILE to a PEM file"),
            (Some("SSL_CERT_FILE"), "unset SSL_CERT_FILE, which is `/x`"),
            (Some("SSL_CERT_DIR"), "unset SSL_CERT_DIR, which is `/x`"),
        ] {
            let variable = name.map(|name| CertificateVariable {
                name,
                value: "/x".to_owned(),
            });
            let help = CertificateFault::UnknownIssuer.remedy(variable.as_ref());
            assert!(help.contains(part), "{help}");
        }
    }

    #[test]
    fn a_rejected_certificate_is_found_inside_of_io_errors() {
        let authority = io::Error::other("CaUsedAsEndEntity");
        let authority = rustls::OtherError(std::sync::Arc::new(authority));
        for (reason, fault) in [
            (
                rustls::CertificateError::UnknownIssuer,
                CertificateFault::UnknownIssuer,
            ),
            (
                rustls::CertificateError::Other(authority),
                CertificateFault::Authority,
            ),
        ] {
            let error = io::Error::other(rustls::Error::InvalidCertificate(reason));
            assert_eq!(rejected_certificate(&error), Some(fault.clone()));
            let error = io::Error::other(error);
            assert_eq!(rejected_certificate(&error), Some(fault));
        }
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(rejected_certificate(&refused), None);
    }
}
