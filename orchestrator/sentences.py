"""What runners store about cutting jobs; the console shows it in the reader's language."""

from django.utils.translation import gettext_noop as _

from kilit.sentences import sentence

# Orders
ORDER = sentence(_("Parts: %(parts)s. Mode %(mode)s."))
ORDER_OF = sentence(_("Parts: %(parts)s. Customer: %(name)s. Mode %(mode)s."))
SENT_AGAIN = sentence(_("The same order was sent again."))
NO_CUSTOMER = sentence(_("No customer has the phone %(phone)s."))
NO_PLATE = sentence(_("The order has no plate size, and the rules have no defaultPlateSize."))
OF_PART = sentence(_("Part %(part)s: %(problem)s"))
NO_BACKING = sentence(_("a backing of %(thickness)s mm is not one of %(thicknesses)s mm."))
NO_TRIM = sentence(_("no trim rule for %(thickness)s mm in trimByThickness."))
NO_GRAIN = sentence(_("grain %(grain)s is not in grainMapping."))
NO_EDGE = sentence(_("%(side)s %(name)s is not one of %(names)s."))
NO_RULES = sentence(_("There are no valid rules. %(reason)s"))

# Decisions of operators without a reason of their own
RETRIED = sentence(_("Retried by an operator."))
RETRY = sentence(_("Retry %(number)s of %(most)s."))
APPROVED = sentence(_("Approved by an operator."))
WAS_CUT = sentence(_("It was cut: an operator asked at the saw."))
WAS_NOT_CUT = sentence(_("It was not cut: an operator asked at the saw."))

# Sheets and OptiPlanning
PREPARED = sentence(_("Parts: %(parts)s. Batches: %(batches)s."))
EDGES_REMOVED = sentence(_("Edges of backing parts were removed: %(number)s."))
SHEETS = sentence(_("Sheets: %(sheets)s."))
HAS_SHEETS = sentence(_("OptiPlanning already has these sheets."))
IS_FREE = sentence(_("OptiPlanning is free."))
STILL_VALID = sentence(_("The solution of the earlier attempt is still valid."))
COLLECTED = sentence(_("Collected %(files)s."))
CHECKED = sentence(_("The solution was checked."))
NO_START = sentence(_("The attempt has no start time."))
OTHER_SOLUTION = sentence(_("The stored solution is not the one that was collected."))
NO_SOLUTION = sentence(_("OptiPlanning wrote no solution within %(limit)s."))
NO_SOLUTION_FOR = sentence(
    _("OptiPlanning wrote no solution for %(sheets)s, only for the other sheets, within %(limit)s.")
)
NOT_ENDED = sentence(_("OptiPlanning did not end within %(minutes)s min."))
NOT_STARTED = sentence(_("%(command)s cannot be started: %(reason)s."))
NO_MACRO = sentence(_("Excel cannot run RunOptiPlanning."))
PROGRAM_FAILED = sentence(_("OptiPlanning failed, %(how)s"))
KILLED = sentence(_("it was killed"))
NOT_A_SOLUTION = sentence(_("%(file)s is not a solution: %(reason)s."))
TOO_LARGE = sentence(_("it is larger than %(size)s MB (KILIT_XML_MAX_MB)"))
TOO_DEEP = sentence(_("it is nested more than %(levels)s levels deep"))
NO_TEMPLATE = sentence(_("The Excel template is not usable. %(reason)s"))
NOT_XLSX = sentence(_("It is not a readable XLSX file (%(error)s)."))
EXPANDS = sentence(_("It would expand to more than %(size)s MB."))
NO_SHEET = sentence(_("It has no sheet %(sheet)s; its sheets are %(sheets)s."))
OTHER_CELL = sentence(_("Cell %(place)s should be %(tag)s, it is %(value)s."))
EMPTY = sentence(_("empty"))
NO_FOLDER = sentence(_("Cannot use the folder %(folder)s: %(reason)s."))
RUNNERS_LOST = sentence(_("%(number)s runners stopped or lost contact while they held this job."))

# The saw
TAKEN = sentence(_("The saw took %(files)s."))
FINISHED = sentence(_("The saw has everything."))
REJECTED = sentence(_("The saw moved %(files)s to failed/."))
NO_ANSWER = sentence(_("The saw did not answer within %(limit)s; the file was taken back."))
UNREACHABLE = sentence(_("For %(limit)s: %(reason)s"))
EARLIER_SOLUTION = sentence(
    _("The saw took %(file)s, an earlier solution of this order. Another one would be cut a second time.")
)
MAY_HAVE = sentence(_("The saw may have %(files)s. Ask there whether it was cut. %(reason)s"))
STOPPED = sentence(_("A runner stopped while it delivered %(file)s."))
LEFT_INBOX = sentence(_("%(file)s left inbox/."))
NOWHERE = sentence(_("It is neither in inbox/ nor in processed/ nor in failed/. Ask at the saw whether it was cut."))
LEFTOVER = sentence(_("Removed %(file)s, which a stopped runner had left behind."))
