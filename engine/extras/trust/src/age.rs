//! Encrypts and decrypts files in the format of age, version 1, for X25519 recipients.
//!
//! The format is <https://c2sp.org/age>, so other tools for age read and write the same files.
//!
//! A text header wraps a random file key for each recipient, and ends with a MAC. The content follows in chunks of 64 KiB,
//! each encrypted and authenticated. Recipients of other kinds, such as passphrases, are skipped.
//!
//! Everybody can read the header. Its first stanza may be a statement about the content. Other tools skip this stanza, because
//! they do not know this kind of recipient.
//!
//! The library `ring` does the cryptography, except for the multiplication on the curve. `curve25519-dalek` does this
//! multiplication, because `ring` cannot use stored X25519 keys.

use std::io::{self, BufRead, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use curve25519_dalek::montgomery::MontgomeryPoint;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{hkdf, hmac};

use crate::sealed::SealError;

const VERSION: &str = "age-encryption.org/v1";
const X25519: &str = "X25519";
const STATEMENT: &str = "-> prep-sealed ";
/// Maximum length of a header in bytes, enough for hundreds of recipients.
const MAX_HEADER_BYTES: u64 = 1 << 16;
const BODY_COLUMNS: usize = 64;
const CHUNK_BYTES: usize = 64 << 10;
const TAG_BYTES: usize = 16;
const FILE_KEY_BYTES: usize = 16;
const NONCE_BYTES: usize = 16;

type Key = [u8; 32];

pub(crate) fn public_key(secret: Key) -> Key {
    MontgomeryPoint::mul_base_clamped(secret).to_bytes()
}

pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system's random number generator failed"))?;
    Ok(bytes)
}

struct KeyLength;

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        size_of::<Key>()
    }
}

fn derive(secret: &[u8], salt: &[u8], info: &str) -> Result<Key, SealError> {
    let key = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    let mut derived = Key::default();
    let info = [info.as_bytes()];
    let expanded = key.expand(&info, KeyLength);
    expanded
        .and_then(|key| key.fill(&mut derived))
        .map_err(damaged)?;
    Ok(derived)
}

fn cipher(key: &Key) -> Result<LessSafeKey, SealError> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).map_err(damaged)?;
    Ok(LessSafeKey::new(key))
}

/// Returns the key that wraps the file key. `share` is the public key of an ephemeral key pair. One of `secret` and `public`
/// must belong to this pair, and the other to the recipient.
fn wrap_key(secret: Key, public: Key, share: Key, recipient: Key) -> Result<Key, SealError> {
    let shared = MontgomeryPoint(public).mul_clamped(secret).to_bytes();
    // For a point of low order, the shared secret is zero, which everybody knows.
    if shared == Key::default() {
        return Err(damaged(()));
    }
    derive(
        &shared,
        &[share, recipient].concat(),
        &format!("{VERSION}/{X25519}"),
    )
}

fn wrap_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn header(file_key: &[u8], recipients: &[Key], statement: &str) -> Result<Vec<u8>, SealError> {
    let mut text = format!("{VERSION}\n");
    if !statement.is_empty() {
        text.push_str(&format!("{STATEMENT}{statement}\n\n"));
    }
    for recipient in recipients {
        let ephemeral: Key = random().map_err(SealError::Write)?;
        let share = public_key(ephemeral);
        let key = wrap_key(ephemeral, *recipient, share, *recipient)?;
        let mut body = file_key.to_vec();
        cipher(&key)?
            .seal_in_place_append_tag(wrap_nonce(), Aad::empty(), &mut body)
            .map_err(damaged)?;
        let (share, body) = (BASE64.encode(share), BASE64.encode(body));
        text.push_str(&format!("-> {X25519} {share}\n{body}\n"));
    }
    text.push_str("---");
    let mac = hmac::sign(&mac_key(file_key)?, text.as_bytes());
    text.push_str(&format!(" {}\n", BASE64.encode(mac)));
    Ok(text.into_bytes())
}

