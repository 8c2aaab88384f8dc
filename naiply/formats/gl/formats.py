"""Where Django's own Galician formats are not what a reader of Galician writes."""

# Django leaves digits ungrouped: 12500 instead of 12.500.
NUMBER_GROUPING = 3

# With the month as our catalog has it, "de novembro": Django's own begins with a capital.
DATE_FORMAT = r"j E \d\e Y"
DATETIME_FORMAT = r"j E \d\e Y, H:i"
MONTH_DAY_FORMAT = "j E"
