# Three workers that each do a piece of work once and are done.
variable "pieces" {
  type        = number
  default     = 3
  description = "Into how many pieces the work is cut."
}

job "sum" {
  type = "batch"

  group "worker" {
    count = var.pieces

    task "add" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          total=0
          for n in $(seq 1 100); do
            total=$((total + n * (NOMAD_ALLOC_INDEX + 1)))
          done
          echo "piece $NOMAD_ALLOC_INDEX: $total"
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
