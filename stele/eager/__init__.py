"""Values of uncompiled code: expressions that get numbers when somebody looks, and their gradients."""
