n = 1
list = ["a", upper("b")]
object = { a = 1, "b" : null }
text = <<E
x
E
