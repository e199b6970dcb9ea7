//! Which fields of each block a difference shows.

/// The fields of one block.
pub(super) struct Shape {
    /// Fields that are always compared.
    pub(super) fields: &'static [&'static str],
    /// Fields that are left out while both sides have this value: names that clients of the
    /// recorded form do not know.
    pub(super) quiet: &'static [(&'static str, &'static str)],
    /// Maps, whose entries appear as `Name[key]`.
    pub(super) maps: &'static [&'static str],
}

const fn shape(
    fields: &'static [&'static str],
    quiet: &'static [(&'static str, &'static str)],
    maps: &'static [&'static str],
) -> Shape {
    Shape { fields, quiet, maps }
}

pub(super) const JOB: Shape = shape(
    &[
        "AllAtOnce",
        "Dispatched",
        "Name",
        "Namespace",
        "ParentID",
        "Priority",
        "Region",
        "Stop",
        "Type",
    ],
    &[("NodePool", "default"), ("ConsulNamespace", ""), ("VaultNamespace", "")],
    &["Meta"],
);
pub(super) const GROUP: Shape = shape(
    &["Count", "ShutdownDelay", "StopAfterClientDisconnect"],
    &[("MaxClientDisconnect", ""), ("PreventRescheduleOnLost", "")],
    &["Meta"],
);
pub(super) const TASK: Shape = shape(
    &["Driver", "KillSignal", "KillTimeout", "Kind", "Leader", "ShutdownDelay", "User"],
    &[],
    &["Env", "Meta"],
);
pub(super) const CONSTRAINT: Shape = shape(&["LTarget", "Operand", "RTarget"], &[], &[]);
pub(super) const AFFINITY: Shape = shape(&["LTarget", "Operand", "RTarget", "Weight"], &[], &[]);
pub(super) const PERIODIC: Shape =
    shape(&["Enabled", "ProhibitOverlap", "Spec", "SpecType", "TimeZone"], &[], &[]);
pub(super) const PARAMETERIZED: Shape = shape(&["Payload"], &[], &[]);
pub(super) const RESTART: Shape =
    shape(&["Attempts", "Delay", "Interval", "Mode"], &[("RenderTemplates", "false")], &[]);
pub(super) const RESCHEDULE: Shape =
    shape(&["Attempts", "Delay", "DelayFunction", "Interval", "MaxDelay", "Unlimited"], &[], &[]);
pub(super) const DISK: Shape = shape(&["Migrate", "SizeMB", "Sticky"], &[], &[]);
pub(super) const UPDATE: Shape = shape(
    &[
        "AutoPromote",
        "AutoRevert",
        "Canary",
        "HealthCheck",
        "HealthyDeadline",
        "MaxParallel",
        "MinHealthyTime",
        "ProgressDeadline",
    ],
    &[("Stagger", "30000000000")],
    &[],
);
pub(super) const MIGRATE: Shape =
    shape(&["HealthCheck", "HealthyDeadline", "MaxParallel", "MinHealthyTime"], &[], &[]);
pub(super) const DISCONNECT: Shape =
    shape(&["LostAfter", "Reconcile", "Replace", "StopOnClientAfter"], &[], &[]);
pub(super) const NETWORK: Shape = shape(&["MBits", "Mode"], &[("Hostname", "")], &[]);
pub(super) const DYNAMIC_PORT: Shape =
    shape(&["HostNetwork", "Label", "To"], &[("IgnoreCollision", "false")], &[]);
pub(super) const STATIC_PORT: Shape =
    shape(&["HostNetwork", "Label", "To", "Value"], &[("IgnoreCollision", "false")], &[]);
pub(super) const VOLUME: Shape = shape(
    &["Name", "ReadOnly", "Source", "Type"],
    &[("AccessMode", ""), ("AttachmentMode", ""), ("PerAlloc", "false"), ("Sticky", "false")],
    &[],
);
pub(super) const SERVICE: Shape = shape(
    &["AddressMode", "EnableTagOverride", "Name", "PortLabel", "TaskName"],
    &[
        ("Address", ""),
        ("Cluster", "default"),
        ("Kind", ""),
        ("OnUpdate", "require_healthy"),
        ("Provider", "consul"),
    ],
    &["CanaryMeta", "Meta", "TaggedAddresses"],
);
pub(super) const CHECK: Shape = shape(
    &[
        "AddressMode",
        "Command",
        "Expose",
        "FailuresBeforeCritical",
        "GRPCService",
        "GRPCUseTLS",
        "InitialStatus",
        "Interval",
        "Method",
        "Name",
        "Path",
        "PortLabel",
        "Protocol",
        "SuccessBeforePassing",
        "TLSSkipVerify",
        "TaskName",
        "Timeout",
        "Type",
    ],
    &[
        ("Advertise", ""),
        ("Body", ""),
        ("FailuresBeforeWarning", "0"),
        ("Notes", ""),
        ("OnUpdate", "require_healthy"),
        ("TLSServerName", ""),
    ],
    &[],
);
pub(super) const CHECK_RESTART: Shape = shape(&["Grace", "IgnoreWarnings", "Limit"], &[], &[]);
pub(super) const RESOURCES: Shape = shape(
    &["CPU", "DiskMB", "IOPS", "MemoryMB"],
    &[("Cores", "0"), ("MemoryMaxMB", "0"), ("SecretsMB", "0")],
    &[],
);
pub(super) const DEVICE: Shape = shape(&["Count", "Name"], &[], &[]);
pub(super) const LOGS: Shape =
    shape(&["MaxFileSizeMB", "MaxFiles"], &[("Disabled", "false"), ("Enabled", "")], &[]);
pub(super) const ARTIFACT: Shape = shape(
    &["GetterMode", "GetterSource", "RelativeDest"],
    &[("Chown", "false"), ("GetterInsecure", "false")],
    &["GetterHeaders", "GetterOptions"],
);
pub(super) const TEMPLATE: Shape = shape(
    &[
        "ChangeMode",
        "ChangeSignal",
        "DestPath",
        "EmbeddedTmpl",
        "Envvars",
        "LeftDelim",
        "Perms",
        "RightDelim",
        "SourcePath",
        "Splay",
        "VaultGrace",
    ],
    &[("ErrMissingKey", "false"), ("Gid", ""), ("Once", "false"), ("Uid", "")],
    &[],
);
pub(super) const VAULT: Shape = shape(
    &["ChangeMode", "ChangeSignal", "Env", "Namespace"],
    &[
        ("AllowTokenExpiration", "false"),
        ("Cluster", "default"),
        ("DisableFile", "false"),
        ("Role", ""),
    ],
    &[],
);
pub(super) const DISPATCH_PAYLOAD: Shape = shape(&["File"], &[], &[]);
