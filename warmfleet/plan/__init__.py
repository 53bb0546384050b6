"""What to rent and run, where and why: a pure function of spec, facts and catalog."""
