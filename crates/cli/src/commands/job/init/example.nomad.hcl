# A job is what you hand over: what to run, how many of it, and how to replace it.
# Try it:   muster job plan example.nomad.hcl
#           muster job run example.nomad.hcl
#           muster job status example
job "example" {
  # "service" runs until it is stopped, "batch" until it is done,
  # "system" once on each node.
  type = "service"

  # Where it may run; "*" is every datacenter.
  datacenters = ["*"]

  # How a new version replaces the old one: one allocation at a time, each of
  # which must be healthy for ten seconds. If the new version does not get
  # there, the last one that did comes back.
  update {
    max_parallel     = 1
    min_healthy_time = "10s"
    healthy_deadline = "3m"
    auto_revert      = true
  }

  # A group is placed on one node as a whole. Several tasks of one group share
  # its network and its alloc/ directory.
  group "web" {
    count = 1

    # A port without a number is chosen when the group is placed. The task
    # finds it in NOMAD_PORT_http.
    network {
      port "http" {}
    }

    # What to do on the node when a task ends without being asked to: here two
    # more tries within half an hour, then the allocation counts as failed and
    # is placed anew.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    task "server" {
      # Who runs it. "raw_exec" starts a program of the host as it is; "exec"
      # shuts it into a root directory of its own.
      driver = "raw_exec"

      config {
        command = "python3"
        args    = ["-m", "http.server", "${NOMAD_PORT_http}", "--directory", "local"]
      }

      # A file the task finds in its local/ directory.
      template {
        destination = "local/index.html"
        data        = "<h1>Hello from {{ env \"NOMAD_ALLOC_ID\" }}</h1>\n"
      }

      # What the task may use: MHz of processor, MiB of memory.
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
