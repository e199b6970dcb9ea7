//! One node as `node status <id>` shows it.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::table::{Pairs, Table};
use crate::output::units::{bytes, id};
use crate::output::when;
use crate::show::allocations;

use super::status::Args;

/// The node's disk, processors and memory are counted in these.
const MEBIBYTE: f64 = 1_048_576.0;

pub(super) async fn show(ctx: &mut Context<'_>, node: &Value, args: &Args) -> Outcome {
    let node_id = node.text("ID").to_owned();
    let allocs = ctx.client.get(&format!("/v1/node/{node_id}/allocations"), Query::new()).await;
    let allocs = allocs.attempt("Error querying node allocations")?.value;
    let allocs = allocs.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut pairs = basics(node, args.verbose);
    if args.short {
        pairs
            .add("Host Volumes", names(node, "HostVolumes"))
            .add("CSI Volumes", "")
            .add("Drivers", drivers(node).join(","));
        ctx.say(pairs.render());
        ctx.title("Allocations");
        ctx.say(allocations::table_of_node(allocs, args.verbose));
        return Ok(());
    }
    let stats = stats(ctx, &node_id).await;
    let uptime = stats.as_ref().map(|stats| when::span(stats.int("Uptime") * 1_000_000_000));
    pairs.add("Uptime", uptime.unwrap_or_default());
    if args.verbose {
        ctx.say(pairs.render());
        volumes_and_drivers(ctx, node);
    } else {
        pairs
            .add("Host Volumes", names(node, "HostVolumes"))
            .add("CSI Volumes", "")
            .add("Driver Status", drivers(node).join(","));
        ctx.say(pairs.render());
    }
    let events = events(node, args.verbose);
    ctx.title("Node Events");
    ctx.say(events);
    let table = allocated(node, allocs);
    ctx.title("Allocated Resources");
    ctx.say(table);
    match stats {
        Ok(stats) => {
            let table = used(ctx, node, allocs).await;
            ctx.title("Allocation Resource Utilization");
            ctx.say(table);
            ctx.title("Host Resource Utilization");
            ctx.say(host_used(node, &stats));
            if args.stats {
                statistics(ctx, &stats);
            }
        }
        Err(failure) => ctx.say(format!("\nWhat is used is not known: {}", failure.text)),
    }
    ctx.title("Allocations");
    ctx.say(allocations::table_of_node(allocs, args.verbose));
    if args.verbose {
        for (title, key) in [("Attributes", "Attributes"), ("Meta", "Meta")] {
            let list = sorted_pairs(node, key);
            ctx.title(title);
            ctx.say(list);
        }
    }
    Ok(())
}

fn basics(node: &Value, verbose: bool) -> Pairs {
    let mut pairs = Pairs::new();
    pairs
        .add("ID", id(node.text("ID"), verbose))
        .add("Name", node.text("Name"))
        .add("Node Pool", node.text("NodePool"))
        .add("Class", node.text("NodeClass"))
        .add("DC", node.text("Datacenter"))
        .add("Drain", drain(node))
        .add("Eligibility", node.text("SchedulingEligibility"))
        .add("Status", node.text("Status"))
        .add("CSI Controllers", names(node, "CSIControllerPlugins"))
        .add("CSI Drivers", names(node, "CSINodePlugins"));
    pairs
}

fn drain(node: &Value) -> String {
    let strategy = node.at("DrainStrategy");
    if !strategy.is_object() {
        return node.flag("Drain").to_string();
    }
    let deadline = when::parse(strategy.text("ForceDeadline"));
    let ignored = if strategy.flag("IgnoreSystemJobs") { "; ignoring system jobs" } else { "" };
    match deadline {
        0 if strategy.int("Deadline") < 0 => format!("true; force drain{ignored}"),
        0 => format!("true; no deadline{ignored}"),
        deadline => format!("true; {} deadline{ignored}", when::at(deadline)),
    }
}

fn names(node: &Value, key: &str) -> String {
    let mut names: Vec<&str> = node.entries(key).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.join(",")
}

/// Drivers that are there; those that are not well say so.
fn drivers(node: &Value) -> Vec<String> {
    let mut drivers = node.entries("Drivers");
    drivers.sort_by_key(|(name, _)| *name);
    let text = |(name, info): (&str, &Value)| {
        let note = if info.flag("Healthy") { "" } else { " (unhealthy)" };
        info.flag("Detected").then(|| format!("{name}{note}"))
    };
    drivers.into_iter().filter_map(text).collect()
}

