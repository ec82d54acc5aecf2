//! Kaggle's API.
//!
//! ```text
//! locate      the signed address of a bundle or of a file of a competition
//! data        sizes and names of a competition's files
//! account     the owner of the credentials
//! ask         one API call: credentials, redirects, classification of the answer
//! calls       the calls, and their requests in each protocol
//! endpoint    URLs of the two protocols, and Kaggle's hosts
//! authorize   credentials in a header; renewal of a login
//! body        responses as text
//! ```
//!
//! Each module depends only on the modules listed after it.
//!
//! # Two protocols
//!
//! Kaggle's current tools call methods by POST at `api.kaggle.com`. Older tools read paths by GET at `www.kaggle.com`.
//! Both protocols return the same data. A call uses the protocol that worked last. If that protocol does not exist
//! (404, 405, 410 or 501, or no answer), the other one is tried once. If it works, it is used from then on.

mod ask;
mod body;
mod calls;
pub(crate) mod endpoint;
mod queries;

pub use queries::Account;
pub use queries::{DataFile, DataSummary};

pub(crate) use ask::authorize;
pub(crate) use ask::{CallError, MAX_REDIRECTS};
pub(crate) use body::{beginning_of, is_html, is_temporary, trouble_of};
pub(crate) use queries::account;
pub(crate) use queries::{address, locate};
pub(crate) use queries::{files, summary};
