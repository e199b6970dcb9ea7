//! What was acknowledged is there after the server is gone without a word.

use model::ids::JobKey;
use server::RegisterRequest;

use crate::fake_node::*;

#[tokio::test]
async fn acknowledged_jobs_and_placements_outlive_a_server_that_vanishes() {
    let dir = tempfile::tempdir().unwrap();
    let before = {
        let server = server(Some(dir.path())).await;
        FakeNode::register(&server, "n1").await;
        for n in 0..20 {
            let request =
                RegisterRequest { job: job(&format!("j{n}"), "batch", 1), ..Default::default() };
            server.register_job(request).await.unwrap();
        }
        let placed = until(&server, "ten are placed", |s| {
            Some(s.allocs().cloned().collect::<Vec<_>>()).filter(|a| a.len() == 10)
        })
        .await;
        until(&server, "the others wait", |s| {
            (s.evals().filter(|e| e.status == model::eval::EvalStatus::Blocked).count() == 10)
                .then_some(())
        })
        .await;
        server.shutdown().await;
        ids(&placed)
    };
    let server = server(Some(dir.path())).await;
    let snapshot = server.snapshot();
    assert_eq!(ids(&snapshot.allocs().cloned().collect::<Vec<_>>()), before);
    for n in 0..20 {
        assert!(
            snapshot.job(&JobKey::new("default", &format!("j{n}"))).is_some(),
            "job {n} is gone"
        );
    }
    let first = snapshot.allocs().next().unwrap();
    assert_eq!(
        first.spec.id(),
        &*first.job.id,
        "allocations are linked with their job version again"
    );
    assert_eq!(state::invariants::check(&snapshot), Vec::<String>::new());
    assert_eq!(server.broker_figures().blocked, 10, "what waited waits on");
}

#[test]
fn a_snapshot_read_back_is_the_same_state() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let server = server(None).await;
        FakeNode::register(&server, "n1").await;
        let request = RegisterRequest { job: job("web", "service", 3), ..Default::default() };
        server.register_job(request).await.unwrap();
        until(&server, "three are placed", |s| (live(s, "web").len() == 3).then_some(())).await;
        let snapshot = server.snapshot();
        let mut bytes = Vec::new();
        state::records::write(&snapshot, &mut bytes).unwrap();
        let back = state::records::read(&mut bytes.as_slice()).unwrap().snapshot();
        let mut again = Vec::new();
        state::records::write(&back, &mut again).unwrap();
        assert_eq!(bytes, again);
        assert_eq!(state::invariants::check(&back), Vec::<String>::new());
        for cut in (0..bytes.len()).step_by(97) {
            assert!(
                state::records::read(&mut &bytes[..cut]).is_err(),
                "cut at {cut} was taken for whole"
            );
        }
    });
}
