//! How long job files take, measured: `cargo xtask figures`.

// A program for developers beside a pure crate: it looks at the clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use hcl::Limits;
use model::job::Job;
use specs::job::{Options, parse_job};

/// Each figure is the median of so many runs; the best one says what a busy machine hides.
const RUNS: usize = 21;

fn main() {
    let file = job_file(385, true);
    println!("a job file of {} lines ({} KiB)", file.lines().count(), file.len() / 1024);
    figure("  parse", || parse(&file));
    figure("  fmt", || hcl::format("f", &file, &Limits::default()).is_ok());
    let wide = job_file(1000, false);
    println!("a job file of 1,000 groups ({} lines)", wide.lines().count());
    figure("  parse", || parse(&wide));
    let job = parse(&wide);
    figure("  canonical form", || {
        let mut job = job.clone();
        model::canonical::canonicalize(&mut job);
        job
    });
    let mut canonical = job.clone();
    model::canonical::canonicalize(&mut canonical);
    model::canonical::canonicalize_for_register(&mut canonical);
    figure("  validate", || model::validate::validate(&canonical));
    figure("  JSON", || serde_json::to_string(&canonical).map_or(0, |text| text.len()));
}

fn figure<T>(what: &str, mut run: impl FnMut() -> T) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed()
        })
        .collect();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{what:20} {:>9.2} ms, at best {:.2}", ms(times[RUNS / 2]), ms(times[0]));
}

fn parse(text: &str) -> Job {
    let random = &|| [7; 16];
    let options = Options { assignments: &[], files: None, random, limits: Limits::default() };
    match parse_job("f", text, &options) {
        Ok((job, _)) => job,
        Err(problems) => panic!("the file of the figures is valid: {problems:?}"),
    }
}

fn job_file(groups: usize, long: bool) -> String {
    let mut text =
        "variable \"image\" {\n  type    = string\n  default = \"redis:7\"\n}\njob \"web\" {\n"
            .to_owned();
    for at in 0..groups {
        let _ = write!(
            text,
            "  group \"g{at}\" {{\n    count = {}\n    task \"t\" {{\n      driver = \"raw_exec\"\n      config {{\n        \
             command = \"/bin/sleep\"\n        args    = [\"600\", \"${{var.image}}-{at}\"]\n      }}\n",
            1 + at % 3
        );
        if long {
            text.push_str("      env {\n        PORT = \"${NOMAD_PORT_http}\"\n      }\n");
        }
        text.push_str("    }\n  }\n");
    }
    text.push_str("}\n");
    text
}
