"""Conversations as other systems export them, to turns."""
