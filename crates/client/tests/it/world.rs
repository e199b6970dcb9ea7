//! Surroundings of a test: directories of its own, a server that says what the test wants, and a
//! node that is taken away at the end with everything of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client::{Client, Config, LocalServer, Servers};
use model::alloc::*;
use model::ids::*;
use model::job::Job;
use parking_lot::Mutex;
use rpc::methods::NodeAllocs;
use rpc::{Fault, Peer, Reply, Request, Service, Stream};
use sandbox::Hierarchies;
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) const LIMIT: Duration = Duration::from_secs(30);
const TTL: i64 = 200_000_000;

#[derive(Default)]
struct State {
    index: u64,
    allocs: BTreeMap<AllocId, Arc<Alloc>>,
    updates: BTreeMap<AllocId, Vec<AllocUpdate>>,
    registered: Option<model::node::Node>,
    registrations: u64,
    heartbeats: u64,
    /// Heartbeats are not taken.
    is_deaf: bool,
    /// The next heartbeat is answered as one of a stranger.
    has_forgotten: bool,
}

/// Answers as servers do, from lists the test changes.
pub(crate) struct FakeServer {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[async_trait::async_trait]
impl Service for FakeServer {
    async fn call(&self, _peer: &Peer, request: Request) -> Result<Reply, Fault> {
        match request {
            Request::NodeRegister { node } => {
                self.change(|state| {
                    state.registrations += 1;
                    state.registered = Some(*node);
                });
                Ok(Reply::NodeRegister { heartbeat_ttl: TTL })
            }
            Request::NodeHeartbeat { .. } => {
                if self.state.lock().is_deaf {
                    return Err(Fault::new(rpc::FaultKind::Retry, "no leader"));
                }
                let known = self.change(|state| {
                    state.heartbeats += 1;
                    !std::mem::take(&mut state.has_forgotten)
                });
                Ok(Reply::NodeHeartbeat { heartbeat_ttl: TTL, known })
            }
            Request::NodeAllocs { since, .. } => {
                let mut changed = self.changed.subscribe();
                loop {
                    if let Some(answer) = self.allocs(since) {
                        return Ok(Reply::NodeAllocs(answer));
                    }
                    changed.changed().await.expect("the server lives");
                }
            }
            Request::NodeUpdateAllocs { updates, .. } => {
                self.change(|state| {
                    for update in updates {
                        state.updates.entry(update.id).or_default().push(update);
                    }
                });
                Ok(Reply::NodeUpdateAllocs)
            }
        }
    }

    async fn http(&self, _stream: Stream) {}
}

impl FakeServer {
    fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: watch::Sender::new(0) })
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state.lock());
        self.changed.send_modify(|count| *count += 1);
        result
    }

    fn allocs(&self, since: u64) -> Option<NodeAllocs> {
        let state = self.state.lock();
        if state.index <= since {
            return None;
        }
        let changed: Vec<Arc<Alloc>> = state
            .allocs
            .values()
            .filter(|alloc| alloc.alloc_modify_index > since)
            .map(|alloc| Arc::new(Alloc { spec: Arc::default(), ..(**alloc).clone() }))
            .collect();
        let mut specs: Vec<Arc<Job>> = Vec::new();
        for alloc in state.allocs.values().filter(|alloc| alloc.alloc_modify_index > since) {
            if !specs.iter().any(|spec| Arc::ptr_eq(spec, &alloc.spec)) {
                specs.push(alloc.spec.clone());
            }
        }
        let all = state.allocs.keys().copied().collect();
        Some(NodeAllocs { index: state.index, all, changed, specs })
    }

    /// Waits for something of the server's state.
    pub(crate) async fn until<T>(&self, what: &str, find: impl Fn(&Seen<'_>) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        let wait = async {
            loop {
                if let Some(found) = find(&Seen { state: &self.state.lock() }) {
                    return found;
                }
                changed.changed().await.expect("the server lives");
            }
        };
        match tokio::time::timeout(LIMIT, wait).await {
            Ok(found) => found,
            Err(_) => panic!("waited in vain for {what}; {}", self.dump()),
        }
    }

    pub(crate) fn become_deaf(&self) {
        self.change(|state| state.is_deaf = true);
    }

    pub(crate) fn forget_node(&self) {
        self.change(|state| state.has_forgotten = true);
    }

    fn dump(&self) -> String {
        let state = self.state.lock();
        let last = state.updates.values().filter_map(|updates| updates.last());
        last.map(|update| format!("{} {:?}\n", update.id, update)).take(4).collect()
    }
}

