name = "dev"
meta { owner = "me" }
capabilities {
  enabled_task_drivers = ["docker"]
}
vault {
  default = "a"
  allowed = ["a"]
}
required_extra_claims = { team = "t" }
