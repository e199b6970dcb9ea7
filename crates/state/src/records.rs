//! A snapshot as a stream of records, and back. No files here: bytes in, bytes out.
//!
//! The stream is a format byte, then length-prefixed msgpack records, then an end record with the
//! count. A later format, a damaged record or a missing end is an error, never a partial state.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use model::alloc::Alloc;
use model::deployment::Deployment;
use model::eval::Evaluation;
use model::ids::JobKey;
use model::job::{Job, JobSubmission};
use model::node::Node;

use crate::changes::Changes;
use crate::command::SchedulerConfig;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::{JobEntry, Tables};

/// The format this version writes.
pub const RECORDS_FORMAT: u8 = 1;
/// No single record is larger; a longer length is damage.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

#[derive(Serialize, Deserialize)]
enum Record {
    Indexes {
        index: u64,
        tables: Vec<u64>,
    },
    Config(SchedulerConfig),
    Node(Box<Node>),
    Job {
        versions: Vec<Job>,
        submissions: BTreeMap<u64, JobSubmission>,
        queued: BTreeMap<String, i64>,
        summary_index: u64,
    },
    /// A version that only allocations still use.
    OldVersion(Box<Job>),
    Eval(Box<Evaluation>),
    Deployment(Box<Deployment>),
    Alloc(Box<Alloc>),
    End {
        records: u64,
    },
}

/// Why a stream is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error("reading the snapshot failed")]
    Read(#[source] std::io::Error),
    #[error("writing the snapshot failed")]
    Write(#[source] std::io::Error),
    #[error("the snapshot has format {0}, this version reads up to {RECORDS_FORMAT}")]
    Format(u8),
    #[error("record {0} of the snapshot has an impossible length of {1} bytes")]
    Length(u64, usize),
    #[error("record {0} of the snapshot cannot be decoded")]
    Body(u64, #[source] rmp_serde::decode::Error),
    #[error("the snapshot ends after {found} records and should have {expected}")]
    Count { found: u64, expected: u64 },
    #[error("allocation {0} refers to a job version that the snapshot lacks")]
    Dangling(String),
}

/// Writes a snapshot.
///
/// # Errors
/// The writer fails.
pub fn write(snapshot: &Snapshot, out: &mut dyn Write) -> Result<(), RecordsError> {
    let tables = snapshot.tables();
    let mut sink = Sink { out, records: 0 };
    sink.out.write_all(&[RECORDS_FORMAT]).map_err(RecordsError::Write)?;
    sink.put(&Record::Indexes { index: tables.index, tables: tables.table_indexes() })?;
    sink.put(&Record::Config(SchedulerConfig::clone(&tables.config)))?;
    for node in tables.nodes.values() {
        sink.put(&Record::Node(Box::new(Node::clone(node))))?;
    }
    for entry in tables.jobs.values() {
        sink.put(&Record::Job {
            versions: entry.versions.iter().map(|j| Job::clone(j)).collect(),
            submissions: entry
                .submissions
                .iter()
                .map(|(v, s)| (*v, JobSubmission::clone(s)))
                .collect(),
            queued: entry.queued.clone(),
            summary_index: entry.summary_index,
        })?;
    }
    let mut written: std::collections::BTreeSet<(JobKey, u64, u64)> = Default::default();
    for alloc in tables.allocs.values() {
        let known =
            tables.job_version(&alloc.job, alloc.job_create_index, alloc.job_version).is_some();
        if !known && written.insert((alloc.job.clone(), alloc.job_create_index, alloc.job_version))
        {
            sink.put(&Record::OldVersion(Box::new(Job::clone(&alloc.spec))))?;
        }
    }
    for eval in tables.evals.values() {
        sink.put(&Record::Eval(Box::new(Evaluation::clone(eval))))?;
    }
    for deployment in tables.deployments.values() {
        sink.put(&Record::Deployment(Box::new(Deployment::clone(deployment))))?;
    }
    for alloc in tables.allocs.values() {
        sink.put(&Record::Alloc(Box::new(Alloc::clone(alloc))))?;
    }
    let records = sink.records;
    sink.put(&Record::End { records })
}

struct Sink<'a> {
    out: &'a mut dyn Write,
    records: u64,
}

impl Sink<'_> {
    fn put(&mut self, record: &Record) -> Result<(), RecordsError> {
        let body = rmp_serde::to_vec_named(record).expect("writing to memory cannot fail");
        let length = u32::try_from(body.len()).expect("a record is far below 4 GiB");
        self.out.write_all(&length.to_le_bytes()).map_err(RecordsError::Write)?;
        self.out.write_all(&body).map_err(RecordsError::Write)?;
        self.records += 1;
        Ok(())
    }
}

