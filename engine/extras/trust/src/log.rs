//! The log of gradings as a hash chain.
//!
//! The log is a text file with one JSON object per line. Each line contains its `position`, counted from 1, and `previous`,
//! the hash of all lines before it.
//!
//! The hash after a line is a BLAKE3 hash. It covers the hash before the line (32 bytes), and the bytes of the line without
//! its line feed. The hash before the first line consists of zeros. Lines without a hash, which old versions of `prep`
//! wrote, are covered, too.
//!
//! The chain uses no secret key, so everybody who can write the file can write a different, consistent log. But the signed
//! report of a grading contains the position of its line and the hash after this line. Therefore the report contradicts
//! such a log. Only one change is not detected: the removal of lines after the line of the last published report.
//!
//! While a process writes a line, it locks a second file, not the log. A program that may only read the log, for example an
//! agent, cannot open the second file. Therefore it cannot hold the lock, which would stop gradings.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prep_grade::report::LogPlace;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// After waiting this long for other writers, a writer fails. A writer usually needs only a few milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

const ID_DIGITS: usize = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ChainHash([u8; 32]);

impl ChainHash {
    /// Returns the hash after a further line. `line` must not contain the line feed.
    fn after(self, line: &[u8]) -> ChainHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        hasher.update(line);
        ChainHash(hasher.finalize().into())
    }

    fn text(self) -> String {
        format!("blake3:{}", blake3::Hash::from_bytes(self.0).to_hex())
    }

    /// Returns the id of a log whose first line has this hash.
    fn id(self) -> String {
        let hex = blake3::Hash::from_bytes(self.0).to_hex();
        hex.chars().take(ID_DIGITS).collect()
    }

    fn parse(text: &str) -> Option<ChainHash> {
        let hash = blake3::Hash::from_hex(text.strip_prefix("blake3:")?).ok()?;
        Some(ChainHash(hash.into()))
    }
}

/// The fields of a line that the hash chain uses.
#[derive(Debug, Default, Deserialize)]
struct Link {
    #[serde(default)]
    competition: Option<String>,
    #[serde(default)]
    position: Option<u64>,
    #[serde(default)]
    previous: Option<String>,
}

/// Appends gradings of one competition to a log.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    competition: String,
    read: Mutex<Prefix>,
}

#[derive(Debug, Default, Clone)]
struct Prefix {
    bytes: u64,
    lines: u64,
    hash: ChainHash,
    id: Option<String>,
    gradings: u64,
}

impl Prefix {
    fn add(&mut self, line: &[u8], competition: &str) {
        self.lines += 1;
        self.hash = self.hash.after(line);
        self.id.get_or_insert_with(|| self.hash.id());
        let link: Link = serde_json::from_slice(line).unwrap_or_default();
        self.gradings += u64::from(link.competition.as_deref() == Some(competition));
    }

    /// Reads the lines that other writers added since the last call. Returns whether the last line lacks its line feed,
    /// so that the writer must add one.
    fn extend(&mut self, file: &mut File, competition: &str) -> io::Result<bool> {
        if file.metadata()?.len() < self.bytes {
            *self = Prefix::default();
        }
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut added = Vec::new();
        file.read_to_end(&mut added)?;
        for line in lines(&added) {
            self.add(line, competition);
        }
        self.bytes += added.len() as u64;
        Ok(added.last().is_some_and(|byte| *byte != b'\n'))
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

impl LogWriter {
    /// Creates a writer, which opens the file for each line.
    pub fn new(path: PathBuf, competition: &str) -> LogWriter {
        LogWriter {
            path,
            competition: competition.to_owned(),
            read: Mutex::default(),
        }
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the log. Fails if the path is neither a regular file nor a symbolic link. The link must belong to
    /// the current user or to root, because another owner could redirect the log.
    fn regular(&self) -> io::Result<&Path> {
        let found = match self.path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(&self.path),
            found => found?,
        };
        let is_trusted = || [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
        match found.file_type() {
            kind if kind.is_symlink() && !is_trusted() => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the log is a symbolic link of another user",
            )),
            kind if kind.is_symlink() || kind.is_file() => Ok(&self.path),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the log is not a regular file",
            )),
        }
    }

    /// Returns whether the last line is partially written, for example because the system lost power. The next grading keeps
    /// this line, and begins a new one.
    pub fn ends_partially(&self) -> bool {
        let last = || -> io::Result<u8> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            Ok(last[0])
        };
        last().is_ok_and(|byte| byte != b'\n')
    }

    /// Returns the path of the file that a process locks while it writes.
    fn guard(&self) -> PathBuf {
        let mut name = std::ffi::OsString::from(".");
        name.push(self.path.file_name().unwrap_or_default());
        name.push(".guard");
        self.path.with_file_name(name)
    }

    /// Appends a line that contains `fields` and the fields of the chain. Returns the place of the line in the log.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, locked or written.
    pub fn append(&self, mut fields: Map<String, Value>) -> io::Result<LogPlace> {
        // This lock excludes other threads, and the next lock excludes other processes.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = self.guard();
        let locked = prep_cache::lock_at_within(&guard, LOCK_TIMEOUT).map_err(io::Error::other)?;
        let _lock = locked.ok_or_else(|| {
            let text = format!("another process has locked {}", guard.display());
            io::Error::new(io::ErrorKind::TimedOut, text)
        })?;
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(self.regular()?)?;
        // A process that was killed may have left a partial line, which remains as a line of its own.
        let is_partial = read.extend(&mut file, &self.competition)?;
        fields.insert("competition".to_owned(), json!(self.competition));
        fields.insert("position".to_owned(), json!(read.lines + 1));
        fields.insert("previous".to_owned(), json!(read.hash.text()));
        let line = Value::Object(fields).to_string();
        let start = if is_partial { "\n" } else { "" };
        file.write_all(format!("{start}{line}\n").as_bytes())?;
        let earlier = read.gradings;
        read.add(line.as_bytes(), &self.competition);
        read.bytes += (start.len() + line.len() + 1) as u64;
        Ok(LogPlace {
            id: read.id.clone().unwrap_or_default(),
            position: read.lines,
            head: read.hash.text(),
            earlier,
        })
    }
}

