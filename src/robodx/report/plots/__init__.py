"""Small drawings in SVG: responsive, printable, light and dark, with text that can be selected."""