fn mac_key(file_key: &[u8]) -> Result<hmac::Key, SealError> {
    let key = derive(file_key, &[], "header")?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &key))
}

/// The nonces of chunks: a counter, and whether the chunk is the last one.
#[derive(Default)]
struct ChunkNonces(u64);

impl ChunkNonces {
    fn next(&mut self, is_last: bool) -> Nonce {
        let mut bytes = [0; NONCE_LEN];
        let [_, _, _, counter @ .., last] = &mut bytes;
        counter.copy_from_slice(&self.0.to_be_bytes());
        *last = u8::from(is_last);
        self.0 += 1;
        Nonce::assume_unique_for_key(bytes)
    }
}

/// Encrypts the bytes that are written. The output is complete after [`finish`](Self::finish).
pub(crate) struct Encryptor<W> {
    out: W,
    cipher: LessSafeKey,
    nonces: ChunkNonces,
    chunk: Vec<u8>,
}

impl<W: Write> Encryptor<W> {
    /// Begins a file. The header contains `statement` unencrypted, unless it is empty.
    pub(crate) fn new(mut out: W, recipients: &[Key], statement: &str) -> Result<Self, SealError> {
        let file_key: [u8; FILE_KEY_BYTES] = random().map_err(SealError::Write)?;
        let nonce: [u8; NONCE_BYTES] = random().map_err(SealError::Write)?;
        let written = out.write_all(&header(&file_key, recipients, statement)?);
        written
            .and_then(|()| out.write_all(&nonce))
            .map_err(SealError::Write)?;
        Ok(Encryptor {
            out,
            cipher: cipher(&derive(&file_key, &nonce, "payload")?)?,
            nonces: ChunkNonces::default(),
            chunk: Vec::with_capacity(CHUNK_BYTES + TAG_BYTES),
        })
    }

    fn write_chunk(&mut self, is_last: bool) -> io::Result<()> {
        let nonce = self.nonces.next(is_last);
        let sealed = self
            .cipher
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut self.chunk);
        sealed.map_err(|_| io::Error::other("encryption failed"))?;
        self.out.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.write_chunk(true)?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Keep a full chunk until more bytes follow, because the last chunk is marked.
        if self.chunk.len() == CHUNK_BYTES {
            self.write_chunk(false)?;
        }
        let count = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend(bytes.iter().take(count));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Decrypts a file while reading it. Returns only bytes whose chunk was authenticated.
pub(crate) struct Decryptor<R> {
    input: R,
    cipher: LessSafeKey,
    nonces: ChunkNonces,
    chunk: Vec<u8>,
    /// The part of `chunk` that was not returned yet.
    unread: std::ops::Range<usize>,
    is_complete: bool,
}

impl<R: BufRead> Decryptor<R> {
    pub(crate) fn new(mut input: R, secrets: &[Key]) -> Result<Decryptor<R>, SealError> {
        let file_key = read_header(&mut input, secrets)?;
        let mut nonce = [0; NONCE_BYTES];
        input.read_exact(&mut nonce).map_err(SealError::Damaged)?;
        Ok(Decryptor {
            input,
            cipher: cipher(&derive(&file_key, &nonce, "payload")?)?,
            nonces: ChunkNonces::default(),
            chunk: Vec::with_capacity(CHUNK_BYTES + TAG_BYTES),
            unread: 0..0,
            is_complete: false,
        })
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        self.chunk.clear();
        let limit = (CHUNK_BYTES + TAG_BYTES) as u64;
        self.input
            .by_ref()
            .take(limit)
            .read_to_end(&mut self.chunk)?;
        let is_last = self.input.fill_buf()?.is_empty();
        let is_first = self.nonces.0 == 0;
        let nonce = self.nonces.next(is_last);
        let opened = self
            .cipher
            .open_in_place(nonce, Aad::empty(), &mut self.chunk);
        let length = opened.map_err(|_| wrong())?.len();
        // Only an empty file has an empty chunk.
        if length == 0 && !is_first {
            return Err(wrong());
        }
        (self.unread, self.is_complete) = (0..length, is_last);
        Ok(())
    }
}

impl<R: BufRead> Read for Decryptor<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() && !self.is_complete {
            self.read_chunk()?;
        }
        let mut plain = self.chunk.get(self.unread.clone()).unwrap_or_default();
        let count = plain.read(buffer)?;
        self.unread.start += count;
        Ok(count)
    }
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its authentication fails")
}

