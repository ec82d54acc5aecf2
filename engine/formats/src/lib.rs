//! File formats: archives, tables and images, read and written exactly as the
//! Python libraries do that published the expected checksums.

pub mod archive;
pub mod bson;
pub mod checked;
pub mod gzip;
pub mod image;
pub mod inflated;
pub mod json;
pub mod latin1;
pub mod limits;
pub mod lines;
pub mod matlab;
pub mod npy;
pub mod pandas;
pub mod parquet;
pub mod paths;
pub mod png;
pub mod printf;
pub mod python;
pub mod read_at;
pub mod rle;
pub mod sevenz;
pub mod sniff;
pub mod spans;
pub mod tar;
pub mod tfrecord;
pub mod zip;
