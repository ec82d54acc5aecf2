//! The section of a competition: pictures, scores, first rows, files, steps and pipeline.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use prep_core::units;
use prep_spec::shortened;

use crate::collect::{
    CompetitionPage, FileSample, LabelChart, MissingCells, OutputComparison, OutputFile, Shares,
    Spread, StepRow, SubmissionScore,
};
use crate::page::overview::{Status, checksums};
use crate::page::{PageColumn, columns, experiment_name, figure, legend, table, with_code};
use crate::text::{count, time};
use crate::{draw, graph};

pub fn section(competition: &CompetitionPage, open: bool) -> Markup {
    let facts = competition.sets.iter().map(String::as_str);
    let facts = facts.chain([competition.category.as_str()]);
    let facts = facts.chain(competition.dates.as_deref());
    let facts = facts.filter(|fact| !fact.is_empty());
    html! {
        section.competition {
            h2 { (competition.name) @if competition.is_other_variant() { " (" (competition.variant) ")" } }
            p.lead {
                code { (competition.id) } " " (Status::new(competition).show()) " "
                @for fact in facts { span.chip { (fact) } " " }
            }
            @for problem in competition.problem.iter().chain(&competition.failed) { p.problem { (problem) } }
            (obstacles(competition))
            details open[open] {
                summary { (summary(competition)) }
                // This element must be inside of `details`, so that a link to the element opens the details.
                div.target id=(competition.anchor()) {}
                (pictures(competition))
                (scores_table(&competition.scores))
                (samples(competition))
                (files(competition))
                (steps_table(&competition.steps))
                (pipeline(competition))
            }
        }
    }
}

/// Shows why scores cannot be compared with published ones. Only competitions of the benchmark have published scores.
fn obstacles(competition: &CompetitionPage) -> Markup {
    let obstacles = match &competition.comparability {
        Some(comparability) if !competition.sets.is_empty() => comparability.obstacles(),
        _ => Vec::new(),
    };
    html! {
        @if !obstacles.is_empty() {
            p.problem { "Scores cannot be compared with published scores: " (obstacles.join("; ")) "." }
        }
    }
}

fn summary(competition: &CompetitionPage) -> String {
    let mut facts = Vec::new();
    if !competition.files.is_empty() {
        let files = competition.file_count();
        let noun = if files == 1 { "file" } else { "files" };
        let bytes = units::bytes(competition.bytes());
        facts.push(format!("{} {noun}, {bytes}", count(files)));
        facts.push(format!("variant {}", competition.variant));
        facts.push(format!("checksums: {}", checksums(competition)));
    }
    if let Some(when) = competition.prepared_at {
        facts.push(format!("last run {} UTC", time(when)));
    }
    if let Some(leaderboard) = &competition.leaderboard {
        facts.push(format!("{} teams", count(leaderboard.teams() as u64)));
    }
    facts.join(" · ")
}

fn pipeline(competition: &CompetitionPage) -> Markup {
    let Some(drawing) = &competition.drawing else {
        return html! {};
    };
    let picture = graph::svg(&format!("Steps of {}", competition.id), drawing);
    html! {
        details {
            summary { "Pipeline: " (units::count(drawing.nodes.len() as u64, "step")) }
            div.scroll.graph tabindex="0" role="img"
                aria-label="Connections between the steps; the table above lists the steps" { (PreEscaped(picture)) }
        }
    }
}

/// Maximum number of outputs in the table of files.
const MAX_LISTED: usize = 60;
const DIGEST_CHARACTERS: usize = 12;