fn damaged<E>(_: E) -> SealError {
    SealError::Damaged(wrong())
}

/// Returns the statement in the header of a file. It is not authenticated, because that needs the file key.
pub(crate) fn statement(input: impl BufRead) -> Option<String> {
    let mut lines = input.take(MAX_HEADER_BYTES).lines().map_while(Result::ok);
    lines.next().filter(|version| version == VERSION)?;
    Some(lines.next()?.strip_prefix(STATEMENT)?.to_owned())
}

fn read_header(input: &mut impl BufRead, secrets: &[Key]) -> Result<Vec<u8>, SealError> {
    let mut input = input.take(MAX_HEADER_BYTES);
    let mut text = String::new();
    let mut next = |text: &mut String| -> Result<String, SealError> {
        let start = text.len();
        let read = input.read_line(text);
        read.map_err(SealError::Damaged)?;
        let line = text.get(start..).and_then(|line| line.strip_suffix('\n'));
        line.map(str::to_owned).ok_or_else(|| damaged(()))
    };
    if next(&mut text)? != VERSION {
        return Err(damaged(()));
    }
    let mut file_key = None;
    loop {
        let line = next(&mut text)?;
        if let Some(mac) = line.strip_prefix("--- ") {
            let file_key: Vec<u8> = file_key.ok_or(SealError::OtherIdentity)?;
            let mac = BASE64.decode(mac).map_err(damaged)?;
            let covered = text.len() - line.len() - 1 + "---".len();
            let covered = text.as_bytes().get(..covered).unwrap_or_default();
            let verified = hmac::verify(&mac_key(&file_key)?, covered, &mac);
            return verified.map(|()| file_key).map_err(damaged);
        }
        let stanza = line.strip_prefix("-> ").ok_or_else(|| damaged(()))?;
        let mut body = String::new();
        loop {
            let line = next(&mut text)?;
            body.push_str(&line);
            if line.len() < BODY_COLUMNS {
                break;
            }
        }
        if file_key.is_none()
            && let Some(share) = stanza.strip_prefix(X25519)
        {
            file_key = unwrap(share.trim_start(), &body, secrets)?;
        }
    }
}

/// Decrypts the file key in a stanza, the part of the header for one recipient. Returns `None` if no key in `secrets`
/// decrypts it.
fn unwrap(share: &str, body: &str, secrets: &[Key]) -> Result<Option<Vec<u8>>, SealError> {
    let decode = |text: &str| BASE64.decode(text).map_err(damaged);
    let share: Key = decode(share)?.try_into().map_err(damaged)?;
    let body = decode(body)?;
    if body.len() != FILE_KEY_BYTES + TAG_BYTES {
        return Err(damaged(()));
    }
    for secret in secrets {
        let key = wrap_key(*secret, share, share, public_key(*secret))?;
        let mut body = body.clone();
        let opened = cipher(&key)?.open_in_place(wrap_nonce(), Aad::empty(), &mut body);
        if let Ok(file_key) = opened {
            return Ok(Some(file_key.to_vec()));
        }
    }
    Ok(None)
}

const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const CHECKSUM_CHARACTERS: usize = 6;

