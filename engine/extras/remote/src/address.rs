//! Opens the object store at a remote's address with the given credentials.
//!
//! | address | store |
//! |---|---|
//! | `s3://BUCKET/PREFIX` | Amazon S3 and compatible servers (`AWS_ENDPOINT_URL`) |
//! | `gs://BUCKET/PREFIX` | Google Cloud Storage |
//! | `az://CONTAINER/PREFIX` | Azure Blob Storage |
//! | `https://...` | any web server, read-only |
//! | `file:///DIRECTORY` | a directory that all machines share |
//!
//! Plain http is accepted only for servers on this machine, because others on the network could read tokens and private
//! objects. `AWS_ALLOW_HTTP=true` permits plain http for any S3 server.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::ClientConfigKey;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, CredentialProvider, ObjectStore, ObjectStoreScheme, RetryConfig,
};
use prep_cache::Unwritable;
use url::Url;

use crate::error::{NoCredentials, RemoteError};
use crate::layout::MAX_DEPTH;

/// Environment variables of cloud stores, for example `AWS_SECRET_ACCESS_KEY`. Their values are never printed.
#[derive(Clone, Default)]
pub struct CloudCredentials(Vec<(String, String)>);

impl CloudCredentials {
    /// Stores variables by name and value. Variables that no cloud store uses are ignored.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> CloudCredentials {
        CloudCredentials(variables.into_iter().collect())
    }

    fn configure<'v, B, K: FromStr>(&'v self, mut builder: B, set: fn(B, K, &'v str) -> B) -> B {
        for (name, value) in &self.0 {
            if let Ok(key) = name.to_ascii_lowercase().parse() {
                builder = set(builder, key, value);
            }
        }
        builder
    }
}

/// Variables that contain or name credentials. Other variables are settings.
const NAMED_CREDENTIALS: [&str; 14] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_USE_AZURE_CLI",
];

impl CloudCredentials {
    /// Returns whether the user named credentials. Otherwise a cloud store requests those of the machine's role.
    fn are_named(&self) -> bool {
        let mut names = self.0.iter().map(|(name, _)| name);
        names.any(|name| NAMED_CREDENTIALS.contains(&name.as_str()))
    }
}

impl fmt::Debug for CloudCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.0.iter().map(|(name, _)| name).collect();
        f.debug_tuple("Credentials").field(&names).finish()
    }
}

/// Builds a cloud store. The builders of `object_store` have no common trait, so this is a macro.
macro_rules! cloud_store {
    ($builder:expr, $credentials:expr) => {{
        let builder = $builder.with_retry(retry_config());
        builder.clone().build().and_then(|store| {
            let typed = DebugCredentials {
                provider: Arc::clone(store.credentials()),
                are_named: $credentials.are_named(),
            };
            let store = builder.with_credentials(Arc::new(typed)).build()?;
            Ok(Arc::new(store) as Arc<dyn ObjectStore>)
        })
    }};
}

