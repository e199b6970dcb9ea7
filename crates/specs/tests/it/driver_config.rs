//! `config` blocks against the settings of their drivers.

use expect_test::{Expect, expect};
use hcl::Limits;
use specs::job::{Options, parse_job};

/// The warnings of a task with this content, without the name of the file.
fn warnings(task: &str, expected: Expect) {
    let text = format!("job \"j\" {{\n  group \"g\" {{\n    task \"t\" {{\n{task}\n}}\n}}\n}}\n");
    let random = &|| [7; 16];
    let options = Options { assignments: &[], files: None, random, limits: Limits::default() };
    let (_, found) = parse_job("j", &text, &options).expect("warnings are no errors");
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    expected.assert_eq(&found.join("\n"));
}

#[test]
fn every_spelling_that_a_driver_takes_passes() {
    warnings(
        r#"driver = "docker"
config {
  image      = "redis:${meta.version}"
  entrypoint = "/bin/sh"
  privileged = "true"
  pids_limit = "${meta.pids}"
  port_map {
    http = 80
  }
  labels {
    a = "b"
  }
  logging {
    type = "json-file"
    config {
      max-size = "2m"
    }
  }
  mount {
    type   = "bind"
    source = "local"
    target = "/x"
    bind_options { propagation = "rprivate" }
  }
  mount {
    type   = "tmpfs"
    target = "/y"
  }
  ulimit = { nofile = "1024:2048" }
}"#,
        expect![""],
    );
    warnings(
        "driver = \"docker\"\nconfig {\n  image = \"i\"\n  port_map = [{ http = 80 }, { admin = 81 }]\n  \
         mounts = [{ type = \"bind\", readonly = true }]\n  auth = { username = \"u\" }\n}",
        expect![""],
    );
    warnings("driver = \"raw_exec\"\nconfig = { command = \"/bin/true\" }", expect![""]);
    warnings("driver = \"a-plugin\"\nconfig {\n  anything = 1\n}", expect![""]);
    warnings("driver = \"java\"", expect![""]);
}

#[test]
fn what_a_driver_would_refuse_is_shown_where_it_stands() {
    warnings(
        r#"driver = "docker"
config {
  imgae = "redis"
  args  = "one two"
  image_pull_timeout = "5 minutes"
  auth {
    user = "u"
  }
  auth {}
  mount {
    tmpfs_options {
      size = "large"
    }
  }
  labels = "a=b"
}"#,
        expect![[r#"
            j:5,1-7: Missing driver setting; The driver "docker" needs the setting "image" in the config block.
            j:6,3-8: Unsupported driver setting; The driver "docker" has no setting named "imgae", so the task would not start. Did you mean "image"?
            j:7,3-7: Unsuitable driver setting; The driver "docker" would not start the task: "args" must be a list of texts.
            j:8,3-21: Unsuitable driver setting; The driver "docker" would not start the task: "image_pull_timeout" must be a duration such as "5m".
            j:9,3-7: Unsuitable driver setting; The driver "docker" would not start the task: only one "auth" block is allowed.
            j:13,3-8: Unsuitable driver setting; The driver "docker" would not start the task: "mount.tmpfs_options.size" must be a number.
            j:18,3-9: Unsuitable driver setting; The driver "docker" would not start the task: "labels" must be a map of texts."#]],
    );
    warnings(
        "driver = \"exec\"",
        expect![[
            r#"j:3,5-9: Missing driver setting; The driver "exec" needs the setting "command" in the config block."#
        ]],
    );
    warnings(
        "driver = \"qemu\"\nconfig = {\n  image_path = \"a.img\"\n  \"port_map\" = { ssh = \"x\" }\n}",
        expect![[
            r#"j:7,3-13: Unsuitable driver setting; The driver "qemu" would not start the task: "port_map" must be a map of numbers."#
        ]],
    );
    warnings(
        "driver = \"podman\"\nconfig {\n  image = \"i\"\n  tty = \"yes\"\n  network = \"host\"\n}",
        expect![[r#"
            j:7,3-6: Unsuitable driver setting; The driver "podman" would not start the task: "tty" must be true or false.
            j:8,3-10: Unsupported driver setting; The driver "podman" has no setting named "network", so the task would not start."#]],
    );
}
