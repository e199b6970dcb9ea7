//! Rules about where: constraints, affinities, spreads, scaling.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use crate::wire::{List, Map};

/// A rule a node must meet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Constraint {
    pub l_target: String,
    pub r_target: String,
    pub operand: String,
}

/// A preference for nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Affinity {
    pub l_target: String,
    pub r_target: String,
    pub operand: String,
    pub weight: Option<i64>,
}

/// How allocations are distributed over an attribute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spread {
    pub attribute: String,
    pub weight: Option<i64>,
    pub spread_target: List<SpreadTarget>,
}

/// The share one value of the attribute should get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SpreadTarget {
    pub value: String,
    pub percent: u8,
}

/// What an autoscaler may do with a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicy {
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub policy: Map<Value>,
    pub enabled: Option<bool>,
    #[serde(rename = "Type")]
    pub kind: String,
    #[serde(rename = "ID")]
    pub id: String,
    pub namespace: String,
    pub target: Map<String>,
    pub create_index: u64,
    pub modify_index: u64,
}
