name = "q"
limit {
  region = "global"
  region_limit {
    cpu = 2000
    device "nvidia/gpu" { count = 2 }
    storage {
      host_volumes = "10GiB"
    }
    node_pool "small" { cpu = 100 }
  }
}
