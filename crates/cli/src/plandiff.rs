//! The difference between two versions of a job, as `job plan` and `job history -p` print it.
//!
//! Siblings line up behind the widest mark among them, so that what changes and what is shown only
//! for its surroundings stand below one another.

use sdk::Fields;
use serde_json::Value;

use crate::output::color::{Palette, Tone};
use crate::output::table::indented;

/// Columns each level moves to the right.
const STEP: usize = 2;

/// The text of a job's difference; `verbose` shows the fields of what is new or goes away, too.
pub(crate) fn job(diff: &Value, verbose: bool, palette: Palette) -> String {
    let renderer = Renderer { verbose, palette };
    let kind = Mark::of(diff);
    let mut lines = vec![renderer.marked(kind, 0, &format!("Job: \"{}\"", diff.text("ID")))];
    if kind == Mark::Edited || verbose {
        let width = width([diff.items("Fields"), diff.items("Objects")].into_iter().flatten());
        lines.extend(renderer.fields(diff, width));
        lines.extend(renderer.objects(diff, width));
    }
    let groups = diff.items("TaskGroups");
    let width = width(groups.iter());
    lines.extend(groups.iter().map(|group| renderer.group(group, width)));
    lines.join("\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Added,
    Deleted,
    Edited,
    None,
}

impl Mark {
    fn of(diff: &Value) -> Self {
        match diff.text("Type") {
            "Added" => Self::Added,
            "Deleted" => Self::Deleted,
            "Edited" => Self::Edited,
            _ => Self::None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Added => "+ ",
            Self::Deleted => "- ",
            Self::Edited => "+/- ",
            Self::None => "",
        }
    }

    fn tone(self) -> Option<Tone> {
        match self {
            Self::Added => Some(Tone::Green),
            Self::Deleted => Some(Tone::Red),
            Self::Edited => Some(Tone::Yellow),
            Self::None => None,
        }
    }
}

/// Columns of the widest mark among siblings.
fn width<'v>(siblings: impl Iterator<Item = &'v Value>) -> usize {
    siblings.map(|diff| Mark::of(diff).text().len()).max().unwrap_or(0)
}

struct Renderer {
    verbose: bool,
    palette: Palette,
}

impl Renderer {
    fn marked(&self, mark: Mark, width: usize, text: &str) -> String {
        let painted = match mark.tone() {
            Some(tone) => self.palette.paint(tone, mark.text()),
            None => String::new(),
        };
        let pad = width.saturating_sub(mark.text().len());
        format!("{}{painted}{text}", " ".repeat(pad))
    }

    fn group(&self, group: &Value, outer: usize) -> String {
        let mark = Mark::of(group);
        let name = format!("Task Group: \"{}\"{}", group.text("Name"), self.updates(group));
        let mut lines = Vec::new();
        let shown = mark == Mark::Edited || self.verbose;
        let (fields, objects) = (group.items("Fields"), group.items("Objects"));
        let tasks = group.items("Tasks");
        let inner = match shown {
            true => width([fields, objects, tasks].into_iter().flatten()),
            false => width(tasks.iter()),
        };
        if shown {
            lines.extend(self.fields(group, inner));
            lines.extend(self.objects(group, inner));
        }
        lines.extend(tasks.iter().map(|task| self.task(task, inner)));
        with_children(self.marked(mark, outer, &name), &lines)
    }

    /// What the scheduler would do to the allocations of a group: `(1 create, 2 ignore)`.
    fn updates(&self, group: &Value) -> String {
        let mut updates = group.entries("Updates");
        updates.sort_by_key(|(name, _)| *name);
        let text = |(name, count): (&str, &Value)| {
            let tone = match name {
                "create" => Tone::Green,
                "destroy" => Tone::Red,
                "create/destroy update" | "migrate" | "canary" => Tone::Yellow,
                _ => Tone::Cyan,
            };
            self.palette.paint(tone, &format!("{count} {name}"))
        };
        let updates: Vec<String> = updates.into_iter().map(text).collect();
        if updates.is_empty() { String::new() } else { format!(" ({})", updates.join(", ")) }
    }

    fn task(&self, task: &Value, outer: usize) -> String {
        let mark = Mark::of(task);
        let name = format!("Task: \"{}\"{}", task.text("Name"), self.notes(task));
        let mut lines = Vec::new();
        if mark == Mark::Edited || (self.verbose && mark != Mark::None) {
            let width = width([task.items("Fields"), task.items("Objects")].into_iter().flatten());
            lines.extend(self.fields(task, width));
            lines.extend(self.objects(task, width));
        }
        with_children(self.marked(mark, outer, &name), &lines)
    }

    fn fields(&self, diff: &Value, width: usize) -> Vec<String> {
        let fields = diff.items("Fields");
        let longest =
            fields.iter().map(|field| field.text("Name").chars().count()).max().unwrap_or(0);
        let field = |field: &Value| {
            let (name, mark) = (field.text("Name"), Mark::of(field));
            let gap = " ".repeat(longest - name.chars().count());
            let value = match mark {
                Mark::Added => format!("\"{}\"", field.text("New")),
                Mark::Deleted => format!("\"{}\"", field.text("Old")),
                Mark::Edited => format!("\"{}\" => \"{}\"", field.text("Old"), field.text("New")),
                Mark::None => format!("\"{}\"", field.text("New")),
            };
            self.marked(mark, width, &format!("{name}: {gap}{value}{}", self.notes(field)))
        };
        fields.iter().map(field).collect()
    }

