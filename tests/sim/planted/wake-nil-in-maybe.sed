# nil left in maybe: a hot loop (R26)
# changes: 1
s|if (vote < REDLOCK_VOTE_TAKEN|if (vote <= REDLOCK_VOTE_TAKEN|
