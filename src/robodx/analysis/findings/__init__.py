"""The diagnosis: which weaknesses the episodes show, most telling first, each with its evidence."""
