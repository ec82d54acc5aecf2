//! Refuses requests that web pages of other origins send to a server on this machine.
//!
//! A page in the user's browser can send requests to a loopback address, and can read the responses if its own host
//! name resolves to that address ("DNS rebinding"). Such requests have a foreign `Host` or `Origin`.

use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::{HOST, ORIGIN};
use hyper::http::Uri;

/// Returns whether a request to a loopback address has no foreign host. `name` is the host that the server was started
/// with.
pub(crate) fn is_local(uri: &Uri, headers: &HeaderMap, name: &str) -> bool {
    let is_own = |host: &str| is_local_name(host) || host.eq_ignore_ascii_case(name);
    let mut hosts = headers.get_all(HOST).iter();
    let mut origins = headers.get_all(ORIGIN).iter();
    uri.host().is_none_or(is_own)
        && hosts.all(|host| host.to_str().is_ok_and(|host| is_own(without_port(host))))
        && origins.all(|origin| {
            let host = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"));
            host.is_some_and(|(_, host)| is_own(without_port(host)))
        })
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

fn is_local_name(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let name = host.to_ascii_lowercase();
            let is_localhost = matches!(&*name, "localhost" | "localhost.");
            // No public name is without a dot. Names of machines and of containers are.
            is_localhost || name.ends_with(".localhost") || !(name.is_empty() || name.contains('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_hosts_and_origins_are_not_local() {
        for (uri, host, origin, expected) in [
            ("/health", None, None, true),
            ("/health", Some("localhost:5000"), None, true),
            ("/health", Some("LOCALHOST."), None, true),
            ("/health", Some("a.localhost:1"), None, true),
            ("/health", Some("127.0.0.1:5000"), None, true),
            ("/health", Some("127.9.9.9"), None, true),
            ("/health", Some("[::1]:5000"), None, true),
            ("/health", Some("[::ffff:127.0.0.1]"), None, true),
            ("/health", Some("my.box:5000"), None, true),
            ("/health", Some("grader:5000"), None, true),
            ("/health", Some("ai."), None, false),
            ("/health", Some("evil.example:5000"), None, false),
            ("/health", Some("localhost.evil.example"), None, false),
            ("/health", Some("127.0.0.1.evil.example"), None, false),
            ("/health", Some("10.0.0.1"), None, false),
            ("/health", Some(""), None, false),
            ("http://evil.example/health", Some("localhost"), None, false),
            ("http://localhost/health", Some("localhost"), None, true),
            (
                "/health",
                Some("localhost"),
                Some("http://localhost:3000"),
                true,
            ),
            (
                "/health",
                Some("localhost"),
                Some("http://evil.example"),
                false,
            ),
            ("/health", Some("localhost"), Some("null"), false),
            ("/health", None, Some("https://evil.example:5000"), false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, host), (ORIGIN, origin)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            let found = is_local(&uri.parse().unwrap(), &headers, "my.box");
            assert_eq!(found, expected, "{uri} {host:?} {origin:?}");
        }
    }
}
