"""Where Django's own Basque formats are not what a reader of Basque writes."""

# As on the pages of the site. Django's own, "2026(e)ko aza.k 29", leaves the endings to the reader.
DATE_FORMAT = "Y/m/d"
DATETIME_FORMAT = "Y/m/d, H:i"
MONTH_DAY_FORMAT = "E j"
