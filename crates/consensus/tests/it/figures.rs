//! Prints what a proposal costs here. Only gross limits are asserted: machines differ.

use std::time::{Duration, Instant};

use bytes::Bytes;
use consensus::{Config, Consensus};
use tempfile::TempDir;

use crate::recorder::recorder;

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_proposals_and_starts() {
    let dir = TempDir::new().unwrap();
    let settings = Config::new(1, Some(dir.path().into()));
    let began = Instant::now();
    let log = Consensus::start(settings.clone(), recorder().0).await.unwrap();
    println!("first start to leader: {:?}", began.elapsed());
    log.shutdown().await;
    let began = Instant::now();
    let log = Consensus::start(settings.clone(), recorder().0).await.unwrap();
    println!("restart of an empty log to leader: {:?}", began.elapsed());
    for clients in [1, 64] {
        measure(&log, clients).await;
    }
    log.shutdown().await;
    let mem = Consensus::start(Config::new(1, None), recorder().0).await.unwrap();
    println!("without a disk:");
    measure(&mem, 1).await;
    mem.shutdown().await;
    let began = Instant::now();
    let log = Consensus::start(settings, recorder().0).await.unwrap();
    println!("restart to leader with {} entries: {:?}", log.last_applied(), began.elapsed());
    log.shutdown().await;
    println!("bare write and sync of 544 bytes, p50: {:?}", bare_sync(dir.path()));
}

async fn measure(log: &Consensus, clients: usize) {
    let (began, length) = (Instant::now(), Duration::from_millis(700));
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut took = Vec::new();
                while began.elapsed() < length {
                    let start = Instant::now();
                    log.propose(Bytes::from(vec![7; 512])).await.unwrap();
                    took.push(start.elapsed());
                }
                took
            })
        })
        .collect();
    let mut took = Vec::new();
    for task in tasks {
        took.extend(task.await.unwrap());
    }
    took.sort();
    let rate = took.len() as f64 / began.elapsed().as_secs_f64();
    println!("{clients} clients: {rate:.0} proposals/s, p50 {:?}", took[took.len() / 2]);
    assert!(rate > 10.0);
}

fn bare_sync(dir: &std::path::Path) -> Duration {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(dir.join("bare")).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 4 << 20).unwrap();
    file.sync_all().unwrap();
    let mut took: Vec<Duration> = (0..300)
        .map(|number| {
            let start = Instant::now();
            file.write_all_at(&[1; 544], number * 544).unwrap();
            file.sync_data().unwrap();
            start.elapsed()
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}
