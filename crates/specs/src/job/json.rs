//! Jobs in the JSON of the API, bare or as the `Job` member of a request.

use model::job::Job;
use model::wire;
use serde_json::Value;

/// Reads a job from the API's JSON.
///
/// # Errors
/// What is wrong, with the line for malformed JSON.
pub fn parse_json_job(file: &str, text: &str) -> Result<Job, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("{file}: {error}"))?;
    let Value::Object(mut members) = value else {
        return Err(format!("{file}: a job is a JSON object"));
    };
    let mut job = match members.remove("Job") {
        Some(job @ Value::Object(_)) => job,
        Some(_) => return Err(format!("{file}: \"Job\" must be an object")),
        None if members.contains_key("ID") || members.contains_key("TaskGroups") => {
            Value::Object(members)
        }
        None if members.contains_key("job") => {
            return Err(format!(
                "{file}: this is a job file in the JSON spelling of HCL; give it without -json (the \
                 JSON of the API starts with {{\"Job\": ...}})"
            ));
        }
        None => {
            return Err(format!("{file}: neither a job nor {{\"Job\": ...}}: \"ID\" is missing"));
        }
    };
    wire::strip_nulls(&mut job);
    serde_json::from_value(job).map_err(|error| format!("{file}: {error}"))
}
