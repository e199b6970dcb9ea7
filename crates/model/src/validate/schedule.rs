//! Checks of periodic jobs: the form of cron expressions and time zones.

use super::Findings;
use crate::job::PeriodicConfig;

/// Names that stand for a whole expression.
const NAMES: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
/// Areas of the IANA time zone database.
const ZONE_AREAS: [&str; 11] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Etc",
    "Europe",
    "Indian",
    "Pacific",
];

pub(super) fn periodic(periodic: &PeriodicConfig, found: &mut Findings) {
    if periodic.enabled == Some(false) {
        return;
    }
    let one = periodic.spec.as_deref().filter(|spec| !spec.is_empty());
    let specs: Vec<&str> =
        one.into_iter().chain(periodic.specs.iter().map(String::as_str)).collect();
    found.require(!specs.is_empty(), || "Must specify a cron spec".to_owned());
    found.require(one.is_none() || periodic.specs.is_empty(), || {
        "Only one of cron and crons may be used".to_owned()
    });
    match periodic.spec_type.as_deref() {
        None | Some("" | "cron") => {
            for spec in specs {
                if let Err(reason) = cron(spec) {
                    found.error(format!("Invalid cron spec {spec:?}: {reason}"));
                }
            }
        }
        Some("_internal_test") => {}
        Some(other) => found.error(format!("Unknown periodic specification type {other:?}")),
    }
    let zone = periodic.time_zone.as_deref().unwrap_or("UTC");
    found.require(is_zone(zone), || format!("Invalid time zone {zone:?}"));
}

/// Whether a name has the form of one in the time zone database.
fn is_zone(name: &str) -> bool {
    let form = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-+".contains(c))
    };
    match name.split_once('/') {
        Some((area, rest)) => ZONE_AREAS.contains(&area) && rest.split('/').all(form),
        None => name.is_empty() || form(name),
    }
}

/// Checks the form of a cron expression of five to seven fields.
fn cron(spec: &str) -> Result<(), String> {
    let spec = spec.trim();
    if spec.starts_with('@') {
        return if NAMES.contains(&spec) { Ok(()) } else { Err("unknown name".to_owned()) };
    }
    let fields: Vec<&str> = spec.split_whitespace().collect();
    if fields.len() < 5 {
        return Err("missing field(s)".to_owned());
    }
    if fields.len() > 7 {
        return Err("too many fields".to_owned());
    }
    // Six fields end with the year, seven start with seconds besides.
    let limits: &[(&str, u32, u32)] = &[
        ("second", 0, 59),
        ("minute", 0, 59),
        ("hour", 0, 23),
        ("day of month", 1, 31),
        ("month", 1, 12),
        ("day of week", 0, 7),
        ("year", 1970, 2099),
    ];
    let skip = if fields.len() == 7 { 0 } else { 1 };
    for (field, (name, least, most)) in fields.iter().zip(&limits[skip..]) {
        let well_formed = field.split(',').all(|part| is_cron_part(part, *least, *most));
        if !well_formed {
            return Err(format!("syntax error in {name} field: {field:?}"));
        }
    }
    Ok(())
}

fn is_cron_part(part: &str, least: u32, most: u32) -> bool {
    let (range, step) = part.split_once('/').unwrap_or((part, "1"));
    if step.parse::<u32>().map_or(true, |step| step == 0) {
        return false;
    }
    let value = |text: &str| match text.parse::<u32>() {
        Ok(number) => (least..=most).contains(&number),
        // Names of months and days, and the marks L, W and #.
        Err(_) => {
            !text.is_empty()
                && text.starts_with(|c: char| c.is_ascii_alphanumeric())
                && (most == 12 || most == 7 || most == 31)
                && text.len() <= 9
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
        }
    };
    matches!(range, "*" | "?") || range.split('-').all(value)
}
