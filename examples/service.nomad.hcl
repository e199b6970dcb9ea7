# A small web server: two copies, each on a port of its own, replaced one at a time.
job "hello" {
  type = "service"

  update {
    max_parallel     = 1
    min_healthy_time = "2s"
    healthy_deadline = "30s"
  }

  group "web" {
    count = 2

    network {
      port "http" {}
    }

    restart {
      attempts = 3
      interval = "1m"
      delay    = "2s"
      mode     = "delay"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          echo "allocation $NOMAD_ALLOC_INDEX of $NOMAD_JOB_NAME listens on $NOMAD_ADDR_http"
          while true; do
            echo "still here at $(date +%T)"
            sleep 5
          done
          SCRIPT
        ]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
