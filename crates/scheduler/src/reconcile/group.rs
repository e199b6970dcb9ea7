//! One group's pass: sort its allocations, count its slots, and say what should change.

use super::reschedule::{Attempt, next_attempt};
use super::*;
use crate::reconcile::change::{Change, change_of_group};

/// The allocations of a group, sorted by what they mean for its slots.
#[derive(Debug, Default)]
struct Sorted {
    /// Fill their slots and stay (running, pending, finished batch work, failed for good).
    filling: Vec<Arc<Alloc>>,
    /// Have to move to another node.
    migrating: Vec<Arc<Alloc>>,
    /// Their node is gone.
    lost: Vec<Arc<Alloc>>,
    /// Failed, and due for a new attempt after that delay.
    retry: Vec<(Arc<Alloc>, Nanos)>,
    /// Canaries of the deployment that goes on.
    canaries: Vec<Arc<Alloc>>,
    /// Finished work of an older version: left as it is, and fills no slot.
    outdated: u64,
    /// Canaries that failed and are due for a new attempt.
    canary_retry: Vec<(Arc<Alloc>, Nanos)>,
    /// Canaries that have to move.
    canary_moves: Vec<Arc<Alloc>>,
}

/// One group being reconciled.
pub(crate) struct GroupPass<'a> {
    pub snapshot: &'a Snapshot,
    pub job: &'a Arc<Job>,
    pub group: &'a TaskGroup,
    pub eval: &'a Evaluation,
    pub now: Nanos,
    pub ids: Seeded,
    pub deploying: &'a mut Deploying,
    pub diff: &'a mut Diff,
    pub updates: DesiredUpdates,
}

