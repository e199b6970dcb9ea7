//! The one entry for people and CI: `cargo xtask <verb>`.

mod ci;
mod demo;
mod golden;
mod layers;
mod steps;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "cargo xtask <verb>
  demo     build, start an agent, run the examples and show them; Ctrl-C ends it
  test     run every test of the workspace; what a contributor runs before sending a change
  ci       test, then formatting, layers, tidy, clippy and the golden corpus; writes nothing
  golden   replay the recorded corpus alone, as ci does (needs root and python3)
  fuzz     change texts at random and hand them to every parser; --seconds N for each, --seed N
  figures  measure how long job files take, in a release build
  layers   check which crate may use which, and third-party crates in two versions
  tidy     check file sizes, names, module docs and paths named in Markdown
  fix      format and apply clippy's suggestions
  bless    run the tests and accept new snapshots";

fn main() -> ExitCode {
    let verb = std::env::args().nth(1).unwrap_or_default();
    let result = match verb.as_str() {
        "demo" => demo::run_demo(),
        "test" => ci::test(),
        "ci" => ci::ci(),
        "golden" => ci::golden(),
        "fuzz" => ci::fuzz(&std::env::args().skip(2).collect::<Vec<_>>()),
        "figures" => ci::figures(),
        "layers" => layers::check(),
        "tidy" => tidy::check(),
        "fix" => ci::fix(),
        "bless" => ci::bless(),
        "help" | "--help" | "-h" | "" => {
            steps::say(HELP);
            return ExitCode::SUCCESS;
        }
        other => Err(anyhow::anyhow!("there is no verb `{other}`\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            steps::say(&format!("xtask {verb}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the repository's root").to_path_buf()
}
