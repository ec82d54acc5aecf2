//! The list of causes, which `docs/audit.md` describes. Scripts rely on the ids.

use std::fmt;
use std::sync::LazyLock;

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    /// Only bytes differ.
    None,
    /// The values are equal, but spelled differently.
    Form,
    /// Values differ.
    Content,
    /// Answers or test items differ, so scores are not comparable.
    Answers,
}

const HARMS: [(&str, Harm); 4] = [
    ("none", Harm::None),
    ("form", Harm::Form),
    ("content", Harm::Content),
    ("answers", Harm::Answers),
];

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = HARMS.iter().find(|(_, harm)| harm == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

macro_rules! causes {
    ($($cause:ident,)*) => {
        /// A kind of difference. `causes.txt` has a line for each, in the same order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Cause { $($cause,)* }

        const ALL: &[Cause] = &[$(Cause::$cause,)*];
    };
}

causes! {
    BundleCutOff,
    BundleHole,
    BundleBytesAppended,
    BundleErrorPage,
    BundlePageInside,
    BundleTextMode,
    BundleMemberDamaged,
    BundleDirectoryDamaged,
    BundleFolder,
    BundleZippedTwice,
    BundleGzipped,
    BundleSystemFiles,
    BundleLineEnds,
    BundleBackslashes,
    BundleNameTwice,
    BundleRepacked,
    BundleChanged,
    BundleOtherMd5,
    BundleNotAnArchive,
    ParquetWriter,
    ParquetVersions,
    ParquetUnknownVersions,
    ArchiveRepacked,
    ArrayLayout,
    LineEnds,
    ByteOrderMark,
    Encoding,
    Mojibake,
    Delimiter,
    Quoting,
    FinalNewline,
    IndexColumn,
    MissingWords,
    BooleanWords,
    DecimalComma,
    LeadingZeros,
    NumberSpelling,
    FloatLastDigit,
    FloatSingle,
    FloatRounded,
    Blanks,
    LetterCase,
    DocumentLayout,
    KeyOrder,
    RowOrder,
    RowsMissing,
    RowsAdded,
    RowsRepeated,
    ColumnsMissing,
    ColumnsAdded,
    ColumnsRenamed,
    ColumnOrder,
    ColumnTypes,
    ArrayShape,
    ValuesChanged,
    LabelsChanged,
    OtherSplit,
    PartsSwapped,
    FilesMissing,
    FilesSurplus,
    SystemFiles,
    FilesRenamed,
    FilesSwapped,
    FilesOtherPart,
    FileNamesCase,
    FilesEdited,
    FilesEmpty,
    FilesCutOff,
    BytesAppended,
    FilesDamaged,
    ArchiveUnpacked,
    FilePacked,
    BundleMember,
    FilesChanged,
    ImageBytes,
    ImagePixels,
    ImageDamaged,
    NotClassified,
}

#[derive(Debug)]
pub struct CauseText {
    pub id: &'static str,
    /// Minimum harm. The role of a file can raise it.
    pub harm: Harm,
    pub meaning: &'static str,
    pub advice: &'static str,
}

static TEXTS: LazyLock<Vec<CauseText>> = LazyLock::new(|| {
    include_str!("causes.txt")
        .lines()
        .filter_map(parse)
        .collect()
});

/// Parses a line of `causes.txt`. `None` for headings and comments.
fn parse(line: &'static str) -> Option<CauseText> {
    let mut fields = line.splitn(4, " | ");
    let (id, harm) = (fields.next()?, fields.next()?);
    Some(CauseText {
        id,
        harm: HARMS.iter().find(|(name, _)| *name == harm)?.1,
        meaning: fields.next()?,
        advice: fields.next()?,
    })
}

impl Cause {
    pub fn all() -> impl Iterator<Item = Cause> {
        ALL.iter().copied()
    }

    /// Returns the description. A test verifies that every cause has one.
    pub fn text(self) -> &'static CauseText {
        const MISSING: &CauseText = &CauseText {
            id: "",
            harm: Harm::Content,
            meaning: "",
            advice: "",
        };
        TEXTS.get(self as usize).unwrap_or(MISSING)
    }

    pub fn id(self) -> &'static str {
        self.text().id
    }

    pub fn harm(self) -> Harm {
        self.text().harm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_line_and_is_documented() {
        let page = include_str!("../../../docs/audit.md");
        let lines = include_str!("causes.txt").lines();
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        assert_eq!(lines.filter(is_entry).count(), ALL.len());
        assert_eq!(TEXTS.len(), ALL.len());
        for cause in Cause::all() {
            let name = cause.id().replace('-', "");
            assert_eq!(format!("{cause:?}").to_lowercase(), name);
            let row = format!("| `{}` | {} |", cause.id(), cause.harm());
            assert!(page.contains(&row), "docs/audit.md lacks {row}");
        }
    }
}
