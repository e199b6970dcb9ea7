//! Job ids may contain slashes: `/v1/job/a/b/allocations` becomes `/v1/job/a%2Fb/allocations`.
//!
//! What follows the id is known by name; everything before it is the id. The escaped form passes
//! unchanged, so both ways of writing an id reach the same row of the table.

/// What may follow a job's id.
const JOB_SUFFIXES: &[&str] = &[
    "/periodic/force",
    "/dispatch/payload",
    "/allocations",
    "/evaluations",
    "/deployments",
    "/deployment",
    "/submission",
    "/versions",
    "/summary",
    "/services",
    "/dispatch",
    "/evaluate",
    "/actions",
    "/action",
    "/revert",
    "/stable",
    "/scale",
    "/plan",
    "/why",
];

/// The path with the slashes of a job id escaped, if it has any.
pub(crate) fn normalise(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/v1/job/")?;
    let suffix = JOB_SUFFIXES.iter().find(|s| rest.len() > s.len() && rest.ends_with(**s)).copied();
    let id = &rest[..rest.len() - suffix.map_or(0, str::len)];
    let id = if suffix.is_none() { id.strip_suffix('/').unwrap_or(id) } else { id };
    if id.is_empty() {
        return None;
    }
    let escaped = id.replace('/', "%2F");
    let normal = format!("/v1/job/{escaped}{}", suffix.unwrap_or_default());
    (normal != path).then_some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_of_ids_are_escaped_and_suffixes_are_kept() {
        let table = [
            "/v1/job/web",
            "/v1/job/web/plan",
            "/v1/job/a/b",
            "/v1/job/a/b/allocations",
            "/v1/job/a%2Fb/allocations",
            "/v1/job/cron/periodic-1700000000/summary",
            "/v1/job/cron/periodic/force",
            "/v1/job/plan",
            "/v1/jobs",
        ];
        let text: String = table
            .iter()
            .map(|path| {
                format!("{path} -> {}\n", normalise(path).unwrap_or_else(|| "=".to_owned()))
            })
            .collect();
        assert_eq!(
            text,
            "/v1/job/web -> =\n\
             /v1/job/web/plan -> =\n\
             /v1/job/a/b -> /v1/job/a%2Fb\n\
             /v1/job/a/b/allocations -> /v1/job/a%2Fb/allocations\n\
             /v1/job/a%2Fb/allocations -> =\n\
             /v1/job/cron/periodic-1700000000/summary -> /v1/job/cron%2Fperiodic-1700000000/summary\n\
             /v1/job/cron/periodic/force -> =\n\
             /v1/job/plan -> =\n\
             /v1/jobs -> =\n"
        );
    }
}
