//! Job files sent to a server: parsed without file functions, within stated limits (hop 2).

use model::job::Job;
use specs::hcl::variables::{self, Undeclared};
use specs::job::{Options, parse_job};

/// The name that problems of a job file sent over HTTP are shown under.
const SOURCE_NAME: &str = "input.hcl";
/// The name that problems of the variables sent with it are shown under.
const VARIABLES_NAME: &str = "input.variables.hcl";

/// Turns a job file into a job without defaults. Open to untrusted text: no files, bounded cost.
///
/// # Errors
/// Every problem, with its line and column.
pub fn parse_job_source(source: &str, variables: &str) -> Result<Job, Vec<String>> {
    let random = || uuid::Uuid::new_v4().into_bytes();
    let limits = specs::hcl::Limits::default();
    let text = |problems: Vec<specs::hcl::Diagnostic>| -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    };
    let assignments = if variables.trim().is_empty() {
        Vec::new()
    } else {
        variables::read_var_file(VARIABLES_NAME, variables, &limits, &random, Undeclared::Refuse)
            .map_err(text)?
    };
    let options = Options { assignments: &assignments, files: None, random: &random, limits };
    parse_job(SOURCE_NAME, source, &options).map(|(job, _)| job).map_err(text)
}
