{{/* Names and labels as `helm create` makes them. */}}
{{- define "rayscaler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rayscaler.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "rayscaler.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "rayscaler.selectorLabels" -}}
app.kubernetes.io/name: {{ include "rayscaler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rayscaler.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "rayscaler.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: controller
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* metadata of an object: (list . "suffix" "namespace" labels); no namespace: cluster-wide. */}}
{{- define "rayscaler.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "rayscaler.fullname" $root }}{{ index . 1 }}
{{- with index . 2 }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "rayscaler.labels" $root | nindent 2 }}
{{- if gt (len .) 3 }}
{{- with index . 3 }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "rayscaler.serviceAccountName" -}}
{{- default (include "rayscaler.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "rayscaler.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* "true" or "": may Nodes be watched? */}}
{{- define "rayscaler.readNodes" -}}
{{- if kindIs "bool" .Values.rbac.readNodes }}
{{- if .Values.rbac.readNodes }}true{{ end }}
{{- else if not .Values.watchNamespace }}true{{ end }}
{{- end }}

{{/* Where Secrets may be read: "*" (with watchNamespace: there), namespaces with spaces between, or "". */}}
{{- define "rayscaler.readSecrets" -}}
{{- $read := .Values.rbac.readSecrets }}
{{- if kindIs "bool" $read }}
{{- if $read }}*{{ end }}
{{- else if $read.all }}*
{{- else if and .Values.watchNamespace (has .Values.watchNamespace $read.namespaces) }}*
{{- else }}
{{- join " " (uniq $read.namespaces) }}
{{- end }}
{{- end }}

{{/* "true" or "": is there a port that asks for TLS and a token? */}}
{{- define "rayscaler.secure" -}}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}true{{ end }}
{{- end }}

{{/* Arguments of the container, one per line. Whole numbers come as floats from a values file. */}}
{{- define "rayscaler.args" -}}
- run
{{- if .Values.watchNamespace }}
- --namespace={{ .Values.watchNamespace }}
{{- end }}
- --leader-elect={{ .Values.leaderElection.enabled }}
{{- if .Values.leaderElection.enabled }}
- --leader-elect-resource-name={{ .Values.leaderElection.leaseName }}
- --leader-elect-lease-duration={{ .Values.leaderElection.leaseDuration }}
- --leader-elect-renew-deadline={{ .Values.leaderElection.renewDeadline }}
- --leader-elect-retry-period={{ .Values.leaderElection.retryPeriod }}
{{- end }}
- --metrics-bind-address={{ if .Values.metrics.enabled }}:{{ .Values.metrics.port }}{{ else }}0{{ end }}
{{- if include "rayscaler.secure" . }}
- --metrics-secure=true
{{- if .Values.metrics.certSecret }}
- --metrics-cert-dir=/etc/rayscaler-tls
{{- end }}
{{- end }}
- --health-probe-bind-address=:{{ .Values.health.port }}
{{- if .Values.deviceTable }}
- --device-table=/etc/rayscaler/device-table.json
{{- end }}
{{- if .Values.priceTable.prices }}
- --price-table=/etc/rayscaler-prices/price-table.json
{{- end }}
- --log-level={{ .Values.logLevel }}
{{- range $name, $value := .Values.config }}
{{- if kindIs "slice" $value }}
- {{ printf "--%s=%s" ($name | kebabcase) (join "," $value) | quote }}
{{- else if kindIs "float64" $value }}
- --{{ $name | kebabcase }}={{ $value | int64 }}
{{- else if not (kindIs "invalid" $value) }}
- --{{ $name | kebabcase }}={{ $value }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* The file that --device-table reads: the program of the image has no parser of YAML. */}}
{{- define "rayscaler.deviceTable" -}}
{{- dict "apiVersion" "rayscaler.dev/v1alpha1" "kind" "DeviceTable" "devices" .Values.deviceTable | toPrettyJson }}
{{- end }}

{{/* The file that --price-table reads. */}}
{{- define "rayscaler.priceTable" -}}
{{- dict "apiVersion" "rayscaler.dev/v1alpha1" "kind" "PriceTable" "currency" (.Values.priceTable.currency | toString) "prices" .Values.priceTable.prices | toPrettyJson }}
{{- end }}

{{/* The newest version of MutatingAdmissionPolicy that the API server serves. */}}
{{- define "rayscaler.admissionPolicyVersion" -}}
{{- $found := "" -}}
{{- range list "v1alpha1" "v1beta1" "v1" -}}
{{- $version := printf "admissionregistration.k8s.io/%s" . -}}
{{- if $.Capabilities.APIVersions.Has (printf "%s/MutatingAdmissionPolicy" $version) -}}{{- $found = $version -}}{{- end -}}
{{- end -}}
{{- required "admissionPolicy.enabled is true, and the API server serves no MutatingAdmissionPolicy: enable its feature gate MutatingAdmissionPolicy with --runtime-config=admissionregistration.k8s.io/v1beta1=true (Kubernetes 1.34), or set admissionPolicy.enabled to false and run `rayscaler adopt`." $found -}}
{{- end }}

