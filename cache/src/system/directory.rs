//! Creates directories.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Creates a directory and its parents if they do not exist.
///
/// # Errors
/// Same as for [`fs::create_dir_all`]. If a dangling symbolic link is in the way, the error names the link, because the
/// system only reports that a file exists.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let created = fs::create_dir_all(path);
    created.map_err(|error| {
        let dangling = path.ancestors().find_map(|link| {
            let target = fs::read_link(link).ok()?;
            let is_dangling = link.metadata().is_err();
            is_dangling.then(|| {
                let (link, target) = (link.display(), target.display());
                format!("{link} is a link to {target}, which does not exist")
            })
        });
        dangling.map_or(error, |text| io::Error::new(ErrorKind::NotFound, text))
    })
}
