"""Entry point of the plugin."""
