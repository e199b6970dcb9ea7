//! The whole table, and the sequences users see.

use expect_test::{expect, expect_file};

use super::*;
use crate::task::restart::Mode;

const SECOND: Nanos = 1_000_000_000;

fn machine(attempts: u64) -> Machine {
    let policy = Policy {
        attempts,
        interval: 300 * SECOND,
        delay: SECOND,
        mode: Mode::Fail,
        runs_to_completion: true,
    };
    Machine::new(policy, 5 * SECOND)
}

fn at(second: Nanos) -> Moment {
    Moment { now: second * SECOND, chance: 0.0 }
}

fn exit(exit_code: i32) -> Event {
    Event::Exited(ExitResult { exit_code, ..ExitResult::default() })
}

/// Phases after each event, and the events of the task at the end.
fn life(attempts: u64, happenings: &[Event]) -> String {
    let mut machine = machine(attempts);
    let mut text = String::new();
    for (second, event) in happenings.iter().enumerate() {
        let actions = machine.step(event.clone(), at(second as Nanos));
        text.push_str(&format!("{:?} {actions:?}\n", machine.phase));
    }
    let state = &machine.state;
    text.push_str(&format!(
        "{:?} failed={} restarts={}\n",
        state.state, state.failed, state.restarts
    ));
    for event in &state.events {
        text.push_str(&format!("- {}: {}\n", event.kind, event.display_message));
    }
    text
}

fn phases() -> Vec<Phase> {
    let mut phases = vec![Phase::Waiting, Phase::Preparing, Phase::Starting, Phase::Running];
    phases.extend([Phase::Stopping(Why::Kill), Phase::Stopping(Why::Restart)]);
    phases.push(Phase::Exited(Next::Finish));
    phases.push(Phase::Exited(Next::Backoff { until: 2 * SECOND }));
    phases.extend([Phase::Backoff { until: 2 * SECOND }, Phase::Finished]);
    phases
}

fn all_events() -> Vec<(&'static str, Event)> {
    vec![
        ("Gate", Event::Gate),
        ("Prepared", Event::Prepared),
        ("Unprepared", Event::Unprepared { event: events::setup_failure(1, "no") }),
        ("Started", Event::Started),
        ("NotStarted(retry)", Event::NotStarted { recoverable: true, message: "no".into() }),
        ("NotStarted(final)", Event::NotStarted { recoverable: false, message: "no".into() }),
        ("Exited(0)", exit(0)),
        ("Exited(1)", exit(1)),
        ("KillAsked", Event::KillAsked { cause: Some(events::leader_dead(1)) }),
        ("RestartAsked", Event::RestartAsked),
        ("TimerFired", Event::TimerFired),
        ("CleanedUp", Event::CleanedUp),
        ("Restored", Event::Restored),
    ]
}

#[test]
fn every_phase_answers_every_event() {
    let mut table = String::from(
        "Each phase and event of a task with one restart left. '.' changes nothing.\n",
    );
    for phase in phases() {
        table.push_str(&format!("\n{phase:?}\n"));
        for (name, event) in all_events() {
            let mut machine = machine(1);
            machine.phase = phase;
            let actions = machine.step(event, at(3));
            let told: Vec<_> =
                machine.state.events.iter().map(|event| event.kind.as_str()).collect();
            if machine.phase == phase && actions.is_empty() && told.is_empty() {
                table.push_str(&format!("  {name:18} .\n"));
            } else {
                table.push_str(&format!("  {name:18} {:?} {actions:?} {told:?}\n", machine.phase));
            }
        }
    }
    expect_file!["table.txt"].assert_eq(&table);
}

#[test]
fn a_failing_task_is_restarted_and_then_given_up() {
    let round = [Event::Prepared, Event::Started, exit(7), Event::CleanedUp];
    let mut happenings = vec![Event::Gate];
    happenings.extend(round.clone());
    happenings.push(Event::TimerFired);
    happenings.extend(round);
    expect![[r#"
        Preparing [Prepare]
        Starting [StartDriver]
        Running [Watch]
        Exited(Backoff { until: 4000000000 }) [Cleanup]
        Backoff { until: 4000000000 } [WaitUntil(4000000000)]
        Preparing [Prepare]
        Starting [StartDriver]
        Running [Watch]
        Exited(Finish) [Cleanup]
        Finished []
        Dead failed=true restarts=1
        - Task Setup: Building Task Directory
        - Started: Task started by client
        - Terminated: Exit Code: 7
        - Restarting: Task restarting in 1s
        - Started: Task started by client
        - Terminated: Exit Code: 7
        - Not Restarting: Exceeded allowed attempts 1 in interval 5m0s and mode is "fail"
    "#]]
    .assert_eq(&life(1, &happenings));
}

#[test]
fn a_killed_task_is_dead_once_everything_is_given_back() {
    let kill = Event::KillAsked { cause: None };
    let happenings = [
        Event::Gate,
        Event::Prepared,
        Event::Started,
        kill.clone(),
        kill,
        exit(0),
        Event::CleanedUp,
    ];
    expect![[r#"
        Preparing [Prepare]
        Starting [StartDriver]
        Running [Watch]
        Stopping(Kill) [Kill]
        Stopping(Kill) []
        Exited(Finish) [Cleanup]
        Finished []
        Dead failed=false restarts=0
        - Task Setup: Building Task Directory
        - Started: Task started by client
        - Killing: Sent interrupt. Waiting 5s before force killing
        - Terminated: Exit Code: 0
        - Killed: Task successfully killed
    "#]]
    .assert_eq(&life(0, &happenings));
}

#[test]
fn a_restart_on_request_uses_no_attempt_and_a_kill_overrides_it() {
    let running = [Event::Gate, Event::Prepared, Event::Started, Event::RestartAsked];
    let mut restarted = running.to_vec();
    restarted.extend([exit(130), Event::CleanedUp, Event::TimerFired]);
    let text = life(0, &restarted);
    assert!(text.contains("Preparing [Prepare]\nPending failed=false restarts=1"), "{text}");
    let mut killed = running.to_vec();
    killed.extend([Event::KillAsked { cause: None }, exit(130), Event::CleanedUp]);
    let text = life(0, &killed);
    assert!(text.contains("Finished []\nDead failed=false restarts=0"), "{text}");
}

#[test]
fn only_the_newest_events_are_kept() {
    let mut machine = machine(0);
    (0..30).for_each(|time| machine.note(events::received(time)));
    assert_eq!(machine.state.events.len(), TASK_EVENTS_MAX);
    assert_eq!(machine.state.events[0].time, 20);
}
