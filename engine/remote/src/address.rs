//! From an address and credentials to a store.
//!
//! | address | store |
//! |---|---|
//! | `s3://BUCKET/PREFIX` | Amazon S3, and what speaks its language (`AWS_ENDPOINT_URL`) |
//! | `gs://BUCKET/PREFIX` | Google Cloud Storage |
//! | `az://CONTAINER/PREFIX` | Azure Blob Storage |
//! | `http://...`, `https://...` | any web server, for reading |
//! | `file:///FOLDER` | a folder that all machines see |

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use crate::error::RemoteError;

/// What clouds want to know of who asks: the values of variables by their names (`AWS_SECRET_ACCESS_KEY`). Never shown.
#[derive(Clone, Default)]
pub struct Credentials(Vec<(String, String)>);

impl Credentials {
    /// Names that mean nothing to a cloud are left out.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Credentials {
        Credentials(variables.into_iter().collect())
    }

    fn for_each(&self, mut each: impl FnMut(&str, &str)) {
        for (name, value) in &self.0 {
            each(&name.to_ascii_lowercase(), value);
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.0.iter().map(|(name, _)| name).collect();
        f.debug_tuple("Credentials").field(&names).finish()
    }
}

/// Where a remote is.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// # Errors
    /// When it is none, or of an unknown kind.
    pub fn parse(text: &str) -> Result<Address, RemoteError> {
        let wrong = |cause: &str| RemoteError::Address {
            // What may be a secret stands behind these characters.
            remote: text.split(['?', '@']).next().unwrap_or_default().to_owned(),
            cause: cause.to_owned(),
        };
        let url = Url::parse(text).map_err(|_| {
            wrong("it is no address; write one like s3://bucket/prefix or file:///folder")
        })?;
        if ObjectStoreScheme::parse(&url).is_err() || url.scheme() == "memory" {
            return Err(wrong(
                "its kind is unknown; known are s3://, gs://, az://, http://, https:// and file:///",
            ));
        }
        Ok(Address(url))
    }

    /// Without user, password and query, which may be secrets.
    pub fn shown(&self) -> String {
        let mut url = self.0.clone();
        // Both fail for addresses that cannot have them.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Whether it is of a kind that can only be read.
    pub fn is_read_only(&self) -> bool {
        let scheme = ObjectStoreScheme::parse(&self.0);
        matches!(scheme, Ok((ObjectStoreScheme::Http, _)))
    }

    /// The store, and the folder in it. Asks nobody yet.
    pub(crate) fn open(
        &self,
        credentials: &Credentials,
    ) -> Result<(Arc<dyn ObjectStore>, Path), RemoteError> {
        // The library's own client takes the process's default.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let shown = self.shown();
        let wrong = |cause: &str| RemoteError::Address {
            remote: shown.clone(),
            cause: cause.to_owned(),
        };
        let parsed = ObjectStoreScheme::parse(&self.0);
        let (scheme, path) = parsed.map_err(|_| wrong("it is no address"))?;
        let url = self.0.to_string();
        let unusable = |_| wrong("the settings or credentials for it are not complete");
        let store: Arc<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::Local => {
                let folder = self.0.to_file_path();
                let folder = folder.map_err(|()| wrong("it names no folder"))?;
                if !folder.is_dir() {
                    return Err(RemoteError::NoPlace { remote: shown });
                }
                let store = LocalFileSystem::new_with_prefix(folder);
                let store = store.map_err(|_| wrong("the folder cannot be opened"))?;
                return Ok((Arc::new(store), Path::default()));
            }
            ObjectStoreScheme::AmazonS3 => {
                let mut builder = AmazonS3Builder::new().with_url(url);
                let mut plain = false;
                credentials.for_each(|name, value| {
                    if let Ok(key) = name.parse::<AmazonS3ConfigKey>() {
                        plain |= matches!(key, AmazonS3ConfigKey::Endpoint)
                            && value.starts_with("http://");
                        builder = std::mem::take(&mut builder).with_config(key, value);
                    }
                });
                let options = client().with_allow_http(plain);
                let builder = builder.with_client_options(options).with_retry(retry());
                Arc::new(builder.build().map_err(unusable)?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let mut builder = GoogleCloudStorageBuilder::new().with_url(url);
                credentials.for_each(|name, value| {
                    if let Ok(key) = name.parse::<GoogleConfigKey>() {
                        builder = std::mem::take(&mut builder).with_config(key, value);
                    }
                });
                let builder = builder.with_client_options(client()).with_retry(retry());
                Arc::new(builder.build().map_err(unusable)?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let mut builder = MicrosoftAzureBuilder::new().with_url(url);
                credentials.for_each(|name, value| {
                    if let Ok(key) = name.parse::<AzureConfigKey>() {
                        builder = std::mem::take(&mut builder).with_config(key, value);
                    }
                });
                let builder = builder.with_client_options(client()).with_retry(retry());
                Arc::new(builder.build().map_err(unusable)?)
            }
            ObjectStoreScheme::Http => {
                let base = &self.0[..url::Position::BeforePath];
                let builder = HttpBuilder::new()
                    .with_url(base)
                    .with_client_options(client())
                    .with_config(ClientConfigKey::AllowHttp, "true")
                    .with_retry(retry());
                Arc::new(builder.build().map_err(unusable)?)
            }
            _ => return Err(wrong("its kind is unknown")),
        };
        Ok((store, path))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// A large object takes as long as it takes; a connection that says nothing is given up.
fn client() -> ClientOptions {
    ClientOptions::default()
        .with_connect_timeout(Duration::from_secs(5))
        .with_timeout_disabled()
        .with_read_timeout(Duration::from_secs(30))
}

/// Short: a run that gets no answer can do without.
fn retry() -> RetryConfig {
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
            assert_eq!(address.shown(), shown);
            assert_eq!(format!("{address:?}"), shown);
        }
        let error = Address::parse("ftp://host/x?password=pw").unwrap_err();
        assert!(!error.to_string().contains("pw"), "{error}");
        let named = Credentials::new([("AWS_SECRET_ACCESS_KEY".to_owned(), "pw".to_owned())]);
        assert!(!format!("{named:?}").contains("pw"));
    }

    #[test]
    fn every_kind_opens_without_asking_anybody() {
        let aws = [
            ("AWS_ENDPOINT_URL", "http://localhost:1"),
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "c"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "ZA=="),
        ];
        let aws = aws.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let credentials = Credentials::new(aws);
        for text in [
            "s3://b/p",
            "az://c/p",
            "http://h/p",
            "https://h/p",
            "file:///tmp",
        ] {
            let opened = Address::parse(text).unwrap().open(&credentials);
            assert!(opened.is_ok(), "{text}: {:?}", opened.err());
        }
        let gone = Address::parse("file:///nowhere/at/all").unwrap();
        let opened = gone.open(&credentials).map(drop);
        assert!(matches!(opened, Err(RemoteError::NoPlace { .. })));
    }
}
