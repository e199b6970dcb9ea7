//! An agent of canned answers on a port of its own, and command lines run against it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cli::{Environment, Terminal};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// No command of these tests takes as long.
const DEADLINE: Duration = Duration::from_secs(20);

/// One canned answer: it is given to requests whose `METHOD /path` starts like this.
#[derive(Debug, Clone)]
struct Canned {
    request: String,
    status: u16,
    body: String,
    /// The answer is used up once given.
    once: bool,
}

type Shared<T> = Arc<Mutex<T>>;

/// The agent; stops with its owner.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) address: String,
    answers: Shared<Vec<Canned>>,
    seen: Shared<Vec<String>>,
    task: JoinHandle<()>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Agent {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (answers, seen): (Shared<Vec<Canned>>, Shared<Vec<String>>) = Default::default();
        let (known, log) = (Arc::clone(&answers), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (known, log) = (Arc::clone(&known), Arc::clone(&log));
                let service = service_fn(move |request| {
                    let (known, log) = (Arc::clone(&known), Arc::clone(&log));
                    async move { Ok::<_, Infallible>(answer(request, &known, &log).await) }
                });
                let serving = hyper::server::conn::http1::Builder::new();
                tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, answers, seen, task }
    }

    pub(crate) fn on(self, request: &str, status: u16, body: &str) -> Self {
        self.add(request, status, body, false)
    }

    /// The answer to the first such request only; later ones get those added after it.
    pub(crate) fn once(self, request: &str, status: u16, body: &str) -> Self {
        self.add(request, status, body, true)
    }

    fn add(self, request: &str, status: u16, body: &str, once: bool) -> Self {
        let (request, body) = (request.to_owned(), body.to_owned());
        self.answers.lock().unwrap().push(Canned { request, status, body, once });
        self
    }

    /// What was asked: `METHOD /path?query body`.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Runs a command line against this agent: exit code, output, errors.
    pub(crate) async fn run(&self, words: &[&str]) -> (u8, String, String) {
        run(words, &[("NOMAD_ADDR", &self.address)], "").await
    }

    pub(crate) async fn run_with_input(&self, words: &[&str], input: &str) -> (u8, String, String) {
        run(words, &[("NOMAD_ADDR", &self.address)], input).await
    }
}

/// Runs a command line: exit code, output, errors.
pub(crate) async fn run(
    words: &[&str],
    variables: &[(&str, &str)],
    input: &str,
) -> (u8, String, String) {
    let (mut terminal, captured) = Terminal::captured(input);
    let args: Vec<String> = ["nomad"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    let environment = Environment::of(variables);
    let running = cli::run_with(&args, &environment, &mut terminal);
    let code = tokio::time::timeout(DEADLINE, running).await.expect("the command ends in time");
    (code, captured.out(), captured.err())
}

async fn answer(
    request: Request<Incoming>,
    known: &Shared<Vec<Canned>>,
    log: &Shared<Vec<String>>,
) -> Response<Full<Bytes>> {
    let line = format!("{} {}", request.method(), request.uri());
    let token = request.headers().get("x-nomad-token").cloned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let token = token.map(|token| format!(" token={}", token.to_str().unwrap()));
    let entry = format!("{line}{} {}", token.unwrap_or_default(), String::from_utf8_lossy(&body));
    log.lock().unwrap().push(entry.trim_end().to_owned());
    let mut known = known.lock().unwrap();
    let found = known.iter().position(|canned| line.starts_with(&canned.request));
    let canned = match found {
        Some(place) if known[place].once => known.remove(place),
        Some(place) => known[place].clone(),
        None => Canned { request: line, status: 404, body: "not canned".into(), once: false },
    };
    Response::builder()
        .status(canned.status)
        .header("x-nomad-index", "7")
        .body(Full::new(Bytes::from(canned.body)))
        .unwrap()
}
