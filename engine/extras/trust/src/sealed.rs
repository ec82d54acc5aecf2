//! Sealed answers: the private files of a competition in one file, encrypted for graders.
//!
//! The file has the format of age with X25519 recipients. Its content is a tar archive: `seal.json` ([`SealNote`]), the
//! answers, and the other files, with paths such as `private/test.csv`. This command lists them:
//! `age -d -i IDENTITY private.age | tar t`.
//!
//! The unencrypted header states the digest of the private files, so that everybody can find out whether they are those of a
//! publication.
//!
//! Encryption does not prove who sealed the file, because everybody can encrypt for a public key. Therefore the caller must
//! compare the answers with their recorded digest.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::str::FromStr;

use prep_formats::archive::{ArchiveError, StoredForms};
use prep_formats::limits::DecodingLimits;
use prep_formats::tar::{self, TarWriter};
use serde::{Deserialize, Serialize};

use crate::age::{self, Decryptor, Encryptor};

const NOTE: &str = "seal.json";
const PUBLIC_PREFIX: &str = "age";
const SECRET_PREFIX: &str = "age-secret-key-";

/// An error about sealed answers.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum SealError {
    #[error("`{0}` is not a recipient; a recipient is `age1` and 58 further characters")]
    Recipient(String),
    #[error("it is not a file of secret keys: each key must begin with AGE-SECRET-KEY-1")]
    Identity,
    #[error("it is sealed for another identity")]
    OtherIdentity,
    #[error("it is damaged or was modified")]
    Damaged(#[source] io::Error),
    #[error("its content is not an archive of sealed answers")]
    Content(#[source] ArchiveError),
    #[error("it does not contain `{0}`")]
    Missing(String),
    #[error("it could not be written")]
    Write(#[source] io::Error),
}

/// A public key, for which answers are sealed.
#[derive(Debug, Clone)]
pub struct Recipient([u8; 32]);

impl FromStr for Recipient {
    type Err = SealError;

    fn from_str(text: &str) -> Result<Recipient, SealError> {
        let key = age::decode_key(PUBLIC_PREFIX, text.trim());
        key.map(Recipient)
            .ok_or_else(|| SealError::Recipient(text.to_owned()))
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&age::encode_key(PUBLIC_PREFIX, self.0))
    }
}

/// Secret keys, which open sealed answers. They are never printed.
#[derive(Clone)]
pub struct Identity(Vec<[u8; 32]>);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

impl Identity {
    /// Parses an identity file of age, which consists of comments and at least one line with a secret key.
    pub fn parse(text: &str) -> Result<Identity, SealError> {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|line| age::decode_key(SECRET_PREFIX, line));
        match keys.collect::<Option<Vec<_>>>() {
            Some(keys) if !keys.is_empty() => Ok(Identity(keys)),
            _ => Err(SealError::Identity),
        }
    }

    /// Generates a key. Returns the text of its identity file, and its public key.
    pub fn generate() -> io::Result<(String, Recipient)> {
        let secret = age::random()?;
        let recipient = Recipient(age::public_key(secret));
        let key = age::encode_key(SECRET_PREFIX, secret).to_ascii_uppercase();
        Ok((format!("# public key: {recipient}\n{key}\n"), recipient))
    }
}

/// The description of sealed answers, a part of the encrypted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealNote {
    /// Id of the competition.
    pub competition: String,
    /// Variant of the pipeline.
    pub variant: String,
    /// Digest of all private files, also in the unencrypted header. Empty in files of earlier versions, and if it is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub private: String,
}

/// Encrypts files. Each element of `files` is a name in the archive and the path of the file.
pub fn seal<W: Write>(
    out: W,
    recipients: &[Recipient],
    note: &SealNote,
    files: &[(String, PathBuf)],
) -> Result<W, SealError> {
    let keys: Vec<[u8; 32]> = recipients.iter().map(|key| key.0).collect();
    let mut archive = TarWriter::new(Encryptor::new(out, &keys, &note.private)?);
    let failed = |error| SealError::Write(io::Error::other(error));
    let note = serde_json::to_vec(note).map_err(|error| SealError::Write(error.into()))?;
    let size = note.len() as u64;
    archive.add_file(NOTE, size, &*note).map_err(failed)?;
    for (name, path) in files {
        let file = File::open(path).map_err(SealError::Write)?;
        let size = file.metadata().map_err(SealError::Write)?.len();
        archive.add_file(name, size, file).map_err(failed)?;
    }
    let encrypted = archive.finish().map_err(failed)?;
    encrypted.finish().map_err(SealError::Write)
}

/// Returns the digest of the private files that the unencrypted header states. Files of earlier versions state none.
pub fn stated_digest(sealed: impl BufRead) -> Option<String> {
    age::statement(sealed)
}

