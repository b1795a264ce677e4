"""The deployable functions, one folder each. A function may use flowcore; none may know another."""
