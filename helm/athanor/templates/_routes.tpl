{{/*
What both kinds of routes have. Takes a dict: root (the chart's context) and route, its values.
*/}}
{{- define "athanor.routeMetadata" -}}
name: {{ include "athanor.fullname" .root }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "athanor.labels" .root | nindent 2 }}
{{- with .route.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "athanor.routeParents" -}}
parentRefs:
  {{- toYaml .parentRefs | nindent 2 }}
{{- with .hostnames }}
hostnames:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The field sessionPersistence without keys that are null. */}}
{{- define "athanor.sessionPersistence" -}}
{{- $fields := dict -}}
{{- range $key, $value := . -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $fields $key $value -}}
{{- end -}}
{{- end -}}
{{- with $fields -}}
sessionPersistence:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