/// Decrypts sealed answers in memory. Returns the note that the archive contains, and the content of the file `wanted`.
///
/// The entire file is decrypted, because only its end proves that it is complete.
pub fn unseal(
    sealed: impl BufRead,
    identity: &Identity,
    wanted: &str,
    limits: &DecodingLimits,
) -> Result<(SealNote, Vec<u8>), SealError> {
    let plain = Decryptor::new(sealed, &identity.0)?;
    let (mut note, mut content) = (None, None);
    // The length of the sealed file is unknown here. No limit needs to depend on it, because age does not compress.
    let budget = limits.budget(u64::MAX / 2);
    let read = tar::read_plain(plain, &budget, StoredForms::Skip, &mut |member, input| {
        let place = match member.path {
            NOTE => &mut note,
            path if path == wanted => &mut content,
            _ => return Ok(()),
        };
        let size = member.size.and_then(|size| usize::try_from(size).ok());
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(size.unwrap_or(0))
            .map_err(io::Error::other)?;
        input.read_to_end(&mut bytes)?;
        *place = Some(bytes);
        Ok(())
    });
    read.map_err(|error| match error {
        ArchiveError::DamagedTar(error) => SealError::Damaged(error),
        error => SealError::Content(error),
    })?;
    let note = note.and_then(|note| serde_json::from_slice(&note).ok());
    let note = note.ok_or_else(|| SealError::Missing(NOTE.to_owned()))?;
    let content = content.ok_or_else(|| SealError::Missing(wanted.to_owned()))?;
    Ok((note, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Vec<(String, PathBuf)>, SealNote) {
        let dir = tempfile::tempdir().unwrap();
        let files = ["private/test.csv", "private/masks/1.png"].map(|name| {
            let path = dir.path().join(name.replace('/', "_"));
            std::fs::write(&path, name.repeat(20_000)).unwrap();
            (name.to_owned(), path)
        });
        let note = SealNote {
            competition: "a".to_owned(),
            variant: "v1".to_owned(),
            private: "5eed".to_owned(),
        };
        (dir, files.into(), note)
    }

    #[test]
    fn only_its_identities_open_a_file() {
        let (_dir, files, note) = world();
        let (one, other, stranger) = (
            Identity::generate().unwrap(),
            Identity::generate().unwrap(),
            Identity::generate().unwrap(),
        );
        let recipients = [one.1, other.1.to_string().parse().unwrap()];
        let sealed = seal(Vec::new(), &recipients, &note, &files).unwrap();
        let limits = DecodingLimits::default();
        let open = |text: &str, name| {
            let identity = Identity::parse(text).unwrap();
            unseal(&*sealed, &identity, name, &limits)
        };
        for (name, path) in &files {
            for text in [&one.0, &other.0, &format!("{}{}", stranger.0, other.0)] {
                let (found, content) = open(text, name).unwrap();
                assert_eq!((&found, content), (&note, std::fs::read(path).unwrap()));
            }
        }
        let missing = open(&one.0, "private/none.csv");
        assert!(matches!(missing, Err(SealError::Missing(_))));
        let wrong = open(&stranger.0, "private/test.csv");
        assert!(matches!(wrong, Err(SealError::OtherIdentity)));
        assert!("age1x".parse::<Recipient>().is_err());
        assert!(Identity::parse("# nothing\n").is_err());
        assert!(!sealed.windows(12).any(|bytes| bytes == b"private/test"));
    }

    #[test]
    fn changed_and_cut_files_are_damaged() {
        let (_dir, files, note) = world();
        let (text, recipient) = Identity::generate().unwrap();
        let identity = Identity::parse(&text).unwrap();
        let sealed = seal(Vec::new(), std::slice::from_ref(&recipient), &note, &files).unwrap();
        let open = |sealed: &[u8]| {
            unseal(
                sealed,
                &identity,
                "private/test.csv",
                &DecodingLimits::default(),
            )
        };
        assert!(open(&sealed).is_ok());
        for at in [0, 30, 100, 200, sealed.len() / 2, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&changed).is_err(), "{at}");
        }
        // One of the cuts is at the end of a chunk of 64 KiB, after the answers.
        let header = sealed.len() % (65_536 + 16);
        for length in [0, 10, header, sealed.len() - 1, sealed.len() - header] {
            assert!(open(&sealed[..length]).is_err(), "{length}");
        }
        assert!(open(&[sealed.as_slice(), b"x"].concat()).is_err());
        assert_eq!(stated_digest(&*sealed).as_deref(), Some("5eed"));
        let private = String::new();
        let older = seal(
            Vec::new(),
            &[recipient],
            &SealNote { private, ..note },
            &files,
        )
        .unwrap();
        assert!(stated_digest(&*older).is_none() && open(&older).is_ok());
    }
}
