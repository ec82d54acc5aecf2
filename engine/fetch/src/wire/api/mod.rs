//! Kaggle's API.
//!
//! ```text
//! locate      the signed address of a bundle or of one of its files
//! data        sizes and names of a competition's files
//! account     the owner of the credentials
//! ask         one call: credentials, redirects, meaning of the answer
//! calls       the calls and their form in each protocol
//! endpoint    URLs of the two protocols, and Kaggle's hosts
//! authorize   credentials in a header; renewal of a login
//! body        responses as text
//! ```
//!
//! Dependencies point downwards.
//!
//! # Two protocols
//!
//! Kaggle's current tools call methods by POST at `api.kaggle.com`; older ones read paths by GET at `www.kaggle.com`.
//! Both return the same data. A call uses the protocol that worked last. If that one does not exist (404, 405, 410 or
//! 501, or no answer at all), the other one is tried once, and remembered if it works.

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
pub(crate) use ask::{CallError, REDIRECTS};
pub(crate) use authorize::authorize;
pub(crate) use body::{is_html, is_passing, requested_pause, text_of};
pub(crate) use calls::Message;
pub(crate) use data::{files, summary};
pub(crate) use locate::{address, locate};
