data_dir = "/var/lib/x"
"log_level" = "INFO"
server { enabled = true  bootstrap_expect = 1 }
client {
  enabled = true
  servers = ["127.0.0.1:4647"]
  meta { a = "b", "c.d" = "e" }
  host_volume "v" { path = "/x" read_only = true }
}
plugin "raw_exec" { config { enabled = true } }
telemetry { collection_interval = "1s" }
