//! The `server` block.

use hcl::ConfigBody;

use super::ServerConfig;
use super::reader::Reader;

pub(super) fn read(r: &mut Reader<'_>, body: &ConfigBody, out: &mut ServerConfig) {
    for item in &body.items {
        match item.key.as_str() {
            "enabled" => r.flag(item, &mut out.enabled),
            "bootstrap_expect" => {
                r.count(item, &mut out.bootstrap_expect);
                if out.bootstrap_expect.is_some_and(|count| count != 1) {
                    r.unsupported(item, "server.bootstrap_expect other than 1");
                }
            }
            "data_dir" => r.text(item, &mut out.data_dir),
            "node_gc_threshold" => r.duration(item, &mut out.node_gc_threshold),
            "job_gc_interval" => r.duration(item, &mut out.job_gc_interval),
            "job_gc_threshold" => r.duration(item, &mut out.job_gc_threshold),
            "eval_gc_threshold" => r.duration(item, &mut out.eval_gc_threshold),
            "batch_eval_gc_threshold" => r.duration(item, &mut out.batch_eval_gc_threshold),
            "deployment_gc_threshold" => r.duration(item, &mut out.deployment_gc_threshold),
            "heartbeat_grace" => r.duration(item, &mut out.heartbeat_grace),
            "min_heartbeat_ttl" => r.duration(item, &mut out.min_heartbeat_ttl),
            "max_heartbeats_per_second" => r.float(item, &mut out.max_heartbeats_per_second),
            "failover_heartbeat_ttl" => r.duration(item, &mut out.failover_heartbeat_ttl),
            _ => r.other("server", item),
        }
    }
}