fn files(competition: &CompetitionPage) -> Markup {
    if competition.files.is_empty() {
        return html! {};
    }
    let mut files = competition.files.iter();
    let has_published = files.any(|file| file.compared != OutputComparison::NotPublished);
    let mut columns =
        columns("Output  >Files  >Size  >Rows × columns  Checksum  Published MD5  BLAKE3");
    if !has_published {
        columns.retain(|(heading, _)| !["Checksum", "Published MD5"].contains(heading));
    }
    let listed = competition.files.iter().take(MAX_LISTED);
    let rows: Vec<Vec<Markup>> = listed.map(|file| file_row(file, has_published)).collect();
    let more = competition.files.len().saturating_sub(MAX_LISTED);
    html! {
        h3 { "Files" }
        (table("Outputs", &columns, &rows))
        @if more > 0 { p { (more) " more outputs are not listed." } }
        @if let Some(md5) = &competition.bundle_md5 {
            p { "The published MD5 of the bundle is " code { (md5) } "." }
        }
    }
}

fn file_row(file: &OutputFile, has_published: bool) -> Vec<Markup> {
    let output = &file.output;
    let columns = output.columns.len();
    let mut cells = vec![
        html! { code { (output.path) } },
        html! { (count(output.files)) },
        html! { (units::bytes(output.bytes)) },
        html! {
            @if let Some(rows) = output.rows { (count(rows)) @if columns > 0 { " × " (columns) } }
        },
    ];
    if has_published {
        cells.extend([comparison(file.compared), digest(file.md5.as_deref())]);
    }
    let blake3 = output.digest.map(|digest| digest.to_string());
    cells.push(digest(blake3.as_deref()));
    cells
}

fn comparison(compared: OutputComparison) -> Markup {
    let (class, words) = match compared {
        OutputComparison::Equal { .. } => ("good", "as published"),
        OutputComparison::Differs => ("bad", "differs"),
        OutputComparison::Skipped => ("fair", "not compared"),
        OutputComparison::NotPublished => ("none", "none published"),
        OutputComparison::OtherVariant => ("none", "none for this variant"),
    };
    html! {
        span.state.(class) { (words) }
        @if let OutputComparison::Equal { when: Some(when) } = compared { " " small { (time(when)) } }
    }
}

fn digest(digest: Option<&str>) -> Markup {
    let Some(digest) = digest else {
        return html! {};
    };
    let short: String = digest.chars().take(DIGEST_CHARACTERS).collect();
    html! { code title=(digest) { (short) } }
}

/// Maximum number of characters of the reason why a submission is invalid.
const MAX_REASON: usize = 300;

fn scores_table(scores: &[SubmissionScore]) -> Markup {
    if scores.is_empty() {
        return html! {};
    }
    let mut scores: Vec<&SubmissionScore> = scores.iter().collect();
    scores.sort_by(|a, b| order(a, b));
    let row = |score: &&SubmissionScore| {
        vec![
            html! { @if let Some(score) = score.run.score { (score) } @else { span.missing { "none" } } },
            html! {
                @if score.run.is_answers { span.state.bad { (score.medal) } } @else { (score.medal) }
                // If the file is missing, omit the reason: it only repeats the result, and contains the path.
                @if let Some(reason) = &score.run.reason && score.run.exists { small.long { (with_code(&shortened(reason, MAX_REASON))) } }
            },
            experiment_name(score.series, &score.experiment),
            html! { @if let Some(path) = &score.submission { code.long { (path) } } @else { span.missing { "unknown" } } },
            html! { span.keyed { (score.when.as_deref().unwrap_or_default()) } },
        ]
    };
    let rows: Vec<Vec<Markup>> = scores.iter().map(row).collect();
    let columns = columns(">Score  Result  Experiment  Submission or run  Graded");
    html! { h3 { "Graded" } (table("Graded submissions, best first", &columns, &rows)) }
}

/// Compares submissions for sorting: better medals first. Among submissions with the same medal, better scores come first.
/// Without a leaderboard, it is unknown which scores are better, so submissions with the same medal are equal.
fn order(a: &SubmissionScore, b: &SubmissionScore) -> Ordering {
    let scores = (a.run.score, b.run.score);
    a.rank.cmp(&b.rank).then_with(|| match scores {
        (Some(x), Some(y)) if a.is_lower_better == Some(true) => x.total_cmp(&y),
        (Some(x), Some(y)) if a.is_lower_better == Some(false) => y.total_cmp(&x),
        _ => Ordering::Equal,
    })
}