/// The lines of a log, and the contradictions between them.
#[derive(Debug, Clone, Default)]
pub struct ReadLog {
    /// Id of the log. Empty for a log without lines.
    pub id: String,
    /// All lines in the order of the file.
    pub lines: Vec<LoggedLine>,
    /// Number of lines without a hash at the beginning, which an old version of `prep` wrote.
    pub unchained: usize,
    /// Contradictions between lines.
    pub faults: Vec<LogFault>,
    /// Numbers of partially written lines, which a killed process or a power loss left. The hash in the next line covers
    /// them.
    pub partial: Vec<usize>,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedLine {
    /// Id of the competition. `None` if the line is damaged.
    pub competition: Option<String>,
    /// Hash after the line.
    pub head: String,
}

/// A contradiction in a log. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum LogFault {
    #[error("line {line} was changed or replaced: the hash of the log up to this line differs from the hash in line {next}", next = .line + 1)]
    Changed { line: usize },
    #[error("line 1 was changed or replaced: its hash is not that of an empty log")]
    Begun,
    #[error(
        "lines before line {line} were removed (removed lines: {count}): line {line} has position {position}"
    )]
    Removed {
        line: usize,
        position: u64,
        count: u64,
    },
    #[error("line {line} was moved or inserted: it has position {position}")]
    Moved { line: usize, position: u64 },
    #[error("line {line} is not part of the chain: it has no hash, or is damaged")]
    Unchained { line: usize },
}

impl ReadLog {
    /// Parses a log, and finds its contradictions.
    pub fn parse(text: &[u8]) -> ReadLog {
        let mut log = ReadLog::default();
        let (mut hash, mut expected, mut is_chained) = (ChainHash::default(), 1, false);
        for (line, number) in lines(text).zip(1usize..) {
            let parsed = serde_json::from_slice(line);
            let is_partial = parsed.is_err();
            let link: Link = parsed.unwrap_or_default();
            let previous = link.previous.as_deref().and_then(ChainHash::parse);
            match (previous, link.position) {
                (Some(previous), Some(position)) => {
                    is_chained = true;
                    // If the hash in this line differs, the partial line before was cut after this line was written.
                    if previous != hash && log.partial.last() == Some(&(number - 1)) {
                        log.partial.pop();
                        log.faults.push(LogFault::Unchained { line: number - 1 });
                    }
                    log.check(number, (expected, position), previous == hash);
                    // Continue with the hash and the position that the line states. So each contradiction is reported once.
                    (hash, expected) = (previous, position);
                }
                _ if is_chained && is_partial => log.partial.push(number),
                _ if is_chained => log.faults.push(LogFault::Unchained { line: number }),
                _ => log.unchained += 1,
            }
            hash = hash.after(line);
            expected += 1;
            if number == 1 {
                log.id = hash.id();
            }
            log.lines.push(LoggedLine {
                competition: link.competition,
                head: hash.text(),
            });
        }
        log
    }

