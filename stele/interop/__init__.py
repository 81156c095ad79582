"""What other libraries need to know before they take tensors; most need nothing, for the standard says it."""
