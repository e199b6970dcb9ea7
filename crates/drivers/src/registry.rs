//! The list of drivers, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Driver, Exec, ExecOptions, Mock, RawExec, RawExecOptions};

/// What the agent's configuration says about drivers.
#[derive(Debug, Clone, Default)]
pub struct RegistryOptions {
    pub exec: ExecOptions,
    pub raw_exec: RawExecOptions,
    /// The pretending driver is for tests and off by default.
    pub mock_enabled: bool,
}

#[derive(Clone)]
pub struct Registry {
    drivers: BTreeMap<&'static str, Arc<dyn Driver>>,
}

impl Registry {
    /// All drivers there are; disabled ones are in the list and say so in their fingerprint.
    pub fn new(options: RegistryOptions) -> Self {
        Self::of([
            Arc::new(Exec::new(options.exec)) as Arc<dyn Driver>,
            Arc::new(RawExec::new(options.raw_exec)),
            Arc::new(Mock::new(options.mock_enabled)),
        ])
    }

    pub fn of(drivers: impl IntoIterator<Item = Arc<dyn Driver>>) -> Self {
        Self { drivers: drivers.into_iter().map(|driver| (driver.name(), driver)).collect() }
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Driver>> {
        self.drivers.get(name)
    }

    /// In order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Driver>> {
        self.drivers.values()
    }
}
