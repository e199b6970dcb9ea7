//! A cluster in memory: commands in, decisions out, no server.

use std::sync::Arc;

use model::alloc::{Alloc, AllocUpdate, ClientStatus, TaskPhase, TaskState};
use model::eval::{EvalStatus, Evaluation};
use model::ids::{EvalId, JobKey, NodeId};
use model::job::Job;
use model::node::{DriverInfo, Node, NodeNetwork, NodeNetworkAddress, NodeStatus};
use model::wire::{SECOND, Time};
use scheduler::{Inputs, Outcome, outcome_text, schedule, verify};
use state::{Command, Response, Snapshot, Store};

pub(crate) struct Cluster {
    pub store: Store,
    pub now: i64,
    index: u64,
    evals: u64,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self { store: Store::new(), now: 1_000_000 * SECOND, index: 0, evals: 0 }
    }

    pub(crate) fn nodes(mut self, count: usize) -> Self {
        for n in 1..=count {
            self.node(node(&format!("n{n}")));
        }
        self
    }

    pub(crate) fn node(&mut self, node: Node) {
        let now = self.now;
        self.apply(Command::RegisterNode { node: Box::new(node), now });
    }

    pub(crate) fn apply(&mut self, command: Command) {
        assert_eq!(self.try_apply(command), Response::Done);
    }

    pub(crate) fn try_apply(&mut self, command: Command) -> Response {
        self.index += 1;
        // As the log does it: what is written is what is read.
        let bytes = command.encode();
        let command = Command::decode(&bytes).unwrap();
        assert_eq!(command.encode(), bytes);
        self.store.apply(self.index, command).response
    }

    /// Writes the state out and goes on with what is read back.
    pub(crate) fn restore(&mut self) {
        let mut bytes = Vec::new();
        state::records::write(&self.view(), &mut bytes).unwrap();
        self.store = state::records::read(&mut bytes.as_slice()).unwrap();
        let mut again = Vec::new();
        state::records::write(&self.view(), &mut again).unwrap();
        assert_eq!(bytes, again);
        assert_eq!(state::invariants::check(&self.view()), Vec::<String>::new());
    }

    pub(crate) fn migrate(&mut self, alloc: &Alloc) {
        let wish = model::alloc::DesiredTransition { migrate: Some(true), ..Default::default() };
        let now = self.now;
        self.apply(Command::Transition { allocs: vec![(alloc.id, wish)], evals: vec![], now });
    }

    pub(crate) fn view(&self) -> Snapshot {
        self.store.snapshot()
    }

    pub(crate) fn register(&mut self, job: &Job) {
        let mut job = job.clone();
        model::canonical::canonicalize(&mut job);
        model::canonical::canonicalize_for_register(&mut job);
        let now = self.now;
        self.apply(Command::RegisterJob {
            job: Box::new(job),
            submission: None,
            eval: None,
            enforce_index: None,
            now,
        });
    }

    pub(crate) fn eval(&mut self, id: &str) -> Evaluation {
        self.evals += 1;
        let view = self.view();
        let job = view.job(&key(id));
        Evaluation {
            id: EvalId::from_name(&format!("eval {}", self.evals)),
            namespace: "default".to_owned(),
            job_id: id.to_owned(),
            priority: 50,
            kind: job.map_or("service", |j| j.job_type().as_str()).to_owned(),
            triggered_by: "job-register".to_owned(),
            status: EvalStatus::Pending,
            ..Evaluation::default()
        }
    }

    pub(crate) fn decide(&mut self, eval: &Evaluation) -> (Outcome, String) {
        let view = self.view();
        let outcome = schedule(&view, eval, &Inputs { now: self.now, seed: 7 });
        let again = schedule(&view, eval, &Inputs { now: self.now, seed: 7 });
        assert_eq!(outcome.plan, again.plan, "the same inputs give the same plan");
        let text = outcome_text(&view, &outcome);
        let verdict = verify(&view, outcome.plan.clone());
        assert!(verdict.is_whole(), "a plan fits the state it was made on: {:?}", verdict.refused);
        (outcome, text)
    }

    /// Evaluates a job and commits what comes out.
    pub(crate) fn run(&mut self, id: &str) -> String {
        let eval = self.eval(id);
        self.run_eval(&eval)
    }

    pub(crate) fn run_eval(&mut self, eval: &Evaluation) -> String {
        let (outcome, text) = self.decide(eval);
        let now = self.now;
        let mut evals = vec![outcome.eval];
        evals.extend(outcome.new_evals);
        self.apply(Command::ApplyPlan { plan: Box::new(outcome.plan), evals, now });
        assert_eq!(state::invariants::check(&self.view()), Vec::<String>::new());
        text
    }

    pub(crate) fn allocs(&self, id: &str) -> Vec<Arc<Alloc>> {
        let mut allocs: Vec<_> = self.view().allocs_of_job(&key(id)).cloned().collect();
        allocs.sort_by_key(|a| (a.job_version, a.index, a.create_index));
        allocs
    }

    pub(crate) fn live(&self, id: &str) -> Vec<Arc<Alloc>> {
        self.allocs(id).into_iter().filter(|a| !a.is_terminal()).collect()
    }

    pub(crate) fn report(&mut self, alloc: &Alloc, status: ClientStatus) {
        let updates = vec![self.update(alloc, status)];
        let now = self.now;
        self.apply(Command::UpdateAllocs { updates, evals: Vec::new(), now });
    }

    pub(crate) fn update(&self, alloc: &Alloc, status: ClientStatus) -> AllocUpdate {
        let phase = match status {
            ClientStatus::Pending => TaskPhase::Pending,
            ClientStatus::Running => TaskPhase::Running,
            _ => TaskPhase::Dead,
        };
        let task = TaskState {
            state: phase,
            failed: status == ClientStatus::Failed,
            finished_at: Time(if status.is_terminal() { self.now } else { 0 }),
            ..TaskState::default()
        };
        AllocUpdate {
            id: alloc.id,
            node: alloc.node_id,
            status,
            description: String::new(),
            tasks: [("t".to_owned(), task)].into_iter().collect(),
            network: None,
            health: (status == ClientStatus::Running).then_some((true, Time(self.now))),
        }
    }

    pub(crate) fn report_all(&mut self, id: &str, status: ClientStatus) {
        for alloc in self.live(id) {
            self.report(&alloc, status);
        }
    }

    pub(crate) fn take_down(&mut self, name: &str) {
        let now = self.now;
        self.apply(Command::NodeStatus {
            nodes: vec![NodeId::from_name(name)],
            status: NodeStatus::Down,
            event: None,
            evals: Vec::new(),
            now,
        });
    }
}

