//! Typed ids: an id of one noun cannot be passed where another is meant.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A short shared text: names and job ids that many values carry.
pub type Name = Arc<str>;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }

        impl $name {
            /// The text of an optional id: empty when there is none.
            pub fn text(id: &Option<Self>) -> String {
                id.as_ref().map(ToString::to_string).unwrap_or_default()
            }

            /// A stable id made from a name; for tests and for seeded generators.
            pub fn from_name(name: &str) -> Self {
                Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()))
            }

            /// The first eight characters, as the command line shows them.
            pub fn short(&self) -> String {
                self.to_string()[..8].to_owned()
            }
        }
    };
}

uuid_id!(
    /// An allocation.
    AllocId
);
uuid_id!(
    /// An evaluation.
    EvalId
);
uuid_id!(
    /// A node.
    NodeId
);
uuid_id!(
    /// A deployment.
    DeploymentId
);

/// A job: unique in the region.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// The namespace.
    pub namespace: Name,
    /// The id in the namespace.
    pub id: Name,
}

impl JobKey {
    /// The key of this namespace and id.
    pub fn new(namespace: &str, id: &str) -> Self {
        Self { namespace: Name::from(namespace), id: Name::from(id) }
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.id)
    }
}
