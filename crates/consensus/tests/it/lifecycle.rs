//! Start, restart, kill, snapshots: nothing acknowledged is ever lost.

use std::time::{Duration, Instant};

use bytes::Bytes;
use consensus::{Config, Consensus, MAX_ENTRY_BYTES, OpenError, ProposeError, StartError};
use tempfile::TempDir;

use crate::recorder::{config, copy_dir, recorder};

fn data(number: u64) -> Bytes {
    Bytes::from(format!("entry {number}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn proposals_are_applied_in_order_and_answered_with_index_and_response() {
    let (machine, applied) = recorder();
    let log = Consensus::start(Config::new(1, None), machine).await.unwrap();
    let (first, answer) = log.propose(data(0)).await.unwrap();
    assert_eq!(answer, "0");
    let (second, answer) = log.propose(data(1)).await.unwrap();
    assert_eq!((second, answer), (first + 1, "1".into()));
    assert_eq!(log.last_applied(), second);
    assert_eq!(log.read_barrier().await.unwrap(), second);
    assert_eq!(*applied.lock().unwrap(), [data(0), data(1)]);
    let leadership = *log.leader().borrow();
    assert!(leadership.is_self && leadership.leader == Some(1));
    log.shutdown().await;
    assert_eq!(log.propose(data(2)).await, Err(ProposeError::Shutdown));
    assert_eq!(log.read_barrier().await, Err(ProposeError::Shutdown));
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_directory_without_bootstrap_is_refused_and_left_unlocked() {
    let dir = TempDir::new().unwrap();
    let unready = Config { bootstrap: false, ..config(dir.path()) };
    let error = Consensus::start(unready.clone(), recorder().0).await.err().unwrap();
    assert!(matches!(error, StartError::NotBootstrapped));
    let log = Consensus::start(config(dir.path()), recorder().0).await.unwrap();
    log.shutdown().await;
    // Once there is a cluster, the flag no longer matters.
    Consensus::start(unready, recorder().0).await.unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_on_the_same_directory_is_refused_in_words() {
    let dir = TempDir::new().unwrap();
    let log = Consensus::start(config(dir.path()), recorder().0).await.unwrap();
    let error = Consensus::start(config(dir.path()), recorder().0).await.err().unwrap();
    assert!(matches!(error, StartError::Open(OpenError::InUse { .. })), "{error}");
    assert!(error.to_string().contains("is in use by another process"));
    log.shutdown().await;
    Consensus::start(config(dir.path()), recorder().0).await.unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_at_any_moment_loses_no_acknowledged_proposal() {
    let (dir, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let log = Consensus::start(config(dir.path()), recorder().0).await.unwrap();
    for number in 0..20 {
        log.propose(data(number)).await.unwrap();
        let copy = copies.path().join(number.to_string());
        copy_dir(dir.path(), &copy);
    }
    for number in 0..20 {
        let copy = copies.path().join(number.to_string());
        let (machine, applied) = recorder();
        let reopened = Consensus::start(config(&copy), machine).await.unwrap();
        let expected: Vec<Bytes> = (0..=number).map(data).collect();
        assert_eq!(*applied.lock().unwrap(), expected);
        reopened.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_handle_releases_the_directory_and_loses_nothing() {
    let dir = TempDir::new().unwrap();
    let log = Consensus::start(config(dir.path()), recorder().0).await.unwrap();
    let mut leadership = log.leader();
    for number in 0..10 {
        log.propose(data(number)).await.unwrap();
    }
    drop(log);
    while leadership.changed().await.is_ok() {}
    let (machine, applied) = recorder();
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut machine = Some(machine);
    let log = loop {
        // The engine ends in the background, so the lock may be held for a moment more.
        match Consensus::start(config(dir.path()), machine.take().unwrap()).await {
            Ok(log) => break log,
            Err(StartError::Open(OpenError::InUse { .. })) if Instant::now() < deadline => {
                machine = Some(recorder_onto(&applied));
                tokio::task::yield_now().await;
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(*applied.lock().unwrap(), (0..10).map(data).collect::<Vec<_>>());
    log.shutdown().await;
}

fn recorder_onto(applied: &crate::recorder::Applied) -> crate::recorder::Recorder {
    crate::recorder::Recorder::onto(applied.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshot_purges_the_log_and_a_restart_rebuilds_the_same_state() {
    let dir = TempDir::new().unwrap();
    let settings = Config { trailing_entries: 3, segment_bytes: 4096, ..config(dir.path()) };
    let (machine, applied) = recorder();
    let log = Consensus::start(settings.clone(), machine).await.unwrap();
    for number in 0..300 {
        log.propose(data(number)).await.unwrap();
    }
    let before = log.stats().log_bytes;
    let index = log.take_snapshot().await.unwrap();
    assert_eq!(index, log.last_applied());
    let mut stats = log.stats();
    let deadline = Instant::now() + Duration::from_secs(10);
    while stats.log_bytes >= before && Instant::now() < deadline {
        // Purging follows the snapshot in the background; each barrier is a turn of the engine.
        log.read_barrier().await.unwrap();
        stats = log.stats();
    }
    assert!(stats.log_bytes < before, "{} bytes of {before} left", stats.log_bytes);
    assert_eq!(stats.purged_index, index - 3);
    let mut copied = Vec::new();
    let mut snapshot = log.newest_snapshot().unwrap().unwrap();
    assert_eq!(snapshot.index, index);
    snapshot.reader.read_to_end(&mut copied).unwrap();
    assert!(copied.windows(9).any(|window| window == b"entry 299"));
    for number in 300..310 {
        log.propose(data(number)).await.unwrap();
    }
    let expected = applied.lock().unwrap().clone();
    let last = log.last_applied();
    log.shutdown().await;

    let (machine, applied) = recorder();
    let log = Consensus::start(settings, machine).await.unwrap();
    assert_eq!(*applied.lock().unwrap(), expected);
    assert!(log.last_applied() > last, "the new term adds an entry of its own");
    assert_eq!(log.propose(data(310)).await.unwrap().1, "310");
    log.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_come_by_themselves_after_entries_and_after_bytes() {
    for (entries, bytes) in [(50, u64::MAX), (u64::MAX / 2, 5_000)] {
        let settings =
            Config { snapshot_entries: entries, snapshot_bytes: bytes, ..Config::new(1, None) };
        let log = Consensus::start(settings, recorder().0).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while log.stats().snapshot_index == 0 && Instant::now() < deadline {
            log.propose(Bytes::from(vec![7; 100])).await.unwrap();
        }
        assert!(log.stats().snapshot_index > 0);
        log.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_or_damaged_snapshot_is_refused() {
    let dir = TempDir::new().unwrap();
    let settings = Config { trailing_entries: 0, ..config(dir.path()) };
    let log = Consensus::start(settings.clone(), recorder().0).await.unwrap();
    for number in 0..20 {
        log.propose(data(number)).await.unwrap();
    }
    log.take_snapshot().await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while log.stats().purged_index == 0 && Instant::now() < deadline {
        log.read_barrier().await.unwrap();
    }
    log.shutdown().await;
    let path = std::fs::read_dir(dir.path().join("snapshots")).unwrap().next().unwrap().unwrap();
    let path = path.path();
    let whole = std::fs::read(&path).unwrap();
    let start = async || Consensus::start(settings.clone(), recorder().0).await;

    for cut in [0, 7, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let error = start().await.err().unwrap().to_string();
        assert!(error.contains("half a snapshot"), "cut at {cut}: {error}");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 16;
        std::fs::write(&path, &bytes).unwrap();
        let error = start().await.err().unwrap().to_string();
        assert!(error.contains("is damaged at byte"), "flipped at {at}: {error}");
    }
    std::fs::remove_file(&path).unwrap();
    let error = start().await.err().unwrap().to_string();
    assert!(error.contains("the snapshot that holds what came before is missing"), "{error}");

    // What a crash leaves of the next snapshot does no harm.
    std::fs::write(&path, &whole).unwrap();
    std::fs::write(path.with_file_name("x.tmp"), &whole[..9]).unwrap();
    start().await.unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_proposers_share_syncs_and_each_gets_its_own_answer() {
    let dir = TempDir::new().unwrap();
    let (machine, applied) = recorder();
    let log = Consensus::start(config(dir.path()), machine).await.unwrap();
    let clients: Vec<_> = (0..64)
        .map(|client| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for number in 0..20 {
                    let data = data(client * 100 + number);
                    answers.push((log.propose(data.clone()).await.unwrap().1, data));
                }
                answers
            })
        })
        .collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.extend(client.await.unwrap());
    }
    let applied = applied.lock().unwrap().clone();
    assert_eq!(applied.len(), 64 * 20);
    for (position, data) in answers {
        let position: usize = std::str::from_utf8(&position).unwrap().parse().unwrap();
        assert_eq!(applied[position], data);
    }
    let stats = log.stats();
    assert!(stats.syncs < stats.entries_written / 2, "{stats:?}");
    log.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_over_the_limit_is_refused_and_a_huge_one_within_it_survives() {
    let dir = TempDir::new().unwrap();
    let log = Consensus::start(config(dir.path()), recorder().0).await.unwrap();
    let over = Bytes::from(vec![1; MAX_ENTRY_BYTES + 1]);
    assert!(matches!(log.propose(over).await, Err(ProposeError::TooLarge { .. })));
    let huge = Bytes::from(vec![1; 3 * 1024 * 1024]);
    log.propose(huge.clone()).await.unwrap();
    log.shutdown().await;
    let (machine, applied) = recorder();
    let log = Consensus::start(config(dir.path()), machine).await.unwrap();
    assert_eq!(*applied.lock().unwrap(), [huge]);
    log.shutdown().await;
}