/// The address of a remote.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Parses an address. Fails if its scheme is not supported.
    pub fn parse(text: &str) -> Result<Address, RemoteError> {
        // The message omits parts of the address that may be secret: a password in front of `@`, and query parameters after
        // `?`, for example a signature.
        let shown = match text.contains('@') {
            true => text.split(':').next(),
            false => text.split('?').next(),
        };
        let shown = shown.unwrap_or_default();
        let wrong = |cause: &str| RemoteError::Address {
            remote: shown.to_owned(),
            cause: cause.to_owned(),
        };
        let url = Url::parse(text).map_err(|_| match text.starts_with('/') {
            true => wrong(&format!(
                "not an address; for a directory, write file://{shown}"
            )),
            false => {
                wrong("not an address; use one such as s3://bucket/prefix or file:///directory")
            }
        })?;
        if ObjectStoreScheme::parse(&url).is_err() || url.scheme() == "memory" {
            return Err(wrong(match url.scheme() {
                "file" => "the path must be absolute, such as file:///mnt/prep",
                _ => "unsupported scheme; use s3://, gs://, az://, http://, https:// or file:///",
            }));
        }
        Ok(Address(url))
    }

    /// Returns the address without user, password and query, which may be secrets.
    pub fn without_secrets(&self) -> String {
        let mut url = self.0.clone();
        // If an address with this scheme cannot contain a user or password, these calls fail, which does no harm.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Finds subdirectories that the current user cannot write. Finds nothing if the remote is not a directory.
    pub fn unwritable(&self) -> Unwritable {
        let mut found = Unwritable::default();
        if let Ok(directory) = self.0.to_file_path() {
            found.examine_directories(&directory, MAX_DEPTH);
        }
        found
    }

    /// Returns whether the remote can only be read.
    pub fn is_read_only(&self) -> bool {
        let scheme = ObjectStoreScheme::parse(&self.0);
        matches!(scheme, Ok((ObjectStoreScheme::Http, _)))
    }

    /// Opens the store, without sending a request. Returns the store and the path of the remote in it.
    pub(crate) fn open(
        &self,
        credentials: &CloudCredentials,
    ) -> Result<(Arc<dyn ObjectStore>, Path), RemoteError> {
        // The HTTP client of `object_store` uses the default TLS provider of the process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let shown = self.without_secrets();
        let wrong = |cause: &str| RemoteError::Address {
            remote: shown.clone(),
            cause: cause.to_owned(),
        };
        let parsed = ObjectStoreScheme::parse(&self.0);
        let (scheme, path) = parsed.map_err(|_| wrong("not an address"))?;
        let url = self.0.to_string();
        let unusable = |_| wrong("the settings or credentials for this address are incomplete");
        let plain = |url: &Url| url.scheme() == "http";
        let is_here = |url: &Url| url.host_str().is_some_and(prep_core::is_loopback);
        let store: Arc<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::Local => {
                let directory = self.0.to_file_path();
                let directory =
                    directory.map_err(|()| wrong("the address does not name a directory"))?;
                if directory.is_file() {
                    return Err(wrong("it is a file, not a directory"));
                }
                if prep_cache::closed_directory(&directory).is_some() {
                    return Err(RemoteError::Unreadable { remote: shown });
                }
                if !directory.is_dir() {
                    return Err(RemoteError::NoBucket { remote: shown });
                }
                let store = LocalFileSystem::new_with_prefix(directory);
                let store = store.map_err(|_| wrong("the directory cannot be opened"))?;
                return Ok((Arc::new(store), Path::default()));
            }
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::new().with_url(url);
                let builder = credentials.configure(builder, AmazonS3Builder::with_config);
                let allow_http = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
                let allowed = builder.get_config_value(&allow_http);
                let is_allowed = allowed.is_some_and(|value| value.eq_ignore_ascii_case("true"));
                // The builder prefers the first of these settings.
                let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
                let mut endpoint = endpoint.iter();
                let endpoint = endpoint.find_map(|key| builder.get_config_value(key));
                let endpoint = endpoint.and_then(|endpoint| Url::parse(&endpoint).ok());
                let endpoint = endpoint.filter(plain);
                if endpoint.as_ref().is_some_and(|url| !is_here(url)) && !is_allowed {
                    return Err(wrong(
                        "the endpoint uses plain http, which exposes tokens and private data to the network; use https, or set \
                     AWS_ALLOW_HTTP=true if you trust the network",
                    ));
                }
                let options = client_options().with_allow_http(endpoint.is_some());
                cloud_store!(builder.with_client_options(options), credentials).map_err(unusable)?
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::new().with_url(url);
                let builder =
                    credentials.configure(builder, GoogleCloudStorageBuilder::with_config);
                cloud_store!(builder.with_client_options(client_options()), credentials)
                    .map_err(unusable)?
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::new().with_url(url);
                let builder = credentials.configure(builder, MicrosoftAzureBuilder::with_config);
                cloud_store!(builder.with_client_options(client_options()), credentials)
                    .map_err(unusable)?
            }
            ObjectStoreScheme::Http => {
                if plain(&self.0) && !is_here(&self.0) {
                    return Err(wrong(
                        "plain http can be read by anybody on the network; use https",
                    ));
                }
                let base = &self.0[..url::Position::BeforePath];
                // Plain http must not be allowed for an https address, because a redirect could lead to http.
                let options = client_options().with_allow_http(plain(&self.0));
                let builder = HttpBuilder::new()
                    .with_url(base)
                    .with_client_options(options)
                    .with_retry(retry_config());
                Arc::new(builder.build().map_err(unusable)?)
            }
            _ => return Err(wrong("unsupported scheme")),
        };
        Ok((store, path))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_secrets())
    }
}

/// Marks errors of a cloud's credential provider as [`NoCredentials`]. Without this mark, an error of `object_store` does
/// not show whether the credentials are missing or the network is unreachable.
#[derive(Debug)]
struct DebugCredentials<C> {
    provider: Arc<dyn CredentialProvider<Credential = C>>,
    are_named: bool,
}

#[async_trait]
impl<C: fmt::Debug + Send + Sync> CredentialProvider for DebugCredentials<C> {
    type Credential = C;

    async fn get_credential(&self) -> object_store::Result<Arc<C>> {
        let got = self.provider.get_credential().await;
        let are_named = self.are_named;
        got.map_err(|source| object_store::Error::Unauthenticated {
            path: String::new(),
            source: Box::new(NoCredentials { source, are_named }),
        })
    }
}

