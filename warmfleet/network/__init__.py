"""Round-trip times between users and regions: measured where a table has them, else modelled."""
