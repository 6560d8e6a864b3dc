"""What the models of two clients and their servers share. A server is (owner, ticks to the key's end,
ticks since the last restart, one part for each client)."""


def with_part(s, c, part):
    return s[:3] + ((part, s[4]) if c == 0 else (s[3], part))


def with_key(s, owner, left, c, part):
    return (owner, left, s[2]) + ((part, s[4]) if c == 0 else (s[3], part))


def mirrored(servers):
    """The same with the clients' places exchanged, in order."""
    return tuple(sorted((1 - s[0] if s[0] < 2 else s[0], s[1], s[2], s[4], s[3])
                        for s in servers))


def ticked(servers, nobody, cap):
    """A tick later; a server's age is not told apart beyond cap."""
    return [(s[0], s[1] - 1) + (min(s[2] + 1, cap),) + s[3:] if s[1] > 1 else
            (nobody, 0, min(s[2] + 1, cap)) + s[3:] for s in servers]