{{/* "15s", "500ms", "2m" or 15 in milliseconds. */}}
{{- define "rayscaler.milliseconds" -}}
{{- $text := toString . -}}
{{- if hasSuffix "ms" $text }}{{ trimSuffix "ms" $text }}
{{- else if hasSuffix "m" $text }}{{ mul (trimSuffix "m" $text | int64) 60000 }}
{{- else }}{{ mul (trimSuffix "s" $text | int64) 1000 }}
{{- end }}
{{- end }}

{{/* "256Mi" or "1Gi" in MiB, rounded down; 0 for another form. */}}
{{- define "rayscaler.mebibytes" -}}
{{- $text := toString . -}}
{{- if regexMatch "^[0-9]+Gi$" $text }}{{ mul (trimSuffix "Gi" $text | int64) 1024 }}
{{- else if regexMatch "^[0-9]+Mi$" $text }}{{ trimSuffix "Mi" $text }}
{{- else if regexMatch "^[0-9]+Ki$" $text }}{{ div (trimSuffix "Ki" $text | int64) 1024 }}
{{- else if regexMatch "^[0-9]+G$" $text }}{{ div (mul (trimSuffix "G" $text | int64) 1000000000) 1048576 }}
{{- else if regexMatch "^[0-9]+M$" $text }}{{ div (mul (trimSuffix "M" $text | int64) 1000000) 1048576 }}
{{- else if regexMatch "^[0-9]+$" $text }}{{ div (int64 $text) 1048576 }}
{{- else }}0
{{- end }}
{{- end }}

{{/* Thousandths of an amount of CPU; 0 for none. */}}
{{- define "rayscaler.milli" -}}
{{- $text := toString (. | default "") }}
{{- if hasSuffix "m" $text }}{{ trimSuffix "m" $text | int64 }}{{ else if $text }}{{ mulf (float64 $text) 1000 | int64 }}{{ else }}0{{ end }}
{{- end }}