pub(crate) fn key(id: &str) -> JobKey {
    JobKey::new("default", id)
}

pub(crate) fn node(name: &str) -> Node {
    let mut node = Node {
        id: NodeId::from_name(name),
        name: name.to_owned(),
        datacenter: "dc1".to_owned(),
        status: NodeStatus::Ready,
        computed_class: "v1:1".to_owned(),
        ..Node::default()
    };
    node.node_resources.cpu.cpu_shares = 1000;
    node.node_resources.memory.memory_mb = 1000;
    node.node_resources.disk.disk_mb = 10_000;
    node.attributes.insert("kernel.name".to_owned(), "linux".to_owned());
    node.node_resources.node_networks.push(NodeNetwork {
        addresses: vec![NodeNetworkAddress {
            family: "ipv4".to_owned(),
            alias: "default".to_owned(),
            address: format!("10.0.0.{}", name.trim_start_matches('n')),
            ..NodeNetworkAddress::default()
        }]
        .into(),
        ..NodeNetwork::default()
    });
    let driver = DriverInfo { detected: true, healthy: true, ..DriverInfo::default() };
    node.drivers.insert("raw_exec".to_owned(), driver);
    node
}

/// A job with one group `g` and one task `t`; `more` is merged into the group.
pub(crate) fn job(id: &str, kind: &str, count: u32, more: serde_json::Value) -> Job {
    let mut group = serde_json::json!({
        "Name": "g", "Count": count, "EphemeralDisk": { "SizeMB": 10 },
        "Tasks": [{ "Name": "t", "Driver": "raw_exec", "Config": { "command": "/bin/true" },
                    "Resources": { "CPU": 300, "MemoryMB": 100 } }],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        group[name] = value.clone();
    }
    let text = serde_json::json!({ "ID": id, "Type": kind, "TaskGroups": [group] });
    model::wire::from_json(text.to_string().as_bytes()).unwrap()
}

pub(crate) fn with_env(mut job: Job, value: &str) -> Job {
    job.task_groups[0].tasks[0].env.insert("V".to_owned(), value.to_owned());
    job
}
