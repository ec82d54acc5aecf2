//! Finds the proxy of a URL, for error messages. `reqwest` uses the same rules, but its errors name no proxy.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use crate::error::FetchError;

/// The proxies that environment variables name.
#[derive(Debug, Clone)]
pub struct Proxies {
    matcher: Arc<Matcher>,
    /// Matches the URLs to which a variable applies, whether or not its value is the address of a proxy.
    intended: Arc<Matcher>,
    /// `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` in upper or lower case, if they are set.
    variables: Vec<(&'static str, String)>,
}

/// The proxy of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The variable that names the proxy.
    pub variable: &'static str,
    /// The address, without user and password.
    pub address: String,
    /// Whether the variable contains a user and a password.
    has_password: bool,
}

impl Proxies {
    /// Reads the variables of proxies. `variable` returns the value of an environment variable.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Proxies {
        let value = |names: [&'static str; 2]| {
            let mut values = names.into_iter().map(|name| (name, variable(name)));
            let set = values.find_map(|(name, value)| Some((name, value?)));
            set.unwrap_or_default()
        };
        let https = value(["HTTPS_PROXY", "https_proxy"]);
        let http = value(["HTTP_PROXY", "http_proxy"]);
        let all = value(["ALL_PROXY", "all_proxy"]);
        let (_, no) = value(["NO_PROXY", "no_proxy"]);
        let matcher = |map: fn(&str) -> String| {
            let builder = Matcher::builder().https(map(&https.1)).http(map(&http.1));
            Arc::new(builder.all(map(&all.1)).no(no.clone()).build())
        };
        Proxies {
            matcher: matcher(str::to_owned),
            intended: matcher(|value| match value {
                "" => String::new(),
                _ => "http://proxy".to_owned(),
            }),
            variables: [https, http, all]
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect(),
        }
    }

    /// Returns the proxy for `url`. Returns `None` if no proxy is used.
    ///
    /// # Errors
    /// [`FetchError::ProxyAddress`] if the value of the variable cannot be used.
    pub fn find(&self, url: &str) -> Result<Option<Proxy>, FetchError> {
        let Ok(uri) = url.parse() else {
            return Ok(None);
        };
        let own = match url.starts_with("https:") {
            true => "HTTPS_PROXY",
            false => "HTTP_PROXY",
        };
        let applies = |name: &str| {
            [own, "ALL_PROXY"]
                .iter()
                .any(|one| one.eq_ignore_ascii_case(name))
        };
        let mut variables = self.variables.iter();
        let Some((variable, value)) = variables.find(|(name, _)| applies(name)) else {
            return Ok(None);
        };
        if let Some(proxy) = self.matcher.intercept(&uri) {
            let address = proxy.uri();
            // `Authority` ignores a port above 65535.
            let has_port = address.authority().is_some_and(|authority| {
                authority.as_str().ends_with(authority.host()) || authority.port().is_some()
            });
            if matches!(address.scheme_str(), Some("http" | "https")) && has_port {
                return Ok(Some(Proxy {
                    variable,
                    address: address.to_string().trim_end_matches('/').to_owned(),
                    has_password: proxy.basic_auth().is_some(),
                }));
            }
        } else if self.intended.intercept(&uri).is_none() {
            return Ok(None);
        }
        Err(FetchError::ProxyAddress {
            variable,
            value: without_user(value),
        })
    }

    pub(crate) fn of(&self, url: &Url) -> Option<Proxy> {
        self.find(url.as_str()).ok().flatten()
    }
}

/// Returns the value of a variable that should be a URL, without the user and the password that it may contain.
pub(crate) fn without_user(value: &str) -> String {
    match value.rsplit_once('@') {
        Some((_, address)) => format!("***@{address}"),
        None => value.to_owned(),
    }
}

