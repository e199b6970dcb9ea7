//! The system: collection on demand and the scheduler's settings.

use state::{Command, SchedulerConfig};

use crate::fault::{Fault, Kind};
use crate::leader::BrokerFigures;
use crate::server::Server;

impl Server {
    /// Asks for a collection that ignores the thresholds; it runs in the background.
    pub fn force_gc(&self) {
        self.inner.leader.force_gc.notify_one();
    }

    /// Changes how the scheduler works.
    ///
    /// # Errors
    /// The algorithm is unknown, the settings ask for what does not exist yet, or they were
    /// changed meanwhile.
    pub async fn set_scheduler_config(
        &self,
        config: SchedulerConfig,
        enforce_index: Option<u64>,
    ) -> Result<u64, Fault> {
        if !matches!(config.scheduler_algorithm.as_str(), "binpack" | "spread") {
            return Err(Fault::invalid(format!(
                "invalid scheduler algorithm: {}",
                config.scheduler_algorithm
            )));
        }
        let p = &config.preemption_config;
        if p.batch_scheduler_enabled || p.service_scheduler_enabled || p.sys_batch_scheduler_enabled
        {
            return Err(Fault::new(
                Kind::Unsupported,
                "preemption is not supported by Muster yet (docs/gaps.md)",
            ));
        }
        if config.memory_oversubscription_enabled {
            return Err(Fault::new(
                Kind::Unsupported,
                "memory oversubscription is not supported by Muster yet (docs/gaps.md)",
            ));
        }
        if config.pause_eval_broker {
            return Err(Fault::new(
                Kind::Unsupported,
                "pausing the evaluation broker is not supported by Muster yet (docs/gaps.md)",
            ));
        }
        self.commit(&Command::SetSchedulerConfig { config, enforce_index }).await
    }

    /// How many evaluations wait where.
    pub fn broker_figures(&self) -> BrokerFigures {
        self.inner.leader.broker.figures()
    }
}
