//! The section of a competition: files, pictures of the split, leaderboard, pipeline.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prep_app::Error;
use prep_core::units;

use super::html::{count, escape, figure, table, time};
use super::overview::{checksums, state};
use crate::collect::{Compared, Competition, File, Labels, Score, Spread, Step, Table};
use crate::{draw, graph};

const KEY: &str = "<span class=\"keyed\"><span class=\"key train\"></span> train</span> <span class=\"keyed\"><span class=\"key test\"></span> test</span>";
/// Maximum columns with missing cells that are drawn.
const MISSING: usize = 12;
/// Maximum files that are listed one by one.
const FILES: usize = 60;

/// Returns the section of a competition.
///
/// # Errors
/// When a picture cannot be drawn.
pub fn section(one: &Competition, open: bool) -> Result<String, Error> {
    let id = escape(&one.id);
    let mut out = format!(
        "<section id=\"{id}\" class=\"competition\"><h2>{}</h2>\n<p class=\"lead\"><code>{id}</code> {} ",
        escape(&one.name),
        state(one)
    );
    for fact in one
        .sets
        .iter()
        .copied()
        .chain([one.category.as_str()])
        .filter(|fact| !fact.is_empty())
    {
        let _ = write!(out, "<span class=\"chip\">{}</span> ", escape(fact));
    }
    out.push_str("</p>\n");
    if let Some(problem) = &one.problem {
        let _ = writeln!(out, "<p class=\"problem\">{}</p>", escape(problem));
    }
    // A competition that is not in the benchmark cannot be confused with one that is.
    let obstacles = match &one.comparability {
        Some(comparability) if !one.sets.is_empty() => comparability.obstacles(),
        _ => Vec::new(),
    };
    if !obstacles.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"problem\">Scores cannot be compared with those of the benchmark: {}.</p>",
            escape(&obstacles.join("; "))
        );
    }
    let _ = writeln!(
        out,
        "<details{}><summary>{}</summary>",
        if open { " open" } else { "" },
        summary(one)
    );
    out += &pictures(one)?;
    out += &samples(one);
    out += &scores(&one.scores);
    out += &files(one);
    out += &steps(&one.steps);
    if let Some(drawing) = &one.drawing {
        let picture = graph::svg(&format!("Steps of {}", one.id), drawing);
        let _ = writeln!(
            out,
            "<details><summary>Pipeline: {}</summary><div class=\"scroll graph\" tabindex=\"0\" role=\"img\" \
             aria-label=\"Graph of the steps, which the table above lists\">{picture}</div></details>",
            units::count(drawing.nodes.len() as u64, "step")
        );
    }
    out.push_str("</details></section>\n");
    Ok(out)
}

fn summary(one: &Competition) -> String {
    let mut facts = Vec::new();
    if !one.files.is_empty() {
        facts.push(format!(
            "{} files, {}",
            count(one.file_count()),
            units::bytes(one.bytes())
        ));
        facts.push(format!("variant {}", escape(&one.variant)));
        facts.push(format!("checksums: {}", checksums(one)));
    }
    if let Some(when) = one.last_run() {
        facts.push(format!("last run {} UTC", time(when)));
    }
    if let Some(leaderboard) = &one.leaderboard {
        facts.push(format!("{} teams", count(leaderboard.teams() as u64)));
    }
    facts.join(" · ")
}

fn pictures(one: &Competition) -> Result<String, Error> {
    let mut out = String::new();
    if let Some(leaderboard) = &one.leaderboard {
        let picture = draw::leaderboard(
            &format!("Leaderboard of {}", one.id),
            leaderboard,
            &one.scores,
        )?;
        let thresholds = leaderboard.thresholds();
        let mut caption = format!(
            "<strong>Leaderboard</strong>: share of teams by score, better to the right. Gold {}, silver {}, bronze {}, median {}",
            draw::number(thresholds.gold),
            draw::number(thresholds.silver),
            draw::number(thresholds.bronze),
            draw::number(thresholds.median)
        );
        if one.scores.iter().any(|score| score.score.is_some()) {
            caption += "; <span class=\"key test\"></span> graded";
        }
        out += &figure(&picture, &caption);
    }
    for labels in &one.labels {
        out += &label(labels)?;
    }
    out += &missing(&one.tables)?;
    if one.images.groups.iter().any(|(_, sizes)| !sizes.is_empty()) {
        let names = one.images.groups.iter().zip(["train", "test", "third"]);
        let names = names
            .filter(|((_, sizes), _)| !sizes.is_empty())
            .map(|((name, _), key)| {
                format!(
                    "<span class=\"keyed\"><span class=\"key {key}\"></span> {}</span>",
                    escape(name)
                )
            });
        let picture = draw::sizes(
            &format!("Sizes of images of {}", one.id),
            &one.images.groups,
        )?;
        let caption = format!(
            "<strong>Sizes of images</strong> ({}): {}",
            units::count(one.images.count as u64, "image"),
            names.collect::<Vec<_>>().join(" ")
        );
        out += &figure(&picture, &caption);
    }
    if !one.images.thumbnails.is_empty() {
        out += &thumbnails(one);
    }
    Ok(match out.is_empty() {
        true => out,
        false => format!("<div class=\"figures\">\n{out}</div>\n"),
    })
}

