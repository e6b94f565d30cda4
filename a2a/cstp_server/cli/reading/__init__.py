"""What the commands that read files share."""
