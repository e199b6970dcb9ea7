//! `service` and `check` blocks.

use super::{connect, flag, string_map, task, text};
use hcl::{Fields, Value};
use model::job::*;
use model::wire::{List, Map};

pub(super) fn service(f: &mut Fields<'_>) -> Service {
    Service {
        id: text(f, "id"),
        name: text(f, "name"),
        tags: f.string_list("tags").unwrap_or_default().into(),
        canary_tags: f.string_list("canary_tags").unwrap_or_default().into(),
        enable_tag_override: flag(f, "enable_tag_override"),
        port_label: text(f, "port"),
        address_mode: text(f, "address_mode"),
        address: text(f, "address"),
        checks: f.blocks("check", &[], check).into(),
        check_restart: f.block("check_restart", &[], check_restart),
        connect: f.block("connect", &[], connect::connect),
        meta: string_map(f, "meta"),
        canary_meta: string_map(f, "canary_meta"),
        tagged_addresses: string_map(f, "tagged_addresses"),
        task_name: text(f, "task"),
        on_update: text(f, "on_update"),
        identity: f.block("identity", &[], task::identity),
        weights: f.block("weights", &[], |f| ServiceWeights {
            passing: f.int("passing").unwrap_or(1),
            warning: f.int("warning").unwrap_or(1),
        }),
        provider: text(f, "provider"),
        cluster: text(f, "cluster"),
        kind: text(f, "kind"),
    }
}

fn check(f: &mut Fields<'_>) -> ServiceCheck {
    ServiceCheck {
        id: text(f, "id"),
        name: text(f, "name"),
        kind: text(f, "type"),
        command: text(f, "command"),
        args: f.string_list("args").unwrap_or_default().into(),
        path: text(f, "path"),
        protocol: text(f, "protocol"),
        port_label: text(f, "port"),
        expose: flag(f, "expose"),
        address_mode: text(f, "address_mode"),
        advertise: text(f, "advertise"),
        interval: f.duration("interval").unwrap_or(0),
        timeout: f.duration("timeout").unwrap_or(0),
        initial_status: text(f, "initial_status"),
        notes: text(f, "notes"),
        tls_server_name: text(f, "tls_server_name"),
        tls_skip_verify: flag(f, "tls_skip_verify"),
        header: header(f),
        method: text(f, "method"),
        check_restart: f.block("check_restart", &[], check_restart),
        grpc_service: text(f, "grpc_service"),
        grpc_use_tls: flag(f, "grpc_use_tls"),
        task_name: text(f, "task"),
        success_before_passing: f.int("success_before_passing").unwrap_or(0),
        failures_before_critical: f.int("failures_before_critical").unwrap_or(0),
        failures_before_warning: f.int("failures_before_warning").unwrap_or(0),
        body: text(f, "body"),
        on_update: text(f, "on_update"),
    }
}

fn check_restart(f: &mut Fields<'_>) -> CheckRestart {
    CheckRestart {
        limit: f.int("limit").unwrap_or(0),
        grace: f.duration("grace"),
        ignore_warnings: flag(f, "ignore_warnings"),
    }
}

/// The header of an HTTP check: names with one text or a list of them.
fn header(f: &mut Fields<'_>) -> Map<List<String>> {
    let from_block = f.value_block("header");
    let from_attribute = f.value("header");
    let Some(Value::Object(items)) = from_block.or(from_attribute) else {
        if f.is_set("header") {
            f.reject("header", "A map of lists of string is required.");
        }
        return Map::default();
    };
    let mut header = Map::default();
    for (name, value) in items {
        let values = match &value {
            Value::List(values) => values.iter().map(Value::to_text).collect(),
            one => one.to_text().map(|text| vec![text]),
        };
        match values {
            Some(values) => {
                header.insert(name, List(values));
            }
            None => f.reject("header", format!("{name:?} must be a text or a list of texts.")),
        }
    }
    header
}
