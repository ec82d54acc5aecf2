//! Reads the mask columns of the submission and the answers, and the sizes of the images.

use serde::Deserialize;

use crate::refusal::{Refusal, RefusalKind};
use crate::row_policy::RowPolicy;
use crate::shapes::mask::Mask;
use crate::spec::definition::{Parameter, ParameterKind};
use crate::table::numbers::number;
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub const COLUMN: Parameter = Parameter::column("column", "The submission's column of masks.");

pub const TRUTH: Parameter = Parameter::optional(
    "truth",
    ParameterKind::Column,
    "The answers' column of masks; default: the column with the same name.",
);

pub const WIDTH: Parameter = Parameter::required(
    "width",
    ParameterKind::ColumnOrNumber,
    "The width of the images: a number, or the answers' column with the widths.",
);

pub const HEIGHT: Parameter = Parameter::required(
    "height",
    ParameterKind::ColumnOrNumber,
    "The height of the images: a number, or the answers' column with the heights.",
);

pub const EMPTY: Parameter = Parameter::optional(
    "empty",
    ParameterKind::Text,
    "Another way to write an empty mask.",
);

pub const SURPLUS_ROWS: Parameter = Parameter::optional(
    "surplus_rows",
    ParameterKind::Choice(&["refuse", "ignore"]),
    "`ignore`: rows beyond the end of the shorter table are left out; default: if the tables have different lengths, \
     the submission is invalid.",
);

/// The parameters that name the columns.
#[derive(Debug, Deserialize)]
pub struct MaskColumns {
    pub column: String,
    truth: Option<String>,
    width: Extent,
    height: Extent,
    empty: Option<String>,
    #[serde(default)]
    surplus_rows: SurplusRows,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Extent {
    Pixels(u32),
    Column(String),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SurplusRows {
    #[default]
    Refuse,
    Ignore,
}

/// Width and height of an image in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskSize {
    pub width: u64,
    pub height: u64,
}

impl MaskSize {
    pub fn pixels(self) -> u64 {
        self.width.saturating_mul(self.height)
    }
}

/// The true and the predicted masks. Surplus rows of the submission are left out.
#[derive(Debug)]
pub struct Masks {
    pub predicted: Vec<Mask>,
    pub truth: Vec<Mask>,
    pub sizes: Vec<MaskSize>,
}

impl MaskColumns {
    pub fn read(&self, pair: &Pair<'_>) -> Result<Masks, Refusal> {
        if self.surplus_rows == SurplusRows::Refuse {
            pair.check_same_rows()?;
        }
        let (widths, heights) = (self.width.read(pair)?, self.height.read(pair)?);
        let sizes: Vec<MaskSize> = widths
            .into_iter()
            .zip(heights)
            .map(|(width, height)| MaskSize { width, height })
            .collect();
        let truth = pair.answers.column(self.truth())?;
        Ok(Masks {
            predicted: self.decode(&pair.submission.column(&self.column)?, &sizes)?,
            truth: self.decode(&truth, &sizes)?,
            sizes,
        })
    }

    /// Returns the policy for the number of rows that the parameters define.
    pub fn rows(&self) -> RowPolicy {
        match self.surplus_rows {
            SurplusRows::Refuse => RowPolicy::Times(1),
            SurplusRows::Ignore => RowPolicy::First,
        }
    }

    fn truth(&self) -> &str {
        self.truth.as_deref().unwrap_or(&self.column)
    }

    fn decode(&self, column: &GradedColumn<'_>, sizes: &[MaskSize]) -> Result<Vec<Mask>, Refusal> {
        let mask = |(position, (value, size)): (usize, (CellValue<'_>, &MaskSize))| match value {
            CellValue::Text(text) if Some(text) == self.empty.as_deref() => Ok(Mask::default()),
            CellValue::Text(text) => Mask::decode(text, size.pixels())
                .map_err(|expected| column.refuse(RefusalKind::Range, position, expected)),
            CellValue::Missing => {
                Err(column.refuse(RefusalKind::Missing, position, "a run-length code"))
            }
            _ => Err(column.refuse(RefusalKind::Type, position, "a run-length code, as text")),
        };
        column.values().zip(sizes).enumerate().map(mask).collect()
    }
}

impl Extent {
    fn read(&self, pair: &Pair<'_>) -> Result<Vec<u64>, Refusal> {
        let column = match self {
            Extent::Pixels(pixels) => return Ok(vec![u64::from(*pixels); pair.answers.len()]),
            Extent::Column(name) => pair.answers.column(name)?,
        };
        let extent = |(position, value): (usize, CellValue<'_>)| match number(value) {
            // Python's `int` rejects text with a decimal point.
            _ if matches!(value, CellValue::Text(text) if text.trim().parse::<u32>().is_err()) => {
                Err(column.refuse(RefusalKind::Answers, position, "a number of pixels"))
            }
            Some(number) if (0.0..=f64::from(u32::MAX)).contains(&number) => Ok(number as u64),
            _ => Err(column.refuse(RefusalKind::Answers, position, "a number of pixels")),
        };
        column.values().enumerate().map(extent).collect()
    }
}