/// Returns whether an error is the tunnel error `text` of the HTTP library. The type of the error is private, so its text
/// is compared.
pub(crate) fn is_tunnel_error(error: &(dyn std::error::Error + 'static), text: &str) -> bool {
    prep_core::causes(error).any(|cause| {
        let message = cause.to_string();
        message.strip_prefix("tunnel error: ") == Some(text)
    })
}

/// The reason why a proxy refused to connect to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ProxyRefusal {
    #[error("it requires a user name and a password (407)")]
    NoPassword,
    #[error("it rejects the user name and the password (407)")]
    WrongPassword,
    /// The HTTP library does not report the answer.
    #[error("it answered CONNECT with an error status, or not with HTTP")]
    Other,
    /// The answer to a request without TLS. A proxy forwards such requests, so the answer may also be that of the server.
    #[error("HTTP status {0}, which it sent itself or received from the server")]
    Status(u16),
}

impl ProxyRefusal {
    /// Returns how `proxy` refused to connect to the server of a request. Returns `None` for other errors.
    pub(crate) fn of(
        error: &(dyn std::error::Error + 'static),
        proxy: &Proxy,
    ) -> Option<ProxyRefusal> {
        if is_tunnel_error(error, "proxy authorization required") {
            return ProxyRefusal::of_status(407, proxy);
        }
        is_tunnel_error(error, "unsuccessful").then_some(ProxyRefusal::Other)
    }

    /// Returns how `proxy` refused to forward a request without TLS. Returns `None` for a status that proxies do not send.
    pub(crate) fn of_status(status: u16, proxy: &Proxy) -> Option<ProxyRefusal> {
        match status {
            407 if proxy.has_password => Some(ProxyRefusal::WrongPassword),
            407 => Some(ProxyRefusal::NoPassword),
            403 | 502..=504 => Some(ProxyRefusal::Status(status)),
            _ => None,
        }
    }

    /// Returns an action that the user can take. `variable` names the proxy.
    pub(crate) fn remedy(self, variable: &str) -> String {
        match self {
            ProxyRefusal::NoPassword => {
                format!("write user and password into {variable} (http://USER:PASSWORD@HOST:PORT)")
            }
            ProxyRefusal::WrongPassword => format!("correct user and password in {variable}"),
            ProxyRefusal::Other | ProxyRefusal::Status(_) => format!(
                "check that {variable} names an HTTP proxy, and that the proxy permits and reaches this host, or exclude the host with NO_PROXY"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_of_a_url_is_named_without_its_password() {
        for (variables, url, expected) in [
            (&[][..], "https://a.b", Ok(None)),
            (
                &[("HTTPS_PROXY", "http://u:pw@p:1")],
                "https://a.b/x?y",
                Ok(Some(("HTTPS_PROXY", "http://p:1"))),
            ),
            (
                &[("https_proxy", "p:1")],
                "https://a.b",
                Ok(Some(("https_proxy", "http://p:1"))),
            ),
            (&[("HTTPS_PROXY", "http://p:1")], "http://a.b", Ok(None)),
            (
                &[("ALL_PROXY", "https://p:1")],
                "http://a.b",
                Ok(Some(("ALL_PROXY", "https://p:1"))),
            ),
            (
                &[("ALL_PROXY", "foo://p:1"), ("NO_PROXY", ".b")],
                "https://a.b",
                Ok(None),
            ),
            (
                &[("HTTPS_PROXY", "foo://u:pw@p:1")],
                "https://a.b",
                Err(("HTTPS_PROXY", "***@p:1")),
            ),
            (
                &[("HTTPS_PROXY", "http://u:pw@p:99999")],
                "https://a.b",
                Err(("HTTPS_PROXY", "***@p:99999")),
            ),
            (
                &[("HTTPS_PROXY", "http://[::1]")],
                "https://a.b",
                Ok(Some(("HTTPS_PROXY", "http://[::1]"))),
            ),
            (
                &[("ALL_PROXY", "socks5://p:1")],
                "https://a.b",
                Err(("ALL_PROXY", "socks5://p:1")),
            ),
        ] {
            let proxies = Proxies::from_variables(|name| {
                let value = variables.iter().find(|(set, _)| *set == name);
                value.map(|(_, value)| (*value).to_owned())
            });
            let found = proxies.find(url);
            let found = match &found {
                Ok(proxy) => Ok(proxy
                    .as_ref()
                    .map(|one| (one.variable, one.address.as_str()))),
                Err(FetchError::ProxyAddress { variable, value }) => {
                    Err((*variable, value.as_str()))
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(found, expected, "{variables:?}");
        }
    }
}
