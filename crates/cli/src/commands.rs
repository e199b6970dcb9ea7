//! The tree of commands: one line each, and nothing else.

use std::pin::Pin;

use clap::Args;

use crate::context::Context;
use crate::failure::Outcome;
use crate::settings::General;

mod agent_info;
mod alloc;
mod completion;
mod deployment;
mod eval;
mod fmt;
mod job;
mod namespace;
mod node;
mod operator;
pub(crate) mod refused;
mod server;
mod status;
mod system;
pub(crate) mod version;

/// A command being run.
type Running<'c> = Pin<Box<dyn Future<Output = Outcome> + 'c>>;

/// One command.
pub(crate) struct Command {
    /// The words that name it.
    pub(crate) path: &'static str,
    /// Older names that still work.
    pub(crate) old: &'static [&'static str],
    /// What it does, in a line.
    pub(crate) about: &'static str,
    arguments: fn(clap::Command) -> clap::Command,
    /// Runs it with what clap read.
    pub(crate) start: for<'c> fn(&'c mut Context<'_>, &clap::ArgMatches) -> Running<'c>,
}

impl Command {
    /// What clap needs to know.
    pub(crate) fn build(&self) -> clap::Command {
        let command = clap::Command::new(self.path).no_binary_name(true).disable_help_flag(true);
        General::augment_args((self.arguments)(command))
    }
}

macro_rules! command {
    ($path:literal, [$($old:literal),*], $about:literal, $($module:ident)::+) => {
        Command {
            path: $path,
            old: &[$($old),*],
            about: $about,
            arguments: <$($module)::+::Args as clap::Args>::augment_args,
            start: |ctx, matches| {
                let args = <$($module)::+::Args as clap::FromArgMatches>::from_arg_matches(matches);
                let args = args.map_err(crate::failure::Failure::usage);
                Box::pin(async move { $($module)::+::run(ctx, args?).await })
            },
        }
    };
}

/// All commands.
#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &[
    command!("agent-info", [], "Print what the agent says about itself", agent_info),
    command!("alloc fs", ["fs"], "List and read the files of an allocation", alloc::fs),
    command!("alloc logs", ["logs"], "Read or follow what a task writes", alloc::logs),
    command!("alloc restart", [], "Restart the tasks of an allocation", alloc::restart),
    command!("alloc signal", [], "Send a signal to the tasks of an allocation", alloc::signal),
    command!("alloc status", ["alloc-status"], "Show an allocation with its tasks and events", alloc::status),
    command!("alloc stop", [], "Stop an allocation and let it be replaced", alloc::stop),
    command!("completion", [], "Print completions for a shell", completion),
    command!("deployment fail", [], "Let a deployment fail", deployment::fail),
    command!("deployment list", [], "List deployments", deployment::list),
    command!("deployment pause", [], "Halt a deployment", deployment::pause),
    command!("deployment promote", [], "Promote the canaries of a deployment", deployment::promote),
    command!("deployment resume", [], "Go on with a halted deployment", deployment::resume),
    command!("deployment status", [], "Show how far a deployment has come", deployment::status),
    command!("eval list", [], "List evaluations", eval::list),
    command!("eval status", ["eval-status"], "Show an evaluation and what came of it", eval::status),
    command!("fmt", [], "Bring job files and configuration into canonical form", fmt),
    command!("job allocs", [], "List the allocations of a job", job::allocs),
    command!("job deployments", [], "List the deployments of a job", job::deployments),
    command!("job dispatch", [], "Start an instance of a parameterized job", job::dispatch),
    command!("job eval", [], "Evaluate a job again", job::eval),
    command!("job history", [], "List the versions of a job and what changed", job::history),
    command!("job init", ["init"], "Write an example job file", job::init),
    command!("job inspect", ["inspect"], "Print a job as JSON, or as it was submitted", job::inspect),
    command!("job periodic force", [], "Launch a periodic job now", job::periodic_force),
    command!("job plan", ["plan"], "Show what running a job file would change", job::plan),
    command!("job promote", [], "Promote the canaries of a job", job::promote),
    command!("job revert", [], "Go back to an earlier version of a job", job::revert),
    command!("job run", ["run"], "Submit a job file and follow what comes of it", job::run),
    command!("job scale", [], "Change the count of a group", job::scale),
    command!("job status", [], "List jobs, or show one", job::status),
    command!("job stop", ["stop"], "Stop jobs", job::stop),
    command!("job validate", ["validate"], "Check a job file", job::validate),
    command!("namespace apply", [], "Create or change a namespace", namespace::apply),
    command!("namespace delete", [], "Delete a namespace", namespace::delete),
    command!("namespace inspect", [], "Print a namespace as JSON", namespace::inspect),
    command!("namespace list", [], "List namespaces", namespace::list),
    command!("namespace status", [], "Show a namespace", namespace::status),
    command!("node config", ["client-config"], "Show or change the servers of a client", node::config),
    command!("node drain", ["node-drain"], "Move allocations off a node, or stop doing so", node::drain),
    command!("node eligibility", [], "Let a node take allocations, or not", node::eligibility),
    command!("node status", ["node-status"], "List nodes, or show one", node::status),
    command!("operator api", [], "Send a request to the HTTP API", operator::api),
    command!("server members", ["server-members"], "List the servers", server::members),
    command!("status", [], "Show anything by the beginning of its id", status),
    command!("system gc", [], "Collect everything that is finished, now", system::gc),
    command!("system reconcile summaries", [], "Count the summaries of jobs again", system::reconcile_summaries),
    command!("version", [], "Print the version", version),
];
