//! The superuser can write read-only files, so these tests start themselves again as another user.

use std::error::Error;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use prep_cache::{Digest, Store};

const DIR: &str = "PREP_TEST_UNPRIVILEGED_DIR";
/// Debian's user `nobody`.
const NOBODY: u32 = 65_534;

#[test]
fn unprivileged_user_can_write_objects() -> Result<(), Box<dyn Error>> {
    if let Some(dir) = std::env::var_os(DIR) {
        return write_objects(&Store::open(dir.as_ref())?);
    }
    let dir = tempfile::tempdir()?;
    if fs::metadata(dir.path())?.uid() != 0 {
        return write_objects(&Store::open(&dir.path().join("store"))?);
    }
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777))?;
    let name = "unprivileged::unprivileged_user_can_write_objects";
    // The other user may not be able to access the directory of the test program.
    let program = dir.path().join("test");
    fs::copy(std::env::current_exe()?, &program)?;
    let ended = Command::new(&program)
        .args(["--exact", name, "--nocapture"])
        .env(DIR, dir.path().join("store"))
        .current_dir(dir.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()?;
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && text.contains("1 passed"),
        "{text}"
    );
    Ok(())
}

fn write_objects(store: &Store) -> Result<(), Box<dyn Error>> {
    let put = store.put(b"put")?;
    let mut writer = store.writer()?;
    writer.write_all(b"written")?;
    assert_eq!(writer.commit()?.digest, Digest::of_bytes(b"written"));
    let mut scattered = store.scattered_writer()?;
    let offset = scattered.reserve(4)?;
    scattered.write_all(b"tail")?;
    scattered.write_at(b"head", offset)?;
    assert_eq!(
        scattered.commit(&|| Ok(()))?.digest,
        Digest::of_bytes(b"headtail")
    );
    let object = store.open_object(&put)?;
    let other = store.root().with_extension("other");
    fs::hard_link(object.path(), &other)?;
    let private = store.open_private(&put)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut private.file(), &mut bytes)?;
    assert_eq!(bytes, b"put");
    Ok(fs::remove_file(other)?)
}
