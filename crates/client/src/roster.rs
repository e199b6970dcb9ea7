//! All allocations that are here, live and ended, and the job versions they share.
//!
//! The lock is held for look-ups and swaps only; each live allocation belongs to its runner.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::alloc::{Alloc, AllocUpdate, ClientStatus};
use model::ids::AllocId;
use model::job::Job;
use parking_lot::Mutex;
use rpc::methods::NodeAllocs;
use tokio::sync::{mpsc, watch};

use crate::alloc::directory::AllocDir;
use crate::alloc::record::{Final, JobVersion, Progress, View};
use crate::alloc::runner::{Command, Ended, Previous, Runner, Start};
use crate::clock;
use crate::diff::{Here, changes};
use crate::garbage::Garbage;
use crate::shared::Shared;

/// Wishes waiting for one allocation; whoever has more waits.
const COMMANDS_MAX: usize = 64;

pub(crate) struct Live {
    pub(crate) alloc: Arc<Alloc>,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) view: watch::Receiver<Arc<View>>,
}

pub(crate) struct Past {
    pub(crate) view: Arc<View>,
    pub(crate) finished_at: i64,
    /// Its directory is gone.
    pub(crate) collected: bool,
}

pub(crate) enum Entry {
    Live(Live),
    Past(Past),
}

#[derive(Default)]
struct Inner {
    entries: BTreeMap<AllocId, Entry>,
    /// Each version with the number of live allocations that use it.
    jobs: BTreeMap<JobVersion, (Arc<Job>, usize)>,
    /// Ended allocations whose directories are still there, by the time of their end.
    kept: BTreeSet<(i64, AllocId)>,
    closed: bool,
}

impl Inner {
    fn insert_past(&mut self, id: AllocId, past: Past) {
        if !past.collected {
            self.kept.insert((past.finished_at, id));
        }
        self.entries.insert(id, Entry::Past(past));
    }

    /// Notes that the directory of an ended allocation is given up. Whether it was there until
    /// now; none when the allocation is not here or lives.
    fn collect(&mut self, id: &AllocId) -> Option<bool> {
        let Entry::Past(past) = self.entries.get_mut(id)? else { return None };
        self.kept.remove(&(past.finished_at, *id));
        Some(!std::mem::replace(&mut past.collected, true))
    }
}

pub(crate) struct Roster {
    pub(crate) shared: Arc<Shared>,
    inner: Mutex<Inner>,
    live: watch::Sender<usize>,
    pub(crate) garbage: Garbage,
}

impl Roster {
    pub(crate) fn new(shared: Arc<Shared>, garbage: Garbage) -> Arc<Self> {
        let inner = Mutex::default();
        Arc::new(Self { shared, inner, live: watch::Sender::new(0), garbage })
    }

    /// Takes over what an earlier agent left.
    pub(crate) fn restore(
        self: &Arc<Self>,
        mut live: Vec<(Arc<Alloc>, Option<Progress>)>,
        finals: Vec<(AllocId, Final)>,
    ) -> Vec<AllocUpdate> {
        let node = self.shared.node_id;
        let mut reports = Vec::new();
        for (id, record) in finals {
            reports.push(record.view.update(id, node));
            let collected = !AllocDir::of(&self.shared.config.alloc_dir, &id).root.exists();
            let Final { view, finished_at } = record;
            let past = Past { view: Arc::new(view), finished_at, collected };
            self.inner.lock().insert_past(id, past);
        }
        live.sort_by_key(|(alloc, _)| alloc.create_index);
        for (alloc, progress) in live {
            self.start(alloc, progress, Origin::Disk);
        }
        reports
    }

    /// Does what an answer of the servers asks for.
    pub(crate) async fn apply(self: &Arc<Self>, answer: NodeAllocs, since: u64) {
        let here = self.here();
        let changes = changes(&here, &answer, since);
        for id in changes.remove {
            self.remove(id).await;
        }
        for alloc in changes.update {
            self.update(alloc).await;
        }
        // The earlier allocation of a slot first: the later one waits for it.
        let mut new = changes.start;
        new.sort_by_key(|alloc| alloc.create_index);
        for alloc in new {
            self.start(alloc, None, Origin::Servers);
        }
    }

    fn here(&self) -> BTreeMap<AllocId, Here> {
        let inner = self.inner.lock();
        let entries = inner.entries.iter();
        let here = entries.map(|(id, entry)| {
            let here = match entry {
                Entry::Live(live) => {
                    Here::Live { alloc_modify_index: live.alloc.alloc_modify_index }
                }
                Entry::Past(_) => Here::Ended,
            };
            (*id, here)
        });
        here.collect()
    }

