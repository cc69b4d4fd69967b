"""What runners store about cutting jobs; the console shows it in the reader's language."""

from django.utils.translation import gettext_noop as _

from kilit.sentences import sentence

# Orders
ORDER = sentence("ORDER", _("Parts: %(parts)s. Mode %(mode)s."))
ORDER_OF = sentence("ORDER_OF", _("Parts: %(parts)s. Customer: %(name)s. Mode %(mode)s."))
SENT_AGAIN = sentence("SENT_AGAIN", _("The same order was sent again."))
NO_CUSTOMER = sentence("NO_CUSTOMER", _("No customer has the phone %(phone)s."))
NO_PLATE = sentence("NO_PLATE", _("The order has no plate size, and the rules have no defaultPlateSize."))
OF_PART = sentence("OF_PART", _("Part %(part)s: %(problem)s"))
NO_BACKING = sentence("NO_BACKING", _("a backing of %(thickness)s mm is not one of %(thicknesses)s mm."))
NO_TRIM = sentence("NO_TRIM", _("no trim rule for %(thickness)s mm in trimByThickness."))
NO_GRAIN = sentence("NO_GRAIN", _("grain %(grain)s is not in grainMapping."))
NO_EDGE = sentence("NO_EDGE", _("%(side)s %(name)s is not one of %(names)s."))
OTHER_RULES = sentence(
    "OTHER_RULES",
    _("The rules in %(path)s on %(machine)s are not those that were saved last, so nothing is planned by them."),
)
NO_RULES = sentence("NO_RULES", _("There are no valid rules. %(reason)s"))

# Decisions of operators without a reason of their own
RETRIED = sentence("RETRIED", _("Retried by an operator."))
RETRY = sentence("RETRY", _("Retry %(number)s of %(most)s."))
APPROVED = sentence("APPROVED", _("Approved by an operator."))
RULES_CHANGED = sentence("RULES_CHANGED", _("The rules were changed."))
CUSTOMER_ADDED = sentence("CUSTOMER_ADDED", _("The customer was added."))
CANCELLED = sentence("CANCELLED_BY_OPERATOR", _("Cancelled by an operator."))
CUT_EARLIER = sentence(
    "CUT_EARLIER", _("The saw took an earlier solution of this order. Another one would be cut a second time.")
)
EXIT_CODE = sentence("EXIT_CODE", _("exit code %(code)s"))
WAS_CUT = sentence("WAS_CUT", _("It was cut: an operator asked at the saw."))
WAS_NOT_CUT = sentence("WAS_NOT_CUT", _("It was not cut: an operator asked at the saw."))

CUT_BY_HAND = sentence("CUT_BY_HAND", _("Cut by hand by %(name)s."))
REST_CANCELLED = sentence("REST_CANCELLED", _("The rest was cancelled."))
CUT_IN_PART = sentence("CUT_IN_PART", _("%(cut)s of %(boards)s boards were cut, the rest was cancelled: %(reason)s"))

