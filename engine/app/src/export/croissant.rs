//! Writes machine-readable metadata of the public files, in the Croissant 1.1 format of MLCommons.
//!
//! - Files at the top level of `public` become file objects with an MD5, and directories become file sets.
//! - Each table becomes a record set. Each column becomes a field with the type that pandas infers for the column.
//! - URLs are relative to the directory of the exported competition.

use std::collections::BTreeMap;

use prep_formats::pandas::{ColumnType, Schema};
use prep_spec::Pipeline;
use prep_spec::model::{Bundle, SourceLocation};
use serde_json::{Value, json};

use crate::export::{CopyContent, ExportedFile};

const CONTEXT: &str = include_str!("../../data/croissant_context.json");
const PUBLIC: &str = "prepared/public/";

/// Returns the metadata of an exported competition as JSON.
pub fn describe(exported: &CopyContent, pipeline: &Pipeline) -> String {
    let mut distribution = Vec::new();
    let mut records = Vec::new();
    let mut directories: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for file in &exported.files {
        let Some(name) = file.path.strip_prefix(PUBLIC) else {
            continue;
        };
        match name.split_once('/') {
            Some((directory, inside)) => {
                let suffix = inside.rsplit_once('.').map_or("", |(_, suffix)| suffix);
                *directories
                    .entry(directory)
                    .or_default()
                    .entry(suffix)
                    .or_default() += 1;
            }
            None => {
                distribution.push(file_object(file, name));
                records.extend(file.schema.as_ref().map(|schema| record_set(schema, name)));
            }
        }
    }
    for (directory, suffixes) in directories {
        for (suffix, files) in suffixes {
            distribution.push(file_set(directory, suffix, files));
        }
    }
    let kaggle = |bundle: &Bundle| {
        let address = format!("https://www.kaggle.com/competitions/{}", bundle.kaggle);
        (format!("{address}/rules"), address)
    };
    let mut urls = pipeline
        .sources
        .iter()
        .filter_map(|source| match &source.place {
            SourceLocation::Url(file) => Some((file.url.clone(), file.url.clone())),
            SourceLocation::Folder(_) => None,
        });
    let bundle = pipeline.bundle.as_ref().map(kaggle);
    let (license, address) = bundle.or_else(|| urls.next()).unwrap_or_default();
    // Does not fail, because the constant is valid JSON.
    let context: Value = serde_json::from_str(CONTEXT).unwrap_or_default();
    let description = json!({
        "@context": context,
        "@type": "sc:Dataset",
        "name": exported.competition,
        "alternateName": pipeline.name,
        "description": format!(
            "Public files of the competition \u{201c}{}\u{201d} as MLE-bench splits them: {PUBLIC}description.md describes the task. Variant {}.",
            pipeline.name, exported.variant
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "url": address,
        "prov:wasDerivedFrom": { "@id": address },
        "license": license,
        "version": "1.0.0",
        "keywords": [pipeline.category, "MLE-bench", format!("variant {}", exported.variant)],
        "distribution": distribution,
        "recordSet": records,
    });
    serde_json::to_string_pretty(&description).unwrap_or_default() + "\n"
}

fn file_object(file: &ExportedFile, name: &str) -> Value {
    json!({
        "@type": "cr:FileObject",
        "@id": identifier(name),
        "name": name,
        "contentUrl": file.path,
        "contentSize": format!("{} B", file.bytes),
        "encodingFormat": media_type(name.rsplit_once('.').map_or("", |(_, suffix)| suffix)),
        "md5": file.md5,
    })
}

fn file_set(directory: &str, suffix: &str, files: usize) -> Value {
    let (name, pattern) = match suffix {
        "" => (format!("{directory}/*"), format!("{PUBLIC}{directory}/**")),
        _ => (
            format!("{directory}/*.{suffix}"),
            format!("{PUBLIC}{directory}/**.{suffix}"),
        ),
    };
    json!({
        "@type": "cr:FileSet",
        "@id": identifier(&name.replace("/*", "-files")),
        "name": name,
        "description": format!("{files} files"),
        "includes": pattern,
        "encodingFormat": media_type(suffix),
    })
}

fn record_set(schema: &Schema, name: &str) -> Value {
    let table = format!("{}-rows", identifier(name));
    let fields = schema.columns.iter().map(|column| {
        let kind = match column.kind {
            ColumnType::Bool => "sc:Boolean",
            ColumnType::Float64 | ColumnType::Float32 => "sc:Float",
            ColumnType::Text | ColumnType::Json => "sc:Text",
            _ => "sc:Integer",
        };
        json!({
            "@type": "cr:Field",
            "@id": format!("{table}/{}", identifier(&column.name)),
            "name": column.name,
            "dataType": kind,
            "source": {
                "fileObject": { "@id": identifier(name) },
                "extract": { "column": column.name },
            },
        })
    });
    json!({
        "@type": "cr:RecordSet",
        "@id": table,
        "name": name,
        "description": format!("The {} rows of {name}", schema.rows),
        "field": fields.collect::<Vec<_>>(),
    })
}

/// Escapes a name for use in an identifier: all bytes except ASCII letters, digits, `.`, `-` and `_` become `%XX`.
fn identifier(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Returns the media type of files with a suffix such as `csv`.
fn media_type(suffix: &str) -> &'static str {
    match suffix {
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "md" => "text/markdown",
        "txt" => "text/plain",
        "json" => "application/json",
        "jsonl" => "application/jsonlines",
        "parquet" => "application/x-parquet",
        "zip" => "application/zip",
        "7z" => "application/x-7z-compressed",
        "tar" => "application/x-tar",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "tif" | "tiff" => "image/tiff",
        "bmp" => "image/bmp",
        "wav" => "audio/wav",
        "aif" | "aiff" => "audio/aiff",
        "dcm" => "application/dicom",
        _ => "application/octet-stream",
    }
}
