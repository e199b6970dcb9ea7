//! The HCL2 language: text to tree, expressions to values, problems with their places.
//!
//! **Purpose.** Reads job files and other files in HCL for `specs`: parsing, expressions with all
//! functions, `dynamic` blocks, variables and locals, reading by schema, and the older style of
//! configuration files.
//!
//! **Entry points.** [`parse`] and [`parse_json`], [`EvalContext`], [`variables::resolve`] and [`read`] for job files;
//! [`parse_config`] for configuration.
//!
//! **Never.** It does not know what a job is, does not touch files, clock or randomness (all come
//! from the caller), and does not render problems.
//!
//! **Reading order.** `syntax`, `eval` and `template`, `fields` with `dynamic`, `variables`.
//!
//! **Limits.** [`Limits`] bounds the size, depth and evaluation cost of hostile texts. A syntax
//! error is reported alone; all other problems of a file are reported together.

pub mod config;
mod context;
mod diagnostic;
mod duration;
mod dynamic;
mod eval;
mod fields;
mod format;
mod functions;
mod json;
pub mod limits;
mod number;
mod schema;
mod suggest;
mod syntax;
mod template;
mod types;
mod value;
pub mod variables;

pub use config::{Config, ConfigBody, ConfigItem, ConfigValue, parse_config};
pub use context::{EvalContext, Files, Random};
pub use diagnostic::{Diagnostic, Diagnostics, Position, Severity, Source};
pub use duration::parse_duration;
pub use fields::{Fields, read};
pub use format::format;
pub use json::{is_json, parse_json};
pub use limits::Limits;
pub use number::Number;
pub use schema::{BlockSchema, Content, Schema};
pub use suggest::hint;
pub use syntax::{Attribute, Block, Body, parse};
pub use value::Value;