fn samples(competition: &CompetitionPage) -> Markup {
    html! {
        @if !competition.contents.samples.is_empty() {
            h3 { "First rows" }
            @for sample in &competition.contents.samples {
                @let names = sample.header.iter().map(String::as_str);
                @let columns: Vec<PageColumn> = names.zip(sample.is_number.iter().copied()).collect();
                (table(&caption(sample), &columns, &rows(sample)))
            }
        }
    }
}

fn caption(sample: &FileSample) -> String {
    let mut caption = sample.path.clone();
    if let Some(rows) = sample.rows {
        let noun = if rows == 1 { "row" } else { "rows" };
        caption += &format!(", {} {noun}", count(rows));
    }
    match sample.more_columns {
        0 => {}
        1 => caption += ", 1 more column",
        more => caption += &format!(", {more} more columns"),
    }
    if let Some(read) = sample.read_rows {
        caption += &format!("; pictures show the first {} rows", count(read));
    }
    caption
}

fn rows(sample: &FileSample) -> Vec<Vec<Markup>> {
    let cell = |cell: &Option<String>| match cell {
        Some(text) => html! { (text) },
        None => html! { span.missing { "missing" } },
    };
    let rows = sample.first.iter();
    rows.map(|row| row.iter().map(cell).collect()).collect()
}

fn steps_table(steps: &[StepRow]) -> Markup {
    let known = steps
        .iter()
        .filter(|step| step.why.is_some() || step.now.is_some());
    let rows: Vec<Vec<Markup>> = known.map(step_row).collect();
    if rows.is_empty() {
        return html! {};
    }
    let columns = columns("Step  Kind  Last ran (UTC)  >Took  Why it last ran  Status now");
    html! {
        details {
            summary { "When and why each step last ran" }
            (table("Steps", &columns, &rows))
        }
    }
}

fn step_row(step: &StepRow) -> Vec<Markup> {
    let took = step
        .millis
        .map(|millis| Duration::from_millis(millis).as_secs_f64());
    vec![
        html! { code { (step.name) } },
        html! { (step.kind) },
        html! { @if let Some(when) = step.when { (time(when)) } },
        html! { @if let Some(took) = took { (format!("{took:.2} s")) } },
        html! { (step.why.as_deref().unwrap_or_default()) },
        html! { (step.now.as_deref().unwrap_or("up to date")) },
    ]
}

/// Maximum number of columns in the picture of missing values.
const MAX_COLUMNS: usize = 12;
/// Minimum length of the longer side of a thumbnail, in pixels. Smaller thumbnails are enlarged.
const MIN_THUMBNAIL: u32 = 64;

fn pictures(competition: &CompetitionPage) -> Markup {
    let contents = &competition.contents;
    let figures = (leaderboard(competition).into_iter())
        .chain(contents.labels.iter().map(label))
        .chain(missing(&contents.missing))
        .chain(sizes(competition))
        .chain(thumbnails(competition));
    let figures: Vec<Markup> = figures.collect();
    html! {
        @if !figures.is_empty() { div.figures { @for figure in &figures { (figure) } } }
    }
}

fn leaderboard(competition: &CompetitionPage) -> Option<Markup> {
    let leaderboard = competition.leaderboard.as_ref()?;
    let title = format!("Leaderboard of {}", competition.id);
    let picture = draw::leaderboard(&title, leaderboard, &competition.scores);
    let thresholds = leaderboard.thresholds();
    let graded = competition.scores.iter();
    let graded = graded.filter(|one| one.run.score.is_some());
    let graded: BTreeSet<(usize, &str)> = graded
        .map(|one| (one.series, one.experiment.as_str()))
        .collect();
    let outside = draw::scores_outside(leaderboard, &competition.scores);
    let caption = html! {
        strong { "Leaderboard" } ": fraction of teams by score, better to the right. Gold " (draw::number(thresholds.gold))
        ", silver " (draw::number(thresholds.silver)) ", bronze " (draw::number(thresholds.bronze))
        ", median " (draw::number(thresholds.median))
        @if !graded.is_empty() { "; graded:" @for (series, name) in &graded { " " (experiment_name(*series, name)) } }
        @if !outside.is_empty() { "; these scores are outside the axis and are drawn at its end: " (outside.join(", ")) }
    };
    Some(figure(&picture, &caption))
}

