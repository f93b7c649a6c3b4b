# The permitted includes. Prints a line per offence; exit status 1 when there is one.
#
#   awk -v layers="core/nodes:core/nodes,core/model,base ..." -v groups="core:core,core/nodes,..." \
#       -v vendors="curl/:net ..." -v pure="base,core" \
#       -v pure_headers="stdio.h,..." -f includes.awk FILE...
#
# layers:  a layer (a folder of src/) and the layers whose headers it may include
# groups:  the first name of folders and the layers that its tests link
# vendors: the start of a library's header name and the groups that may include it
# pure:    layers that may include only pure_headers of the C library
# A test is src/test/<group>/<group>_<module>_test.c and may include headers of the layers that it links, and
# headers of src/test; so may src/test/support/<group>_<name>.h.

BEGIN {
	split_pairs(layers, may_use)
	split_pairs(vendors, may_link)
	split_pairs(groups, may_test)
}

function group_of(layer,    parts) {
	split(layer, parts, "/")
	if (parts[1] != "feature")
		return parts[1]
	return parts[3] == "objects" ? "codec" : parts[3]
}

function folder(path) {
	sub(/\/[^\/]*$/, "", path)
	return path
}

function split_pairs(text, table,    pairs, parts, i, n) {
	n = split(text, pairs, " ")
	for (i = 1; i <= n; i++) {
		split(pairs[i], parts, ":")
		table[parts[1]] = "," parts[2] ","
	}
}

function listed(list, word) { return index("," list ",", "," word ",") > 0 }

function offence(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	bad = 1
}

FNR == 1 {
	split(FILENAME, path, "/")
	is_test = path[2] == "test"
	if (is_test) {
		layer = path[3] == "support" ? path[4] : path[3]
		sub(/_.*/, "", layer)
		group = layer
		allowed = may_test[group]
	} else {
		layer = substr(folder(FILENAME), length("src/") + 1)
		group = group_of(layer)
		allowed = may_use[layer]
	}
	# Other helpers and tools of the tests are outside of the layers.
	is_known = (allowed != "")
}

!is_known || !/^[ \t]*#[ \t]*include/ { next }

{
	name = $0
	sub(/^[^<"]*[<"]/, "", name)
	sub(/[>"].*/, "", name)
}

is_test && (name ~ /^test\// || name !~ /\// && /"/ || name == "cmocka.h") { next }

{
	for (start in may_link) {
		is_vendor = index(name, start) == 1 || (start ~ /^\./ && index(name, start) > 0)
		if (!is_vendor)
			continue
		if (!listed(may_link[start], group))
			offence("layer " layer " must not include <" name "> (VENDOR_HEADERS in the Makefile)")
		next
	}
}

/"/ {
	if (!(folder(name) in may_use))
		offence("\"" name "\" is in no layer: write \"<layer>/<module>.h\"")
	else if (!listed(allowed, folder(name)))
		offence("layer " layer " must not include \"" name "\" (USES_" layer " in the Makefile)")
	next
}

!is_test && listed(pure, layer) && !listed(pure_headers, name) {
	offence("layer " layer " is without I/O and clock and must not include <" name ">")
}

END { exit bad }
