//! Problems as plain values: what is wrong, and where. Rendering belongs to the command line.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used; the writer probably meant something else.
    Warning,
}

/// A place in a text, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column in characters.
    pub column: usize,
}

/// One problem with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The kind of problem in a few words.
    pub summary: String,
    /// What is wrong here, in sentences.
    pub detail: String,
    /// The file as named by the caller.
    pub file: Arc<str>,
    /// The place as byte offsets.
    pub span: Range<usize>,
    /// The place where it starts.
    pub start: Position,
    /// The place just behind its end.
    pub end: Position,
}

/// All problems of a file, in the order found.
pub type Diagnostics = Vec<Diagnostic>;

impl Diagnostic {
    /// The line, counted from one.
    pub fn line(&self) -> usize {
        self.start.line
    }

    /// The column, counted from one in characters.
    pub fn column(&self) -> usize {
        self.start.column
    }

    /// An error that only follows from one reported already, such as the use of a local value that
    /// failed; it ends an evaluation and is not shown.
    pub(crate) fn is_consequence(&self) -> bool {
        self.summary == CONSEQUENCE
    }

    /// True unless it is a warning.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// One line in the form HCL tools use: `file:line,column-column: Summary; Detail`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{},{}-", self.file, self.start.line, self.start.column)?;
        if self.end.line != self.start.line {
            write!(f, "{},", self.end.line)?;
        }
        write!(f, "{}: {}", self.end.column, self.summary)?;
        if !self.detail.is_empty() {
            write!(f, "; {}", self.detail)?;
        }
        Ok(())
    }
}

/// The summary that marks a consequence.
pub(crate) const CONSEQUENCE: &str = "Consequence of another problem";

/// Bytes between two counts of characters.
const STRIDE: usize = 1024;

/// Bytes that begin a character.
fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// A text with its name and an index of its lines.
#[derive(Debug)]
pub struct Source {
    file: Arc<str>,
    text: String,
    line_starts: Vec<usize>,
    /// How many characters precede each [`STRIDE`]: a text of one long line may have many problems.
    characters: Vec<usize>,
    origin: Option<Origin>,
}

/// The text that a derived one was made from, and how places in it are found.
#[derive(Debug)]
struct Origin {
    written: Arc<Source>,
    pieces: Vec<Piece>,
}

/// A piece of a derived text and the place it stands for, in the order of the derived text.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) derived: Range<usize>,
    pub(crate) written: Range<usize>,
}

impl Origin {
    /// The place in the written text of a span of the derived one: whole pieces, or a part of one
    /// that was taken over as it is.
    fn place(&self, span: &Range<usize>) -> Range<usize> {
        if *span == (0..0) {
            return 0..0;
        }
        let first = self.pieces.partition_point(|piece| piece.derived.end <= span.start);
        let Some(first) = self.pieces.get(first).or(self.pieces.last()) else { return 0..0 };
        let last = self.pieces.partition_point(|piece| piece.derived.start < span.end);
        let last = self.pieces.get(last.saturating_sub(1)).unwrap_or(first);
        let offset = |piece: &Piece, at: usize| {
            (piece.derived.len() == piece.written.len() && piece.derived.contains(&at))
                .then(|| piece.written.start + (at - piece.derived.start))
        };
        let start = offset(first, span.start).unwrap_or(first.written.start);
        let end = offset(last, span.end).unwrap_or(last.written.end);
        start..end.max(start)
    }
}

impl Source {
    /// Takes a text under the name that its problems shall carry.
    pub fn new(file: &str, text: &str) -> Arc<Source> {
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut characters = vec![0];
        for (at, bytes) in text.as_bytes().chunks(STRIDE).enumerate() {
            characters.push(characters[at] + count_characters(bytes));
        }
        let text = text.to_owned();
        Arc::new(Source { file: file.into(), text, line_starts, characters, origin: None })
    }

    /// A text made from another; its problems show the place in the one that was written.
    pub(crate) fn derived(written: &Arc<Source>, text: String, pieces: Vec<Piece>) -> Arc<Source> {
        let origin = Some(Origin { written: Arc::clone(written), pieces });
        let (file, line_starts, characters) = (Arc::clone(&written.file), Vec::new(), Vec::new());
        Arc::new(Source { file, text, line_starts, characters, origin })
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A part of the text; empty when the span does not lie in it.
    pub fn slice(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or("")
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        if let Some(origin) = &self.origin {
            return origin.written.position(origin.place(&(offset..offset + 1)).start);
        }
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line - 1];
        Position {
            line,
            column: self.characters_before(offset) - self.characters_before(start) + 1,
        }
    }

    fn characters_before(&self, offset: usize) -> usize {
        let stride = offset / STRIDE;
        let known = self.characters.get(stride).copied().unwrap_or(0);
        known + count_characters(&self.text.as_bytes()[stride * STRIDE..offset])
    }

    /// An error at a place of this text.
    pub fn error(
        &self,
        span: Range<usize>,
        summary: impl Into<String>,
        detail: impl Into<String>,
    ) -> Diagnostic {
        if let Some(origin) = &self.origin {
            return origin.written.error(origin.place(&span), summary, detail);
        }
        Diagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            file: Arc::clone(&self.file),
            start: self.position(span.start),
            end: self.position(span.end),
            span,
        }
    }

    /// A warning at a place of this text.
    pub fn warning(
        &self,
        span: Range<usize>,
        summary: impl Into<String>,
        detail: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..self.error(span, summary, detail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_from_one() {
        let source = Source::new("a.hcl", "é = 1\nbü = 2\n");
        let problem = source.error(10..11, "S", "D.");
        assert_eq!(problem.to_string(), "a.hcl:2,3-4: S; D.");
        let long = "ä".repeat(5000) + "\n" + &"ö".repeat(3000) + "x";
        let source_of_long_lines = Source::new("l", &long);
        for at in [0, 1024, 2046, 9998, 10_000, 10_001, 10_003, 15_999, 16_001] {
            let before = &long[..at];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
            assert_eq!(source_of_long_lines.position(at), Position { line, column }, "{at}");
        }
        assert_eq!(source.error(0..17, "S", "").to_string(), "a.hcl:1,1-3,1: S");
    }
}
