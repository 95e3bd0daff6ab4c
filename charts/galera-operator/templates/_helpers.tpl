{{- /* The beginning of every object's name. The longest of what follows it has 27 characters, and a Service's name may have 63. */ -}}
{{- define "galera-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 36 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 36 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 20 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{- define "galera-operator.labels" -}}
app.kubernetes.io/name: galera-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "galera-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-controller-manager" (include "galera-operator.fullname" .)) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* A selector of the namespaces that the operator watches. */ -}}
{{- define "galera-operator.watched" -}}
{{- if .Values.watchNamespaces -}}
{{ dict "matchNames" .Values.watchNamespaces | toJson }}
{{- else -}}
{"any":true}
{{- end -}}
{{- end -}}

{{- /* An image, from imageRegistry where one is set: (list $ IMAGE). What has a dot or a port before the first slash is a registry. */ -}}
{{- define "galera-operator.mirrored" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- with $root.Values.imageRegistry -}}
{{- . }}/{{ regexReplaceAll "^(localhost|[^/]*[.:][^/]*)/" $image "" -}}
{{- else -}}
{{- $image -}}
{{- end -}}
{{- end -}}

{{- define "galera-operator.image" -}}
{{- $repository := include "galera-operator.mirrored" (list $ .Values.image.repository) -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" $repository .digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Arguments beside those of config/manager: only what differs from the operator's own defaults. */ -}}
{{- define "galera-operator.args" -}}
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- if ne .Values.clusterDomain "cluster.local" }}
- --cluster-domain={{ .Values.clusterDomain }}
{{- end }}
{{- if ne .Values.podUsers "auto" }}
- --pod-users={{ .Values.podUsers }}
{{- end }}
{{- with .Values.podMetadata.allowLabels }}
- --allow-pod-labels={{ join "," . }}
{{- end }}
{{- with .Values.podMetadata.allowAnnotations }}
- --allow-pod-annotations={{ join "," . }}
{{- end }}
{{- with .Values.allowServiceAccounts }}
- --allow-service-accounts={{ join "," . }}
{{- end }}
{{- if ne .Values.log.format "text" }}
- --log-format={{ .Values.log.format }}
{{- end }}
{{- if ne (toString .Values.log.level) "info" }}
- --zap-log-level={{ .Values.log.level }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The same of the benchmarks' program. */ -}}
{{- define "galera-operator.benchmarksArgs" -}}
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- if ne .Values.clusterDomain "cluster.local" }}
- --cluster-domain={{ .Values.clusterDomain }}
{{- end }}
{{- if ne .Values.podUsers "auto" }}
- --pod-users={{ .Values.podUsers }}
{{- end }}
{{- if ne .Values.log.format "text" }}
- --log-format={{ .Values.log.format }}
{{- end }}
{{- if ne (toString .Values.log.level) "info" }}
- --zap-log-level={{ .Values.log.level }}
{{- end }}
{{- end -}}
