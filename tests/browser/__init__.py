"""What only a browser can tell: how the pages are laid out, read and reached."""
