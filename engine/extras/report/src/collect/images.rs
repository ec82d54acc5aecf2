//! Collects the images of `public`: their sizes, and a few thumbnails. Includes images inside zip archives.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use prep_formats::image::{ImageHeader, is_image_name};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipEntry};

use super::thumbnail::{self, Thumbnail};

/// Maximum number of images per directory whose size is read.
const MAX_SIZES: usize = 150;
/// Maximum number of directories and archives that are shown separately.
const MAX_GROUPS: usize = 3;
/// Maximum number of thumbnails per competition.
const MAX_IMAGES: usize = 6;
/// Maximum length of an image file. Larger images have no thumbnail.
const MAX_IMAGE_BYTES: u64 = 16 << 20;
/// Maximum number of files that are listed per directory. If there are more, the first ones are used.
const MAX_FILES: usize = 200_000;

/// Images of a competition.
#[derive(Default)]
pub struct Images {
    /// Number of listed images.
    pub count: usize,
    /// Directories and archives, with the sizes of some of their images.
    pub groups: Vec<(String, Vec<ImageSize>)>,
    pub thumbnails: Vec<Thumbnail>,
}

/// A size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize {
    pub width: u32,
    pub height: u32,
}

/// The location of an image: a file, or a member of a zip archive.
enum Image {
    File(PathBuf),
    Member(PathBuf, ZipEntry),
}

/// Reads the images below a directory. `bytes` limits the total size of the thumbnails.
pub fn images(public: &Path, bytes: usize) -> Images {
    let mut groups = groups(public);
    groups.retain(|(_, images)| !images.is_empty());
    groups.sort_by_key(|(_, images)| std::cmp::Reverse(images.len()));
    let mut found = Images {
        count: groups.iter().map(|(_, images)| images.len()).sum(),
        ..Images::default()
    };
    let mut remaining_bytes = bytes;
    let shown = MAX_IMAGES.div_ceil(groups.len().clamp(1, MAX_GROUPS));
    for (name, images) in groups.iter().take(MAX_GROUPS) {
        let sizes = spread(images, MAX_SIZES).filter_map(size).collect();
        found.groups.push((name.clone(), sizes));
        for image in spread(images, shown) {
            let Some(thumbnail) = thumbnail(public, image) else {
                continue;
            };
            if thumbnail.png.len() <= remaining_bytes {
                remaining_bytes -= thumbnail.png.len();
                found.thumbnails.push(thumbnail);
            }
        }
    }
    found
}

/// Picks some items, evenly spread from the first to the last.
fn spread<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    let step = all.len().div_ceil(count.max(1)).max(1);
    all.iter().step_by(step)
}

/// Lists the directories and archives of `public` with their images.
fn groups(public: &Path) -> Vec<(String, Vec<Image>)> {
    let mut groups = Vec::new();
    let mut top_level_images = Vec::new();
    for path in entries(public) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let mut images = Vec::new();
            walk(&path, &mut images);
            groups.push((format!("{name}/"), images));
        } else if name.ends_with(".zip") {
            groups.push((name, members(&path)));
        } else if is_image_name(&name) {
            top_level_images.push(Image::File(path));
        }
    }
    groups.push(("public/".to_owned(), top_level_images));
    groups
}

/// Lists the entries of a directory, sorted by name.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = match fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    paths.sort();
    paths
}

fn walk(directory: &Path, images: &mut Vec<Image>) {
    for path in entries(directory) {
        if images.len() >= MAX_FILES {
            return;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_image_name(&name) {
            images.push(Image::File(path));
        } else if !name.contains('.') && path.is_dir() {
            walk(&path, images);
        }
    }
}

fn members(archive: &Path) -> Vec<Image> {
    let list = || {
        let file = File::open(archive).ok()?;
        let length = file.metadata().ok()?.len();
        ZipDirectory::read(&file, 0..length, &DecodingLimits::default().budget(length)).ok()
    };
    let entries = list().map_or_else(Vec::new, |listing| listing.entries());
    let entries = entries
        .into_iter()
        .filter(|entry| !entry.is_directory && is_image_name(&entry.path));
    entries
        .map(|entry| Image::Member(archive.to_owned(), entry))
        .collect()
}

fn size(image: &Image) -> Option<ImageSize> {
    let header = match image {
        Image::File(path) => ImageHeader::read(BufReader::new(File::open(path).ok()?)),
        Image::Member(archive, entry) => {
            ImageHeader::read(BufReader::new(entry.open(File::open(archive).ok()?).ok()?))
        }
    };
    let header = header.ok()?;
    Some(ImageSize {
        width: header.width,
        height: header.height,
    })
}

fn thumbnail(public: &Path, image: &Image) -> Option<Thumbnail> {
    let mut bytes = Vec::new();
    let path = match image {
        Image::File(path) => {
            let file = File::open(path).ok()?;
            file.take(MAX_IMAGE_BYTES + 1)
                .read_to_end(&mut bytes)
                .ok()?;
            path.strip_prefix(public)
                .ok()?
                .to_string_lossy()
                .into_owned()
        }
        Image::Member(archive, entry) => {
            let member = entry.open(File::open(archive).ok()?).ok()?;
            member
                .take(MAX_IMAGE_BYTES + 1)
                .read_to_end(&mut bytes)
                .ok()?;
            let archive = archive.file_name().unwrap_or_default().to_string_lossy();
            format!("{archive}/{}", entry.path)
        }
    };
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        return None;
    }
    thumbnail::thumbnail(&path, &bytes)
}