fn checksum(prefix: &str, values: &[u8]) -> u32 {
    const GENERATORS: [u32; 5] = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
    let high = prefix.bytes().map(|byte| byte >> 5);
    let low = prefix.bytes().map(|byte| byte & 31);
    let all = high.chain([0]).chain(low).chain(values.iter().copied());
    all.fold(1, |sum: u32, value| {
        let top = sum >> 25;
        let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        let bits = GENERATORS.iter().enumerate();
        let bits = bits.filter(|(bit, _)| top >> bit & 1 == 1);
        bits.fold(next, |next, (_, generator)| next ^ generator)
    })
}

/// Converts groups of `from` bits to groups of `to` bits. Also returns the remaining bits, and their number.
fn regroup(values: &[u8], from: u32, to: u32) -> (Vec<u8>, u32, u32) {
    let (mut groups, mut buffer, mut bits) = (Vec::new(), 0u32, 0);
    for value in values {
        buffer = buffer << from | u32::from(*value);
        bits += from;
        while bits >= to {
            bits -= to;
            groups.push((buffer >> bits & ((1 << to) - 1)) as u8);
        }
        buffer &= (1 << bits) - 1;
    }
    (groups, buffer, bits)
}

pub(crate) fn encode_key(prefix: &str, key: Key) -> String {
    let (mut values, rest, bits) = regroup(&key, 8, 5);
    values.push((rest << (5 - bits)) as u8);
    let padded = [values.as_slice(), &[0; CHECKSUM_CHARACTERS]].concat();
    let sum = checksum(prefix, &padded) ^ 1;
    let sum = (0..CHECKSUM_CHARACTERS)
        .rev()
        .map(|at| (sum >> (5 * at) & 31) as u8);
    values.extend(sum);
    let text = values
        .iter()
        .filter_map(|value| BECH32.get(usize::from(*value)));
    let text: String = text.map(|byte| char::from(*byte)).collect();
    format!("{prefix}1{text}")
}

