# SPDX-License-Identifier: GPL-3.0-or-later
# Rewrites a README or man page so that every command in its examples is followed by what it really
# prints. An example is a line "$ command" in a ```console block (Markdown) or in a display
# .Bd -literal to .Ed (mdoc); a backslash at the end, or <<END, continues it. The first command that fails ends the
# run with status 1.
#
# Given with -v: mdoc=1 for a man page

function to_source(line) {
	if (!mdoc)
		return line
	gsub(/\\/, "\\e", line)
	gsub(/-/, "\\-", line)
	return line ~ /^[.']/ ? "\\&" line : line
}

function from_source(line) {
	if (!mdoc)
		return line
	gsub(/\\-/, "-", line)
	gsub(/\\e/, "\\", line)
	gsub(/\\&/, "", line)
	return line
}

function run(command,    line, status) {
	command = "{ " command "\n} 2>&1; echo \"status $?\""
	while ((command | getline line) > 0) {
		if (line ~ /^status [0-9]+$/)
			status = substr(line, 8)
		else
			print to_source(line)
	}
	close(command)
	if (status != "0") {
		print FILENAME ":" FNR ": exit status " status > "/dev/stderr"
		failed = 1
	}
}

mdoc && /^\.Bd -literal/ || !mdoc && /^```console$/ {
	inside = 1
	print
	next
}

mdoc && /^\.Ed/ || !mdoc && /^```$/ {
	inside = 0
}

inside && (/^\$ / || continued) {
	line = from_source($0)
	if (!continued) {
		command = ""
		here = 0
		line = substr(line, 3)
	}
	here = here ? line != "END" : line ~ /<<END$/
	continued = here || line ~ /\\$/
	command = command line "\n"
	print
	if (!continued) {
		sub(/\n$/, "", command)
		run(command)
		replaced = 1
	}
	next
}

!inside || !replaced {
	replaced = 0
	print
}

END {
	exit failed
}
