namespace "dev-*" {
  policy       = "read"
  capabilities = ["alloc-exec"]
  variables {
    path "a/*" { capabilities = ["list"] }
  }
}
node { policy = "write" }