fn volumes_and_drivers(ctx: &mut Context<'_>, node: &Value) {
    let mut volumes = node.entries("HostVolumes");
    volumes.sort_by_key(|(name, _)| *name);
    if !volumes.is_empty() {
        let mut table = Table::new(&["Name", "ReadOnly", "Source"]);
        for (name, volume) in volumes {
            table.row([name, &volume.flag("ReadOnly").to_string(), volume.text("Path")]);
        }
        ctx.title("Host Volumes");
        ctx.say(table.render());
    }
    let mut drivers = node.entries("Drivers");
    drivers.sort_by_key(|(name, _)| *name);
    let mut table = Table::new(&["Driver", "Detected", "Healthy", "Message", "Time"]);
    for (name, info) in drivers {
        table.row([
            name.to_owned(),
            info.flag("Detected").to_string(),
            info.flag("Healthy").to_string(),
            info.text("HealthDescription").to_owned(),
            when::at(when::parse(info.text("UpdateTime"))),
        ]);
    }
    ctx.title("Drivers");
    ctx.say(table.render());
}

fn events(node: &Value, verbose: bool) -> String {
    let mut headings = vec!["Time", "Subsystem", "Message"];
    headings.extend(verbose.then_some("Details"));
    let mut table = Table::new(&headings);
    for event in node.items("Events").iter().rev() {
        let time = when::at(when::parse(event.text("Timestamp")));
        let mut row =
            vec![time, event.text("Subsystem").to_owned(), event.text("Message").to_owned()];
        if verbose {
            let details = event.entries("Details");
            let text = |(key, value): (&str, &Value)| {
                format!("{key}: {}", value.as_str().unwrap_or_default())
            };
            row.push(details.into_iter().map(text).collect::<Vec<_>>().join(", "));
        }
        table.row(row);
    }
    table.render()
}

/// Processor, memory and disk in MHz and bytes.
#[derive(Debug, Default, Clone, Copy)]
struct Amounts {
    cpu: f64,
    memory: f64,
    disk: f64,
}

/// What allocations can have: all of the node without what is reserved.
fn available(node: &Value) -> Amounts {
    let (all, kept) = (node.at("NodeResources"), node.at("ReservedResources"));
    let left =
        |part: &str, key: &str| (all.at(part).number(key) - kept.at(part).number(key)).max(0.0);
    Amounts {
        cpu: left("Cpu", "CpuShares"),
        memory: left("Memory", "MemoryMB") * MEBIBYTE,
        disk: left("Disk", "DiskMB") * MEBIBYTE,
    }
}

fn is_over(alloc: &Value) -> bool {
    matches!(alloc.text("ClientStatus"), "complete" | "failed" | "lost")
}

fn allocated(node: &Value, allocs: &[Value]) -> String {
    let mut sum = Amounts::default();
    for alloc in allocs.iter().filter(|alloc| !is_over(alloc)) {
        let resources = alloc.at("AllocatedResources");
        sum.disk += resources.at("Shared").number("DiskMB") * MEBIBYTE;
        for (_, task) in resources.entries("Tasks") {
            sum.cpu += task.at("Cpu").number("CpuShares");
            sum.memory += task.at("Memory").number("MemoryMB") * MEBIBYTE;
        }
    }
    of(sum, available(node), true)
}

fn of(part: Amounts, all: Amounts, disk: bool) -> String {
    let size = |count: f64| bytes(count as u64);
    let mut headings = vec!["CPU", "Memory"];
    headings.extend(disk.then_some("Disk"));
    let mut row = vec![
        format!("{:.0}/{:.0} MHz", part.cpu, all.cpu),
        format!("{}/{}", size(part.memory), size(all.memory)),
    ];
    row.extend(disk.then(|| format!("{}/{}", size(part.disk), size(all.disk))));
    let mut table = Table::new(&headings);
    table.row(row);
    table.render()
}

async fn used(ctx: &Context<'_>, node: &Value, allocs: &[Value]) -> String {
    let mut sum = Amounts::default();
    for alloc in allocs.iter().filter(|alloc| alloc.text("ClientStatus") == "running") {
        let path = format!("/v1/client/allocation/{}/stats", alloc.text("ID"));
        let query = Query::new().with_some("namespace", alloc.text("Namespace"));
        // An allocation that ended in between uses nothing.
        let stats = ctx.client.get(&path, query).await.map(|answer| answer.value);
        let stats = stats.unwrap_or_default();
        let usage = stats.at("ResourceUsage");
        sum.cpu += usage.at("CpuStats").number("TotalTicks");
        let memory = usage.at("MemoryStats");
        sum.memory += memory.number("RSS").max(memory.number("Usage"));
    }
    of(sum, available(node), false)
}