fn label(labels: &Labels) -> Result<String, Error> {
    let name = escape(&labels.name);
    let title = format!("Distribution of {}", labels.name);
    let picture = match &labels.spread {
        Spread::Classes(classes) => draw::classes(&title, classes)?,
        Spread::Numbers { low, high, bins } => draw::histogram(&title, *low, *high, bins)?,
    };
    let caption = match &labels.train {
        Some(table) => format!("<strong>{name}</strong>: {KEY} (train: {})", escape(table)),
        None => format!(
            "<strong>{name}</strong>: <span class=\"key test\"></span> test; its classes are in no table of public"
        ),
    };
    Ok(figure(&picture, &caption))
}

/// Draws the missing cells of train and test side by side, and of other tables separately.
fn missing(tables: &[Table]) -> Result<String, Error> {
    let mut out = String::new();
    let (tests, others): (Vec<&Table>, Vec<&Table>) = tables
        .iter()
        .filter(|table| !table.is_sample())
        .partition(|table| table.is_test());
    let train = others
        .iter()
        .copied()
        .find(|table| table.name().contains("train"))
        .or(others.first().copied());
    let test = tests.first().copied();
    let share = |table: Option<&Table>, name: &str| {
        let columns = table.map(Table::missing).unwrap_or_default();
        columns
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, share)| *share)
    };
    let mut rows: Vec<(String, Option<f64>, Option<f64>)> = Vec::new();
    for table in [train, test].into_iter().flatten() {
        for (name, missing) in table.missing() {
            if missing > 0.0 && rows.iter().all(|(own, _, _)| own != name) {
                rows.push((name.to_owned(), share(train, name), share(test, name)));
            }
        }
    }
    if rows.is_empty() {
        if train.is_some() || test.is_some() {
            out += "<figure class=\"words\"><p>No cell is missing in the tables of <code>public</code>.</p></figure>\n";
        }
        return Ok(out);
    }
    rows.sort_by(|a, b| {
        let most = |row: &(String, Option<f64>, Option<f64>)| {
            row.1.unwrap_or(0.0).max(row.2.unwrap_or(0.0))
        };
        most(b).total_cmp(&most(a))
    });
    let more = rows.len().saturating_sub(MISSING);
    rows.truncate(MISSING);
    let picture = draw::missing("Missing values", &rows, ["train", "test"])?;
    let mut caption = format!("<strong>Missing values</strong> by column: {KEY}");
    if more > 0 {
        let _ = write!(caption, "; {more} columns more");
    }
    out += &figure(&picture, &caption);
    Ok(out)
}

fn thumbnails(one: &Competition) -> String {
    let images = one.images.thumbnails.iter().map(|thumbnail| {
        let size = format!("{} × {}", thumbnail.image.width, thumbnail.image.height);
        // Tiny images are shown larger, pixel by pixel.
        let times = (64 / thumbnail.width.max(thumbnail.height).max(1)).max(1);
        format!(
            "<img{} src=\"data:image/png;base64,{}\" width=\"{}\" height=\"{}\" alt=\"{path}, {size} pixels\" title=\"{path}, {size}\">",
            if times > 1 { " class=\"tiny\"" } else { "" },
            STANDARD.encode(&thumbnail.png),
            thumbnail.width * times,
            thumbnail.height * times,
            path = escape(&thumbnail.path)
        )
    });
    let images: String = images.collect();
    figure(
        &format!("<div class=\"thumbnails\">{images}</div>"),
        "<strong>Images</strong> of <code>public</code>",
    )
}

fn samples(one: &Competition) -> String {
    let mut out = String::new();
    for data in &one.tables {
        let cell = |cell: &Option<String>| match cell {
            Some(text) => escape(text),
            None => "<span class=\"missing\">missing</span>".to_owned(),
        };
        let rows: Vec<Vec<String>> = data
            .sample()
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect();
        let mut caption = data.path.clone();
        if let Some(rows) = data.rows {
            let _ = write!(caption, ", {} rows", count(rows));
        }
        if data.more_columns() > 0 {
            let _ = write!(caption, ", {} columns more", data.more_columns());
        }
        if !data.whole {
            let _ = write!(
                caption,
                "; pictures are of the first {} rows",
                count(data.frame.rows as u64)
            );
        }
        out += &table(&caption, &data.header(), &rows);
    }
    match out.is_empty() {
        true => out,
        false => format!("<h3>First rows</h3>\n{out}"),
    }
}

