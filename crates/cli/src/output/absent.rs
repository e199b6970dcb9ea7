//! Members that the API leaves out when they say nothing, put back for scripts: a template that
//! names one, or a program that reads it, should meet an empty value and not a missing one.

use serde_json::{Map, Value};

/// What stands for a member that is not there.
#[derive(Clone, Copy)]
enum Absent {
    Text,
    Number,
    No,
    Null,
}

type Members = &'static [(&'static str, Absent)];

use Absent::{No, Null, Number, Text};

/// The members of an allocation.
pub(crate) const ALLOCATION: Shape = Shape(&[
    ("ClientDescription", Text),
    ("DeploymentID", Text),
    ("DeploymentStatus", Null),
    ("DesiredDescription", Text),
    ("FollowupEvalID", Text),
    ("NextAllocation", Text),
    ("PreemptedAllocations", Null),
    ("PreemptedByAllocation", Text),
    ("PreviousAllocation", Text),
    ("RescheduleTracker", Null),
    ("Services", Null),
    ("TaskStates", Null),
]);

/// The members of an evaluation.
pub(crate) const EVALUATION: Shape = Shape(&[
    ("AnnotatePlan", No),
    ("BlockedEval", Text),
    ("ClassEligibility", Null),
    ("DeploymentID", Text),
    ("EscapedComputedClass", No),
    ("FailedTGAllocs", Null),
    ("JobModifyIndex", Number),
    ("NextEval", Text),
    ("NodeID", Text),
    ("NodeModifyIndex", Number),
    ("PreviousEval", Text),
    ("QueuedAllocations", Null),
    ("QuotaLimitReached", Text),
    ("SnapshotIndex", Number),
    ("StatusDescription", Text),
    ("Wait", Number),
    ("WaitUntil", Null),
]);

/// The members that a kind of thing has.
#[derive(Clone, Copy)]
pub(crate) struct Shape(Members);

impl Shape {
    /// The value, or each one of a list, with all its members, in the order of their names.
    pub(crate) fn complete(self, value: Value) -> Value {
        match value {
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.complete(item)).collect())
            }
            Value::Object(mut members) => {
                for (name, absent) in self.0 {
                    members.entry(*name).or_insert_with(|| match absent {
                        Text => Value::String(String::new()),
                        Number => Value::from(0),
                        No => Value::Bool(false),
                        Null => Value::Null,
                    });
                }
                let mut sorted: Vec<(String, Value)> = members.into_iter().collect();
                sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
                Value::Object(Map::from_iter(sorted))
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_and_what_is_not_is_empty() {
        let eval = serde_json::json!([{"NextEval": "x", "ID": "e"}]);
        let complete = EVALUATION.complete(eval);
        assert_eq!(complete[0]["NextEval"], "x");
        assert_eq!(complete[0]["BlockedEval"], "");
        assert_eq!(complete[0]["WaitUntil"], Value::Null);
        assert!(complete[0].as_object().unwrap().contains_key("WaitUntil"));
    }
}
