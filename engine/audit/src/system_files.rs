//! Recognizes files that operating systems add to directories and archives.

const NAMES: [&str; 7] = [
    ".DS_Store",
    ".localized",
    ".directory",
    "Thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
    "Desktop.ini",
];

const DIRECTORIES: [&str; 6] = [
    "__MACOSX",
    ".Spotlight-V100",
    ".Trashes",
    ".fseventsd",
    "$RECYCLE.BIN",
    "System Volume Information",
];

/// Returns whether an operating system adds files with this path, for example when someone opens the directory.
pub(crate) fn is_of_system(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name)
        || name.starts_with("._")
        || path.split('/').any(|part| DIRECTORIES.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_operating_systems_are_recognized() {
        for path in [
            "public/.DS_Store",
            "public/._train.csv",
            "__MACOSX/a/b.png",
            "Thumbs.db",
        ] {
            assert!(is_of_system(path), "{path}");
        }
        for path in [
            "public/train.csv",
            "public/_a.csv",
            "public/thumbs.db.csv",
            "MACOSX/a",
        ] {
            assert!(!is_of_system(path), "{path}");
        }
    }
}
