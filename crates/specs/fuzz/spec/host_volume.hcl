name = "v"
type = "host"
plugin_id = "mkdir"
constraint {
  attribute = "a"
  regexp    = "b"
}
