"""Facts with their sources: models, weights, engines, places, regions, carriers, line products."""
