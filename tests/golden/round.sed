# Cuts digits that another C library may round differently: fractions of bytes, the seventh decimal.
s/([0-9]{7,})\.[0-9]+/\1/g
s/(\.[0-9]{6})[0-9]+/\1/g
