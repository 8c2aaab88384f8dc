"""Where Django's own Basque formats are not what a reader of Basque writes."""

# The month as our catalog has it, "azaroaren"; Django's own is an abbreviation.
DATE_FORMAT = r"Y(\e)\k\o E j(\a)"
DATETIME_FORMAT = r"Y(\e)\k\o E j(\a), H:i"
MONTH_DAY_FORMAT = "E j"