/// Reads a snapshot into a new store; an error leaves nothing behind.
///
/// # Errors
/// The reader fails, or the stream is damaged, cut short or of a later format.
pub fn read(input: &mut dyn Read) -> Result<Store, RecordsError> {
    let mut format = [0];
    input.read_exact(&mut format).map_err(RecordsError::Read)?;
    if format[0] > RECORDS_FORMAT {
        return Err(RecordsError::Format(format[0]));
    }
    let mut loader = Loader::default();
    let mut count = 0;
    loop {
        let mut length = [0; 4];
        input.read_exact(&mut length).map_err(RecordsError::Read)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > RECORD_BYTES_MAX {
            return Err(RecordsError::Length(count, length));
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).map_err(RecordsError::Read)?;
        let record = rmp_serde::from_slice(&body).map_err(|e| RecordsError::Body(count, e))?;
        if let Record::End { records } = record {
            if records != count {
                return Err(RecordsError::Count { found: count, expected: records });
            }
            return Ok(loader.finish());
        }
        loader.take(record)?;
        count += 1;
    }
}

#[derive(Default)]
struct Loader {
    tables: Tables,
    old_versions: BTreeMap<(JobKey, u64, u64), Arc<Job>>,
    indexes: (u64, Vec<u64>),
    summaries: BTreeMap<JobKey, (BTreeMap<String, i64>, u64)>,
}

impl Loader {
    fn take(&mut self, record: Record) -> Result<(), RecordsError> {
        let mut ignored = Changes::default();
        match record {
            Record::Indexes { index, tables } => self.indexes = (index, tables),
            Record::Config(config) => self.tables.config = Arc::new(config),
            Record::Node(node) => {
                self.tables.nodes.insert(node.id, Arc::new(*node));
            }
            Record::Job { versions, submissions, queued, summary_index } => {
                let mut entry = JobEntry {
                    versions: versions.into_iter().map(Arc::new).collect(),
                    submissions: submissions.into_iter().map(|(v, s)| (v, Arc::new(s))).collect(),
                    ..JobEntry::default()
                };
                let Some(job) = entry.versions.first().cloned() else { return Ok(()) };
                for group in entry.versions.iter().flat_map(|j| j.task_groups.iter()) {
                    entry.counts.entry(group.name().into()).or_default();
                }
                self.summaries.insert(job.key(), (queued, summary_index));
                self.tables.jobs.insert(job.key(), Arc::new(entry));
            }
            Record::OldVersion(job) => {
                self.old_versions
                    .insert((job.key(), job.create_index(), job.version()), Arc::new(*job));
            }
            Record::Eval(eval) => {
                let (created, ctime) = (eval.create_index, eval.create_time);
                let (modified, mtime) = (eval.modify_index, eval.modify_time);
                self.tables.put_eval(&mut ignored, created, ctime, *eval.clone());
                let kept = Evaluation { modify_index: modified, modify_time: mtime, ..*eval };
                self.tables.evals.insert(kept.id, Arc::new(kept));
            }
            Record::Deployment(deployment) => {
                let kept = *deployment.clone();
                self.tables.put_deployment(
                    &mut ignored,
                    kept.create_index,
                    kept.create_time,
                    *deployment,
                );
                self.tables.deployments.insert(kept.id, Arc::new(kept));
            }
            Record::Alloc(alloc) => {
                let key = (alloc.job.clone(), alloc.job_create_index, alloc.job_version);
                let spec = self
                    .tables
                    .job_version(&key.0, key.1, key.2)
                    .or_else(|| self.old_versions.get(&key).cloned())
                    .ok_or_else(|| RecordsError::Dangling(alloc.id.to_string()))?;
                let index = alloc.modify_index;
                self.tables.put_alloc(&mut ignored, index, Alloc { spec, ..*alloc });
            }
            Record::End { .. } => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Store {
        for (key, (queued, summary_index)) in self.summaries {
            if let Some(entry) = self.tables.jobs.get_mut(&key) {
                let entry = Arc::make_mut(entry);
                entry.queued = queued;
                entry.summary_index = summary_index;
            }
        }
        self.tables.restore_indexes(self.indexes.0, &self.indexes.1);
        Store { tables: self.tables }
    }
}
