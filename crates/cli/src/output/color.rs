//! Colours, and none where they do not belong.

/// How text is set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Titles.
    Bold,
    /// What is added or well.
    Green,
    /// What changes or needs attention.
    Yellow,
    /// What goes away or failed.
    Red,
    /// What would be replaced by the server.
    Cyan,
}

/// Paints text, or leaves it plain.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Palette {
    pub(crate) colour: bool,
}

impl Palette {
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bold => 1,
            Tone::Green => 32,
            Tone::Yellow => 33,
            Tone::Red => 31,
            Tone::Cyan => 36,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Tone::Bold, text)
    }
}
