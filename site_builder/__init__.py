"""A generator of evidence sites: guides whose every figure stands on a receipt that anyone can check."""
