//! A first hour with the command line, as a transcript that reads like one.

use crate::harness::*;

/// Replaces what differs from run to run.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        // How many entries came before is the server's own business.
        let mut before = "";
        let words: Vec<String> = line
            .split(' ')
            .map(|word| {
                let is_index = matches!(before, "Index:" | "-check-index") && word != "0";
                before = word;
                if is_index && word.chars().all(|c| c.is_ascii_digit()) {
                    return "<index>".to_owned();
                }
                let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                let hex = |s: &str| {
                    s.len() == 8
                        && s.chars().all(|c| c.is_ascii_hexdigit())
                        && s.chars().any(|c| c.is_ascii_digit())
                };
                if bare.len() == 36 && bare.matches('-').count() == 4 {
                    word.replace(bare, "<uuid>")
                } else if hex(bare) {
                    word.replace(bare, "<id>")
                } else if bare.len() >= 20
                    && bare.as_bytes().get(4) == Some(&b'-')
                    && bare.contains('T')
                {
                    word.replace(bare, "<time>")
                } else if bare.len() >= 2
                    && bare.ends_with('s')
                    && bare[..bare.len() - 1].chars().all(|c| c.is_ascii_digit())
                {
                    word.replace(bare, "<age>")
                } else {
                    word.to_owned()
                }
            })
            .collect();
        out.push_str(words.join(" ").trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn a_first_hour() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), BOTH);
    let mut transcript = String::new();
    let mut say = |words: &[&str]| {
        let output = agent.cli(words);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        transcript.push_str(&format!("$ muster {}\n{}", words.join(" "), plain(&text)));
        transcript.push_str(&format!("[{}]\n\n", output.status.code().unwrap_or(-1)));
    };
    let job = |script: &str| {
        format!(
            "job \"web\" {{\n  update {{\n    min_healthy_time = \"100ms\"\n  }}\n  group \"g\" {{\n    task \"t\" {{\n      driver = \"raw_exec\"\n      config {{\n        command = \"/bin/sh\"\n        args    = [\"-c\", \"{script}\"]\n      }}\n      resources {{\n        cpu    = 20\n        memory = 20\n      }}\n    }}\n  }}\n}}\n"
        )
    };
    std::fs::write(dir.path().join("web.hcl"), job("echo one; sleep 600")).unwrap();
    say(&["job", "plan", "web.hcl"]);
    say(&["job", "run", "-detach", "web.hcl"]);
    until("the deployment is done", || {
        let deployment = agent.get("/v1/job/web/deployment")?;
        (deployment["Status"] == "successful").then_some(())
    });
    say(&["job", "plan", "web.hcl"]);
    say(&["alloc", "logs", "-job", "web"]);
    std::fs::write(dir.path().join("web.hcl"), job("echo two; sleep 600")).unwrap();
    say(&["job", "plan", "web.hcl"]);
    say(&["job", "run", "-detach", "web.hcl"]);
    until("the new version runs alone", || {
        let allocs = agent.get("/v1/job/web/allocations")?;
        let running: Vec<_> =
            allocs.as_array()?.iter().filter(|a| a["ClientStatus"] == "running").cloned().collect();
        let deployment = agent.get("/v1/job/web/deployment")?;
        let is_done = deployment["JobVersion"] == 1 && deployment["Status"] == "successful";
        (is_done && running.len() == 1 && running[0]["JobVersion"] == 1).then_some(())
    });
    say(&["alloc", "logs", "-job", "web"]);
    say(&["job", "history", "-p", "web"]);
    say(&["job", "revert", "-detach", "web", "0"]);
    say(&["job", "stop", "-detach", "-purge", "web"]);
    say(&["job", "status", "web"]);
    expect_test::expect_file!["walkthrough.txt"].assert_eq(&transcript);
}
