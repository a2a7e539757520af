"""Where a replay runs: images, containers and what this host can do. The only user of the docker package."""