impl GroupPass<'_> {
    pub(crate) fn run(&mut self, allocs: Vec<Arc<Alloc>>) {
        let had_version = allocs.iter().any(|a| {
            a.job_version == self.job.version() && a.job_create_index == self.job.create_index()
        });
        let mut sorted = self.sort(allocs);
        self.stop_lost(&sorted.lost);
        self.stop_excess(&mut sorted);
        let (mut destructive, in_place) = self.changed(&sorted);
        let strategy =
            self.group.rolling_update().filter(|_| self.job.job_type() == JobType::Service);
        let canary_state = self.deploying.group(self.group.name()).cloned();
        let in_canary =
            canary_state.as_ref().is_some_and(|s| s.desired_canaries > 0 && !s.promoted);
        let wants_canaries = strategy.is_some_and(|s| s.canary() > 0)
            && !destructive.is_empty()
            && canary_state.is_none()
            && !self.deploying.failed;
        if let Some(strategy) = strategy
            && self.deploying.current.is_none()
            && !self.deploying.failed
            && self.group.count() > 0
            && (!had_version || !destructive.is_empty() || !in_place.is_empty())
        {
            let state = DeploymentGroup {
                auto_revert: strategy.auto_revert.unwrap_or(false),
                auto_promote: strategy.auto_promote.unwrap_or(false) && wants_canaries,
                progress_deadline: strategy.progress_deadline.unwrap_or(0),
                desired_canaries: if wants_canaries { strategy.canary() } else { 0 },
                desired_total: self.group.count(),
                ..DeploymentGroup::default()
            };
            self.deploying.begin(self.group.name(), state, &mut self.ids);
        }
        let canarying = wants_canaries || in_canary;
        if canarying && !self.deploying.halted() {
            self.place_canaries(&sorted, strategy.map_or(0, |s| s.canary()));
        }
        self.update_in_place(in_place);
        let mut limit =
            self.limit(strategy.is_some(), strategy.map_or(0, |s| s.max_parallel()), canarying);
        let placed = self.place_missing(&sorted, canarying);
        limit = limit.saturating_sub(placed);
        // What is down already gains most.
        destructive.sort_by_key(|a| (!a.is_client_terminal(), a.index));
        self.updates.ignore =
            (sorted.filling.len() + sorted.canaries.len()) as u64 + sorted.outdated;
        self.updates.ignore -= self.updates.in_place_update.min(self.updates.ignore);
        let chosen = destructive.len().min(limit);
        for alloc in destructive.drain(..chosen) {
            self.replace(&alloc, why::UPDATING);
            self.updates.destructive_update += 1;
            self.updates.ignore = self.updates.ignore.saturating_sub(1);
        }
        for alloc in std::mem::take(&mut sorted.migrating) {
            self.replace(&alloc, why::MIGRATING);
            self.updates.migrate += 1;
        }
        self.diff.updates.insert(self.group.name().to_owned(), std::mem::take(&mut self.updates));
    }

    fn sort(&mut self, allocs: Vec<Arc<Alloc>>) -> Sorted {
        let mut sorted = Sorted::default();
        let batch = self.job.job_type() == JobType::Batch;
        let current_deployment = self.deploying.current.as_ref().map(|d| d.id);
        for alloc in allocs {
            let outdated = alloc.job_version < self.job.version();
            if alloc.is_server_terminal() {
                if !alloc.is_client_terminal() && node_is_gone(self.snapshot, &alloc) {
                    // It was to end, and its node will not say any more that it did.
                    self.diff.stop.push(stop(&alloc, why::LOST, Some(ClientStatus::Lost)));
                } else if batch && !outdated && alloc.next.is_none() && alloc.ran_successfully() {
                    // One with a successor does not count: the slot is the successor's.
                    sorted.filling.push(alloc);
                }
                continue;
            }
            match alloc.observed.status {
                _ if batch && outdated && alloc.is_client_terminal() => sorted.outdated += 1,
                ClientStatus::Complete if batch => sorted.filling.push(alloc),
                ClientStatus::Complete | ClientStatus::Lost => {}
                ClientStatus::Failed if alloc.is_canary() => {
                    if alloc.deployment_id == current_deployment {
                        self.sort_failed_canary(alloc, &mut sorted);
                    }
                }
                ClientStatus::Failed => self.sort_failed(alloc, &mut sorted),
                _ if node_is_gone(self.snapshot, &alloc) => sorted.lost.push(alloc),
                _ if alloc.is_canary() && alloc.deployment_id != current_deployment => {
                    // A canary that nobody promoted gives way with its version.
                    self.stop(&alloc, why::NOT_NEEDED);
                }
                _ if alloc.is_canary() && alloc.transition.should_migrate() => {
                    sorted.canary_moves.push(alloc);
                }
                _ if alloc.is_canary() => sorted.canaries.push(alloc),
                _ if alloc.transition.should_migrate() => sorted.migrating.push(alloc),
                _ => sorted.filling.push(alloc),
            }
        }
        sorted
    }

    /// A canary that failed fills a canary's slot only, never one of the version that runs.
    fn sort_failed_canary(&mut self, alloc: Arc<Alloc>, sorted: &mut Sorted) {
        if alloc.next.is_some() {
            return;
        }
        let mut own = Sorted::default();
        self.sort_failed(alloc, &mut own);
        sorted.canaries.append(&mut own.filling);
        sorted.canary_retry.append(&mut own.retry);
    }

    fn sort_failed(&mut self, alloc: Arc<Alloc>, sorted: &mut Sorted) {
        if alloc.next.is_some() {
            return; // its successor counts
        }
        let forced = alloc.transition.should_force_reschedule();
        let policy = self.group.reschedule_policy.as_ref();
        let in_failed_deployment = self.deploying.failed && alloc.job_version == self.job.version();
        if in_failed_deployment && !forced && alloc.deployment_id.is_some() {
            sorted.filling.push(alloc);
            return;
        }
        match next_attempt(&alloc, policy, self.now) {
            Attempt::Now(delay) => sorted.retry.push((alloc, delay)),
            _ if forced => sorted.retry.push((alloc, 0)),
            // The follow-up evaluation came: its time is the time.
            Attempt::At(_, delay) if alloc.followup_eval == Some(self.eval.id) => {
                sorted.retry.push((alloc, delay));
            }
            Attempt::At(due, _) => {
                self.follow_up(&alloc, due);
                sorted.filling.push(alloc);
            }
            Attempt::Never => sorted.filling.push(alloc),
        }
    }

    fn follow_up(&mut self, alloc: &Alloc, due: Nanos) {
        self.updates.reschedule_later += 1;
        let pending = alloc.followup_eval.and_then(|id| self.snapshot.eval(&id));
        if pending.is_some_and(|e| !e.status.is_terminal()) {
            return;
        }
        let eval = Evaluation {
            id: EvalId(self.ids.uuid()),
            namespace: self.eval.namespace.clone(),
            job_id: self.eval.job_id.clone(),
            priority: self.eval.priority,
            kind: self.eval.kind.clone(),
            triggered_by: model::eval::trigger::ALLOC_FAILURE.to_owned(),
            job_modify_index: self.eval.job_modify_index,
            status: model::eval::EvalStatus::Pending,
            status_description: "created for delayed rescheduling".to_owned(),
            wait_until: model::wire::Time(due),
            previous_eval: Some(self.eval.id),
            ..Evaluation::default()
        };
        self.diff.delayed.push((alloc.id, eval.id));
        self.diff.follow_ups.push(eval);
    }

    fn stop(&mut self, alloc: &Alloc, description: &str) {
        self.diff.stop.push(stop(alloc, description, None));
        self.updates.stop += 1;
    }

    fn stop_lost(&mut self, lost: &[Arc<Alloc>]) {
        for alloc in lost {
            self.diff.stop.push(stop(alloc, why::LOST, Some(ClientStatus::Lost)));
            self.updates.stop += 1;
        }
    }

    /// Slots beyond the count end; after a promotion so do those whose canary took over.
    fn stop_excess(&mut self, sorted: &mut Sorted) {
        let count = self.group.count() as usize;
        let promoted = self.deploying.group(self.group.name()).filter(|s| s.promoted).cloned();
        if let Some(state) = promoted {
            let canaries: BTreeSet<AllocId> = state.placed_canaries.iter().copied().collect();
            let taken: BTreeSet<u32> = sorted
                .filling
                .iter()
                .filter(|a| canaries.contains(&a.id))
                .map(|a| a.index)
                .collect();
            let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut sorted.filling)
                .into_iter()
                .partition(|a| canaries.contains(&a.id) || !taken.contains(&a.index));
            sorted.filling = stay;
            for alloc in go.iter().filter(|a| !a.is_client_terminal()) {
                self.stop(alloc, why::NOT_NEEDED);
            }
        }
        let total = sorted.filling.len() + sorted.migrating.len() + sorted.retry.len();
        let mut excess = total.saturating_sub(count);
        // Failed attempts go first, then what moves anyway, then what failed, then the highest
        // indexes. Finished batch work stays: it counts.
        let dropped = excess.min(sorted.retry.len());
        sorted.retry.truncate(sorted.retry.len() - dropped);
        excess -= dropped;
        while excess > 0 {
            let Some(alloc) = sorted.migrating.pop() else { break };
            self.stop(&alloc, why::NOT_NEEDED);
            excess -= 1;
        }
        // Two in one slot: the newer version keeps it.
        sorted.filling.sort_by_key(|a| (a.index, std::cmp::Reverse(a.job_version)));
        let mut at = 1;
        while excess > 0 && at < sorted.filling.len() {
            let doubled = sorted.filling[at].index == sorted.filling[at - 1].index;
            if doubled && !sorted.filling[at].is_client_terminal() {
                let alloc = sorted.filling.remove(at);
                self.stop(&alloc, why::NOT_NEEDED);
                excess -= 1;
            } else {
                at += 1;
            }
        }
        sorted.filling.sort_by_key(|a| (a.is_client_terminal(), a.index));
        let service = self.job.job_type() == JobType::Service;
        while service && excess > 0 {
            let Some(at) = sorted.filling.iter().rposition(|a| a.is_client_terminal()) else {
                break;
            };
            let alloc = sorted.filling.remove(at);
            self.stop(&alloc, why::NOT_NEEDED);
            excess -= 1;
        }
        while excess > 0 {
            let Some(at) = sorted.filling.iter().rposition(|a| !a.is_client_terminal()) else {
                break;
            };
            let alloc = sorted.filling.remove(at);
            self.stop(&alloc, why::NOT_NEEDED);
            excess -= 1;
        }
    }

    /// Which of the filling allocations the new version replaces, and which take it in place.
    fn changed(&self, sorted: &Sorted) -> (Vec<Arc<Alloc>>, Vec<Arc<Alloc>>) {
        let (mut destructive, mut in_place) = (Vec::new(), Vec::new());
        let mut verdicts: BTreeMap<u64, Change> = BTreeMap::new();
        // A service that failed runs nothing any more, but a new version is its way out.
        let batch = self.job.job_type() == JobType::Batch;
        for alloc in sorted.filling.iter().filter(|a| !(batch && a.is_client_terminal())) {
            if alloc.job_version == self.job.version() {
                continue;
            }
            let verdict = *verdicts
                .entry(alloc.job_version)
                .or_insert_with(|| change_of_group(&alloc.spec, self.job, self.group.name()));
            match verdict {
                Change::Destructive => destructive.push(alloc.clone()),
                Change::None | Change::InPlace if self.still_fits(alloc) => {
                    in_place.push(alloc.clone())
                }
                _ => destructive.push(alloc.clone()),
            }
        }
        in_place.retain(|a: &Arc<Alloc>| !a.is_client_terminal());
        (destructive, in_place)
    }

    /// Whether the node still meets what the new version asks of nodes.
    fn still_fits(&self, alloc: &Alloc) -> bool {
        let Some(node) = self.snapshot.node(&alloc.node_id) else { return false };
        crate::place::feasible(self.job, self.group, node).is_ok()
    }

    fn update_in_place(&mut self, allocs: Vec<Arc<Alloc>>) {
        let deployment = self.deploying.id();
        for old in allocs {
            let mut alloc = Alloc::clone(&old);
            alloc.job_version = self.job.version();
            alloc.spec = self.job.clone();
            alloc.eval_id = self.eval.id;
            if deployment.is_some() && alloc.deployment_id != deployment {
                alloc.deployment_id = deployment;
                alloc.deployment_status = None;
            }
            self.updates.in_place_update += 1;
            self.diff.in_place.push(alloc);
        }
    }

    /// How many allocations may be replaced by this pass.
    fn limit(&self, rolling: bool, max_parallel: u32, canarying: bool) -> usize {
        if !rolling {
            return usize::MAX;
        }
        if self.deploying.halted() || canarying {
            return 0;
        }
        let mut limit = max_parallel as usize;
        if let Some(deployment) = &self.deploying.current {
            for alloc in self.snapshot.allocs_of_deployment(&deployment.id) {
                if *alloc.group != *self.group.name() || alloc.is_server_terminal() {
                    continue;
                }
                match alloc.health() {
                    Some(true) => {}
                    Some(false) => return 0,
                    None => limit = limit.saturating_sub(1),
                }
            }
        }
        limit
    }

    fn place_canaries(&mut self, sorted: &Sorted, wanted: u32) {
        for (alloc, delay) in &sorted.canary_retry {
            self.place(PlaceSlot {
                index: alloc.index,
                previous: Some(alloc.clone()),
                rescheduled: true,
                canary: true,
                delay: *delay,
                ..PlaceSlot::default()
            });
            self.updates.reschedule_now += 1;
            self.updates.canary += 1;
        }
        for alloc in &sorted.canary_moves {
            self.diff.stop.push(stop(alloc, why::MIGRATING, None));
            self.place(PlaceSlot {
                index: alloc.index,
                previous: Some(alloc.clone()),
                destructive: true,
                canary: true,
                ..PlaceSlot::default()
            });
            self.updates.migrate += 1;
            self.updates.canary += 1;
        }
        let there: Vec<&Arc<Alloc>> = (sorted.canaries.iter().chain(&sorted.canary_moves))
            .chain(sorted.canary_retry.iter().map(|(a, _)| a))
            .collect();
        let missing = (wanted as usize).saturating_sub(there.len());
        let taken: BTreeSet<u32> = there.iter().map(|a| a.index).collect();
        let free = (0..).filter(|i| !taken.contains(i)).take(missing);
        for index in free.collect::<Vec<_>>() {
            self.place(PlaceSlot { index, canary: true, ..PlaceSlot::default() });
            self.updates.canary += 1;
        }
    }

    /// Fills empty slots: new ones, those of lost nodes, and new attempts of failed ones.
    fn place_missing(&mut self, sorted: &Sorted, canarying: bool) -> usize {
        let mut placed = 0;
        // A failed deployment places nothing of the version that failed, but keeps what was there.
        let only_lost = self.deploying.halted() || canarying;
        for (alloc, delay) in &sorted.retry {
            self.place(PlaceSlot {
                index: alloc.index,
                previous: Some(alloc.clone()),
                rescheduled: true,
                delay: *delay,
                ..PlaceSlot::default()
            });
            self.updates.reschedule_now += 1;
            self.updates.place += 1;
            placed += 1;
        }
        let kept = sorted
            .filling
            .iter()
            .chain(&sorted.migrating)
            .chain(sorted.retry.iter().map(|(a, _)| a));
        let mut taken: BTreeSet<u32> = kept.map(|a| a.index).collect();
        let have = sorted.filling.len() + sorted.migrating.len() + sorted.retry.len();
        let mut missing = (self.group.count() as usize).saturating_sub(have);
        for alloc in sorted.lost.iter().take(missing).cloned().collect::<Vec<_>>() {
            if taken.insert(alloc.index) {
                self.place(PlaceSlot {
                    index: alloc.index,
                    previous: Some(alloc.clone()),
                    ..PlaceSlot::default()
                });
                self.updates.place += 1;
                missing -= 1;
                placed += 1;
            }
        }
        if only_lost && (self.deploying.paused || self.deploying.failed) {
            return placed;
        }
        let mut free = (0..).filter(|i| !taken.contains(i));
        let fresh: Vec<u32> = free.by_ref().take(missing).collect();
        for index in fresh {
            self.place(PlaceSlot { index, ..PlaceSlot::default() });
            self.updates.place += 1;
            placed += 1;
        }
        placed
    }

    fn replace(&mut self, old: &Arc<Alloc>, description: &str) {
        self.diff.stop.push(stop(old, description, None));
        self.place(PlaceSlot {
            index: old.index,
            previous: Some(old.clone()),
            destructive: true,
            ..PlaceSlot::default()
        });
    }

    fn place(&mut self, slot: PlaceSlot) {
        let kept = self.group.reschedule_policy.as_ref().and_then(|p| p.attempts).unwrap_or(0);
        let request = PlaceRequest {
            id: self.ids.uuid(),
            group: self.group.name().to_owned(),
            index: slot.index,
            previous: slot.previous,
            rescheduled: slot.rescheduled,
            destructive: slot.destructive,
            canary: slot.canary,
            deployment: self.deploying.id().filter(|_| {
                self.deploying.group(self.group.name()).is_some()
                    || self.deploying.begun.contains_key(self.group.name())
            }),
            delay: slot.delay,
            attempts_kept: usize::try_from(kept).unwrap_or(0),
        };
        self.diff.place.push(request);
    }
}

#[derive(Default)]
struct PlaceSlot {
    index: u32,
    previous: Option<Arc<Alloc>>,
    rescheduled: bool,
    destructive: bool,
    canary: bool,
    delay: Nanos,
}
