//! Kaggle's API.
//!
//! ```text
//! locate      the signed address of a bundle or of one of its files, by one protocol or the other
//! data        sizes and names of a competition's files
//! account     who the credentials belong to
//! ask         one call: credentials, redirects, what its answer means
//! calls       the calls, and how each protocol spells them
//! endpoint    where the two protocols are, and which hosts are Kaggle's
//! authorize   credentials in a header; renewal of a login
//! body        answers as text
//! ```
//!
//! Arrows point downwards.
//!
//! # Two protocols
//!
//! Kaggle's present tools call methods by POST at `api.kaggle.com`; older ones use paths with GET at `www.kaggle.com`. Both
//! answer alike. A call goes out by the protocol that worked last. If that one is not there (404, 405, 410 or 501, or no
//! answer at all), the other one is tried once, and remembered if it works.

mod account;
mod ask;
mod authorize;
mod body;
mod calls;
mod data;
pub(crate) mod endpoint;
mod locate;

pub use account::Account;
pub use data::{DataFile, DataSummary};

pub(crate) use account::account;
pub(crate) use ask::{Problem, REDIRECTS};
pub(crate) use authorize::authorize;
pub(crate) use body::{is_html, is_passing, text_of, wanted_pause};
pub(crate) use calls::Message;
pub(crate) use data::{files, summary};
pub(crate) use locate::{address, locate};
