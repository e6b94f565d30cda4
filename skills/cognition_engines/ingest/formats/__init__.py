"""Documents of other formats than Markdown and text, which a separate process turns into Markdown."""
