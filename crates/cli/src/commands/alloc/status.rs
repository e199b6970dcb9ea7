//! `alloc status`: an allocation, its addresses, its tasks and what happened to them.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, one_word};
use crate::failure::Outcome;
use crate::lookup;
use crate::output::absent;
use crate::output::table::{NONE, Pairs, Table};
use crate::output::units::{bytes, id, mebibytes};
use crate::output::when;
use crate::show;

/// Events of a task that are shown.
const EVENTS_MAX: usize = 10;

/// Show an allocation with its addresses, its tasks and what happened to them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the last event of each task
    #[arg(long)]
    short: bool,
    /// What the tasks use, in detail
    #[arg(long)]
    stats: bool,
    /// Whole ids, exact times, and how the node was chosen
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "ALLOCATION")]
    words: Vec<String>,
}

impl Args {
    /// What `status ID` asks for.
    pub(crate) fn of(id: &str, verbose: bool) -> Self {
        let format = Format::default();
        Self { short: false, stats: false, verbose, format, words: vec![id.to_owned()] }
    }
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = one_word(&args.words, "<allocation>")?;
    let alloc = lookup::allocation(ctx, given).await?;
    if ctx.formatted_as(&args.format, absent::ALLOCATION, &alloc)? {
        return Ok(());
    }
    ctx.say(basics(&alloc, &args));
    if args.short {
        let table = tasks_in_short(&alloc);
        ctx.title("Tasks");
        ctx.say(table);
        return Ok(());
    }
    if let Some(table) = addresses(&alloc) {
        ctx.title("Allocation Addresses");
        ctx.say(table);
    }
    let usage = usage(ctx, &alloc).await;
    for task in states(&alloc) {
        let used = usage.at("Tasks").at(task.0).at("ResourceUsage");
        self::task(ctx, &alloc, task, used, &args);
    }
    if args.verbose
        && let Some(table) = show::placement::scores(alloc.at("Metrics"))
    {
        ctx.title("Placement Metrics");
        ctx.say(table);
    }
    Ok(())
}

fn basics(alloc: &Value, args: &Args) -> String {
    let whole = args.verbose;
    let created = when::ago_or_at(alloc.int("CreateTime"), whole);
    let modified = when::ago_or_at(alloc.int("ModifyTime"), whole);
    let mut pairs = Pairs::new();
    pairs.add("ID", alloc.text("ID"));
    if args.short {
        pairs.add("Name", alloc.text("Name")).add("Created", created).add("Modified", modified);
        return pairs.render();
    }
    pairs
        .add("Eval ID", id(alloc.text("EvalID"), whole))
        .add("Name", alloc.text("Name"))
        .add("Node ID", id(alloc.text("NodeID"), whole))
        .add("Node Name", alloc.text("NodeName"))
        .add("Job ID", alloc.text("JobID"))
        .add("Job Version", show::allocations::version(alloc))
        .add("Client Status", alloc.text("ClientStatus"))
        .add("Client Description", alloc.text("ClientDescription"))
        .add("Desired Status", alloc.text("DesiredStatus"))
        .add("Desired Description", alloc.text("DesiredDescription"))
        .add("Created", created)
        .add("Modified", modified);
    if !alloc.is_empty_at("DeploymentID") {
        pairs.add("Deployment ID", id(alloc.text("DeploymentID"), whole));
        pairs.add("Deployment Health", health(alloc.at("DeploymentStatus")));
        if alloc.at("DeploymentStatus").flag("Canary") {
            pairs.add("Canary", true);
        }
    }
    if !alloc.is_empty_at("NextAllocation") {
        pairs.add("Replacement Alloc ID", id(alloc.text("NextAllocation"), whole));
    }
    let follow_up = alloc.text("FollowupEvalID");
    if !follow_up.is_empty() && alloc.is_empty_at("NextAllocation") {
        pairs.add("Reschedule Eval ID", id(follow_up, whole));
    }
    let reschedules = alloc.at("RescheduleTracker").items("Events").len();
    if reschedules > 0 {
        pairs.add("Reschedule Attempts", reschedules);
    }
    if whole {
        let metrics = alloc.at("Metrics");
        pairs
            .add("Evaluated Nodes", metrics.int("NodesEvaluated"))
            .add("Filtered Nodes", metrics.int("NodesFiltered"))
            .add("Exhausted Nodes", metrics.int("NodesExhausted"))
            .add("Allocation Time", when::duration(metrics.int("AllocationTime")))
            .add("Failures", metrics.int("CoalescedFailures"));
    }
    pairs.render()
}

fn health(status: &Value) -> &'static str {
    match status.at("Healthy").as_bool() {
        Some(true) => "healthy",
        Some(false) => "unhealthy",
        None => "unset",
    }
}

/// The ports of the group as they can be reached.
fn addresses(alloc: &Value) -> Option<String> {
    let mut table = Table::new(&["Label", "Dynamic", "Address"]);
    let shared = alloc.at("AllocatedResources").at("Shared");
    for network in shared.items("Networks") {
        for (kind, dynamic) in [("DynamicPorts", "yes"), ("ReservedPorts", "")] {
            for port in network.items(kind) {
                table.row(address(port, network.text("IP"), dynamic));
            }
        }
    }
    (!table.is_empty()).then(|| table.render())
}

