//! Pictures of a competition: leaderboard, labels, missing cells, and sizes and thumbnails of images.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use prep_app::Error;
use prep_core::units;

use crate::collect::{CompetitionPage, LabelChart, PublicTable, Spread};
use crate::draw;
use crate::page::{figure, legend};

/// Maximum number of columns in the picture of missing cells.
const MAX_COLUMNS: usize = 12;
/// Thumbnails that are smaller than this are enlarged, in pixels.
const MIN_THUMBNAIL: u32 = 64;

/// Returns all pictures for which there are data.
///
/// # Errors
/// Returns an error if a picture cannot be drawn.
pub fn pictures(competition: &CompetitionPage) -> Result<Markup, Error> {
    let mut figures = Vec::new();
    figures.extend(leaderboard(competition)?);
    for labels in &competition.contents.labels {
        figures.push(label(labels)?);
    }
    figures.extend(missing(&competition.contents.tables)?);
    figures.extend(sizes(competition)?);
    figures.extend(thumbnails(competition));
    Ok(html! {
        @if !figures.is_empty() { div.figures { @for figure in &figures { (figure) } } }
    })
}

fn leaderboard(competition: &CompetitionPage) -> Result<Option<Markup>, Error> {
    let Some(leaderboard) = &competition.leaderboard else {
        return Ok(None);
    };
    let title = format!("Leaderboard of {}", competition.id);
    let picture = draw::leaderboard(&title, leaderboard, &competition.scores)?;
    let thresholds = leaderboard.thresholds();
    let is_graded = competition.scores.iter().any(|score| score.score.is_some());
    let caption = html! {
        strong { "Leaderboard" } ": fraction of teams by score, better to the right. Gold " (draw::number(thresholds.gold))
        ", silver " (draw::number(thresholds.silver)) ", bronze " (draw::number(thresholds.bronze))
        ", median " (draw::number(thresholds.median))
        @if is_graded { "; " (legend("test", &html! { "graded" })) }
    };
    Ok(Some(figure(&picture, &caption)))
}

fn label(labels: &LabelChart) -> Result<Markup, Error> {
    let title = format!("Distribution of {}", labels.name);
    let picture = match &labels.spread {
        Spread::Classes(classes) => draw::classes(&title, classes)?,
        Spread::Numbers { low, high, bins } => draw::histogram(&title, *low, *high, bins)?,
    };
    let test = legend("test", &html! { "test, from the answers" });
    let caption = html! {
        strong { (labels.name) } ": "
        @match &labels.train {
            Some(table) => { (legend("train", &html! { "train, from " code { (table) } })) " " (test) }
            None => { (test) "; no table of " code { "public" } " has its classes" }
        }
    };
    Ok(figure(&picture, &caption))
}

/// Draws the fractions of missing cells, for a train and a test table next to each other.
fn missing(tables: &[PublicTable]) -> Result<Option<Markup>, Error> {
    let (tests, others): (Vec<&PublicTable>, Vec<&PublicTable>) = tables
        .iter()
        .filter(|table| !table.is_sample())
        .partition(|table| table.is_test());
    let named_train = others.iter().find(|table| table.name().contains("train"));
    let train = named_train.or(others.first()).copied();
    let test = tests.first().copied();
    let fraction = |table: Option<&PublicTable>, name: &str| {
        let columns = table.map(PublicTable::missing).unwrap_or_default();
        let found = columns.iter().find(|(own, _)| *own == name);
        found.map(|(_, fraction)| *fraction)
    };
    let mut rows: Vec<(String, Option<f64>, Option<f64>)> = Vec::new();
    for table in [train, test].into_iter().flatten() {
        for (name, missing) in table.missing() {
            if missing > 0.0 && rows.iter().all(|(own, _, _)| own != name) {
                rows.push((name.to_owned(), fraction(train, name), fraction(test, name)));
            }
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let most =
        |row: &(String, Option<f64>, Option<f64>)| row.1.unwrap_or(0.0).max(row.2.unwrap_or(0.0));
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let more = rows.len().saturating_sub(MAX_COLUMNS);
    rows.truncate(MAX_COLUMNS);
    let picture = draw::missing("Missing values", &rows, ["train", "test"])?;
    let caption = html! {
        strong { "Missing values" } " by column: "
        (legend("train", &html! { "train" })) " " (legend("test", &html! { "test" }))
        @if more > 0 { "; " (more) " more columns" }
    };
    Ok(Some(figure(&picture, &caption)))
}

fn sizes(competition: &CompetitionPage) -> Result<Option<Markup>, Error> {
    let groups = &competition.contents.images.groups;
    if groups.iter().all(|(_, sizes)| sizes.is_empty()) {
        return Ok(None);
    }
    let picture = draw::sizes(&format!("Sizes of images of {}", competition.id), groups)?;
    let keys = groups.iter().zip(["train", "test", "third"]);
    let caption = html! {
        strong { "Sizes of images" } " (" (units::count(competition.contents.images.count as u64, "image")) "):"
        @for ((name, sizes), key) in keys {
            @if !sizes.is_empty() { " " (legend(key, &html! { (name) })) }
        }
    };
    Ok(Some(figure(&picture, &caption)))
}

fn thumbnails(competition: &CompetitionPage) -> Option<Markup> {
    let thumbnails = &competition.contents.images.thumbnails;
    (!thumbnails.is_empty()).then(|| {
        html! {
            figure {
                div.thumbnails {
                    @for thumbnail in thumbnails {
                        @let size = format!("{} × {}", thumbnail.image.width, thumbnail.image.height);
                        // Tiny images are enlarged without smoothing.
                        @let times = (MIN_THUMBNAIL / thumbnail.width.max(thumbnail.height).max(1)).max(1);
                        img .tiny[times > 1] src={ "data:image/png;base64," (STANDARD.encode(&thumbnail.png)) }
                            width=(thumbnail.width * times) height=(thumbnail.height * times)
                            alt={ (thumbnail.path) ", " (size) " pixels" } title={ (thumbnail.path) ", " (size) };
                    }
                }
                figcaption { strong { "Images" } " of " code { "public" } }
            }
        }
    })
}
