id = "db"
name = "database"
type = "csi"
plugin_id = "ebs"
capacity_min = "10GiB"
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
topology_request {
  required {
    topology {
      segments { rack = "R1" }
    }
  }
}