fn address(port: &Value, host: &str, dynamic: &str) -> [String; 3] {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let mut address = format!("{host}:{}", port.int("Value"));
    if port.int("To") > 0 {
        address.push_str(&format!(" -> {}", port.int("To")));
    }
    let dynamic = if dynamic.is_empty() { "no" } else { dynamic };
    [format!("*{}", port.text("Label")), dynamic.to_owned(), address]
}

/// The tasks with their states: in the order of the job, then whatever else there is.
fn states(alloc: &Value) -> Vec<(&str, &Value)> {
    let order = lookup::task_names(alloc);
    let mut states = alloc.entries("TaskStates");
    let place = |name: &str| order.iter().position(|known| known == name).unwrap_or(order.len());
    states.sort_by_key(|(name, _)| (place(name), *name));
    states
}

fn tasks_in_short(alloc: &Value) -> String {
    let mut table = Table::new(&["Name", "State", "Last Event", "Time", "Lifecycle"]);
    for (name, state) in states(alloc) {
        let last = state.items("Events").last();
        let (kind, time) =
            last.map(|event| (event.text("Type"), event.int("Time"))).unwrap_or((NONE, 0));
        let time = when::at(time);
        table.row([name, state.text("State"), kind, time.as_str(), lifecycle(alloc, name)]);
    }
    table.render()
}

/// When in the life of the allocation a task runs.
fn lifecycle<'v>(alloc: &'v Value, task: &str) -> &'v str {
    let groups = alloc.at("Job").items("TaskGroups").iter();
    let tasks = groups
        .filter(|group| group.text("Name") == alloc.text("TaskGroup"))
        .flat_map(|group| group.items("Tasks"));
    let hook = tasks.filter(|known| known.text("Name") == task).map(|t| t.at("Lifecycle"));
    let hook = hook.map(|lifecycle| lifecycle.text("Hook")).find(|hook| !hook.is_empty());
    hook.unwrap_or("main")
}

/// What the tasks use now; nothing when the node cannot be asked.
async fn usage(ctx: &Context<'_>, alloc: &Value) -> Value {
    if alloc.text("ClientStatus") != "running" {
        return Value::Null;
    }
    let path = format!("/v1/client/allocation/{}/stats", alloc.text("ID"));
    let query = Query::new().with_some("namespace", alloc.text("Namespace"));
    ctx.client.get(&path, query).await.map(|answer| answer.value).unwrap_or_default()
}

fn task(
    ctx: &mut Context<'_>,
    alloc: &Value,
    (name, state): (&str, &Value),
    used: &Value,
    args: &Args,
) {
    ctx.title(&format!("Task \"{name}\" is \"{}\"", state.text("State")));
    ctx.say("Task Resources");
    ctx.say(resources(alloc, name, used));
    if args.stats {
        for (title, stats) in [("Memory Stats", "MemoryStats"), ("CPU Stats", "CpuStats")] {
            if let Some(table) = statistics(used.at(stats), stats) {
                ctx.say(format!("\n{title}\n{table}"));
            }
        }
    }
    let mut pairs = Pairs::new();
    let time = |key: &str| when::at(when::parse(state.text(key)));
    pairs
        .add("Started At", time("StartedAt"))
        .add("Finished At", time("FinishedAt"))
        .add("Total Restarts", state.int("Restarts"))
        .add("Last Restart", time("LastRestart"));
    ctx.title("Task Events:");
    ctx.say(pairs.render());
    let mut table = Table::new(&["Time", "Type", "Description"]);
    for event in state.items("Events").iter().rev().take(EVENTS_MAX) {
        let time = when::at(event.int("Time"));
        table.row([time.as_str(), event.text("Type"), description(event)]);
    }
    ctx.title("Recent Events:");
    ctx.say(table.render());
}