async fn stats(ctx: &Context<'_>, node: &str) -> Result<Value, Failure> {
    let answer = ctx.client.get("/v1/client/stats", Query::new().with("node_id", node)).await;
    Ok(answer.attempt("Error querying node stats")?.value)
}

fn host_used(node: &Value, stats: &Value) -> String {
    let (memory, disk) = (stats.at("Memory"), stats.at("AllocDirStats"));
    let part = Amounts {
        cpu: stats.number("CPUTicksConsumed"),
        memory: memory.number("Used"),
        disk: disk.number("Used"),
    };
    let total = node.at("Attributes").text("cpu.totalcompute").parse();
    let all = Amounts {
        cpu: total.unwrap_or_else(|_| node.at("NodeResources").at("Cpu").number("CpuShares")),
        memory: memory.number("Total"),
        disk: disk.number("Size"),
    };
    of(part, all, true)
}

fn statistics(ctx: &mut Context<'_>, stats: &Value) {
    let percent = |value: &Value, key: &str| format!("{:.2}%", value.number(key));
    let size = |value: &Value, key: &str| bytes(value.number(key) as u64);
    let mut blocks = Vec::new();
    for cpu in stats.items("CPU") {
        let mut pairs = Pairs::new();
        pairs.add("CPU", cpu.text("CPU"));
        for key in ["User", "System", "Idle"] {
            pairs.add(key, percent(cpu, key));
        }
        blocks.push(pairs.render());
    }
    ctx.title("CPU Stats");
    ctx.say(blocks.join("\n\n"));
    let mut pairs = Pairs::new();
    for key in ["Total", "Available", "Used", "Free"] {
        pairs.add(key, size(stats.at("Memory"), key));
    }
    ctx.title("Memory Stats");
    ctx.say(pairs.render());
    let mut blocks = Vec::new();
    for disk in stats.items("DiskStats") {
        let mut pairs = Pairs::new();
        pairs
            .add("Device", disk.text("Device"))
            .add("MountPoint", disk.text("Mountpoint"))
            .add("Size", size(disk, "Size"))
            .add("Used", size(disk, "Used"))
            .add("Available", size(disk, "Available"))
            .add("Used Percent", percent(disk, "UsedPercent"))
            .add("Inodes Percent", percent(disk, "InodesUsedPercent"));
        blocks.push(pairs.render());
    }
    ctx.title("Disk Stats");
    ctx.say(blocks.join("\n\n"));
}

fn sorted_pairs(node: &Value, key: &str) -> String {
    let mut entries = node.entries(key);
    entries.sort_by_key(|(name, _)| *name);
    let mut pairs = Pairs::new();
    for (name, value) in entries {
        pairs.add(name, value.as_str().unwrap_or_default());
    }
    pairs.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn resources_of_live_allocations_are_summed_against_what_is_available() {
        let node = json!({
            "NodeResources": {"Cpu": {"CpuShares": 2600}, "Memory": {"MemoryMB": 2048},
                              "Disk": {"DiskMB": 32768}},
            "ReservedResources": {"Cpu": {"CpuShares": 100}}});
        let alloc = |status: &str| {
            json!({"ClientStatus": status, "AllocatedResources": {"Shared": {"DiskMB": 300},
                "Tasks": {"t": {"Cpu": {"CpuShares": 500}, "Memory": {"MemoryMB": 256}}}}})
        };
        expect![[r#"
            CPU           Memory           Disk
            500/2500 MHz  256 MiB/2.0 GiB  300 MiB/32 GiB"#]]
        .assert_eq(&allocated(&node, &[alloc("running"), alloc("complete")]));
    }

    #[test]
    fn a_drain_says_when_it_ends() {
        assert_eq!(drain(&json!({"Drain": false})), "false");
        let strategy = json!({"DrainStrategy": {"Deadline": 0, "IgnoreSystemJobs": true}});
        assert_eq!(drain(&strategy), "true; no deadline; ignoring system jobs");
    }

    #[test]
    fn drivers_that_are_not_there_are_left_out() {
        let node = json!({"Drivers": {"raw_exec": {"Detected": true, "Healthy": true},
            "docker": {"Detected": false}, "exec": {"Detected": true, "Healthy": false}}});
        assert_eq!(drivers(&node), ["exec (unhealthy)", "raw_exec"]);
    }
}
