//! The keys of a pretended task.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{Key, Kind, duration, key, number, text, truth};

pub(super) const KEYS: [Key; 19] = [
    key("start_error", Kind::Text),
    key("start_error_recoverable", Kind::Truth),
    key("start_block_for", Kind::Duration),
    key("run_for", Kind::Duration),
    key("kill_after", Kind::Duration),
    key("exit_code", Kind::Number),
    key("exit_signal", Kind::Number),
    key("exit_err_msg", Kind::Text),
    key("signal_error", Kind::Text),
    key("stdout_string", Kind::Text),
    key("stdout_repeat", Kind::Number),
    key("stdout_repeat_duration", Kind::Duration),
    key("stderr_string", Kind::Text),
    key("stderr_repeat", Kind::Number),
    key("stderr_repeat_duration", Kind::Duration),
    key("driver_ip", Kind::Text),
    key("driver_advertise", Kind::Truth),
    key("driver_port_map", Kind::Text),
    key(
        "plugin_exit_after",
        Kind::Refused("is not supported: drivers are part of the agent, not processes that end"),
    ),
];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) start_error: Option<String>,
    pub(super) start_error_recoverable: bool,
    pub(super) start_block_for: Duration,
    pub(super) run_for: Duration,
    /// How long the task takes to end once it is stopped.
    pub(super) kill_after: Duration,
    pub(super) exit_code: i32,
    pub(super) exit_signal: i32,
    pub(super) exit_err_msg: Option<String>,
    pub(super) signal_error: Option<String>,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
    pub(super) driver_ip: Option<String>,
    pub(super) driver_advertise: bool,
    pub(super) driver_port_map: BTreeMap<String, u16>,
}

/// A text written once and then again so many times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) repeat: u64,
    pub(super) every: Duration,
}

impl Settings {
    /// Of a block that was checked.
    pub(super) fn read(config: &Map<String, Value>) -> Self {
        let filled = |name| text(config, name).filter(|text| !text.is_empty());
        let time = |name| duration(config, name).unwrap_or_default();
        let count = |name| number(config, name).unwrap_or_default();
        Self {
            start_error: filled("start_error"),
            start_error_recoverable: truth(config, "start_error_recoverable").unwrap_or(false),
            start_block_for: time("start_block_for"),
            run_for: time("run_for"),
            kill_after: time("kill_after"),
            exit_code: count("exit_code") as i32,
            exit_signal: count("exit_signal") as i32,
            exit_err_msg: filled("exit_err_msg"),
            signal_error: filled("signal_error"),
            stdout: Output {
                text: filled("stdout_string").unwrap_or_default(),
                repeat: count("stdout_repeat").max(0) as u64,
                every: time("stdout_repeat_duration"),
            },
            stderr: Output {
                text: filled("stderr_string").unwrap_or_default(),
                repeat: count("stderr_repeat").max(0) as u64,
                every: time("stderr_repeat_duration"),
            },
            driver_ip: filled("driver_ip"),
            driver_advertise: truth(config, "driver_advertise").unwrap_or(false),
            driver_port_map: port_map(config).unwrap_or_default(),
        }
    }
}

/// One label and port, or several with spaces or commas between: `http:80`.
pub(super) fn port_map(config: &Map<String, Value>) -> Result<BTreeMap<String, u16>, String> {
    let text = text(config, "driver_port_map").unwrap_or_default();
    let parts = text.split([' ', ',']).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let parsed = part
                .split_once(':')
                .and_then(|(label, port)| Some((label.to_owned(), port.parse().ok()?)));
            parsed
                .ok_or_else(|| format!("driver_port_map: \"{part}\" is not of the form label:port"))
        })
        .collect()
}
