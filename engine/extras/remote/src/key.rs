//! Ed25519 keys that sign the records in a remote and verify the signatures.
//!
//! A key file contains one line: `prep-key-v1`, the key's name, and its seed in base64.
//!
//! Everybody who can read the file can sign, so other users must not be able to read it. As in OpenSSH, if root owns the
//! file, the file's group may also read it, because Kubernetes mounts secrets in this way.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use prep_core::Remedy;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

const KEY_PREFIX: &str = "ed25519:";
const MAGIC: &str = "prep-key-v1";
const FILE_EXTENSION: &str = "key";

/// An error about a key.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum KeyError {
    #[error("`{0}` is not a public key: it must be `ed25519:` and 44 characters of base64")]
    Public(String),
    #[error("`{0}` cannot be the name of a key: use letters, digits, `-` and `_`")]
    Name(String),
    #[error("{path} is not a key file")]
    File { path: PathBuf },
    #[error(
        "the key {path} is readable by other users; run `chmod 600 {path}`, and replace the key if someone may have read it"
    )]
    Open { path: PathBuf },
    #[error("the key {path} already exists; choose another name")]
    Exists { path: PathBuf },
    #[error("there is no key `{name}` in {directory}")]
    Missing { name: String, directory: PathBuf },
    #[error("{directory} contains several keys, and the settings do not name the key that signs")]
    Ambiguous { directory: PathBuf },
    #[error("the system's random number generator failed")]
    Random,
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl KeyError {
    /// Returns an action that may help, if there is a specific one.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            KeyError::Public(_) => Some(Remedy::ListKeys),
            KeyError::File { .. } => Some(Remedy::CreateKey { name: None }),
            KeyError::Ambiguous { .. } => Some(Remedy::ChooseKey),
            KeyError::Missing { name, .. } => Some(Remedy::CreateKey {
                name: Some(name.clone()),
            }),
            _ => None,
        }
    }
}

/// A public key, which verifies signatures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Returns whether `signature` is this key's signature of a message.
    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_PREFIX}{}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        let wrong = || KeyError::Public(text.to_owned());
        let base64 = text.trim().strip_prefix(KEY_PREFIX).ok_or_else(wrong)?;
        let bytes = BASE64.decode(base64).map_err(|_| wrong())?;
        Ok(PublicKey(bytes.try_into().map_err(|_| wrong())?))
    }
}

/// A key that signs. Its seed is never printed.
pub struct SigningKey {
    name: String,
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("name", &self.name)
            .field("public", &self.public())
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Generates a key. Fails if the name is not valid, or if the system provides no random numbers.
    pub fn generate(name: &str) -> Result<SigningKey, KeyError> {
        check_name(name)?;
        let mut seed = [0; 32];
        let filled = SystemRandom::new().fill(&mut seed);
        filled.map_err(|_| KeyError::Random)?;
        SigningKey::from_seed(name, seed).ok_or(KeyError::Random)
    }

    fn from_seed(name: &str, seed: [u8; 32]) -> Option<SigningKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        Some(SigningKey {
            name: name.to_owned(),
            seed,
            pair,
        })
    }

    /// Returns the key's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey(bytes)
    }

    /// Signs a message. Each kind of message must begin with a different word, so that its signature is not valid for another
    /// kind.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }

    /// Writes the key to `DIRECTORY/NAME.key`, which only its owner can read. Fails if the file exists.
    pub fn save(&self, directory: &Path) -> Result<PathBuf, KeyError> {
        let path = key_path(directory, &self.name);
        let failed = |action| {
            let path = path.clone();
            move |cause: io::Error| match cause.kind() {
                io::ErrorKind::AlreadyExists => KeyError::Exists { path },
                _ => KeyError::Io {
                    action,
                    path,
                    cause,
                },
            }
        };
        fs::create_dir_all(directory).map_err(failed("create the directory of"))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("create"))?;
        let line = format!("{MAGIC} {} {}\n", self.name, BASE64.encode(self.seed));
        file.write_all(line.as_bytes()).map_err(failed("write"))?;
        Ok(path)
    }

    /// Reads the key from the file `DIRECTORY/NAME.key`. Fails if other users can read the file.
    pub fn load(directory: &Path, name: &str) -> Result<SigningKey, KeyError> {
        check_name(name)?;
        let path = key_path(directory, name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let (name, directory) = (name.to_owned(), directory.to_owned());
                return Err(KeyError::Missing { name, directory });
            }
            Err(cause) => {
                let action = "read";
                return Err(KeyError::Io {
                    action,
                    path,
                    cause,
                });
            }
        };
        require_closed(&path)?;
        let mut words = text.split_whitespace();
        let seed = match (words.next(), words.next(), words.next()) {
            (Some(MAGIC), Some(_), Some(seed)) => BASE64.decode(seed).ok(),
            _ => None,
        };
        let seed = seed.and_then(|seed| seed.try_into().ok());
        seed.and_then(|seed| SigningKey::from_seed(name, seed))
            .ok_or(KeyError::File { path })
    }

    /// Reads the only key in a directory. Returns `None` if there is no key, and an error if there are several.
    pub fn only(directory: &Path) -> Result<Option<SigningKey>, KeyError> {
        let mut keys = SigningKey::all(directory);
        match keys.len() {
            0 | 1 => keys.pop().transpose(),
            _ => Err(KeyError::Ambiguous {
                directory: directory.to_owned(),
            }),
        }
    }

    /// Reads all keys in a directory, sorted by name. A key that cannot be read is returned as an error.
    pub fn all(directory: &Path) -> Vec<Result<SigningKey, KeyError>> {
        let Ok(entries) = directory.read_dir() else {
            return Vec::new();
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut names: Vec<String> = paths
            .filter(|path| {
                path.extension()
                    .is_some_and(|found| found == FILE_EXTENSION)
            })
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        let keys = names.iter().map(|name| SigningKey::load(directory, name));
        keys.collect()
    }
}

