# in the reader's zone, which is named
DATETIME_FORMAT = "j M Y, H:i:s T"
