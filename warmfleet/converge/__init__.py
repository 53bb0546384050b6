"""What hosts are given and how they are changed: wheels, weights, and one run of the playbook."""