    fn check(&mut self, line: usize, (expected, position): (u64, u64), has_hash: bool) {
        let fault = match position.checked_sub(expected) {
            Some(0) if has_hash => return,
            Some(0) if line == 1 => LogFault::Begun,
            Some(0) => LogFault::Changed { line: line - 1 },
            Some(count) => LogFault::Removed {
                line,
                position,
                count,
            },
            None => LogFault::Moved { line, position },
        };
        self.faults.push(fault);
    }

    /// Returns the number of gradings of a competition in the first `lines` lines.
    pub fn gradings(&self, competition: &str, lines: usize) -> usize {
        let lines = self.lines.iter().take(lines);
        lines
            .filter(|line| line.competition.as_deref() == Some(competition))
            .count()
    }

    /// Checks that the log contains a report's grading at `place`, the place in the log that the report states. Returns the
    /// first contradiction as an error.
    pub fn confirm(&self, place: &LogPlace, competition: &str) -> Result<(), String> {
        if place.id != self.id {
            return Err(format!(
                "the report belongs to a different log: {}",
                place.id
            ));
        }
        let position = place.position;
        let before = usize::try_from(position.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(line) = self.lines.get(before) else {
            let count = self.lines.len();
            return Err(format!(
                "the log was cut: it has {count} lines, and the report is about line {position}"
            ));
        };
        if line.head != place.head {
            return Err(format!(
                "the hash after line {position} of the log is not the hash in the report, so a line was changed"
            ));
        }
        match self.gradings(competition, before) as u64 == place.earlier {
            true => Ok(()),
            false => Err(format!(
                "the number of earlier gradings in the log differs from the number in the report, {}",
                place.earlier
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(score: u32) -> Map<String, Value> {
        Map::from_iter([("score".to_owned(), json!(score))])
    }

    /// Returns the text of a log with gradings of these competitions, and their places.
    fn log_of(competitions: &[&str]) -> (String, Vec<LogPlace>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grades.jsonl");
        let places = competitions.iter().zip(0..).map(|(id, score)| {
            let writer = LogWriter::new(path.clone(), id);
            writer.append(fields(score)).unwrap()
        });
        let places = places.collect();
        (std::fs::read_to_string(&path).unwrap(), places)
    }

    #[test]
    fn a_place_is_confirmed_only_by_its_own_log() {
        let (text, places) = log_of(&["a", "b", "a", "a"]);
        let log = ReadLog::parse(text.as_bytes());
        assert_eq!((log.faults.as_slice(), log.unchained), ([].as_slice(), 0));
        assert_eq!((log.gradings("a", 9), log.gradings("b", 9)), (3, 1));
        let earlier: Vec<u64> = places.iter().map(|place| place.earlier).collect();
        assert_eq!(earlier, [0, 0, 1, 2]);
        for (place, id) in places.iter().zip(["a", "b", "a", "a"]) {
            assert_eq!(log.confirm(place, id), Ok(()));
        }
        let (other, _) = log_of(&["b", "b", "a", "a"]);
        let other = ReadLog::parse(other.as_bytes());
        assert!(
            other
                .confirm(&places[2], "a")
                .unwrap_err()
                .contains("belongs to a different log")
        );
        let cut: String = text.split_inclusive('\n').take(2).collect();
        let cut = ReadLog::parse(cut.as_bytes());
        assert!(
            cut.faults.is_empty(),
            "a cut is not visible in the log itself"
        );
        assert!(cut.confirm(&places[3], "a").unwrap_err().contains("cut"));
    }

    /// Each case contains the lines after an edit, and the message that names the place of the edit.
    #[test]
    fn edits_are_found_and_named() {
        let (text, places) = log_of(&["a", "a", "a", "a", "a"]);
        let lines: Vec<&str> = text.lines().collect();
        let changed = lines[1].replace("\"score\":1", "\"score\":9");
        let moved = lines[2].replace("\"position\":3", "\"position\":1");
        for (edited, message) in [
            (
                vec![lines[0], lines[2], lines[3]],
                "lines before line 2 were removed (removed lines: 1)",
            ),
            (
                vec![lines[2], lines[3]],
                "lines before line 1 were removed (removed lines: 2)",
            ),
            (
                vec![lines[0], &changed, lines[2]],
                "line 2 was changed or replaced",
            ),
            (
                vec![lines[0], lines[2], lines[1], lines[3]],
                "line 3 was moved",
            ),
            (
                vec![lines[0], lines[1], lines[1], lines[2]],
                "line 3 was moved",
            ),
            (vec![lines[0], lines[1], &moved], "line 3 was moved"),
            (
                vec![&moved, lines[1]],
                "line 1 was changed or replaced: its",
            ),
            (
                vec![lines[0], "{\"competition\":\"a\"}", lines[2]],
                "line 2 is not part of the chain",
            ),
            (
                vec![lines[0], &lines[1][..20], lines[2]],
                "line 2 is not part",
            ),
        ] {
            let log = ReadLog::parse(edited.join("\n").as_bytes());
            let faults: Vec<String> = log.faults.iter().map(ToString::to_string).collect();
            assert!(
                faults.iter().any(|fault| fault.contains(message)),
                "{message}: {faults:?}"
            );
        }
        // Only a report shows that the last line was changed.
        let last = text.replace("\"score\":4", "\"score\":9");
        let log = ReadLog::parse(last.as_bytes());
        assert!(log.faults.is_empty());
        assert!(
            log.confirm(&places[4], "a")
                .unwrap_err()
                .contains("is not the hash in the report")
        );
    }

    #[test]
    fn the_chain_covers_existing_lines_of_old_versions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grades.jsonl");
        let old = "{\"competition\":\"a\",\"score\":1}\n{\"competition\":\"b\"}\n";
        // The file also ends with a part of a third line.
        std::fs::write(&path, format!("{old}{{\"compet")).unwrap();
        let writer = LogWriter::new(path.clone(), "a");
        let place = writer.append(fields(2)).unwrap();
        assert_eq!((place.position, place.earlier), (4, 1));
        let text = std::fs::read_to_string(&path).unwrap();
        let log = ReadLog::parse(text.as_bytes());
        assert_eq!((log.unchained, log.faults.len()), (3, 0));
        let edited = text.replace("\"score\":1", "\"score\":3");
        assert_eq!(ReadLog::parse(edited.as_bytes()).faults.len(), 1);
    }

    /// The next grading neither extends nor removes the partial line. The hash in the new line covers the partial line.
    /// Therefore a later cut of the partial line is a contradiction.
    #[test]
    fn a_partially_written_line_stays_and_is_covered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grades.jsonl");
        let writer = LogWriter::new(path.clone(), "a");
        assert!(!writer.ends_partially());
        writer.append(fields(1)).unwrap();
        writer.append(fields(2)).unwrap();
        assert!(!writer.ends_partially());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 20]).unwrap();
        let writer = LogWriter::new(path.clone(), "a");
        assert!(writer.ends_partially());
        writer.append(fields(3)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let log = ReadLog::parse(text.as_bytes());
        assert_eq!(
            (log.faults.as_slice(), log.partial),
            ([].as_slice(), vec![2])
        );
        let lines: Vec<&str> = text.lines().collect();
        let cut = [lines[0], &lines[1][..30], lines[2]].join("\n");
        let log = ReadLog::parse(cut.as_bytes());
        assert!(log.faults.contains(&LogFault::Unchained { line: 2 }));
        assert!(log.partial.is_empty());
    }

    /// A process that may only read the log, for example an agent, cannot stop gradings: it can lock the log, but not the
    /// file that writers lock.
    #[test]
    fn readers_cannot_stop_writers() {
        let dir = tempfile::tempdir().unwrap();
        let writer = LogWriter::new(dir.path().join("grades.jsonl"), "a");
        writer.append(fields(1)).unwrap();
        let reader = File::open(writer.path()).unwrap();
        reader.lock().unwrap();
        let began = std::time::Instant::now();
        writer.append(fields(2)).unwrap();
        assert!(began.elapsed() < LOCK_TIMEOUT / 2);
        let _guard = prep_cache::try_lock_at(&writer.guard()).unwrap();
        // The owner, the group and all others may read the file only if they may also write it.
        let mode = writer.guard().metadata().unwrap().mode();
        assert_eq!(mode >> 1 & 0o222, mode & 0o222, "{mode:o}");
    }

    #[test]
    fn writers_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grades.jsonl");
        let writers: Vec<LogWriter> = ["a", "b", "a", "b"]
            .map(|id| LogWriter::new(path.clone(), id))
            .into();
        std::thread::scope(|scope| {
            for writer in writers.iter().chain(&writers) {
                scope.spawn(|| {
                    (0..25).for_each(|score| drop(writer.append(fields(score)).unwrap()))
                });
            }
        });
        let log = ReadLog::parse(&std::fs::read(&path).unwrap());
        assert_eq!(
            (log.lines.len(), log.faults.as_slice()),
            (200, [].as_slice())
        );
        assert_eq!(log.gradings("a", 999), 100);
    }
}
