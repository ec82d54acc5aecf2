//! Collects the images of `public`, including images in zip archives: their sizes, and a few thumbnails.

use std::fs;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use png::{ColorType, Encoder};
use prep_contents::DecodingLimits;
use prep_contents::pixels::Pixels;
use prep_formats::image::{ImageHeader, is_image_name};
use prep_formats::zip::{ZipDirectory, ZipEntry};

/// Maximum number of images per group whose sizes are shown.
const MAX_SIZES: usize = 150;
const MAX_GROUPS: usize = 3;
/// Maximum number of thumbnails, for all groups together.
const MAX_IMAGES: usize = 6;
/// Image files with more bytes than this have no thumbnail.
const MAX_IMAGE_BYTES: u64 = 16 << 20;
/// Only this number of files is listed per directory. Further files are ignored.
const MAX_FILES: usize = 200_000;

#[derive(Default)]
pub struct Images {
    pub count: usize,
    /// Directories and archives, each with the sizes of some of its images.
    pub groups: Vec<(String, Vec<ImageSize>)>,
    pub thumbnails: Vec<Thumbnail>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize {
    pub width: u32,
    pub height: u32,
}

struct Image {
    path: PathBuf,
    member: Option<ZipEntry>,
}

impl Image {
    fn open(&self) -> Option<Box<dyn Read + '_>> {
        let file = File::open(&self.path).ok()?;
        Some(match &self.member {
            None => Box::new(file),
            Some(entry) => Box::new(entry.open(file).ok()?),
        })
    }

    fn name(&self, public: &Path) -> Option<String> {
        let path = self.path.strip_prefix(public).ok()?.to_string_lossy();
        Some(match &self.member {
            None => path.into_owned(),
            Some(entry) => format!("{path}/{}", entry.path),
        })
    }
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

/// Picks at most `count` items at equal distances, beginning with the first one.
fn spread<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    let step = all.len().div_ceil(count.max(1)).max(1);
    all.iter().step_by(step)
}

fn groups(public: &Path) -> Vec<(String, Vec<Image>)> {
    let (mut groups, mut top_level_images) = (Vec::new(), Vec::new());
    for (name, path) in entries(public) {
        if path.is_dir() {
            let mut images = Vec::new();
            walk(&path, &mut images);
            groups.push((format!("{name}/"), images));
        } else if name.ends_with(".zip") {
            groups.push((name, members(&path)));
        } else if is_image_name(&name) {
            top_level_images.push(Image { path, member: None });
        }
    }
    groups.push(("public/".to_owned(), top_level_images));
    groups
}

fn entries(directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries = entries.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, entry.path())
    });
    let mut entries: Vec<(String, PathBuf)> = entries.collect();
    entries.sort();
    entries
}

fn walk(directory: &Path, images: &mut Vec<Image>) {
    for (name, path) in entries(directory) {
        if images.len() >= MAX_FILES {
            return;
        }
        if is_image_name(&name) {
            images.push(Image { path, member: None });
        } else if !name.contains('.') && path.is_dir() {
            walk(&path, images);
        }
    }
}

fn members(archive: &Path) -> Vec<Image> {
    let list = || {
        let file = File::open(archive).ok()?;
        let length = file.metadata().ok()?.len();
        let budget = DecodingLimits::default().budget(length);
        Some(
            ZipDirectory::read(&file, 0..length, &budget)
                .ok()?
                .entries(),
        )
    };
    let entries = list().into_iter().flatten();
    let entries = entries.filter(|entry| !entry.is_directory && is_image_name(&entry.path));
    let image = |entry| Image {
        path: archive.to_owned(),
        member: Some(entry),
    };
    entries.map(image).collect()
}

fn size(image: &Image) -> Option<ImageSize> {
    let header = ImageHeader::read(BufReader::new(image.open()?)).ok()?;
    Some(ImageSize {
        width: header.width,
        height: header.height,
    })
}

fn thumbnail(public: &Path, image: &Image) -> Option<Thumbnail> {
    let mut bytes = Vec::new();
    let mut content = image.open()?.take(MAX_IMAGE_BYTES + 1);
    content.read_to_end(&mut bytes).ok()?;
    let is_small = bytes.len() as u64 <= MAX_IMAGE_BYTES;
    create_thumbnail(image.name(public)?, &bytes).filter(|_| is_small)
}

/// Maximum length of the longer side of a thumbnail, in pixels.
const MAX_SIDE: usize = 72;

/// Images with more pixels than this have no thumbnail.
const MAX_PIXELS: u64 = 60_000_000;

pub struct Thumbnail {
    pub path: String,
    /// Size of the original image.
    pub image: ImageSize,
    pub size: ImageSize,
    pub png: Vec<u8>,
}

/// Creates a thumbnail. Each pixel of the thumbnail is the mean of the image pixels that it covers. Returns `None` if the
/// image cannot be decoded.
fn create_thumbnail(path: String, bytes: &[u8]) -> Option<Thumbnail> {
    let limits = DecodingLimits {
        pixels: MAX_PIXELS,
        ..DecodingLimits::default()
    };
    let image = Pixels::decode(bytes, &limits).ok()?;
    let longer = image.width.max(image.height);
    let scale = |side: usize| match longer > MAX_SIDE {
        true => (side * MAX_SIDE / longer).max(1),
        false => side,
    };
    let (width, height) = (scale(image.width), scale(image.height));
    let mut pixels = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        let rows = covered(y, height, image.height);
        for x in 0..width {
            let columns = covered(x, width, image.width);
            // The two lowest bits of each channel are invisible in a thumbnail, but would double the size of the file.
            pixels.extend(image.mean(columns, rows.clone()).map(|light| light & 0xfc));
        }
    }
    let size = |width, height| {
        Some(ImageSize {
            width: u32::try_from(width).ok()?,
            height: u32::try_from(height).ok()?,
        })
    };
    let small = size(width, height)?;
    Some(Thumbnail {
        path,
        image: size(image.width, image.height)?,
        png: encode(small, &pixels)?,
        size: small,
    })
}

fn encode(size: ImageSize, pixels: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, size.width, size.height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(pixels).ok()?;
    writer.finish().ok()?;
    Some(out)
}

/// Scales a side of `large` pixels to `small` pixels. Returns the pixels of the large side that pixel `at` of the small
/// side covers.
fn covered(at: usize, small: usize, large: usize) -> Range<usize> {
    let edge = |at: usize| at * large / small;
    edge(at)..edge(at + 1).max(edge(at) + 1).min(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_is_small_and_has_the_mean_colours() {
        let size = |width, height| ImageSize { width, height };
        let pixels = (0..288 * 144).flat_map(|at| match at % 2 {
            0 => [0, 100, 200],
            _ => [200, 100, 0],
        });
        let bytes = encode(size(288, 144), &pixels.collect::<Vec<u8>>()).unwrap();
        let thumbnail = |bytes: &[u8]| create_thumbnail("a.png".to_owned(), bytes);
        let found = thumbnail(&bytes).unwrap();
        assert_eq!((found.size, found.image), (size(72, 36), size(288, 144)));
        let small = Pixels::decode(&found.png, &DecodingLimits::default()).unwrap();
        let mut pixels = small.bytes.chunks_exact(small.stride());
        assert!(
            pixels.all(|pixel| pixel.starts_with(&[100; 3])),
            "{:?}",
            &small.bytes[..8]
        );
        assert!(thumbnail(b"no image").is_none());
        assert!(thumbnail(&bytes[..bytes.len() / 2]).is_none());
    }
}