    pub(crate) fn job(&self, version: &JobVersion) -> Option<Arc<Job>> {
        self.inner.lock().jobs.get(version).map(|(job, _)| job.clone())
    }

    /// Looks at one entry.
    pub(crate) fn with<T>(&self, id: &AllocId, look: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.inner.lock().entries.get_mut(id).map(look)
    }

    /// The tasks of an allocation, whether it lives or has ended.
    pub(crate) fn task_names(&self, id: &AllocId) -> Vec<String> {
        let names = |entry: &mut Entry| match entry {
            Entry::Live(live) => {
                let group = live.alloc.spec.group(&live.alloc.group);
                group.into_iter().flat_map(|g| &g.tasks).map(|task| task.name.clone()).collect()
            }
            Entry::Past(past) => past.view.tasks.keys().cloned().collect(),
        };
        self.with(id, names).unwrap_or_default()
    }

    /// The oldest ended allocation beyond the number whose directories are kept.
    pub(crate) fn surplus(&self, max: usize) -> Option<AllocId> {
        let inner = self.inner.lock();
        inner.kept.first().filter(|_| inner.kept.len() > max).map(|(_, id)| *id)
    }

    /// See [`Inner::collect`].
    pub(crate) fn collect(&self, id: &AllocId) -> Option<bool> {
        self.inner.lock().collect(id)
    }

    /// Looks at all entries.
    pub(crate) fn each(&self, mut look: impl FnMut(&AllocId, &mut Entry)) {
        self.inner.lock().entries.iter_mut().for_each(|(id, entry)| look(id, entry));
    }

    pub(crate) fn count(&self) -> usize {
        self.inner.lock().entries.len()
    }

    async fn remove(&self, id: AllocId) {
        let commands = self.with(&id, |entry| match entry {
            Entry::Live(live) => Some(live.commands.clone()),
            Entry::Past(_) => None,
        });
        match commands {
            // A runner that has just ended leaves a past entry, which the next answer removes.
            Some(Some(commands)) => drop(commands.send(Command::Remove).await),
            Some(None) => self.drop_entry(id),
            None => {}
        }
    }

    fn drop_entry(&self, id: AllocId) {
        let mut inner = self.inner.lock();
        inner.collect(&id);
        inner.entries.remove(&id);
        drop(inner);
        self.shared.store.forget(id);
        self.garbage.remove(AllocDir::of(&self.shared.config.alloc_dir, &id).root);
    }

    async fn update(&self, mut alloc: Arc<Alloc>) {
        let commands = {
            let mut inner = self.inner.lock();
            let Some(Entry::Live(live)) = inner.entries.get(&alloc.id) else { return };
            let commands = live.commands.clone();
            let old = JobVersion::of(&live.alloc);
            if old != JobVersion::of(&alloc) {
                self.intern(&mut inner, &mut alloc);
                self.release(&mut inner, &old);
            } else {
                let mut same = (*alloc).clone();
                same.spec = live.alloc.spec.clone();
                alloc = Arc::new(same);
            }
            if let Some(Entry::Live(live)) = inner.entries.get_mut(&alloc.id) {
                live.alloc = alloc.clone();
            }
            commands
        };
        self.shared.store.put_alloc(&alloc);
        // A runner that has ended needs no news.
        let _ = commands.send(Command::Update(alloc)).await;
    }

    fn start(self: &Arc<Self>, mut alloc: Arc<Alloc>, progress: Option<Progress>, origin: Origin) {
        let id = alloc.id;
        if alloc.spec.group(&alloc.group).is_none_or(|group| group.tasks.is_empty()) {
            tracing::error!(alloc_id = %id, group = %alloc.group, "an allocation without tasks");
            self.refuse(&alloc);
            return;
        }
        let (sender, commands) = mpsc::channel(COMMANDS_MAX);
        let (view, viewed) = watch::channel(Arc::new(View {
            status: ClientStatus::Pending,
            description: String::new(),
            tasks: Arc::default(),
            health: None,
        }));
        let previous = {
            let mut inner = self.inner.lock();
            if inner.closed {
                return;
            }
            self.intern(&mut inner, &mut alloc);
            let previous = self.previous(&inner, &alloc);
            let live = Live { alloc: alloc.clone(), commands: sender, view: viewed };
            inner.entries.insert(id, Entry::Live(live));
            self.live.send_modify(|count| *count += 1);
            previous
        };
        if origin == Origin::Servers {
            self.shared.store.put_alloc(&alloc);
        }
        let shared = self.shared.clone();
        let roster = self.clone();
        tokio::spawn(async move {
            let _counted = Counted { live: roster.live.clone() };
            let start = Start { shared, alloc, progress, previous, commands, view };
            let ended = Runner::new(start).run().await;
            roster.ended(id, ended);
        });
    }

