//! Problems of job files, each with the lines it is about.

use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use specs::job::Diagnostic;

/// The problems as text; `texts` holds the files by the names the problems use.
pub(crate) fn render(
    problems: &[Diagnostic],
    texts: &BTreeMap<String, String>,
    colour: bool,
) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let shown = problems.iter().map(|problem| one(problem, texts, &renderer));
    shown.collect::<Vec<_>>().join("\n\n")
}

fn one(problem: &Diagnostic, texts: &BTreeMap<String, String>, renderer: &Renderer) -> String {
    let level = if problem.is_error() { Level::ERROR } else { Level::WARNING };
    let title = match problem.detail.as_str() {
        "" => problem.summary.clone(),
        detail => format!("{}; {detail}", problem.summary),
    };
    let title = level.primary_title(title);
    // A problem about the whole, such as a value that was not given, has no place to show.
    let Some(text) = texts.get(&*problem.file).filter(|_| !problem.span.is_empty()) else {
        let text = renderer.render(&[Group::with_title(title)]).to_string();
        return format!("{text}\n  --> {}", problem.file);
    };
    let end = problem.span.end.min(text.len());
    let span = problem.span.start.min(end)..end;
    let snippet = Snippet::source(text.as_str())
        .path(&*problem.file)
        .annotation(AnnotationKind::Primary.span(span));
    renderer.render(&[title.element(snippet)]).to_string()
}
