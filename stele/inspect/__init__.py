"""Look inside: what Stele finds, plans and generates."""
