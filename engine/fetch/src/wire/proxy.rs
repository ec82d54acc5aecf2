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
    /// `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, if they are set.
    variables: Vec<(&'static str, String)>,
}

impl Proxies {
    /// Reads the variables of proxies. `variable` returns the value of an environment variable.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Proxies {
        let value = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_lowercase()));
        let names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];
        let [https, http, all] = names.map(|name| value(name).unwrap_or_default());
        let no = value("NO_PROXY").unwrap_or_default();
        let matcher = |map: fn(&str) -> String| {
            let builder = Matcher::builder().https(map(&https)).http(map(&http));
            Arc::new(builder.all(map(&all)).no(no.clone()).build())
        };
        Proxies {
            matcher: matcher(str::to_owned),
            intended: matcher(|value| match value {
                "" => String::new(),
                _ => "http://proxy".to_owned(),
            }),
            variables: names
                .into_iter()
                .zip([https, http, all])
                .filter(|(_, value)| !value.is_empty())
                .collect(),
        }
    }

    /// Returns the address of the proxy for `url`, without user and password. Returns `None` if no proxy is used.
    ///
    /// # Errors
    /// [`FetchError::ProxyAddress`] if the value of the variable cannot be used.
    pub fn find(&self, url: &str) -> Result<Option<String>, FetchError> {
        let Ok(uri) = url.parse() else {
            return Ok(None);
        };
        if let Some(proxy) = self.matcher.intercept(&uri) {
            let proxy = proxy.uri();
            if matches!(proxy.scheme_str(), Some("http" | "https")) {
                return Ok(Some(proxy.to_string().trim_end_matches('/').to_owned()));
            }
        } else if self.intended.intercept(&uri).is_none() {
            return Ok(None);
        }
        let own = match url.starts_with("https:") {
            true => "HTTPS_PROXY",
            false => "HTTP_PROXY",
        };
        let mut variables = self.variables.iter();
        let named = variables.find(|(name, _)| [own, "ALL_PROXY"].contains(name));
        Err(match named {
            Some((variable, value)) => FetchError::ProxyAddress {
                variable,
                value: match value.rsplit_once('@') {
                    Some((_, address)) => format!("***@{address}"),
                    None => value.clone(),
                },
            },
            None => return Ok(None),
        })
    }

    pub(crate) fn of(&self, url: &Url) -> Option<String> {
        self.find(url.as_str()).ok().flatten()
    }
}

/// Returns how a proxy refused to connect to the server of a request. The type of the error is private, so its text is
/// compared. The text contains no status, except for 407.
pub(crate) fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    prep_core::causes(error).find_map(|cause| match cause.to_string().as_str() {
        "tunnel error: proxy authorization required" => {
            Some("it requires a user name and a password (407)")
        }
        "tunnel error: unsuccessful" => Some(
            "it answered with an error status, such as 403 (not permitted) or 502 (it cannot reach the host)",
        ),
        _ => None,
    })
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
                Ok(Some("http://p:1")),
            ),
            (
                &[("https_proxy", "p:1")],
                "https://a.b",
                Ok(Some("http://p:1")),
            ),
            (&[("HTTPS_PROXY", "http://p:1")], "http://a.b", Ok(None)),
            (
                &[("ALL_PROXY", "https://p:1")],
                "http://a.b",
                Ok(Some("https://p:1")),
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
                Ok(proxy) => Ok(proxy.as_deref()),
                Err(FetchError::ProxyAddress { variable, value }) => {
                    Err((*variable, value.as_str()))
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(found, expected, "{variables:?}");
        }
    }
}
