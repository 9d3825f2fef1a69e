//! How a component is run, and what that means to wasmtime.

use wasmtime::{Cache, CacheConfig, Config, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Core instances that one component consists of: its module, and small helpers of the canonical ABI.
const CORE_INSTANCES: u32 = 4;

/// How a [`Component`](super::Component) is run.
#[derive(Clone, Debug)]
pub struct ComponentOptions {
    /// Requests in progress at the same time, each in an instance of its own; further requests wait. Each
    /// instance reserves 4 GiB of address space (512 of them 2 TiB) but no memory, so that compiled code needs
    /// no bounds checks. Where address space is short (`ulimit -v`, more than 32,000 instances), loading fails.
    pub instances: u32,
    /// Requests that one instance serves, one after the other, before its memory is wiped. Until then it keeps
    /// the memory of its largest request. Use 1 for a component that is not trusted to keep no state; 0 counts
    /// as 1.
    pub requests_per_instance: u32,
    /// Memory one instance may use, bytes.
    pub memory_limit_bytes: usize,
    /// Fuel for one step, about one unit for each instruction. The core's own steps take about
    /// 100 thousand, and 4 million where they read 32 shards.
    pub step_fuel: u64,
    /// Whether compiled code is kept on disk, in wasmtime's own cache, and loaded from there.
    pub cache: bool,
}

impl Default for ComponentOptions {
    fn default() -> Self {
        Self {
            instances: 512,
            requests_per_instance: 1000,
            memory_limit_bytes: 16 << 20,
            step_fuel: 500_000_000,
            cache: true,
        }
    }
}

impl ComponentOptions {
    /// These options as wasmtime's `Config`, for this repository's tests and measurements. No promise of
    /// stability: a new wasmtime changes it.
    #[doc(hidden)]
    #[must_use]
    pub fn config(&self) -> Config {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(self.instances)
            .total_core_instances(self.instances.saturating_mul(CORE_INSTANCES))
            .max_core_instances_per_component(CORE_INSTANCES)
            .total_memories(self.instances)
            .max_memories_per_component(1)
            .max_memory_size(self.memory_limit_bytes)
            .total_tables(self.instances.saturating_mul(CORE_INSTANCES))
            .max_tables_per_component(CORE_INSTANCES);
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .consume_fuel(true)
            // All that 32 bits can address, so that no access needs a check.
            .memory_reservation(1 << 32)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        if self.cache {
            match Cache::new(CacheConfig::new()) {
                Ok(cache) => {
                    config.cache(Some(cache));
                }
                Err(error) => tracing::debug!(%error, "no cache for compiled code"),
            }
        }
        config
    }
}