# Sheets and OptiPlanning
PREPARED = sentence("PREPARED", _("Parts: %(parts)s. Batches: %(batches)s."))
EDGES_REMOVED = sentence("EDGES_REMOVED", _("Edges of backing parts were removed: %(number)s."))
SHEETS = sentence("SHEETS", _("Sheets: %(sheets)s."))
HAS_SHEETS = sentence("HAS_SHEETS", _("OptiPlanning already has these sheets."))
IS_FREE = sentence("IS_FREE", _("OptiPlanning is free."))
STILL_VALID = sentence("STILL_VALID", _("The solution of the earlier attempt is still valid."))
COLLECTED = sentence("COLLECTED", _("Collected %(files)s."))
CHECKED = sentence("CHECKED", _("The solution was checked."))
TO_BE_CUT_BY_HAND = sentence("TO_BE_CUT_BY_HAND", _("The plan was checked. There is no saw: people cut it."))
PLANNED = sentence("PLANNED", _("The built-in optimiser planned it. Boards: %(boards)s."))
PLAN_UNREADABLE = sentence("PLAN_UNREADABLE", _("it cannot be read"))
PLAN_HAS_PIECES = sentence("PLAN_HAS_PIECES", _("%(pieces)s pieces of %(part)s, not %(ordered)s"))
PLAN_HAS_BOARD = sentence("PLAN_HAS_BOARD", _("%(part)s is on a board of %(board)s"))
PLAN_HAS_SIZE = sentence("PLAN_HAS_SIZE", _("%(part)s is %(size)s mm"))
PLAN_HAS_AREA = sentence("PLAN_HAS_AREA", _("its boards do not add up"))
AMOUNTS_DIFFER = sentence("AMOUNTS_DIFFER", _("The amounts do not add up: %(what)s."))
JOB_DIFFERS = sentence("JOB_DIFFERS", _("Job %(job)s: %(fault)s"))
PLAN_DIFFERS = sentence("PLAN_DIFFERS", _("The plan is not of the order: %(fault)s. Nothing of it is cut."))
NO_START = sentence("NO_START", _("The attempt has no start time."))
OTHER_SOLUTION = sentence("OTHER_SOLUTION", _("The stored solution is not the one that was collected."))
NO_SOLUTION = sentence("NO_SOLUTION", _("OptiPlanning wrote no solution within %(limit)s."))
NO_SOLUTION_FOR = sentence(
    "NO_SOLUTION_FOR", _("OptiPlanning wrote no solution for %(sheets)s, only for the other sheets, within %(limit)s.")
)
NOT_ENDED = sentence("NOT_ENDED", _("OptiPlanning did not end within %(minutes)s min."))
NOT_STARTED = sentence("NOT_STARTED", _("%(command)s cannot be started: %(reason)s."))
START_IT = sentence("START_IT", _("The sheets are in the import folder. Start OptiPlanning, then approve."))
COMMAND_NOT_SET = sentence("COMMAND_NOT_SET", _("KILIT_OPTI_COMMAND is not set."))
NO_COMMAND = sentence("NO_COMMAND", _("KILIT_OPTI_COMMAND is not a valid command."))
NO_PROGRAM = sentence("NO_PROGRAM", _("KILIT_OPTI_COMMAND: %(program)s is not on this machine."))
ONLY_WINDOWS = sentence("ONLY_WINDOWS", _("Excel macros run on Windows only."))
NO_PYWIN32 = sentence("NO_PYWIN32", _("pywin32 is not installed: pip install kilit[windows]."))
NO_EXCEL = sentence("NO_EXCEL", _("Excel is not installed on this machine."))
MACRO_NOT_SET = sentence("MACRO_NOT_SET", _("KILIT_OPTI_MACRO is not set."))
NO_FILE = sentence("NO_FILE", _("There is no file %(path)s."))
NO_MACRO = sentence("NO_MACRO", _("Excel cannot run RunOptiPlanning."))
PROGRAM_FAILED = sentence("PROGRAM_FAILED", _("OptiPlanning failed, %(how)s"))  # only older jobs have it
PROGRAM_ENDED = sentence("PROGRAM_ENDED", _("OptiPlanning failed, %(how)s."))
PROGRAM_SAID = sentence("PROGRAM_SAID", _("OptiPlanning failed, %(how)s: %(line)s"))
KILLED = sentence("KILLED", _("it was killed"))
NOT_A_SOLUTION = sentence("NOT_A_SOLUTION", _("%(file)s is not a solution: %(reason)s."))
TOO_LARGE = sentence("TOO_LARGE", _("it is larger than %(size)s MB (KILIT_XML_MAX_MB)"))
TOO_DEEP = sentence("TOO_DEEP", _("it is nested more than %(levels)s levels deep"))
REFERS_ELSEWHERE = sentence("REFERS_ELSEWHERE", _("it declares entities or refers to other files"))
IS_EMPTY = sentence("IS_EMPTY", _("it is empty"))
NO_CONTENT = sentence("NO_CONTENT", _("it has no content"))
NO_TEMPLATE = sentence("NO_TEMPLATE", _("The Excel template is not usable. %(reason)s"))
NOT_XLSX = sentence("NOT_XLSX", _("It is not a readable XLSX file (%(error)s)."))
EXPANDS = sentence("EXPANDS", _("It would expand to more than %(size)s MB."))
NO_SHEET = sentence("NO_SHEET", _("It has no sheet %(sheet)s; its sheets are %(sheets)s."))
OTHER_CELL = sentence("OTHER_CELL", _("Cell %(place)s should be %(tag)s, it is %(value)s."))
EMPTY = sentence("EMPTY", _("empty"))
NO_FOLDER = sentence("NO_FOLDER", _("Cannot use the folder %(folder)s: %(reason)s."))
RUNNERS_LOST = sentence("RUNNERS_LOST", _("%(number)s runners stopped or lost contact while they held this job."))

