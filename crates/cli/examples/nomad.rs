//! The command line alone, for trying it by hand against any agent: `cargo run --example nomad`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    cli::run(std::env::args_os().collect()).await
}
