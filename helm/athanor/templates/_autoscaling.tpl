{{/* How an autoscaler changes the number of pods: up at once, down one by one. */}}
{{- define "athanor.scalingBehavior" -}}
scaleUp:
  stabilizationWindowSeconds: 0
scaleDown:
  stabilizationWindowSeconds: {{ .Values.autoscaling.scaleDownSeconds }}
  policies:
    - {type: Pods, value: 1, periodSeconds: 60}
{{- end -}}

{{/* Matchers of the series that the release's pods export. */}}
{{- define "athanor.series" -}}
namespace="{{ .Release.Namespace }}",pod=~"{{ include "athanor.fullname" . }}-[0-9]+"
{{- end -}}
