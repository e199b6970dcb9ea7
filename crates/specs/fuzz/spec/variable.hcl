path = "a/b"
items {
  user = "u"
  n    = 1
}
