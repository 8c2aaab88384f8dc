"""The site's histories under random treatment, beside a simple model of what they should be."""
