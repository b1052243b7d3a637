"""What a policy makes out in its pictures: points, patches of colour, things, and where they are from look to look."""
