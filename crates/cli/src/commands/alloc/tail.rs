//! The end of a log or a file, by lines or by bytes.
//!
//! The API counts bytes. For lines more than enough bytes are asked for, and what is too much is
//! cut off: exactly when the whole end is read, after the first pause when it is followed.

use std::time::Duration;

use sdk::Query;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Bytes a line is taken to have at most when lines are asked for.
const LINE_BYTES: u64 = 1024;
/// The most bytes that are asked for to find lines in.
const TAIL_BYTES_MAX: u64 = 64 << 20;
/// With -f: when nothing arrives for so long, the end has been reached.
const PAUSE: Duration = Duration::from_millis(300);

/// How much of the end is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Lines(u64),
    Bytes(u64),
}

/// What part of a text is wanted; all of it without an amount.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    amount: Option<Amount>,
}

/// A text that arrives piece by piece.
pub(crate) trait Pieces {
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure>;
}

impl Tail {
    /// Lines when nothing is said.
    const LINES: u64 = 10;

    /// From the flags: nothing but -tail asks for the end.
    pub(crate) fn new(tail: bool, lines: Option<u64>, bytes: Option<u64>) -> Self {
        let amount = match (tail, lines, bytes) {
            (false, _, _) => None,
            (true, _, Some(bytes)) => Some(Amount::Bytes(bytes)),
            (true, lines, None) => Some(Amount::Lines(lines.unwrap_or(Self::LINES))),
        };
        Self { amount }
    }

    /// Asks for enough bytes.
    pub(crate) fn apply(self, query: Query) -> Query {
        let bytes = match self.amount {
            None => return query.with("origin", "start").with("offset", 0),
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Lines(lines)) => lines.saturating_mul(LINE_BYTES).min(TAIL_BYTES_MAX),
        };
        query.with("origin", "end").with("offset", bytes)
    }

    /// Prints what is wanted; with `follow` goes on until the text ends or the user has enough.
    pub(crate) async fn print(
        self,
        ctx: &mut Context<'_>,
        follow: bool,
        text: &mut impl Pieces,
    ) -> Outcome {
        if let Some(Amount::Lines(lines)) = self.amount {
            let mut end = Vec::new();
            loop {
                let piece = match follow {
                    false => text.piece().await?,
                    true => match tokio::time::timeout(PAUSE, text.piece()).await {
                        Ok(piece) => piece?,
                        Err(_) => break,
                    },
                };
                match piece {
                    Some(bytes) => end.extend(bytes),
                    None => return Ok(ctx.terminal.bytes(last_lines(&end, lines))?),
                }
            }
            ctx.terminal.bytes(last_lines(&end, lines))?;
        }
        loop {
            let piece = tokio::select! {
                piece = text.piece() => piece?,
                _ = tokio::signal::ctrl_c(), if follow => return Ok(()),
            };
            match piece {
                Some(bytes) => ctx.terminal.bytes(&bytes)?,
                None => return Ok(()),
            }
        }
    }
}

/// The last lines of a text; one without a line break at its end counts.
fn last_lines(text: &[u8], count: u64) -> &[u8] {
    let mut left = count;
    if left == 0 {
        return &[];
    }
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    for (place, _) in body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
        left -= 1;
        if left == 0 {
            return &text[place + 1..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_cut_at_line_breaks() {
        let last = |text: &'static str, count| last_lines(text.as_bytes(), count);
        assert_eq!(last("a\nb\nc\n", 1), b"c\n");
        assert_eq!(last("a\nb\nc", 2), b"b\nc");
        assert_eq!(last("a\nb\n", 9), b"a\nb\n");
        assert_eq!((last("a\n", 0), last("", 3)), (&b""[..], &b""[..]));
    }

    #[test]
    fn lines_ask_for_more_bytes_than_they_need() {
        let tail = |amount| Tail { amount }.apply(Query::new()).encode();
        assert_eq!(tail(None), "origin=start&offset=0");
        assert_eq!(tail(Some(Amount::Bytes(5))), "origin=end&offset=5");
        assert_eq!(tail(Some(Amount::Lines(2))), "origin=end&offset=2048");
        let most = Tail { amount: Some(Amount::Lines(u64::MAX)) }.apply(Query::new()).encode();
        assert_eq!(most, format!("origin=end&offset={TAIL_BYTES_MAX}"));
    }
}
