//! Where a command writes and reads: standard streams, or buffers in tests.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::{Arc, Mutex};

use crate::output::color::Palette;

/// Streams of one command.
pub struct Terminal {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    input: Input,
    /// A person types the input.
    pub(crate) input_is_terminal: bool,
    /// The output goes to a person.
    pub(crate) is_terminal: bool,
    /// The errors go to a person.
    pub(crate) err_is_terminal: bool,
    /// Whether to colour the errors; plain until the flags are read.
    pub(crate) err_colour: bool,
    /// Colours of the output; plain until the flags are read.
    pub(crate) palette: Palette,
}

impl Terminal {
    /// The streams of this process.
    pub fn of_process() -> Self {
        Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            input: Input::Standard,
            input_is_terminal: io::stdin().is_terminal(),
            is_terminal: io::stdout().is_terminal(),
            err_is_terminal: io::stderr().is_terminal(),
            err_colour: false,
            palette: Palette::default(),
        }
    }

    /// Buffers instead of streams, and `input` as standard input.
    pub fn captured(input: &str) -> (Self, Captured) {
        let captured = Captured::default();
        let terminal = Self {
            out: Box::new(captured.out.clone()),
            err: Box::new(captured.err.clone()),
            input: Input::Text(input.to_owned()),
            input_is_terminal: false,
            is_terminal: false,
            err_is_terminal: false,
            err_colour: false,
            palette: Palette::default(),
        };
        (terminal, captured)
    }

    /// Writes a line. That nobody reads any more is no reason to fail half way through a change,
    /// so the error is dropped; streams, which would go on for ever, use [`Self::bytes`].
    pub(crate) fn say(&mut self, line: impl Display) {
        drop(writeln!(self.out, "{line}").and_then(|()| self.out.flush()));
    }

    /// Writes a line to the error stream.
    pub(crate) fn complain(&mut self, line: impl Display) {
        drop(writeln!(self.err, "{line}").and_then(|()| self.err.flush()));
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    /// Writes bytes as they are to the error stream.
    pub(crate) fn error_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.err.write_all(bytes)?;
        self.err.flush()
    }

    /// All of standard input.
    pub(crate) async fn read_input(&mut self) -> io::Result<Vec<u8>> {
        match &mut self.input {
            Input::Text(text) => Ok(std::mem::take(text).into_bytes()),
            Input::Standard => {
                aside(|| {
                    let mut all = Vec::new();
                    io::stdin().lock().read_to_end(&mut all).map(|_| all)
                })
                .await
            }
        }
    }

    /// Asks for a yes; anything else is a no.
    pub(crate) async fn confirm(&mut self, question: &str) -> io::Result<bool> {
        self.bytes(format!("{question} [y/N] ").as_bytes())?;
        let line = match &mut self.input {
            Input::Text(text) => std::mem::take(text),
            Input::Standard => {
                aside(|| {
                    let mut line = String::new();
                    io::stdin().lock().read_line(&mut line).map(|_| line)
                })
                .await?
            }
        };
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    }
}

/// Where input comes from.
enum Input {
    Standard,
    Text(String),
}

/// Waits for input on a thread of its own, so that Ctrl-C is heard meanwhile. The thread ends with
/// the input or with the process: a read of a terminal cannot be taken back.
async fn aside<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().spawn(move || drop(sender.send(read())))?;
    receiver.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
}

/// What a command wrote into buffers.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    out: Buffer,
    err: Buffer,
}

impl Captured {
    /// Standard output so far.
    pub fn out(&self) -> String {
        self.out.text()
    }

    /// The error stream so far.
    pub fn err(&self) -> String {
        self.err.text()
    }
}

#[derive(Debug, Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
        let bytes = self.0.lock().expect("no writer panics while it holds the lock");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().expect("no writer panics while it holds the lock");
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
