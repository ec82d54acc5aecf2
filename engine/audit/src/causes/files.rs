//! Causes of differences in the files of a tree.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[
    &FILES_MISSING,
    &FILES_SURPLUS,
    &FILES_RENAMED,
    &FILES_SWAPPED,
    &FILES_OTHER_PART,
    &FILE_NAMES_CASE,
    &FILES_EMPTY,
    &FILES_CUT_OFF,
    &BYTES_APPENDED,
    &FILES_DAMAGED,
    &ARCHIVE_UNPACKED,
    &FILE_PACKED,
    &BUNDLE_MEMBER,
    &FILES_CHANGED,
];

pub static FILE_PACKED: Cause = Cause {
    id: "file-packed",
    family: Family::Files,
    harm: Harm::Form,
    meaning: "a file was compressed or unpacked, as the suffix of its name shows",
    advice: "nothing, if the programs that read the tree can handle it",
};

pub static FILES_MISSING: Cause = Cause {
    id: "files-missing",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files are missing",
    advice: "prepare again; the preparation may have been interrupted",
};

pub static FILES_SURPLUS: Cause = Cause {
    id: "files-surplus",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "there are additional files",
    advice: "remove them; an additional file can reveal answers",
};

pub static FILES_RENAMED: Cause = Cause {
    id: "files-renamed",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files have different names but the same content",
    advice: "restore the names",
};

pub static FILES_SWAPPED: Cause = Cause {
    id: "files-swapped",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files have the content of different files in the same tree",
    advice: "restore the names; each of these files belongs to a different item",
};

pub static BYTES_APPENDED: Cause = Cause {
    id: "bytes-appended",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files have additional bytes at the end",
    advice: "prepare again; something may have been appended, for example a second file",
};

pub static FILES_OTHER_PART: Cause = Cause {
    id: "files-other-part",
    family: Family::Files,
    harm: Harm::Answers,
    meaning: "files are in the directory of a different part of the split",
    advice: "prepare again; the test items differ",
};

pub static FILE_NAMES_CASE: Cause = Cause {
    id: "file-names-case",
    family: Family::Files,
    harm: Harm::Form,
    meaning: "file names differ only in case, accents or Unicode normalization",
    advice: "use a file system that preserves file names",
};

pub static FILES_EMPTY: Cause = Cause {
    id: "files-empty",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files are empty",
    advice: "prepare again; the disk may have been full",
};

pub static FILES_CUT_OFF: Cause = Cause {
    id: "files-cut-off",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files are truncated",
    advice: "prepare again; the disk may have been full",
};

pub static FILES_DAMAGED: Cause = Cause {
    id: "files-damaged",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files do not have the format that their names indicate, while our files do",
    advice: "prepare again; the disk or a copy operation may have damaged them",
};

pub static ARCHIVE_UNPACKED: Cause = Cause {
    id: "archive-unpacked",
    family: Family::Files,
    harm: Harm::Form,
    meaning: "an archive was unpacked into a directory",
    advice: "nothing, if the programs that read the tree can handle it",
};

pub static BUNDLE_MEMBER: Cause = Cause {
    id: "bundle-member",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "the published file is an unchanged member of a bundle, and ours is not",
    advice: "if that is a different bundle, prepare from it; otherwise the pipeline changes the member instead of copying it",
};

pub static FILES_CHANGED: Cause = Cause {
    id: "files-changed",
    family: Family::Files,
    harm: Harm::Content,
    meaning: "files in a format that the audit does not read have different bytes",
    advice: "prepare again from an intact bundle",
};