# The built-in optimiser
OLD_PYTHON = sentence(
    "OLD_PYTHON", _("The built-in optimiser needs Python 3.12 or newer; this server runs an older one.")
)
NO_ENGINE = sentence("NO_ENGINE", _('The built-in optimiser is not installed: make install EXTRAS="server optimiser".'))
OPTIMISERS_BUSY = sentence(
    "OPTIMISERS_BUSY", _("Other orders are being planned right now. Try again in a few seconds.")
)
TOO_MANY_PIECES = sentence(
    "TOO_MANY_PIECES", _("The order has %(pieces)s pieces; the built-in optimiser plans at most %(most)s.")
)
NO_PLATE_FOR = sentence("NO_PLATE_FOR", _("Part %(part)s fits no plate that is left."))
NOT_CUTTABLE = sentence("NOT_CUTTABLE", _("The plan cannot be cut: %(reason)s"))

# The store
BOARDS_CAME = sentence("BOARDS_CAME", _("Boards came."))
COUNTED = sentence("COUNTED", _("Counted: %(number)s, not %(expected)s."))

# Links to an order that need no login
LINK_MADE = sentence("LINK_MADE", _("The link was made."))
LINK_WITHDRAWN = sentence("LINK_WITHDRAWN", _("The link was withdrawn."))

# Several saws
CHECKED_FOR = sentence("CHECKED_FOR", _("The solution was checked. It goes to %(saw)s."))
TO_BE_CUT_AT = sentence("TO_BE_CUT_AT", _("The plan was checked. People cut it at %(saw)s."))
NO_SAW_FITS = sentence("NO_SAW_FITS", _("No saw is for plates of %(size)s, %(materials)s."))
NO_SUCH_SAW = sentence("NO_SUCH_SAW", _("The rules list no saw %(saw)s."))
SAW_TAKES = sentence("SAW_TAKES", _("%(saw)s takes %(size)s."))
SAW_IS_FOR = sentence("SAW_IS_FOR", _("%(saw)s is for %(materials)s."))
SAW_WITHOUT_FOLDER = sentence("SAW_WITHOUT_FOLDER", _("%(saw)s has no folder on this machine (KILIT_SAWS)."))
SAW_WAS_CHOSEN = sentence("SAW_WAS_CHOSEN", _("An operator chose the saw."))

# The saw
TAKEN = sentence("TAKEN", _("The saw took %(files)s."))
FINISHED = sentence("FINISHED", _("The saw has everything."))
REJECTED = sentence("REJECTED", _("The saw moved %(files)s to failed/."))
NO_ANSWER = sentence("NO_ANSWER", _("The saw did not answer within %(limit)s; the file was taken back."))
UNREACHABLE = sentence("UNREACHABLE", _("For %(limit)s: %(reason)s"))
EARLIER_SOLUTION = sentence(
    "EARLIER_SOLUTION",
    _("The saw took %(file)s, an earlier solution of this order. Another one would be cut a second time."),
)
MAY_HAVE = sentence("MAY_HAVE", _("The saw may have %(files)s. Ask there whether it was cut. %(reason)s"))
STOPPED = sentence("STOPPED", _("A runner stopped while it delivered %(file)s."))
LEFT_INBOX = sentence("LEFT_INBOX", _("%(file)s left inbox/."))
NOWHERE = sentence(
    "NOWHERE", _("It is neither in inbox/ nor in processed/ nor in failed/. Ask at the saw whether it was cut.")
)
LEFTOVER = sentence("LEFTOVER", _("Removed %(file)s, which a stopped runner had left behind."))
