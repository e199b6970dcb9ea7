//! `cargo xtask demo`: builds, starts an agent, runs the examples, shows what they do.
//!
//! The agent takes this process's place, so that Ctrl-C reaches it as it would by hand; what is
//! shown comes from a second copy of this program that uses the command line like a person.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::ci;
use crate::steps::{command, run, say};

/// How long the agent may take to answer.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// How long the jobs may take.
const JOBS_LIMIT: Duration = Duration::from_secs(60);
/// The port people expect; others are taken when it is busy.
const USUAL_PORT: u16 = 4646;
/// Marks the second copy.
const SHOW: &str = "MUSTER_DEMO_SHOW";

/// Runs the demo until Ctrl-C.
pub(crate) fn run_demo() -> Result<()> {
    if let Some(port) = std::env::var_os(SHOW) {
        let port = port.to_str().and_then(|p| p.parse().ok()).context("a port is needed")?;
        return show(port);
    }
    say("building muster (a first build takes a few minutes)");
    run(&["cargo", "build", "--bin", "muster"])?;
    let binary = ci::target_dir()?.join("debug/muster");
    let port = free_ports()?;
    let dir = std::env::temp_dir().join(format!("muster-demo-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let config = dir.join("demo.hcl");
    std::fs::write(
        &config,
        format!(
            "ports {{\n  http = {port}\n  rpc  = {}\n  serf = {}\n}}\nplugin \"raw_exec\" {{\n  config {{\n    enabled = true\n  }}\n}}\n",
            port + 1,
            port + 2
        ),
    )?;
    Command::new(std::env::current_exe()?)
        .arg("demo")
        .env(SHOW, port.to_string())
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start the guide")?;
    let mut agent =
        command(&[path(&binary)?, "agent", "-dev", "-log-level=WARN", "-config", path(&config)?]);
    Err(agent.exec()).context("cannot start the agent")
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("the path is not valid text")
}

/// Three ports in a row that nobody listens on; the usual ones if they are free.
fn free_ports() -> Result<u16> {
    let free = |first: u16| (first..first + 3).all(|p| TcpListener::bind(("127.0.0.1", p)).is_ok());
    if free(USUAL_PORT) {
        return Ok(USUAL_PORT);
    }
    for _ in 0..20 {
        let first = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        if first < u16::MAX - 3 && free(first) {
            return Ok(first);
        }
    }
    bail!("found no three free ports in a row on 127.0.0.1")
}

/// What the second copy does: the tour.
fn show(port: u16) -> Result<()> {
    let binary: PathBuf = ci::target_dir()?.join("debug/muster");
    let address = format!("http://127.0.0.1:{port}");
    let config_dir =
        std::env::temp_dir().join(format!("muster-demo-{}", std::os::unix::process::parent_id()));
    wait(READY_LIMIT, "the agent to answer", || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    // The agent has read its file by now.
    std::fs::remove_dir_all(config_dir).ok();
    let muster = |words: &[&str]| -> Result<String> {
        say(&format!("\n$ muster {}", words.join(" ")));
        let output = command(&[path(&binary)?]).args(words).env("NOMAD_ADDR", &address).output()?;
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        say(text.trim_end());
        Ok(text)
    };
    let quiet = |words: &[&str]| -> String {
        let output = command(&[path(&binary).unwrap_or_default()])
            .args(words)
            .env("NOMAD_ADDR", &address)
            .output();
        output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
    };
    wait(READY_LIMIT, "the node to be ready", || quiet(&["node", "status"]).contains("ready"))?;
    muster(&["job", "run", "-detach", "examples/batch.nomad.hcl"])?;
    muster(&["job", "run", "examples/service.nomad.hcl"])?;
    wait(JOBS_LIMIT, "the batch job to end", || {
        quiet(&["job", "status", "sum"]).contains("complete")
    })?;
    muster(&["job", "status"])?;
    muster(&["job", "status", "hello"])?;
    muster(&["alloc", "logs", "-job", "hello"])?;
    muster(&["alloc", "logs", "-job", "sum"])?;
    say(&format!("\nThe API listens on {address}. In another terminal:"));
    say(&format!("  export NOMAD_ADDR={address}"));
    say(&format!("  {} job status hello", binary.display()));
    say("Ctrl-C stops the jobs and the agent, and removes everything they made.");
    Ok(())
}

fn wait(limit: Duration, what: &str, mut is_there: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !is_there() {
        if began.elapsed() > limit {
            bail!("gave up waiting for {what} after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
