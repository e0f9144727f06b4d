//! A little understanding of source text.
