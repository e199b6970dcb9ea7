//! The events of a task, word for word as users and tools of the original know them.

use model::alloc::TaskEvent;
use model::wire::Nanos;

use drivers::ExitResult;

fn event(
    kind: &str,
    now: Nanos,
    display: impl Into<String>,
    details: &[(&str, &str)],
) -> TaskEvent {
    TaskEvent {
        kind: kind.to_owned(),
        time: now,
        message: String::new(),
        display_message: display.into(),
        details: details.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
    }
}

pub(crate) fn received(now: Nanos) -> TaskEvent {
    event("Received", now, "Task received by client", &[])
}

pub(crate) fn building_directory(now: Nanos) -> TaskEvent {
    let text = "Building Task Directory";
    let mut setup = event("Task Setup", now, text, &[("message", text)]);
    setup.message = text.to_owned();
    setup
}

pub(crate) fn failed_validation(now: Nanos, problem: &str) -> TaskEvent {
    event("Failed Validation", now, problem, &[("validation_error", problem)])
}

pub(crate) fn setup_failure(now: Nanos, problem: &str) -> TaskEvent {
    event("Setup Failure", now, problem, &[("setup_error", problem)])
}

pub(crate) fn driver_failure(now: Nanos, problem: &str) -> TaskEvent {
    event("Driver Failure", now, problem, &[("driver_error", problem)])
}

pub(crate) fn started(now: Nanos) -> TaskEvent {
    event("Started", now, "Task started by client", &[])
}

pub(crate) fn terminated(now: Nanos, exit: &ExitResult) -> TaskEvent {
    let code = exit.exit_code.to_string();
    let signal = exit.signal.to_string();
    let oom = exit.oom_killed.to_string();
    let mut display = format!("Exit Code: {code}");
    if exit.signal != 0 {
        display.push_str(&format!(", Signal: {signal}"));
    }
    let lost = exit.lost.then(|| "supervisor lost, exit status unknown".to_owned());
    let message = match (&exit.err, lost) {
        (Some(error), Some(lost)) if *error != lost => Some(format!("{lost}: {error}")),
        (error, lost) => error.clone().or(lost),
    };
    let message = message.or_else(|| exit.oom_killed.then(|| "OOM Killed".to_owned()));
    let mut details = vec![("exit_code", code.as_str()), ("signal", &signal), ("oom_killed", &oom)];
    if let Some(message) = &message {
        display.push_str(&format!(", Exit Message: \"{message}\""));
        details.push(("exit_message", message));
    }
    let mut event = event("Terminated", now, display, &details);
    event.message = message.unwrap_or_default();
    event
}

pub(crate) fn restarting(now: Nanos, delay: Nanos, reason: &str) -> TaskEvent {
    let display = format!("Task restarting in {}", go_duration(delay));
    let delay = delay.to_string();
    event("Restarting", now, display, &[("start_delay", &delay), ("restart_reason", reason)])
}

pub(crate) fn not_restarting(now: Nanos, reason: &str) -> TaskEvent {
    let details = [("restart_reason", reason), ("fails_task", "true")];
    event("Not Restarting", now, reason, &details)
}

pub(crate) fn restart_signaled(now: Nanos) -> TaskEvent {
    let reason = "User requested restart";
    event("Restart Signaled", now, reason, &[("restart_reason", reason)])
}

pub(crate) fn signaling(now: Nanos, signal: &str) -> TaskEvent {
    event("Signaling", now, "Task being sent a signal", &[("signal", signal)])
}

pub(crate) fn killing(now: Nanos, timeout: Nanos) -> TaskEvent {
    let text = go_duration(timeout);
    let display = format!("Sent interrupt. Waiting {text} before force killing");
    let nanos = timeout.to_string();
    event("Killing", now, display, &[("kill_timeout", &text), ("kill_timeout_ns", &nanos)])
}

pub(crate) fn killed(now: Nanos) -> TaskEvent {
    event("Killed", now, "Task successfully killed", &[])
}

pub(crate) fn sibling_failed(now: Nanos, sibling: &str) -> TaskEvent {
    let display = format!("Task's sibling \"{sibling}\" failed");
    event("Sibling Task Failed", now, display, &[("failed_sibling", sibling)])
}

pub(crate) fn leader_dead(now: Nanos) -> TaskEvent {
    event("Leader Task Dead", now, "Leader Task in Group dead", &[])
}

pub(crate) fn main_dead(now: Nanos) -> TaskEvent {
    event("Main Tasks Dead", now, "Main tasks in the group died", &[])
}

pub(crate) fn failed_restoring(now: Nanos, problem: &str) -> TaskEvent {
    let display = format!("failed to restore task: {problem}");
    let mut event = event("Failed Restoring Task", now, display, &[("message", problem)]);
    event.message = problem.to_owned();
    event
}

pub(crate) fn unhealthy(now: Nanos, reason: &str) -> TaskEvent {
    let mut event = event("Alloc Unhealthy", now, reason, &[("message", reason)]);
    event.message = reason.to_owned();
    event
}

/// A duration as Go writes it: `1m30s`, `500ms`, `16.25s`.
pub(crate) fn go_duration(nanos: Nanos) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let fraction = |value: u64, unit: u64| {
        let digits = unit.ilog10() as usize;
        let text = format!("{}.{:0digits$}", value / unit, value % unit);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if nanos < 1_000 {
        return format!("{sign}{nanos}ns");
    }
    if nanos < 1_000_000 {
        return format!("{sign}{}µs", fraction(nanos, 1_000));
    }
    if nanos < 1_000_000_000 {
        return format!("{sign}{}ms", fraction(nanos, 1_000_000));
    }
    let minutes = nanos / 60_000_000_000;
    let seconds = fraction(nanos % 60_000_000_000, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_the_original_does() {
        let texts: Vec<String> = [0, 999, 1_500, 500_000_000, 16_250_000_000, 90_000_000_000]
            .into_iter()
            .chain([300_000_000_000, 86_400_000_000_000])
            .map(go_duration)
            .collect();
        assert_eq!(texts, ["0s", "999ns", "1.5µs", "500ms", "16.25s", "1m30s", "5m0s", "24h0m0s"]);
    }

    #[test]
    fn an_end_by_signal_is_named() {
        let exit = ExitResult { exit_code: 137, signal: 9, ..ExitResult::default() };
        assert_eq!(terminated(1, &exit).display_message, "Exit Code: 137, Signal: 9");
        let lost = ExitResult { exit_code: 1, lost: true, ..ExitResult::default() };
        let text = terminated(1, &lost).display_message;
        assert_eq!(text, "Exit Code: 1, Exit Message: \"supervisor lost, exit status unknown\"");
        // A driver that says the same does not make it longer.
        let said = Some("supervisor lost, exit status unknown".to_owned());
        let lost = ExitResult { err: said, ..lost };
        assert_eq!(terminated(1, &lost).display_message, text);
    }
}