    fn objects(&self, diff: &Value, outer: usize) -> Vec<String> {
        let object = |object: &Value| {
            let both = [object.items("Fields"), object.items("Objects")];
            let inner = width(both.into_iter().flatten());
            let mut lines = self.fields(object, inner);
            lines.extend(self.objects(object, inner));
            let head = format!("{} {{", object.text("Name"));
            let head = self.marked(Mark::of(object), outer, &head);
            format!("{}\n{}}}", with_children(head, &lines), " ".repeat(outer))
        };
        diff.items("Objects").iter().map(object).collect()
    }

    fn notes(&self, diff: &Value) -> String {
        let notes = diff.texts("Annotations");
        if notes.is_empty() {
            return String::new();
        }
        let paint = |note: &&str| {
            let tone = match *note {
                "forces create" => Tone::Green,
                "forces destroy" => Tone::Red,
                "forces create/destroy update" => Tone::Yellow,
                _ => Tone::Cyan,
            };
            self.palette.paint(tone, note)
        };
        format!(" ({})", notes.iter().map(paint).collect::<Vec<_>>().join(", "))
    }
}

fn with_children(head: String, lines: &[String]) -> String {
    if lines.is_empty() {
        return head;
    }
    format!("{head}\n{}", indented(&lines.join("\n"), STEP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(diff: &Value, verbose: bool, expected: Expect) {
        expected.assert_eq(&job(diff, verbose, Palette::default()));
    }

    fn field(kind: &str, name: &str, old: &str, new: &str) -> Value {
        json!({"Type": kind, "Name": name, "Old": old, "New": new})
    }

    #[test]
    fn a_new_job_is_three_lines_unless_verbose() {
        let diff = json!({"Type": "Added", "ID": "web",
            "Fields": [field("Added", "Priority", "", "50")],
            "TaskGroups": [{"Type": "Added", "Name": "g", "Updates": {"create": 1},
                "Fields": [field("Added", "Count", "", "1")],
                "Tasks": [{"Type": "Added", "Name": "t", "Annotations": ["forces create"],
                    "Fields": [field("Added", "Driver", "", "exec")]}]}]});
        check(
            &diff,
            false,
            expect![[r#"
                + Job: "web"
                + Task Group: "g" (1 create)
                  + Task: "t" (forces create)"#]],
        );
        check(
            &diff,
            true,
            expect![[r#"
                + Job: "web"
                + Priority: "50"
                + Task Group: "g" (1 create)
                  + Count: "1"
                  + Task: "t" (forces create)
                    + Driver: "exec""#]],
        );
    }

    #[test]
    fn what_does_not_change_lines_up_with_what_does() {
        let diff = json!({"Type": "Edited", "ID": "web",
            "Fields": [field("Edited", "Meta[v]", "0", "1")],
            "TaskGroups": [{"Type": "Edited", "Name": "g",
                "Updates": {"in-place update": 1, "create": 2},
                "Fields": [{"Type": "Edited", "Name": "Count", "Old": "1", "New": "3",
                            "Annotations": ["forces create"]}],
                "Tasks": [{"Type": "None", "Name": "t"}]}]});
        check(
            &diff,
            false,
            expect![[r#"
                +/- Job: "web"
                +/- Meta[v]: "0" => "1"
                +/- Task Group: "g" (2 create, 1 in-place update)
                  +/- Count: "1" => "3" (forces create)
                      Task: "t""#]],
        );
    }

    #[test]
    fn objects_stand_in_braces_with_their_surroundings() {
        let diff = json!({"Type": "Edited", "ID": "web", "TaskGroups": [
            {"Type": "Edited", "Name": "g", "Updates": {"create/destroy update": 3}, "Tasks": [
                {"Type": "Edited", "Name": "t", "Annotations": ["forces create/destroy update"],
                 "Objects": [{"Type": "Edited", "Name": "Config", "Fields": [
                    field("Edited", "image", "redis:2", "redis:7"),
                    field("None", "port_map[0][db]", "6379", "6379")]}]}]}]});
        check(
            &diff,
            false,
            expect![[r#"
                +/- Job: "web"
                +/- Task Group: "g" (3 create/destroy update)
                  +/- Task: "t" (forces create/destroy update)
                    +/- Config {
                      +/- image:           "redis:2" => "redis:7"
                          port_map[0][db]: "6379"
                        }"#]],
        );
    }

    #[test]
    fn nothing_is_marked_when_nothing_changes() {
        let diff = json!({"Type": "None", "ID": "web", "TaskGroups": [
            {"Type": "None", "Name": "g", "Updates": {"ignore": 1},
             "Tasks": [{"Type": "None", "Name": "t"}]}]});
        check(
            &diff,
            false,
            expect![[r#"
                Job: "web"
                Task Group: "g" (1 ignore)
                  Task: "t""#]],
        );
    }
}