pub(crate) fn decode_key(prefix: &str, text: &str) -> Option<Key> {
    let lower = text.to_ascii_lowercase();
    if lower != text && text.to_ascii_uppercase() != text {
        return None;
    }
    let data = lower.strip_prefix(prefix)?.strip_prefix('1')?;
    let value = |byte| BECH32.iter().position(|one| *one == byte);
    let values = data.bytes().map(|byte| u8::try_from(value(byte)?).ok());
    let values: Vec<u8> = values.collect::<Option<_>>()?;
    if checksum(prefix, &values) != 1 {
        return None;
    }
    let values = values.get(..values.len().checked_sub(CHECKSUM_CHARACTERS)?)?;
    let (bytes, rest, bits) = regroup(values, 5, 8);
    let key = bytes.try_into().ok()?;
    (rest == 0 && bits < 5).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    const SECRET: &str =
        "AGE-SECRET-KEY-16NN5JWHUA87Z6M3T596QYFNQQ9FE0AV2J3AFFFSEG7KJ32XKXCGQYV4JP4";
    const PUBLIC: &str = "age1nkvsp79zztrtqfq579ufre6ne5g89fz8pv4ykapdfqlsnvg45ckss2lzuk";
    /// Two files that pyrage 1.3 encrypted for two recipients, with a stanza of another kind. The first file is empty, and
    /// the second one contains `id,y` and a line feed.
    const EMPTY: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSAwSkNGb0w3RzIwUVo3dEV2WGtBTE9pMW94M3hCMVczT0dsaE1kaWkyMFdJCnpBQ1NkWEhyMDUxSWtKZHlLTGVDMkk4eW5YQVpGL2hYc0JqbGU1RTd2ZkEKLT4gWDI1NTE5IGlNUnJEYm9LSHQwNm5ITTZTTjRKQ1V1WUZPbjRLRGx2Q0t0NkhnYUppMFkKaTQ5VlBQa29NNk5CQWdwRlFQNjQ2cG5ZMjhpdUM2Y01OVlFvTy9LYnBIQQotPiBQYktsSi0tZ3JlYXNlCmQ2VHd5YWMrdHJjN3pTN0hjbytYQkFSYXN4S0ZUbEFLR2hnZXRGbFFzMC9wU2Y5eFZYcSswTTFZN200WXZHenIKUkNyZlRjaG43czhJemZvVzlFL0kKLS0tIEN1K1c4ZEU1Ykc3MXpjWjlOQ0J3UmVSK0N1eUJXZGpHaEhqSGpwbER0Q1UKDhVEwPBWAvojxFa8dLL/iy8RQLH8S2hyaj7Ebx6hWv0=";
    const SHORT: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBmMG9UWXlhRmpZcVFsMVVnVlgxMTFPSzVzRS9zTkcyTGR2TWYrOS9HalhRClR2WFg4WGJwdWE0RE9TMUIvblhZZXk2TEE5dWV2U2JjVFRqSThZNDgwSEUKLT4gWDI1NTE5IGJ0OE56SDMxejRMTU9RYTdobE1aNkl1dEkyaFFsbW5GcHVKTjJPMnFXRFUKbzFYbGxOeFhPY3pkOGxieEIwYzUyYVNhWml2SWtPQmhCMUlpaVhVME5FcwotPiB3KzUtZ3JlYXNlIFIgfGNRPltQYyBKQSB3bj9zCmFUdGZtQkVGCi0tLSBCUHBKTGhBNmdiVTcrS3dVTDNLM1NRZ2RvZTdITGpjdTBQeldkQktwSlhZCq16dZwSs4RXZago2cZdwYpqJr8Dp3EHWRk1sp8ltAbnYWsMXh4=";

    fn decrypt(file: &[u8], secret: Key) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        let decryptor = Decryptor::new(file, &[secret]).map_err(io::Error::other)?;
        { decryptor }.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn files_and_keys_of_other_tools_are_read() {
        let secret = decode_key("age-secret-key-", SECRET).unwrap();
        assert_eq!(encode_key("age", public_key(secret)), PUBLIC);
        assert_eq!(decode_key("age", PUBLIC), Some(public_key(secret)));
        assert_eq!(encode_key("age-secret-key-", secret).to_uppercase(), SECRET);
        for wrong in [
            "",
            "age1",
            &PUBLIC[..61],
            &PUBLIC.replace('9', "8"),
            "Age1nkvsp",
        ] {
            assert_eq!(decode_key("age", wrong), None, "{wrong}");
        }
        for (file, expected) in [(EMPTY, ""), (SHORT, "id,y\n")] {
            let file = STANDARD.decode(file).unwrap();
            assert_eq!(decrypt(&file, secret).unwrap(), expected.as_bytes());
            for at in 0..file.len() {
                let mut changed = file.clone();
                changed[at] ^= 1;
                assert!(decrypt(&changed, secret).is_err(), "{at}");
                assert!(decrypt(&file[..at], secret).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn every_length_is_read_back() {
        let secret: Key = random().unwrap();
        for length in [
            0,
            1,
            CHUNK_BYTES - 1,
            CHUNK_BYTES,
            CHUNK_BYTES + 1,
            3 * CHUNK_BYTES,
        ] {
            let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut encryptor = Encryptor::new(Vec::new(), &[public_key(secret)], "").unwrap();
            encryptor.write_all(&content).unwrap();
            let file = encryptor.finish().unwrap();
            assert_eq!(decrypt(&file, secret).unwrap(), content, "{length}");
        }
    }

    /// For a point of low order, the shared secret is zero, so everybody could unwrap the file key.
    #[test]
    fn points_of_low_order_are_rejected() {
        let mut file = header(&[7; FILE_KEY_BYTES], &[public_key(random().unwrap())], "").unwrap();
        let share = file.windows(7).position(|part| part == b"X25519 ").unwrap() + 7;
        file[share..share + 43].copy_from_slice(BASE64.encode([0; 32]).as_bytes());
        assert!(matches!(
            Decryptor::new(&*file, &[[1; 32]]),
            Err(SealError::Damaged(_))
        ));
    }
}