fn label(labels: &LabelChart) -> Markup {
    let title = format!("Distribution of {}", labels.name);
    let picture = match &labels.spread {
        Spread::Classes(classes) => draw::bars(&title, classes),
        Spread::Numbers { range, bins } => draw::histogram(&title, *range, bins),
    };
    let test = legend("test", &html! { "test, from the answers" });
    let caption = html! {
        strong { (labels.name) } ": "
        @match &labels.train {
            Some(table) => { (legend("train", &html! { "train, from " code { (table) } })) " " (test) }
            None => { (test) "; no table of " code { "public" } " contains this label" }
        }
    };
    figure(&picture, &caption)
}

fn missing(cells: &MissingCells) -> Option<Markup> {
    let (train, test) = (&cells.train, &cells.test);
    let fraction = |columns: &Option<Vec<(String, f64)>>, name: &str| {
        let found = columns.iter().flatten().find(|(own, _)| own == name);
        found.map(|(_, fraction)| *fraction)
    };
    let mut rows: Vec<Shares> = Vec::new();
    for (name, missing) in [train, test].into_iter().flatten().flatten() {
        if *missing > 0.0 && rows.iter().all(|row| row.name != *name) {
            rows.push(Shares {
                name: name.clone(),
                train: fraction(train, name),
                test: fraction(test, name),
            });
        }
    }
    let most = |row: &Shares| row.train.unwrap_or(0.0).max(row.test.unwrap_or(0.0));
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let more = rows.len().saturating_sub(MAX_COLUMNS);
    rows.truncate(MAX_COLUMNS);
    let picture = draw::bars("Missing values", &rows);
    let caption = html! {
        strong { "Missing values" } " by column: "
        (legend("train", &html! { "train" })) " " (legend("test", &html! { "test" }))
        @if more > 0 { "; " (more) " more columns" }
    };
    (!rows.is_empty()).then(|| figure(&picture, &caption))
}

fn sizes(competition: &CompetitionPage) -> Option<Markup> {
    let groups = &competition.contents.images.groups;
    let picture = draw::sizes(&format!("Sizes of images of {}", competition.id), groups);
    let keys = groups.iter().zip(["train", "test", "third"]);
    let caption = html! {
        strong { "Sizes of images" } " (" (units::count(competition.contents.images.count as u64, "image")) "):"
        @for ((name, sizes), key) in keys {
            @if !sizes.is_empty() { " " (legend(key, &html! { (name) })) }
        }
    };
    let is_empty = groups.iter().all(|(_, sizes)| sizes.is_empty());
    (!is_empty).then(|| figure(&picture, &caption))
}

fn thumbnails(competition: &CompetitionPage) -> Option<Markup> {
    let thumbnails = &competition.contents.images.thumbnails;
    (!thumbnails.is_empty()).then(|| {
        html! {
            figure {
                div.thumbnails {
                    @for thumbnail in thumbnails {
                        @let size = format!("{} × {}", thumbnail.image.width, thumbnail.image.height);
                        @let times = (MIN_THUMBNAIL / thumbnail.size.width.max(thumbnail.size.height).max(1)).max(1);
                        img .tiny[times > 1] src={ "data:image/png;base64," (STANDARD.encode(&thumbnail.png)) }
                            width=(thumbnail.size.width * times) height=(thumbnail.size.height * times)
                            alt={ (thumbnail.path) ", " (size) " pixels" } title={ (thumbnail.path) ", " (size) };
                    }
                }
                figcaption { strong { "Images" } " of " code { "public" } }
            }
        }
    })
}