fn key_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.{FILE_EXTENSION}"))
}

/// Returns [`KeyError::Open`] if other users can read the file `path`, which contains a secret key. If root owns the
/// file, its group may read it.
pub fn require_closed(path: &Path) -> Result<(), KeyError> {
    let user = rustix::process::geteuid().as_raw();
    match fs::metadata(path) {
        Ok(found) if is_open(found.mode(), found.uid(), user) => Err(KeyError::Open {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Returns whether users other than `user` and root can read a key file with this mode and owner.
fn is_open(mode: u32, owner: u32, user: u32) -> bool {
    const GROUP: u32 = 0o070;
    const OTHERS: u32 = 0o007;
    let is_given_by_root = owner == 0 && user != 0;
    mode & OTHERS != 0 || mode & GROUP != 0 && !is_given_by_root
}

fn check_name(name: &str) -> Result<(), KeyError> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match !name.is_empty() && name.bytes().all(is_good) {
        true => Ok(()),
        false => Err(KeyError::Name(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_file_is_readable_only_by_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::generate("laptop").unwrap();
        let path = key.save(dir.path()).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let read = SigningKey::load(dir.path(), "laptop").unwrap();
        assert_eq!(read.public(), key.public());
        assert!(key.public().has_signed(b"x", &read.sign(b"x")));
        assert!(!key.public().has_signed(b"y", &read.sign(b"x")));
        assert!(matches!(key.save(dir.path()), Err(KeyError::Exists { .. })));
        assert!(!format!("{key:?}").contains(&BASE64.encode(key.seed)));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let opened = SigningKey::load(dir.path(), "laptop");
        assert!(matches!(opened, Err(KeyError::Open { .. })));
        assert_eq!(SigningKey::all(dir.path()).len(), 1);
    }

    #[test]
    fn the_only_key_in_a_directory_is_read_and_several_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(SigningKey::only(dir.path()).unwrap().is_none());
        let path = SigningKey::generate("a").unwrap().save(dir.path()).unwrap();
        assert!(SigningKey::only(dir.path()).unwrap().is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let opened = SigningKey::only(dir.path());
        assert!(matches!(opened, Err(KeyError::Open { .. })));
        SigningKey::generate("b").unwrap().save(dir.path()).unwrap();
        let several = SigningKey::only(dir.path());
        assert!(matches!(several, Err(KeyError::Ambiguous { .. })));
    }

    #[test]
    fn only_root_can_give_a_key_to_a_group() {
        for (mode, owner, user, open) in [
            (0o600, 1000, 1000, false),
            (0o440, 1000, 1000, true),
            (0o440, 0, 1000, false),
            (0o440, 0, 0, true),
            (0o440, 1001, 1000, true),
            (0o444, 0, 1000, true),
        ] {
            assert_eq!(is_open(mode, owner, user), open, "{mode:o} {owner} {user}");
        }
    }

    #[test]
    fn invalid_keys_and_names_are_rejected() {
        let key = SigningKey::generate("a").unwrap().public();
        assert_eq!(key.to_string().parse::<PublicKey>().unwrap(), key);
        for wrong in ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA"] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
        for name in ["", "../a", "a b"] {
            assert!(SigningKey::generate(name).is_err(), "{name}");
        }
    }
}