/// What the server has heard.
pub(crate) struct Seen<'a> {
    state: &'a State,
}

impl Seen<'_> {
    pub(crate) fn last(&self, alloc: AllocId) -> Option<&AllocUpdate> {
        self.state.updates.get(&alloc)?.last()
    }

    pub(crate) fn all(&self, alloc: AllocId) -> &[AllocUpdate] {
        self.state.updates.get(&alloc).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn node(&self) -> Option<&model::node::Node> {
        self.state.registered.as_ref()
    }

    pub(crate) fn registrations(&self) -> u64 {
        self.state.registrations
    }

    pub(crate) fn heartbeats(&self) -> u64 {
        self.state.heartbeats
    }
}

pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) server: Arc<FakeServer>,
    client: Option<Client>,
    node: NodeId,
}

impl World {
    /// `None` where the test cannot run.
    pub(crate) async fn new() -> Option<Self> {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || Hierarchies::detect().is_empty() {
            eprintln!("skipped: needs root and a mounted cgroup hierarchy");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut world =
            Self { directory, server: FakeServer::new(), client: None, node: NodeId::default() };
        let mut config = world.config();
        change(&mut config);
        world.start_with(config).await;
        Some(world)
    }

    pub(crate) fn config(&self) -> Config {
        Config {
            name: "n1".to_owned(),
            node_class: "gold".to_owned(),
            meta: BTreeMap::from([("rack".to_owned(), "r1".to_owned())]),
            state_dir: self.directory.path().join("client"),
            alloc_dir: self.directory.path().join("alloc"),
            raw_exec_enabled: true,
            mock_enabled: true,
            dev_mode: true,
            ..Config::default()
        }
    }

    async fn start_with(&mut self, config: Config) {
        let client = Client::start(config, self.servers()).await.unwrap();
        self.node = client.node_id();
        self.client = Some(client);
    }

    pub(crate) fn servers(&self) -> Servers {
        let server = self.server.clone();
        let connect: LocalServer =
            Arc::new(move |service| rpc::in_memory(service, server.clone()).0);
        Servers::Local(connect)
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().unwrap()
    }

    /// The agent leaves for a while.
    pub(crate) async fn leave(&mut self) {
        self.client.take().unwrap().shutdown(false).await;
    }

    pub(crate) async fn come_back(&mut self) {
        self.start_with(self.config()).await;
    }

    /// Ends the node with its tasks and looks that nothing of it is left.
    pub(crate) async fn end(mut self) {
        self.client.take().unwrap().shutdown(true).await;
        let groups = groups_of(self.node);
        assert!(groups.is_empty(), "{groups:?}");
        let left: Vec<_> = std::fs::read_dir(self.alloc_dir()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    pub(crate) fn alloc_dir(&self) -> PathBuf {
        self.directory.path().join("alloc")
    }

    pub(crate) fn path(&self, alloc: AllocId, path: &str) -> PathBuf {
        self.alloc_dir().join(alloc.to_string()).join(path)
    }

    /// Places an allocation of a job with one group.
    pub(crate) fn place(&self, name: &str, job: Value) -> AllocId {
        self.place_with(name, job, |_| {})
    }

    pub(crate) fn place_with(
        &self,
        name: &str,
        job: Value,
        change: impl FnOnce(&mut Alloc),
    ) -> AllocId {
        let job = Arc::new(read_job(job));
        self.server.change(|state| {
            state.index += 1;
            let mut alloc = new_alloc(name, job, self.node, state.index);
            change(&mut alloc);
            let id = alloc.id;
            state.allocs.insert(id, Arc::new(alloc));
            id
        })
    }

    /// Places many at once.
    pub(crate) fn place_many(&self, count: usize, job: Value) -> Vec<AllocId> {
        let job = Arc::new(read_job(job));
        self.server.change(|state| {
            state.index += 1;
            let make =
                |n: usize| new_alloc(&format!("many-{n}"), job.clone(), self.node, state.index);
            let allocs: Vec<Alloc> = (0..count).map(make).collect();
            let ids = allocs.iter().map(|alloc| alloc.id).collect();
            state.allocs.extend(allocs.into_iter().map(|alloc| (alloc.id, Arc::new(alloc))));
            ids
        })
    }

    pub(crate) fn change(&self, id: AllocId, change: impl FnOnce(&mut Alloc)) {
        self.server.change(|state| {
            state.index += 1;
            let index = state.index;
            let alloc = state.allocs.get_mut(&id).unwrap();
            let alloc = Arc::make_mut(alloc);
            change(alloc);
            alloc.alloc_modify_index = index;
        });
    }

    pub(crate) fn stop(&self, id: AllocId) {
        self.change(id, |alloc| alloc.desired = DesiredStatus::Stop);
    }

    pub(crate) fn forget(&self, id: AllocId) {
        self.server.change(|state| {
            state.index += 1;
            state.allocs.remove(&id);
        });
    }

    pub(crate) async fn until_status(&self, id: AllocId, status: ClientStatus) -> AllocUpdate {
        let what = format!("{id} to be {status:?}");
        let find =
            |seen: &Seen<'_>| seen.last(id).filter(|update| update.status == status).cloned();
        self.server.until(&what, find).await
    }

    pub(crate) async fn until_task(&self, id: AllocId, task: &str, phase: TaskPhase) -> TaskState {
        let what = format!("task {task} to be {phase:?}");
        let find = |seen: &Seen<'_>| {
            let state = seen.last(id)?.tasks.get(task)?;
            (state.state == phase).then(|| state.clone())
        };
        self.server.until(&what, find).await
    }

    /// Waits for a text in a file of the allocation.
    pub(crate) async fn until_file(&self, id: AllocId, path: &str, wanted: &str) -> String {
        let path = self.path(id, path);
        let read = || std::fs::read_to_string(&path).unwrap_or_default();
        until(wanted, || read().contains(wanted)).await;
        read()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let on = Hierarchies::detect();
        let node = self.node.to_string();
        sandbox::sweep(&on, &node, &BTreeSet::new()).unwrap();
        sandbox::cgroup::NodeClaim::acquire(&on, &node).unwrap().give_back(true);
    }
}

/// For conditions of the outside world that nothing announces.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + LIMIT;
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Directories of control groups that carry the node's id.
fn groups_of(node: NodeId) -> Vec<PathBuf> {
    let trees = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten().map(|tree| tree.path());
    let roots = trees.chain([PathBuf::from("/sys/fs/cgroup")]);
    roots
        .map(|root| root.join("muster").join(node.to_string()))
        .filter(|path| path.exists())
        .collect()
}

fn read_job(job: Value) -> Job {
    let mut job: Job = serde_json::from_value(job).unwrap();
    job.version = Some(job.version.unwrap_or(0));
    job.create_index = Some(1);
    job
}

fn new_alloc(name: &str, spec: Arc<Job>, node: NodeId, index: u64) -> Alloc {
    Alloc {
        id: AllocId::from_name(name),
        job: spec.key(),
        job_version: spec.version(),
        job_create_index: spec.create_index(),
        group: Name::from(spec.task_groups[0].name()),
        spec,
        index: 0,
        eval_id: EvalId::from_name("eval"),
        node_id: node,
        node_name: Name::from("n1"),
        resources: Arc::default(),
        metrics: None,
        desired: DesiredStatus::Run,
        desired_description: String::new(),
        transition: DesiredTransition::default(),
        observed: Observed::default(),
        deployment_id: None,
        deployment_status: None,
        followup_eval: None,
        previous: None,
        next: None,
        reschedule: None,
        preempted: Vec::new(),
        preempted_by: None,
        create_index: index,
        modify_index: index,
        alloc_modify_index: index,
        create_time: 0,
        modify_time: 0,
    }
}

/// A shell script as a task.
pub(crate) fn script(name: &str, script: &str) -> Value {
    json!({"Name": name, "Driver": "raw_exec", "KillTimeout": 1_000_000_000_i64,
        "Config": {"command": "/bin/sh", "args": ["-c", script]}})
}

/// The same with further fields.
pub(crate) fn script_with(name: &str, text: &str, more: Value) -> Value {
    let mut task = script(name, text);
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

pub(crate) fn job(kind: &str, tasks: Value) -> Value {
    json!({"ID": "j", "Name": "j", "Type": kind, "TaskGroups": [{"Name": "g", "Tasks": tasks,
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 300_000_000_000_i64,
            "Delay": 1_000_000_000}}]})
}

/// Kinds and texts of a task's events.
pub(crate) fn events(state: &TaskState) -> String {
    let line = |event: &TaskEvent| format!("{}: {}\n", event.kind, event.display_message);
    state.events.iter().map(line).collect()
}
