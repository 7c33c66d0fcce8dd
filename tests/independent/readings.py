"""Sentences about the simulation that can be read in two ways: the sentence as it was once written,
its readings, and the one that holds (behind the arrow).

simulator/README.md and framework/cluster/FORMAT.md say today which one holds. Switching one here
shows what a reader who took the other would compute.
"""

# "Times become integer ns by rounding to nearest." A half: away from zero, or to even? -> up.
HALVES_ROUND_UP = True

# "role output is never released." Of an output read on another device: only the tensor itself, or
# the received copy too? "released" is said of both. -> the copy goes after its last reader there.
COPIES_OF_OUTPUTS_ARE_RELEASED = True

# "A tensor with alias_of counts nothing": does the copy of an alias that another device receives
# count? A copy over a channel cannot share memory with the original. -> it counts the alias's own
# bytes.
COPIES_OF_ALIASES_COUNT = True

# "... and prolongs the life of the one it shares", when the alias is made on another device than
# the tensor it names. "original": that tensor's, wherever it lives. "root copy": follow alias_of
# to the tensor that is no alias; prolong its received copy on the alias's device if there is one,
# else itself. "nearest copy": the first tensor on the way there that lives, or was received, on
# the alias's device; else the root. They part only for aliases across devices. By the letter the
# first, by the sense (an update in place works in what the device received) the last, -> the
# second, which parts from the last only for an alias of an alias.
SPREAD_ALIASES_PROLONG = "root copy"

# An alias with the role parameter, buffer or optimizer_state of a tensor without: is the shared
# memory resident "for the whole step", from the start, or from its producer's start on? "prolongs
# the life": an end moves, a beginning does not. -> from its producer on. (An alias of role output
# likewise keeps what it shares.)
RESIDENT_ALIASES_PROLONG_TO_THE_END = True

# Two routes for one pair, or a route beside a shorthand that covers the pair: which one counts? ->
# the last route; an explicit route rather than the shorthand's.
LAST_ROUTE_COUNTS = True
EXPLICIT_ROUTES_BEAT_SHORTHANDS = True

# "(`count_gaps: true` ... counts trailing gaps too.)" The gaps of devices only, or of channels
# too? The golden cases allow both (a channel is free 0.7 us before the last device in each). ->
# both.
COUNT_GAPS_INCLUDES_CHANNELS = True

# "devices: busy_ns", "channels: busy_ns" have no definition. -> a device: the costs of its ops,
# without gaps, summed over its slots; a channel: the wire times, without latency and gap; each hop
# on its own channel.
DEVICE_BUSY_INCLUDES_GAPS = False
CHANNEL_BUSY_INCLUDES_LATENCY = False
CHANNEL_BUSY_INCLUDES_GAPS = False

# "before each op launch and each copy it advances by `issue`": is every hop of a route a copy, or
# the whole way to one destination? "the copy goes onto its channel ... the next hop the same, at
# the arrival" -> one copy.
ISSUE_ONCE_PER_COPY = True

# "With `broadcast`, one transfer serves all destinations": all whose route *begins* on that
# channel; the routes may part after it. In S a served destination takes its turn in device order
# for its further hops, or all go at once after the shared hop? "each remote destination in device
# order" -> in turn. (A broadcast channel as second or later hop is refused.)
BROADCAST_FOLLOWERS_TAKE_TURNS = True

# "critical path at the best device costs", "an LP over device kinds": does a bound know that co-
# located ops share a device (a device kind forbidden to one is then forbidden to all, and a group
# is assigned as one item), or does it take every op by itself? Both are bounds, by group is at
# least as high. -> every op by itself.
BOUND_BY_GROUP = False

# The LP's value is a fraction, a step time an integer. -> rounded up.
BOUND_ROUNDS_UP = True

# "`shares`: list of patterns, or of lists of patterns: all that one list matches are neighbours."
# Is a list of patterns the one list, or is each of its patterns a list of its own, as where "pattern
# or list of patterns" is said? By the letter the first. -> the second.
EACH_PATTERN_SHARES = True

# "A figure in a file is a number from 0 to 16; times 1024 it is rounded to the nearest integer." Is
# it read as an exact fraction, as a quantity with a unit is, or as the double next to it, as a
# number of a JSON file is? They part behind the 16th digit, just below a half. -> as a double, and
# rounded exactly.
FIGURES_ARE_DOUBLES = True

# Do ops in two slots of one device slow one another down? "while commands run on neighbouring
# devices": a device is no neighbour of itself. -> no.
A_DEVICE_IS_ITS_OWN_NEIGHBOUR = False

# The names of the channels that a cluster file's shorthands make: framework/cluster/FORMAT.md.
ALL_TO_ALL_NAME = "{source}->{destination}"
EGRESS_BUS_NAME = "{source}->*"

# Sentences read in one way only, listed since they are easy to read over:
# - "once per (tensor, destination device)" and "a control edge ... once per (producer op,
#   destination device)": ops joined by data and by control pay both transfers.
# - "the copies received are transient": also of parameters, buffers and optimizer state.
# - "a tensor without producer [is resident] on every device that has a reader of it": whatever
#   its role.
# - "finish + (c > 0 ? gap_d : 0)": trailing gaps of zero-cost ops are not counted by count_gaps
#   either.
# - pays_transfers in the throughput objective only; overhead never on a cost_ns.
# - a workspace with alias and resident outputs still counts; zero-length lives count at their
#   instant (Q).