fn description(event: &Value) -> &str {
    let texts = [event.text("DisplayMessage"), event.text("Message")];
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// What the task was given, and what it uses of it when that is known.
fn resources(alloc: &Value, task: &str, used: &Value) -> String {
    let given = alloc.at("AllocatedResources").at("Tasks").at(task);
    let cpu = given.at("Cpu").int("CpuShares");
    let memory = given.at("Memory").int("MemoryMB");
    let disk = alloc.at("AllocatedResources").at("Shared").int("DiskMB");
    // What has ended uses nothing; what cannot be asked is not known.
    let over = matches!(alloc.text("ClientStatus"), "complete" | "failed" | "lost");
    let (cpu, memory) = if used.is_null() && !over {
        (format!("{cpu} MHz"), mebibytes(memory))
    } else {
        let ticks = used.at("CpuStats").number("TotalTicks").round();
        let resident = used.at("MemoryStats");
        let resident = [resident.int("RSS"), resident.int("Usage")];
        let resident = resident.into_iter().find(|size| *size > 0).unwrap_or(0);
        let resident = bytes(u64::try_from(resident).unwrap_or(0));
        (format!("{ticks}/{cpu} MHz"), format!("{resident}/{}", mebibytes(memory)))
    };
    let mut addresses = Vec::new();
    for network in given.items("Networks") {
        for kind in ["DynamicPorts", "ReservedPorts"] {
            for port in network.items(kind) {
                let (label, ip) = (port.text("Label"), network.text("IP"));
                addresses.push(format!("{label}: {ip}:{}", port.int("Value")));
            }
        }
    }
    let mut table = Table::new(&["CPU", "Memory", "Disk", "Addresses"]);
    let first = addresses.first().cloned().unwrap_or_else(|| " ".to_owned());
    table.row([cpu, memory, mebibytes(disk), first]);
    for address in addresses.into_iter().skip(1) {
        table.row([" ".to_owned(), " ".to_owned(), " ".to_owned(), address]);
    }
    table.render()
}

/// The figures the driver measured, by its own list.
fn statistics(stats: &Value, kind: &str) -> Option<String> {
    let measured = stats.texts("Measured");
    if measured.is_empty() {
        return None;
    }
    let figure = |name: &&str| {
        let key: String = name.split(' ').collect();
        if kind == "MemoryStats" {
            bytes(u64::try_from(stats.int(&key)).unwrap_or(0))
        } else if matches!(*name, "Percent" | "System Mode" | "User Mode") {
            format!("{:.2}%", stats.number(&key))
        } else {
            stats.at(&key).to_string()
        }
    };
    let mut table = Table::new(&measured);
    table.row(measured.iter().map(figure));
    Some(table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn alloc() -> Value {
        json!({
            "ID": "c1488bb5-1", "EvalID": "26172081-1", "Name": "web.g[0]", "NodeID": "b4dc52b9-1",
            "NodeName": "n1", "JobID": "web", "Job": {"Version": 3, "TaskGroups": [
                {"Name": "g", "Tasks": [{"Name": "b", "Lifecycle": {"Hook": "prestart"}},
                                        {"Name": "a"}]}]},
            "TaskGroup": "g", "ClientStatus": "running", "DesiredStatus": "run",
            "DeploymentID": "dddddddd-1", "DeploymentStatus": {"Healthy": true},
            "AllocatedResources": {
                "Shared": {"DiskMB": 300, "Networks": [{"IP": "10.0.0.1",
                    "DynamicPorts": [{"Label": "http", "Value": 25000, "To": 80}],
                    "ReservedPorts": [{"Label": "db", "Value": 5432}]}]},
                "Tasks": {"a": {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 64}}}},
            "TaskStates": {"a": {"State": "running", "Events": []}, "b": {"State": "dead"}}
        })
    }

    #[test]
    fn the_head_names_everything_it_belongs_to() {
        expect![[r#"
            ID                  = c1488bb5-1
            Eval ID             = 26172081
            Name                = web.g[0]
            Node ID             = b4dc52b9
            Node Name           = n1
            Job ID              = web
            Job Version         = 3
            Client Status       = running
            Client Description  = <none>
            Desired Status      = run
            Desired Description = <none>
            Created             = N/A
            Modified            = N/A
            Deployment ID       = dddddddd
            Deployment Health   = healthy"#]]
        .assert_eq(&basics(&alloc(), &Args::of("c1", false)));
    }

    #[test]
    fn ports_and_tasks_are_listed_in_the_order_of_the_job() {
        expect![[r#"
            Label  Dynamic  Address
            *http  yes      10.0.0.1:25000 -> 80
            *db    no       10.0.0.1:5432"#]]
        .assert_eq(&addresses(&alloc()).unwrap());
        expect![[r#"
            Name  State    Last Event  Time  Lifecycle
            b     dead     <none>      N/A   prestart
            a     running  <none>      N/A   main"#]]
        .assert_eq(&tasks_in_short(&alloc()));
    }

    #[test]
    fn resources_show_use_and_limit() {
        let used = json!({"CpuStats": {"TotalTicks": 3.4}, "MemoryStats": {"RSS": 6_606_029}});
        expect![[r#"
            CPU        Memory          Disk     Addresses
            3/100 MHz  6.3 MiB/64 MiB  300 MiB"#]]
        .assert_eq(&resources(&alloc(), "a", &used));
        let mut alloc = alloc();
        assert!(resources(&alloc, "a", &Value::Null).contains("100 MHz  64 MiB  300 MiB"));
        alloc["ClientStatus"] = "failed".into();
        assert!(resources(&alloc, "a", &Value::Null).contains("0/100 MHz  0 B/64 MiB"));
    }

    #[test]
    fn statistics_show_what_was_measured() {
        let memory = json!({"Measured": ["RSS", "Max Usage"], "RSS": 1024, "MaxUsage": 2048});
        let text = statistics(&memory, "MemoryStats").unwrap();
        assert_eq!(text, "RSS      Max Usage\n1.0 KiB  2.0 KiB");
        assert_eq!(statistics(&json!({}), "CpuStats"), None);
    }
}
