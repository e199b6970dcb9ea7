//! Files and logs.

use std::time::Duration;

use client::{FaultKind, FrameStream, LogKind};
use futures_util::StreamExt;
use model::alloc::{ClientStatus, TaskPhase};
use model::ids::AllocId;
use serde_json::json;

use crate::world::*;

/// All of a stream that ends.
async fn whole(mut frames: FrameStream) -> String {
    let read = async {
        let mut bytes = Vec::new();
        while let Some(frame) = frames.next().await {
            bytes.extend(frame.unwrap().data.0);
        }
        String::from_utf8(bytes).unwrap()
    };
    tokio::time::timeout(LIMIT, read).await.expect("the stream ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_and_read_and_nothing_leads_out() {
    let Some(world) = World::new().await else { return };
    let text = "echo data > $NOMAD_ALLOC_DIR/data/f.txt; printf 0123456789 > local/n.txt; \
        ln -s /etc/passwd $NOMAD_ALLOC_DIR/data/link; echo ready; exec sleep 600";
    let alloc = world.place("a", job("service", json!([script("t", text)])));
    world.until_file(alloc, "alloc/logs/t.stdout.0", "ready").await;
    let client = world.client();
    let names = client.fs_list(&alloc, "/").await.unwrap();
    let names: Vec<_> = names.iter().map(|f| (f.name.as_str(), f.file_mode.as_str())).collect();
    assert_eq!(names, [("alloc", "drwxrwxrwx"), ("t", "drwxrwxrwx")]);
    let stat = client.fs_stat(&alloc, "/alloc/data/f.txt").await.unwrap();
    assert_eq!((stat.size, stat.content_type.as_deref()), (5, Some("text/plain; charset=utf-8")));
    let mut content = client.fs_read(&alloc, "/t/local/n.txt", 3, Some(4)).await.unwrap();
    assert_eq!(content.next().await.unwrap().unwrap(), "3456");
    assert!(content.next().await.is_none());
    let message = |path: &'static str| async move {
        let read = world_read(client, alloc, path).await;
        read.err().map(|fault| fault.message).unwrap_or_default()
    };
    assert_eq!(message("/alloc/data/link").await, "Path escapes the alloc directory");
    assert_eq!(message("../../etc/passwd").await, "Path escapes the alloc directory");
    assert_eq!(message("/alloc").await, "file \"/alloc\" is a directory");
    let unknown = client.fs_list(&AllocId::from_name("none"), "/").await.err().unwrap();
    assert_eq!(unknown.kind, FaultKind::NotFound);
    assert!(unknown.message.starts_with("Unknown allocation \""));
    world.stop(alloc);
    world.until_status(alloc, ClientStatus::Complete).await;
    // The report may be ahead of the roster by a moment.
    until("the end to be known", || client.gc_alloc(&alloc).is_ok()).await;
    assert_eq!(client.fs_list(&alloc, "/").await.err().unwrap().kind, FaultKind::NotFound);
    until("the directory to go", || !world.path(alloc, "").exists()).await;
    world.end().await;
}

async fn world_read(
    client: &client::Client,
    alloc: AllocId,
    path: &str,
) -> Result<client::ByteStream, client::Fault> {
    client.fs_read(&alloc, path, 0, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_followed_across_rotation_to_the_end_of_the_task() {
    let Some(world) = World::new().await else { return };
    // Three megabytes in files of one, all of which are kept.
    let text = "i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo line $i; head -c 102400 /dev/zero \
        | tr '\\0' x; echo; sleep 0.01; done";
    let logs = json!({"LogConfig": {"MaxFiles": 10, "MaxFileSizeMB": 1}});
    let alloc = world.place("a", job("batch", json!([script_with("t", text, logs)])));
    world.until_task(alloc, "t", TaskPhase::Running).await;
    let client = world.client();
    let frames = client.logs(&alloc, "t", LogKind::Stdout, 0, false, true).await.unwrap();
    let all = whole(frames).await;
    let lines: Vec<&str> = all.lines().filter(|line| line.starts_with("line")).collect();
    let expected: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
    assert_eq!(lines, expected);
    assert!(world.path(alloc, "alloc/logs/t.stdout.2").exists());
    world.until_status(alloc, ClientStatus::Complete).await;
    let again = client.logs(&alloc, "t", LogKind::Stdout, 0, false, false).await.unwrap();
    assert_eq!(whole(again).await, all);
    let end = client.logs(&alloc, "t", LogKind::Stdout, 5, true, false).await.unwrap();
    assert_eq!(whole(end).await, "xxxx\n");
    let err = client.logs(&alloc, "t", LogKind::Stderr, 0, false, true).await.unwrap();
    assert_eq!(whole(err).await, "");
    let unknown =
        client.logs(&alloc, "none", LogKind::Stdout, 0, false, false).await.err().unwrap();
    assert_eq!(unknown.message, "unknown task name \"none\"");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_followed_as_it_grows() {
    let Some(world) = World::new().await else { return };
    let text = "echo one > local/f; echo ready; exec sleep 600";
    let alloc = world.place("a", job("service", json!([script("t", text)])));
    world.until_file(alloc, "alloc/logs/t.stdout.0", "ready").await;
    let mut frames = world.client().fs_follow(&alloc, "/t/local/f", 0, false, true).await.unwrap();
    let mut next = async || {
        let frame = tokio::time::timeout(LIMIT, frames.next()).await.expect("a frame");
        frame.unwrap().unwrap()
    };
    let first = next().await;
    assert_eq!((first.data.0.as_slice(), first.offset), (&b"one\n"[..], 4));
    assert_eq!(first.file, "/t/local/f");
    let path = world.path(alloc, "t/local/f");
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"two\n").unwrap();
    assert_eq!(next().await.data.0, b"two\n");
    file.set_len(0).unwrap();
    assert_eq!(next().await.file_event, "file truncated");
    std::fs::remove_file(&path).unwrap();
    drop(file);
    assert_eq!(next().await.file_event, "file deleted");
    assert!(tokio::time::timeout(Duration::from_secs(5), frames.next()).await.unwrap().is_none());
    world.end().await;
}