{{/* Rules that a schema cannot express. */}}
{{- define "rayscaler.check" -}}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.leaderElection.enabled) }}
{{- fail "replicaCount is above 1 and leaderElection.enabled is false: two controllers would scale the same RayClusters. Set replicaCount to 1 or leaderElection.enabled to true." }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- fail "serviceAccount.create is false and serviceAccount.name is empty: the account would be default, whose rights Pods without an account of their own have too. Set serviceAccount.name to an account that exists." }}
{{- end }}
{{- if and .Values.watchNamespace (kindIs "map" .Values.rbac.readSecrets) }}
{{- range .Values.rbac.readSecrets.namespaces }}
{{- if ne . $.Values.watchNamespace }}
{{- fail (printf "rbac.readSecrets.namespaces has %s, another namespace than watchNamespace, which is %s: the controller scales nothing there. Leave it out." . $.Values.watchNamespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled .Values.metrics.podMonitor.enabled }}
{{- fail "metrics.serviceMonitor.enabled and metrics.podMonitor.enabled are both true: everything would be scraped twice. Choose one." }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) }}
{{- fail "metrics.serviceMonitor.enabled is true and metrics.service.enabled is false: a ServiceMonitor needs the Service. Enable it, or use metrics.podMonitor." }}
{{- end }}
{{- if and (or .Values.metrics.serviceMonitor.enabled .Values.metrics.podMonitor.enabled .Values.metrics.prometheusRule.enabled) (not .Values.metrics.enabled) }}
{{- fail "metrics.enabled is false, so there is nothing to scrape: set it to true, or disable metrics.serviceMonitor, podMonitor and prometheusRule." }}
{{- end }}
{{- if and .Values.metrics.podMonitor.enabled (include "rayscaler.secure" .) (not .Values.metrics.podMonitor.authorization) }}
{{- fail "metrics.podMonitor.enabled and metrics.secure are true, and a PodMonitor cannot name the token file of the Prometheus Pod: name a Secret with a token in metrics.podMonitor.authorization, or use metrics.serviceMonitor." }}
{{- end }}
{{- if and .Values.metrics.certSecret (not (include "rayscaler.secure" .)) }}
{{- fail "metrics.certSecret is set and metrics.secure or metrics.enabled is false: the certificate would not be used. Remove it, or set both to true." }}
{{- end }}
{{- if and .Values.priceTable.prices (not .Values.priceTable.currency) }}
{{- fail "priceTable has prices and no currency: set priceTable.currency, such as EUR." }}
{{- end }}
{{- if and (eq (toString .Values.config.packing) "cheapest") (not .Values.priceTable.prices) }}
{{- fail "config.packing is cheapest and priceTable has no prices, so it would have no effect: set priceTable.prices, or remove it." }}
{{- end }}
{{- if contains ":" (splitList "/" .Values.image.repository | last) }}
{{- fail (printf "image.repository is %s, with a tag: write the tag into image.tag." .Values.image.repository) }}
{{- end }}
{{- if or (contains "://" .Values.image.repository) (regexMatch "[A-Z]" (regexReplaceAll "^[^/]*[.:][^/]*/" .Values.image.repository "")) }}
{{- fail (printf "image.repository is %s, which is not the name of an image: write REGISTRY/NAME without a scheme and in lower case." .Values.image.repository) }}
{{- end }}
{{- range .Values.config.repairTaints }}
{{- if regexMatch "[=:,\\s]" . }}
{{- fail (printf "config.repairTaints has %s: write the key of a taint, without its value and effect." .) }}
{{- end }}
{{- end }}
{{- range .Values.config.repairConditions }}
{{- if not (regexMatch "^[^=,\\s]+(=(True|False|Unknown))?$" .) }}
{{- fail (printf "config.repairConditions has %s: write TYPE or TYPE=STATUS, with True, False or Unknown." .) }}
{{- end }}
{{- end }}
{{- $first := dig "backoffInitialSeconds" 10 .Values.config | int64 }}
{{- $longest := dig "backoffMaxSeconds" 600 .Values.config | int64 }}
{{- if gt $first $longest }}
{{- fail (printf "config.backoffInitialSeconds is %d, above backoffMaxSeconds, which is %d: raise backoffMaxSeconds, or lower backoffInitialSeconds." $first $longest) }}
{{- end }}
{{- $known := list }}
{{- range .Values.deviceTable }}
{{- if has .resource $known }}
{{- fail (printf "deviceTable has two rows of %s: remove one." .resource) }}
{{- end }}
{{- $known = append $known .resource }}
{{- end }}
{{- $all := false }}
{{- range $i, $price := .Values.priceTable.prices }}
{{- if $all }}
{{- fail (printf "priceTable.prices[%d] has no effect, as an earlier row without selectors matches every worker: move that row to the end." $i) }}
{{- end }}
{{- $all = not (or $price.groupLabels $price.nodeLabels $price.gpuModel (ne (default "any" $price.market) "any")) }}
{{- end }}
{{- range $list, $amounts := (pick (.Values.resources | default dict) "limits" "requests") }}
{{- range $name, $amount := ($amounts | default dict) }}
{{- if and (has $name (list "cpu" "memory" "ephemeral-storage")) (not (kindIs "invalid" $amount)) (not (regexMatch "^[0-9.]+([eE][0-9]+|m|[kMGTPE]i?|Ki)?$" (toString $amount))) }}
{{- fail (printf "resources.%s.%s is %v, which is not a quantity: write one such as 500m or 256Mi." $list $name $amount) }}
{{- end }}
{{- end }}
{{- end }}
{{- $memory := dig "limits" "memory" "" (.Values.resources | default dict) }}
{{- if and $memory (regexMatch "^[0-9]{1,7}$" (toString $memory)) }}
{{- fail (printf "resources.limits.memory is %v bytes, with which no container starts: write its unit, as %vMi." $memory $memory) }}
{{- end }}
{{- $cpu := include "rayscaler.milli" (dig "limits" "cpu" "" (.Values.resources | default dict)) | int64 }}
{{- $cpus := include "rayscaler.milli" (dig "requests" "cpu" "" (.Values.resources | default dict)) | int64 }}
{{- if and $cpu (gt $cpus $cpu) }}
{{- fail (printf "resources.requests.cpu is %v, above resources.limits.cpu, which is %v: raise the limit, or lower requests." .Values.resources.requests.cpu .Values.resources.limits.cpu) }}
{{- end }}
{{- range list "podSecurityContext" "securityContext" }}
{{- $user := dig "runAsUser" 1 (index $.Values . | default dict) | int64 }}
{{- if and (eq $user 0) (dig "runAsNonRoot" false ($.Values.podSecurityContext | default dict)) }}
{{- fail (printf "%s.runAsUser is 0 and podSecurityContext.runAsNonRoot true: the container would not start; remove runAsUser." .) }}
{{- end }}
{{- end }}
{{- range .Values.tolerations }}
{{- if and .effect (not (has .effect (list "NoSchedule" "PreferNoSchedule" "NoExecute"))) }}
{{- fail (printf "tolerations has the effect %s: use one of NoSchedule, PreferNoSchedule, NoExecute." .effect) }}
{{- end }}
{{- end }}
{{- range list "commonLabels" "podLabels" "nodeSelector" }}
{{- range $key, $value := (index $.Values . | default dict) }}
{{- if or (not (regexMatch "^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$" $key)) (not (regexMatch "^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$" (toString $value))) }}
{{- fail (printf "%s: %s is not a label that the API server accepts: use letters, digits, -, _ and ." $key $value) }}
{{- end }}
{{- end }}
{{- end }}
{{- $flags := dict }}
{{- $names := list }}
{{- range without (splitList "\n" (.Files.Get "files/flags.txt")) "" }}
{{- $names = append $names (splitList " " . | first) }}
{{- $_ := set $flags (splitList " " . | first) (splitList " " . | rest | join " ") }}
{{- end }}
{{- range .Values.extraArgs }}
{{- $flag := splitList "=" . | first | trimPrefix "--" }}
{{- if not (hasKey $flags $flag) }}
{{- fail (printf "extraArgs has --%s, which is not a flag of rayscaler run: use one of --%s." $flag (join ", --" $names)) }}
{{- end }}
{{- $wanted := get $flags $flag }}
{{- $value := splitList "=" . | rest | join "=" }}
{{- if not (contains "=" .) }}
{{- if ne $wanted "true|false" }}
{{- fail (printf "extraArgs has --%s without a value: write --%s=VALUE." $flag $flag) }}
{{- end }}
{{- else if contains "|" $wanted }}
{{- if not (has $value (splitList "|" $wanted)) }}
{{- fail (printf "extraArgs has %s: use one of %s." . (replace "|" ", " $wanted)) }}
{{- end }}
{{- else if contains ".." $wanted }}
{{- $least := splitList ".." $wanted | first }}
{{- $most := splitList ".." $wanted | last }}
{{- if not (regexMatch "^-?[0-9]{1,15}$" $value) }}
{{- fail (printf "extraArgs has %s: write a whole number from %s to %s." . $least $most) }}
{{- else if or (lt (int64 $value) (int64 $least)) (gt (int64 $value) (int64 $most)) }}
{{- fail (printf "extraArgs has %s: write a whole number from %s to %s." . $least $most) }}
{{- end }}
{{- else if and (eq $wanted "duration") (not (regexMatch "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$" $value)) }}
{{- fail (printf "extraArgs has %s: write a duration such as 15s." .) }}
{{- end }}
{{- end }}
{{- $limit := include "rayscaler.mebibytes" (dig "limits" "memory" "" (.Values.resources | default dict)) | int64 }}
{{- if and $limit (ge (int64 .Values.config.memoryBudget) $limit) }}
{{- fail (printf "resources.limits.memory is %v and config.memoryBudget %v MiB: the passes alone would end the container. Raise the limit, or remove memoryBudget." .Values.resources.limits.memory .Values.config.memoryBudget) }}
{{- end }}
{{- $request := include "rayscaler.mebibytes" (dig "requests" "memory" "" (.Values.resources | default dict)) | int64 }}
{{- if and $limit (gt $request $limit) }}
{{- fail (printf "resources.requests.memory is %v, above resources.limits.memory, which is %v: the API server refuses the Pods. Raise the limit, or lower requests." .Values.resources.requests.memory .Values.resources.limits.memory) }}
{{- end }}
{{- if and $limit (gt (int64 .Values.config.memoryLimit) $limit) }}
{{- fail (printf "config.memoryLimit is %v MiB, above resources.limits.memory, which is %v. Remove it, or lower it." .Values.config.memoryLimit .Values.resources.limits.memory) }}
{{- end }}
{{- with .Values.leaderElection }}
{{- if and .enabled (ge (include "rayscaler.milliseconds" .renewDeadline | int64) (include "rayscaler.milliseconds" .leaseDuration | int64)) }}
{{- fail (printf "leaderElection.renewDeadline is %v and leaderElection.leaseDuration %v: a leader must stop before another starts. Set renewDeadline below leaseDuration." .renewDeadline .leaseDuration) }}
{{- end }}
{{- if and .enabled (ge (include "rayscaler.milliseconds" .retryPeriod | int64) (include "rayscaler.milliseconds" .renewDeadline | int64)) }}
{{- fail (printf "leaderElection.retryPeriod is %v and leaderElection.renewDeadline %v: the Lease could never be renewed in time. Set retryPeriod below renewDeadline." .retryPeriod .renewDeadline) }}
{{- end }}
{{- end }}
{{- if and .Values.metrics.enabled (eq (int .Values.metrics.port) (int .Values.health.port)) }}
{{- fail (printf "metrics.port and health.port are both %d: give them different ports." (int .Values.health.port)) }}
{{- end }}
{{- end }}
