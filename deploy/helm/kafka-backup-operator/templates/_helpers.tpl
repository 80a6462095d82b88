{{/* The operator's name: the label that services and pods are found by. */}}
{{- define "kafka-backup-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of all objects; some get an ending, so there is room for it. */}}
{{- define "kafka-backup-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "kafka-backup-operator.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "kafka-backup-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kafka-backup-operator.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "kafka-backup-operator.labels" -}}
{{- include "kafka-backup-operator.labelsWith" (list . dict) -}}
{{- end -}}

{{/* Of a list of the root and more labels: no label is there twice, and what things are found by is not for the common ones to change. */}}
{{- define "kafka-backup-operator.labelsWith" -}}
{{- $root := first . -}}
{{- $own := include "kafka-backup-operator.selectorLabels" $root | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $chart := dict
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/part-of" "kafka-backup"
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- merge (dict) (last .) $own $root.Values.commonLabels $chart | toYaml -}}
{{- end -}}

{{- define "kafka-backup-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "kafka-backup-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Whether the chart makes the account of the jobs: it knows their namespaces only if it names them itself. */}}
{{- define "kafka-backup-operator.makesJobAccount" -}}
{{- if and .Values.jobs.serviceAccount.create (not .Values.clusterWide) -}}true{{- end -}}
{{- end -}}

{{/* Annotations of an account that the chart does not create would have no effect, and jobs would lack their cloud identity. */}}
{{- define "kafka-backup-operator.checkAccounts" -}}
{{- if and .Values.jobs.serviceAccount.annotations .Values.clusterWide -}}
{{- fail "jobs.serviceAccount.annotations has no effect with clusterWide, because the chart cannot create service accounts in all namespaces: annotate an account in each namespace yourself, and set jobs.serviceAccount.name to its name" -}}
{{- end -}}
{{- if and .Values.jobs.serviceAccount.annotations (not .Values.jobs.serviceAccount.create) -}}
{{- fail "jobs.serviceAccount.annotations has no effect without jobs.serviceAccount.create: annotate the existing account yourself" -}}
{{- end -}}
{{- if and .Values.serviceAccount.annotations (not .Values.serviceAccount.create) -}}
{{- fail "serviceAccount.annotations has no effect without serviceAccount.create: annotate the existing account yourself" -}}
{{- end -}}
{{- end -}}

{{/* Groups without an amount are left out: `null` removes a default. */}}
{{- define "kafka-backup-operator.jobResources" -}}
{{- $resources := dict -}}
{{- range $group, $amounts := default dict .Values.jobs.resources -}}
{{- with $amounts }}{{ $_ := set $resources $group . }}{{ end -}}
{{- end -}}
{{- $resources | toJson -}}
{{- end -}}

{{- define "kafka-backup-operator.jobPodDefaults" -}}
{{- $defaults := dict -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" -}}
{{- with get $.Values.jobs $field }}{{ $_ := set $defaults $field . }}{{ end -}}
{{- end -}}
{{- with $defaults }}{{ toJson . }}{{ end -}}
{{- end -}}

{{/*
Of the resources, env and envFrom of a container: the heap must fit into its memory limit, which Node.js alone does not ensure.
The first variable has the options of envFrom that the second one overrides; the process warns about them.
*/}}
{{- define "kafka-backup-operator.heap" -}}
{{- $resources := default dict (index . 0) -}}
{{- $hasOwn := false -}}
{{- range index . 1 }}{{ if eq .name "NODE_OPTIONS" }}{{ $hasOwn = true }}{{ end }}{{ end -}}
{{- if and (get (default dict $resources.limits) "memory") (not $hasOwn) -}}
{{- if index . 2 }}
- name: KAFKA_BACKUP_OVERRIDDEN_NODE_OPTIONS
  value: $(NODE_OPTIONS)
{{ end -}}
- name: NODE_OPTIONS
  value: --max-old-space-size-percentage=40 --max-semi-space-size=16
{{- end -}}
{{- end -}}

{{- define "kafka-backup-operator.jobServiceAccountName" -}}
{{- if .Values.jobs.serviceAccount.name -}}
{{- .Values.jobs.serviceAccount.name -}}
{{- else if include "kafka-backup-operator.makesJobAccount" . -}}
{{- printf "%s-jobs" (include "kafka-backup-operator.fullname" .) -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{/* The namespaces whose resources it works on, as JSON; none where it is all of them. */}}
{{- define "kafka-backup-operator.namespaces" -}}
{{- if .Values.clusterWide -}}
{{- if .Values.watchNamespaces -}}
{{- fail "clusterWide and watchNamespaces exclude each other: all namespaces, or those that are named" -}}
{{- end -}}
{{- list | toJson -}}
{{- else -}}
{{- default (list .Release.Namespace) .Values.watchNamespaces | uniq | toJson -}}
{{- end -}}
{{- end -}}

{{- define "kafka-backup-operator.leaseName" -}}
{{- default (include "kafka-backup-operator.fullname" .) .Values.leaderElection.leaseName -}}
{{- end -}}

{{- define "kafka-backup-operator.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* A digest or tag belongs to one repository, so jobs use the operator's only if they set no repository. */}}
{{- define "kafka-backup-operator.jobImage" -}}
{{- $image := .Values.jobs.image -}}
{{- if not (or $image.repository $image.tag $image.digest) -}}
{{- include "kafka-backup-operator.image" . -}}
{{- else -}}
{{- $repository := default .Values.image.repository $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the operator may do with the resources of a namespace, in the words of its requests. */}}
{{- define "kafka-backup-operator.rules" -}}
# Finalizers are set and removed; resources are made and deleted by users alone.
- apiGroups: [{{ .Values.apiGroup }}]
  resources: [kafkabackups, kafkarestores, kafkaoffsetresets, kafkaoffsetrollbacks, kafkabackupstorages]
  verbs: [get, list, watch, patch, update]
- apiGroups: [{{ .Values.apiGroup }}]
  resources: [kafkabackups/status, kafkarestores/status, kafkaoffsetresets/status, kafkaoffsetrollbacks/status, kafkabackupstorages/status]
  verbs: [patch]
- apiGroups: [batch]
  resources: [jobs]
  # A Job that can never succeed is patched to make no further try; it stays for its log.
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: ['']
  resources: [pods]
  verbs: [list, watch]
# The job files, each known by its name.
- apiGroups: ['']
  resources: [configmaps]
  verbs: [create, delete]
# Whether the namespace is being deleted, while a resource in it waits for its backup to be deleted.
- apiGroups: ['']
  resources: [namespaces]
  verbs: [get]
{{- if .Values.strimzi.enabled }}
# The address and the listeners of a cluster that a `clusterRef` names.
- apiGroups: [kafka.strimzi.io]
  resources: [kafkas]
  verbs: [get, list, watch]
{{- end }}
{{- if .Values.rbac.checkSecrets }}
# Whether a secret that a resource names is there; never a list of them.
- apiGroups: ['']
  resources: [secrets]
  verbs: [get]
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* Whether the metrics need a token. */}}
{{- define "kafka-backup-operator.metricsAuth" -}}
{{- if and .Values.metrics.enabled .Values.metrics.auth.enabled -}}
{{- if not .Values.metrics.tls.secretName -}}
{{- fail "metrics.auth.enabled needs metrics.tls.secretName: tokens must not travel in plain text" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}
