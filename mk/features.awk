# The lists of features, from the files of the selected ones. A file of a part adds a member to a list by defining or declaring it:
#
#   const struct decision_feature NAME =            in core: FEATURE_DECISIONS
#   const struct object_kinds NAME =              in objects: FEATURE_OBJECT_KINDS
#   extern const struct kube_type NAME;             in kube, in a header: FEATURE_KUBE_TYPES
#   const struct sim_sharing NAME =                 in sim:  FEATURE_SIM_SHARINGS
#   const struct sim_resizing NAME =                in sim:  FEATURE_SIM_RESIZINGS
#   const struct sim_repairing NAME =               in sim:  FEATURE_SIM_REPAIRINGS
#   const struct feature NAME =                     in ctl:  FEATURE_CONTROLLERS
#   const struct status_page NAME =                 in cli:  FEATURE_STATUS_PAGES
#   const struct simulate_objects NAME =            in cli:  FEATURE_SIMULATE_OBJECTS
#   const struct gpus_devices NAME =                in cli:  FEATURE_GPUS_DEVICES
#   const struct gpus_sign NAME =                   in cli:  FEATURE_GPUS_SIGNS
#   #define NAME_CAUSES(X) ...                      in model, in a header: FEATURE_CAUSES; so for each ending in `macros`
#
#   awk -v dir=build/gen -v names_built="NAME..." -f features.awk src/feature/*/*/*.[ch]
#
# writes dir/feature_PART.h: declarations of what source files define, the headers that declare the others, and one macro for each
# list, in the order of the files. Of a macro whose name ends with _ROWS each member is followed by a comma. A header is written only
# if it changes.

BEGIN {
	add_value("core", "decision_feature", "FEATURE_DECISIONS")
	add_value("sim", "sim_sharing", "FEATURE_SIM_SHARINGS")
	add_value("sim", "sim_resizing", "FEATURE_SIM_RESIZINGS")
	add_value("sim", "sim_repairing", "FEATURE_SIM_REPAIRINGS")
	add_value("objects", "object_kinds", "FEATURE_OBJECT_KINDS")
	add_value("kube", "kube_type", "FEATURE_KUBE_TYPES")
	add_value("ctl", "feature", "FEATURE_CONTROLLERS")
	add_value("cli", "status_page", "FEATURE_STATUS_PAGES")
	add_value("cli", "simulate_objects", "FEATURE_SIMULATE_OBJECTS")
	add_value("cli", "gpus_devices", "FEATURE_GPUS_DEVICES")
	add_value("cli", "gpus_sign", "FEATURE_GPUS_SIGNS")
	macros["model"] = "SETTINGS GROUP_REASONS CAUSES POD_REFUSALS WORKER_REASONS TERMINATE_REASONS DEMAND_REASONS CONDITION_REASONS EVENTS LINT_RULES NODE_CONDITIONS"
	macros["codec"] = "CONTAINER_ROWS CONTAINER_STATUS_ROWS RAY_CLUSTER_ROWS SNAPSHOT_ROWS PLAN_ROWS SUMMARY_ROWS " \
		"STATUS_ROWS SNAPSHOT_DECODED SNAPSHOT_TABLES SNAPSHOT_LABELS RAY_CLUSTER_ANNOTATIONS POD_ANNOTATIONS SCHEDULE_REQUEST_ROWS SPEC_TABLES SPEC_ROWS KEPT_KINDS"
	macros["cli"] = "COMMANDS"
	count = split("model core sim codec objects kube ctl cli", parts, " ")
	for (p = 1; p <= count; p++) {
		n = split(macros[parts[p]], words, " ")
		for (i = 1; i <= n; i++)
			lists[parts[p]] = lists[parts[p]] " FEATURE_" words[i]
	}
}

FNR == 1 {
	split(FILENAME, path, "/")
	part = path[4]
}

/^const struct [a-z_]+ [a-z_]+ =/ && (part, $3) in value {
	members[value[part, $3]] = members[value[part, $3]] " &" $4 ","
	declared[part] = declared[part] "extern const struct " $3 " " $4 ";\n"
}

/^extern const struct kube_type [a-z_]+;/ && (part, $4) in value {
	add(value[part, $4], " &" substr($5, 1, length($5) - 1) ",")
}

part in macros && /^#define [A-Z_]+\(/ {
	macro = $2
	sub(/\(.*/, "", macro)
	n = split(macros[part], words, " ")
	for (i = 1; i <= n; i++)
		if (macro ~ ("_" words[i] "$")) {
			add("FEATURE_" words[i], " " macro "(__VA_ARGS__)" (words[i] ~ /_ROWS$/ ? "," : ""))
			break
		}
}

function add_value(part, type, list) {
	value[part, type] = list
	plain[list]
	lists[part] = lists[part] " " list
}

function add(list, text) {
	members[list] = members[list] text
	if (!(FILENAME in included))
		includes[part] = includes[part] "#include \"" substr(FILENAME, 5) "\"\n"
	included[FILENAME]
}

END {
	for (p = 1; p <= count; p++)
		write_header(parts[p])
}

function write_header(part,    text, names, n, i, old, line, file) {
	text = "/* Written by mk/features.awk. */\n#pragma once\n" includes[part] declared[part]
	n = split(lists[part], names, " ")
	for (i = 1; i <= n; i++)
		text = text "#define " names[i] (names[i] in plain ? "" : "(...)") members[names[i]] "\n"
	if (part == "core")
		text = text "#define FEATURE_NAMES \"" names_built "\"\n"
	file = dir "/feature_" part ".h"
	while ((getline line < file) > 0)
		old = old line "\n"
	close(file)
	if (text != old)
		printf "%s", text > file
}
