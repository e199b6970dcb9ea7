variable "n" {
  type = object({ a = optional(list(string), ["x"]), b = any })
  default = { b = 1 }
  validation {
    condition     = length(var.n.a) > 0
    error_message = "none"
  }
}
locals {
  a = [for i in range(3) : i * 2]
  b = { for k, v in zipmap(["a"], [1]) : k => v... }
}
job "j" {
  constraint {
    attribute = "${attr.kernel.name}"
    regexp    = "lin.*"
  }
  dynamic "group" {
    for_each = local.a
    labels   = ["g${group.value}"]
    content {
      count = group.key
      task "t" {
        driver = "docker"
        config {
          image = "i"
          mount { type = "bind" }
        }
        template {
          data = <<-EOF
            %{ for x in local.a ~}
            ${x} $${HOME}
            %{ endfor ~}
          EOF
          destination = "local/x"
        }
        kill_timeout = "1h30m"
        resources { cpu = jsondecode("{\"a\":[1]}").a[0] }
      }
    }
  }
}
