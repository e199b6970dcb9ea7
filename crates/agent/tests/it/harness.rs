//! An agent in a directory of its own, on ports the system chooses, ended with the test.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary under test.
pub(crate) const MUSTER: &str = env!("CARGO_BIN_EXE_muster");
/// How long a test waits for what should happen at once; builders share two cores.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Whether tests that need root can run; says so when not.
pub(crate) fn is_root() -> bool {
    let root = std::fs::metadata("/proc/self")
        .map(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
        .unwrap_or(false);
    if !root {
        println!("skipped: starting tasks in cgroups needs root");
    }
    root
}

pub(crate) struct Agent {
    pub dir: PathBuf,
    temporary: PathBuf,
    pub http: String,
    pub rpc: String,
    args: Vec<String>,
    child: Child,
}

/// A configuration that every test starts from.
pub(crate) fn config(dir: &Path, more: &str) -> PathBuf {
    let file = dir.join("agent.hcl");
    let text = format!(
        r#"
bind_addr = "127.0.0.1"
data_dir  = "{}"
name      = "node-1"
ports {{
  http = 0
  rpc  = 0
  serf = 0
}}
{more}
"#,
        dir.join("data").display()
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// Server and client in one agent.
pub(crate) const BOTH: &str = r#"
server {
  enabled          = true
  bootstrap_expect = 1
}
client {
  enabled           = true
  network_interface = "lo"
  cpu_total_compute = 4000
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}
"#;

impl Agent {
    /// Starts an agent on a configuration and waits until its API answers and its node is ready.
    pub(crate) fn start(dir: &Path, more: &str) -> Self {
        let file = config(dir, more);
        let args = vec!["agent".to_owned(), "-config".to_owned(), file.display().to_string()];
        let agent = Self::spawn(dir, args);
        if more.contains("client {") && more.contains("server {") {
            agent.wait_ready();
        }
        agent
    }

    pub(crate) fn spawn(dir: &Path, args: Vec<String>) -> Self {
        Self::spawn_in(dir, args, dir)
    }

    /// With a folder for temporary files that others use too.
    pub(crate) fn spawn_in(dir: &Path, args: Vec<String>, temporary: &Path) -> Self {
        let (child, http, rpc) = launch(dir, &args, temporary);
        let temporary = temporary.to_path_buf();
        Self { dir: dir.to_path_buf(), temporary, http, rpc, args, child }
    }

    pub(crate) fn wait_ready(&self) {
        until("the node is ready", || {
            let nodes = self.get("/v1/nodes")?;
            (nodes[0]["Status"] == "ready").then_some(())
        });
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the agent without a word and starts it again on the same directory.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill();
        (self.child, self.http, self.rpc) = launch(&self.dir, &self.args, &self.temporary);
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the agent to end and waits for it.
    pub(crate) fn terminate(&mut self) {
        signal(self.pid(), "TERM");
        self.child.wait().unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let (status, body) = request(&self.http, "GET", path, None)?;
        (status == 200).then(|| serde_json::from_slice(&body).ok()).flatten()
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> (u16, String) {
        let (status, text) =
            request(&self.http, "PUT", path, Some(body)).expect("the agent answers");
        (status, String::from_utf8_lossy(&text).into_owned())
    }

    /// Registers a job until the agent acknowledges it.
    pub(crate) fn register(&self, job: &Value) {
        let (status, text) = self.put("/v1/jobs", &serde_json::json!({ "Job": job }));
        assert_eq!(status, 200, "{text}");
    }

    pub(crate) fn cli(&self, words: &[&str]) -> Output {
        Command::new(MUSTER)
            .args(words)
            .current_dir(&self.dir)
            .env("NOMAD_ADDR", format!("http://{}", self.http))
            .env("NOMAD_CLI_NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    pub(crate) fn cli_text(&self, words: &[&str]) -> String {
        let output = self.cli(words);
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    }

    /// The allocations of a job, once there are some for which `look` answers.
    pub(crate) fn wait_alloc(&self, job: &str, what: &str, look: impl Fn(&Value) -> bool) -> Value {
        until(&format!("an allocation of {job} {what}"), || {
            let allocs = self.get(&format!("/v1/job/{job}/allocations"))?;
            allocs.as_array()?.iter().find(|a| look(a)).cloned()
        })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Jobs first, so that no task outlives its test; then the agent.
        if let Some(jobs) = self.get("/v1/jobs") {
            for job in jobs.as_array().into_iter().flatten() {
                let id = job["ID"].as_str().unwrap_or_default().replace('/', "%2F");
                request(&self.http, "DELETE", &format!("/v1/job/{id}?purge=true"), None);
            }
            let started = Instant::now();
            while started.elapsed() < Duration::from_secs(10) && !std::thread::panicking() {
                let running = self.get("/v1/allocations").is_some_and(|allocs| {
                    allocs.as_array().into_iter().flatten().any(|a| a["ClientStatus"] == "running")
                });
                if !running {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.dir.join("agent.log")).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            println!(
                "the agent's last lines:\n{}",
                tail.into_iter().rev().collect::<Vec<_>>().join("\n")
            );
        }
    }
}

fn launch(dir: &Path, args: &[String], temporary: &Path) -> (Child, String, String) {
    let log =
        std::fs::OpenOptions::new().create(true).append(true).open(dir.join("agent.log")).unwrap();
    let mut child = Command::new(MUSTER)
        .args(args)
        .current_dir(dir)
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    let (addresses, found) = std::sync::mpsc::channel();
    // The log goes to a file; the line that names the addresses is what the test waits for.
    std::thread::spawn(move || {
        let mut log = log;
        for line in lines.lines().map_while(Result::ok) {
            let _ = writeln!(log, "{line}");
            if let Some(rest) = line.split("agent started http=").nth(1) {
                let mut words = rest.split_whitespace();
                let http = words.next().unwrap_or_default().to_owned();
                let rpc = words
                    .next()
                    .and_then(|w| w.strip_prefix("rpc="))
                    .unwrap_or_default()
                    .to_owned();
                let _ = addresses.send((http, rpc));
            }
        }
    });
    match found.recv_timeout(DEADLINE) {
        Ok((http, rpc)) => (child, http, rpc),
        Err(_) => {
            let _ = child.kill();
            panic!(
                "the agent did not start: {}",
                std::fs::read_to_string(dir.join("agent.log")).unwrap_or_default()
            );
        }
    }
}

/// One HTTP exchange; `None` when nobody answers.
pub(crate) fn request(
    address: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Vec<u8>)> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(DEADLINE)).ok()?;
    let body = body.map(|b| b.to_string()).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).ok()?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).ok()?;
    let split = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..split]).to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = answer[split + 4..].to_vec();
    Some((status, if head.contains("transfer-encoding: chunked") { unchunk(&body) } else { body }))
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
        let size =
            usize::from_str_radix(String::from_utf8_lossy(&body[..end]).trim(), 16).unwrap_or(0);
        if size == 0 || body.len() < end + 2 + size {
            break;
        }
        out.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = body.get(end + 4 + size..).unwrap_or_default();
    }
    out
}

/// Waits until something is there.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// Sends a signal to a process the test knows.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

pub(crate) fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
    })
}

/// Every cgroup of Muster's on this host, in every hierarchy.
pub(crate) fn cgroups() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                let path = entry.path();
                if path.to_string_lossy().contains("/muster") {
                    found.insert(path.clone());
                }
                todo.push(path);
            }
        }
    }
    found
}

/// A job with one raw_exec task that runs a shell script.
pub(crate) fn shell_job(id: &str, kind: &str, script: &str) -> Value {
    serde_json::json!({
        "ID": id, "Name": id, "Type": kind, "Datacenters": ["dc1"],
        "TaskGroups": [{
            "Name": "g", "Count": 1, "EphemeralDisk": { "SizeMB": 20 },
            "Tasks": [{
                "Name": "t", "Driver": "raw_exec",
                "Config": { "command": "/bin/sh", "args": ["-c", script] },
                "Resources": { "CPU": 20, "MemoryMB": 20 },
                "LogConfig": { "MaxFiles": 2, "MaxFileSizeMB": 5 },
                "KillTimeout": 2_000_000_000_i64,
            }],
        }],
    })
}