/// A transfer may take any time, but a connection that receives no data for 30 s is closed.
fn client_options() -> ClientOptions {
    ClientOptions::default()
        .with_connect_timeout(Duration::from_secs(5))
        .with_timeout_disabled()
        .with_read_timeout(Duration::from_secs(30))
}

/// Retries end after a short time, because a run can continue without the remote.
fn retry_config() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 3,
        retry_timeout: Duration::from_secs(30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_an_address_are_not_shown() {
        for (text, shown) in [
            ("s3://bucket/team", "s3://bucket/team"),
            ("https://u:pw@host/x?sig=abc#f", "https://host/x"),
            ("file:///mnt/prep", "file:///mnt/prep"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.without_secrets(), shown);
            assert_eq!(format!("{address:?}"), shown);
        }
        let error = Address::parse("/mnt/prep").unwrap_err().to_string();
        assert!(error.ends_with("write file:///mnt/prep"), "{error}");
        let error = Address::parse("file://mnt/prep").unwrap_err().to_string();
        assert!(error.contains("the path must be absolute"), "{error}");
        for text in ["ftp://host/x?password=pw", "ftp://user:pw@host/x"] {
            let error = Address::parse(text).unwrap_err();
            assert!(!error.to_string().contains("pw"), "{error}");
        }
        let named = CloudCredentials::new([("AWS_SECRET_ACCESS_KEY".to_owned(), "pw".to_owned())]);
        assert!(!format!("{named:?}").contains("pw"));
    }

    #[test]
    fn all_kinds_of_stores_open_without_a_request() {
        let aws = [
            ("AWS_ENDPOINT_URL", "http://localhost:1"),
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "c"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "ZA=="),
        ];
        let aws = aws.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let credentials = CloudCredentials::new(aws);
        for text in [
            "s3://b/p",
            "az://c/p",
            "http://127.0.0.1:9/p",
            "http://localhost/p",
            "https://h/p",
            "file:///tmp",
        ] {
            let opened = Address::parse(text).unwrap().open(&credentials);
            assert!(opened.is_ok(), "{text}: {:?}", opened.err());
        }
        for text in ["http://h/p", "http://127.0.0.1.example.org/p"] {
            let opened = Address::parse(text).unwrap().open(&credentials).map(drop);
            let error = opened.unwrap_err().to_string();
            assert!(error.contains("plain http"), "{text}: {error}");
        }
        let gone = Address::parse("file:///nowhere/at/all").unwrap();
        let opened = gone.open(&credentials).map(drop);
        assert!(matches!(opened, Err(RemoteError::NoBucket { .. })));
    }

    #[test]
    fn a_plain_http_endpoint_must_be_local_or_allowed() {
        for (endpoint, allow, is_good) in [
            ("http://127.0.0.1:8333", None, true),
            ("http://[::1]:8333", None, true),
            ("https://s3.lab.org", None, true),
            ("http://s3.lab.org", None, false),
            ("HTTP://s3.lab.org", None, false),
            ("http://10.1.2.3:8333", Some("false"), false),
            ("http://10.1.2.3:8333", Some("true"), true),
        ] {
            let mut variables = vec![
                ("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned()),
                ("AWS_ACCESS_KEY_ID".to_owned(), "a".to_owned()),
                ("AWS_SECRET_ACCESS_KEY".to_owned(), "b".to_owned()),
            ];
            variables.extend(allow.map(|value| ("AWS_ALLOW_HTTP".to_owned(), value.to_owned())));
            let address = Address::parse("s3://bucket/team").unwrap();
            let opened = address.open(&CloudCredentials::new(variables)).map(drop);
            assert_eq!(opened.is_ok(), is_good, "{endpoint} {allow:?}: {opened:?}");
        }
    }

    /// Regression test: only the general endpoint was checked, although the endpoint for S3 has precedence.
    #[test]
    fn the_endpoint_that_is_used_is_the_one_that_is_checked() {
        for (general, of_s3, is_good) in [
            ("http://127.0.0.1:8333", "http://s3.lab.org", false),
            ("http://s3.lab.org", "http://127.0.0.1:8333", true),
        ] {
            let variables = [
                ("AWS_ENDPOINT_URL", general),
                ("AWS_ENDPOINT_URL_S3", of_s3),
                ("AWS_ACCESS_KEY_ID", "a"),
                ("AWS_SECRET_ACCESS_KEY", "b"),
            ];
            let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let address = Address::parse("s3://bucket/team").unwrap();
            let opened = address.open(&CloudCredentials::new(variables.to_vec()));
            let opened = opened.map(drop);
            assert_eq!(opened.is_ok(), is_good, "{of_s3}: {opened:?}");
        }
    }
}