    /// An allocation that cannot be run at all.
    fn refuse(&self, alloc: &Alloc) {
        let view = View {
            status: ClientStatus::Failed,
            description: format!("the job has no group \"{}\" with tasks", alloc.group),
            tasks: Arc::default(),
            health: None,
        };
        let report = view.update(alloc.id, self.shared.node_id);
        let record = Final { view, finished_at: clock::now() };
        self.shared.store.put_final(alloc.id, &record, report);
        let past = past(record);
        self.inner.lock().insert_past(alloc.id, past);
    }

    fn previous(&self, inner: &Inner, alloc: &Alloc) -> Option<Previous> {
        let id = alloc.previous?;
        let view = match inner.entries.get(&id)? {
            Entry::Live(live) => live.view.clone(),
            Entry::Past(past) => watch::Sender::new(past.view.clone()).subscribe(),
        };
        let disk = alloc.spec.group(&alloc.group).and_then(|group| group.ephemeral_disk.as_ref());
        let is_sticky = disk.is_some_and(|disk| {
            // What migrates sticks, too.
            disk.sticky == Some(true) || disk.migrate == Some(true)
        });
        let directory = || AllocDir::of(&self.shared.config.alloc_dir, &id);
        Some(Previous { view, sticky_from: is_sticky.then(directory) })
    }

    fn ended(&self, id: AllocId, ended: Ended) {
        let removed = matches!(ended, Ended::Removed);
        if let Ended::LetGo = ended {
            return;
        }
        {
            let mut inner = self.inner.lock();
            if let Some(Entry::Live(live)) = inner.entries.get(&id) {
                let version = JobVersion::of(&live.alloc);
                self.release(&mut inner, &version);
            }
            if let Ended::Final(record) = ended {
                inner.insert_past(id, past(record));
            }
        }
        if removed {
            self.drop_entry(id);
        }
        self.garbage.look();
    }

    /// Makes the allocation use the one copy of its job.
    fn intern(&self, inner: &mut Inner, alloc: &mut Arc<Alloc>) {
        let version = JobVersion::of(alloc);
        if let Some((job, users)) = inner.jobs.get_mut(&version) {
            *users += 1;
            if !Arc::ptr_eq(job, &alloc.spec) {
                let mut same = (**alloc).clone();
                same.spec = job.clone();
                *alloc = Arc::new(same);
            }
            return;
        }
        self.shared.store.put_job(&version, &alloc.spec);
        inner.jobs.insert(version, (alloc.spec.clone(), 1));
    }

    fn release(&self, inner: &mut Inner, version: &JobVersion) {
        let Some((_, users)) = inner.jobs.get_mut(version) else { return };
        *users -= 1;
        if *users == 0 {
            inner.jobs.remove(version);
            self.shared.store.remove_job(version);
        }
    }

    /// Lets all tasks go on, or ends them, and waits until no runner is left.
    pub(crate) async fn close(&self, end_tasks: bool) {
        let runners: Vec<mpsc::Sender<Command>> = {
            let mut inner = self.inner.lock();
            inner.closed = true;
            let live = inner.entries.values().filter_map(|entry| match entry {
                Entry::Live(live) => Some(live.commands.clone()),
                Entry::Past(_) => None,
            });
            live.collect()
        };
        for runner in runners {
            // One that has ended already needs no telling.
            let _ = runner.send(if end_tasks { Command::End } else { Command::LetGo }).await;
        }
        let mut live = self.live.subscribe();
        // The sender lives as long as this value.
        let _ = live.wait_for(|count| *count == 0).await;
    }
}

fn past(record: Final) -> Past {
    Past { view: Arc::new(record.view), finished_at: record.finished_at, collected: false }
}

/// Where an allocation comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Disk,
    Servers,
}

/// Counts a runner as gone, even if it panics.
struct Counted {
    live: watch::Sender<usize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.send_modify(|count| *count -= 1);
    }
}