fn scores(scores: &[Score]) -> String {
    if scores.is_empty() {
        return String::new();
    }
    let row = |score: &Score| {
        let value = score
            .score
            .map_or_else(|| "none".to_owned(), |score| score.to_string());
        vec![escape(&score.experiment), value, escape(score.medal)]
    };
    let rows: Vec<Vec<String>> = scores.iter().map(row).collect();
    format!(
        "<h3>Graded</h3>\n{}",
        table(
            "Graded submissions",
            &["Experiment", ">Score", "Medal"],
            &rows
        )
    )
}

fn files(one: &Competition) -> String {
    if one.files.is_empty() {
        return String::new();
    }
    let row = |file: &File| {
        let compared = match file.compared {
            Compared::Equal { when } => {
                let when = when
                    .map(|when| format!(" <small>{}</small>", time(when)))
                    .unwrap_or_default();
                format!("<span class=\"state good\">as published</span>{when}")
            }
            Compared::Differs => "<span class=\"state bad\">differs</span>".to_owned(),
            Compared::Skipped => "<span class=\"state fair\">not compared</span>".to_owned(),
            Compared::NotPublished => "<span class=\"state none\">none published</span>".to_owned(),
            Compared::OtherVariant => {
                "<span class=\"state none\">none for this variant</span>".to_owned()
            }
        };
        let digest = |digest: &Option<String>| {
            digest.as_ref().map_or_else(String::new, |digest| {
                let short: String = digest.chars().take(12).collect();
                format!(
                    "<code title=\"{}\">{}</code>",
                    escape(digest),
                    escape(&short)
                )
            })
        };
        let shape = match (file.rows, file.columns) {
            (Some(rows), columns) if columns > 0 => format!("{} × {columns}", count(rows)),
            (Some(rows), _) => count(rows),
            _ => String::new(),
        };
        vec![
            format!("<code>{}</code>", escape(&file.path)),
            count(file.files),
            units::bytes(file.bytes),
            shape,
            compared,
            digest(&file.md5),
            digest(&file.digest),
        ]
    };
    let mut rows: Vec<Vec<String>> = one.files.iter().take(FILES).map(row).collect();
    if one.files.len() > FILES {
        rows.push(vec![format!("and {} more", one.files.len() - FILES)]);
    }
    let headings = [
        "Output",
        ">Files",
        ">Size",
        ">Rows × columns",
        "Checksum",
        "Published MD5",
        "BLAKE3",
    ];
    let bundle = match (&one.bundle_md5, one.bundle) {
        (Some(md5), true) => format!(
            "The bundle is there; its published MD5 is <code>{}</code>.",
            escape(md5)
        ),
        (Some(md5), false) => format!(
            "The bundle is not in the data directory; its published MD5 is <code>{}</code>.",
            escape(md5)
        ),
        (None, _) => "No MD5 of the bundle is published.".to_owned(),
    };
    format!(
        "<h3>Files</h3>\n{}<p>{bundle}</p>\n",
        table("Outputs", &headings, &rows)
    )
}

fn steps(steps: &[Step]) -> String {
    let ran: Vec<&Step> = steps
        .iter()
        .filter(|step| step.why.is_some() || step.now.is_some())
        .collect();
    if ran.is_empty() {
        return String::new();
    }
    let row = |step: &&Step| {
        vec![
            format!("<code>{}</code>", escape(&step.name)),
            escape(step.kind),
            step.when.map_or_else(String::new, time),
            step.millis.map_or_else(String::new, |millis| {
                format!(
                    "{:.2} s",
                    std::time::Duration::from_millis(millis).as_secs_f64()
                )
            }),
            escape(step.why.as_deref().unwrap_or("")),
            step.now
                .as_ref()
                .map_or_else(|| "up to date".to_owned(), |now| escape(now)),
        ]
    };
    let rows: Vec<Vec<String>> = ran.iter().map(row).collect();
    let headings = [
        "Step",
        "Kind",
        "Last ran (UTC)",
        ">Took",
        "Why it last ran",
        "Now",
    ];
    format!(
        "<details><summary>When and why each step last ran</summary>\n{}</details>\n",
        table("Steps", &headings, &rows)
    )
}
