{{/*
The container that serves. Takes a dict: root (the chart's context), name, securityContext, and kserve: KServe
routes to the only port of a container and probes that one.
*/}}
{{- define "athanor.container" -}}
{{- $gpu := eq .root.Values.mode "gpu" -}}
{{- $drain := add .root.Values.drainDelaySeconds .root.Values.drainTimeoutSeconds -}}
{{- $values := .root.Values -}}
{{- $security := $values.security -}}
- name: {{ .name }}
  image: {{ include "athanor.image" .root }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  args:
    - serve
    - --bind
    - 0.0.0.0
    - --port
    - {{ $values.port | quote }}
    - --grpc-port
    - {{ $values.grpcPort | quote }}
    - --device
    - {{ $gpu | ternary "all" "emulator" }}
    {{- with $values.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  env:
    {{- include "athanor.memoryEnv" .root | nindent 4 }}
    - name: ATHANOR_REPLICA
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    {{- if and (include "athanor.forwards" .root) (not .kserve) }}
    - name: ATHANOR_FORWARD_URL
      value: {{ include "athanor.scheme" .root | lower }}://{{ include "athanor.fullname" .root }}-{replica}.{{ include "athanor.headless" .root }}.{{ .root.Release.Namespace }}.svc:{{ $values.port }}
    - name: ATHANOR_FORWARD_DISCOVERY
      value: {{ include "athanor.headless" .root }}.{{ .root.Release.Namespace }}.svc
    {{- if $security.tls.existingSecret }}
    - name: ATHANOR_FORWARD_SSLBUNDLE
      value: pods
    - name: SPRING_SSL_BUNDLE_PEM_PODS_TRUSTSTORE_CERTIFICATE
      value: file:/etc/athanor-tls/ca.crt
    {{- end }}
    {{- end }}
    - name: ATHANOR_RUN_DRAINDELAY
      value: {{ $values.drainDelaySeconds }}s
    - name: ATHANOR_RUN_DRAINTIMEOUT
      value: {{ $values.drainTimeoutSeconds }}s
    - name: SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE
      value: {{ add $drain 5 }}s
    {{- if $values.config }}
    - name: SPRING_CONFIG_ADDITIONAL_LOCATION
      value: /etc/athanor/
    {{- end }}
    {{- if not $gpu }}
    # If NVIDIA's runtime is the node's default, it would give this pod all GPUs.
    - name: NVIDIA_VISIBLE_DEVICES
      value: void
    {{- end }}
    {{- include "athanor.securityEnv" $security | nindent 4 }}
    - name: MANAGEMENT_SERVER_PORT
      value: {{ $values.management.port | quote }}
    {{- if $values.management.open }}
    - name: ATHANOR_SECURITY_UNAUTHENTICATEDMANAGEMENT
      value: "true"
    {{- end }}
    {{- with $values.tracing }}
    {{- if .endpoint }}
    - name: MANAGEMENT_OPENTELEMETRY_TRACING_EXPORT_OTLP_ENDPOINT
      value: {{ .endpoint | quote }}
    - name: MANAGEMENT_TRACING_SAMPLING_PROBABILITY
      value: {{ .probability | quote }}
    {{- end }}
    {{- end }}
    - name: XDG_CACHE_HOME
      value: /var/cache
    - name: CUDA_CACHE_PATH
      value: /var/cache/athanor/cuda
    {{- with $values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: http
      containerPort: {{ $values.port }}
      protocol: TCP
    {{- if not .kserve }}
    - name: grpc
      containerPort: {{ $values.grpcPort }}
      protocol: TCP
    - name: management
      containerPort: {{ $values.management.port }}
      protocol: TCP
    {{- end }}
  {{- $readiness := .kserve | ternary "/readyz" "/actuator/health/readiness" }}
  {{- $liveness := .kserve | ternary "/livez" "/actuator/health/liveness" }}
  {{- $port := .kserve | ternary "http" "management" }}
  {{- $scheme := include "athanor.scheme" .root }}
  startupProbe:
    httpGet:
      path: {{ $readiness }}
      port: {{ $port }}
      scheme: {{ $scheme }}
    {{- toYaml $values.probes.startup | nindent 4 }}
  livenessProbe:
    httpGet:
      path: {{ $liveness }}
      port: {{ $port }}
      scheme: {{ $scheme }}
    {{- toYaml $values.probes.liveness | nindent 4 }}
  readinessProbe:
    httpGet:
      path: {{ $readiness }}
      port: {{ $port }}
      scheme: {{ $scheme }}
    {{- toYaml $values.probes.readiness | nindent 4 }}
  resources:
    {{- $resources := deepCopy $values.resources }}
    {{- if $gpu }}
    {{- $limits := merge (dict $values.gpu.resource (int $values.gpu.count)) ($resources.limits | default dict) }}
    {{- $_ := set $resources "limits" $limits }}
    {{- end }}
    {{- toYaml $resources | nindent 4 }}
  securityContext:
    {{- toYaml .securityContext | nindent 4 }}
  volumeMounts:
    - name: tmp
      mountPath: /tmp
    - name: cache
      mountPath: /var/cache/athanor
    {{- if $values.config }}
    - name: config
      mountPath: /etc/athanor
      readOnly: true
    {{- end }}
    {{- if eq $security.mode "api-key" }}
    - name: api-keys
      mountPath: /etc/athanor-keys
      readOnly: true
    {{- end }}
    {{- if $security.tls.existingSecret }}
    - name: tls
      mountPath: /etc/athanor-tls
      readOnly: true
    {{- end }}
    {{- with $values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The volumes of a pod. Takes a dict: root (the chart's context), and claimed, whether the cache is in a volume of its own. */}}
{{- define "athanor.volumes" -}}
{{- $claimed := .claimed -}}
{{- with .root -}}
{{- $security := .Values.security -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmp.sizeLimit }}
{{- if not $claimed }}
- name: cache
  emptyDir:
    sizeLimit: {{ .Values.cache.sizeLimit }}
{{- end }}
{{- if .Values.config }}
- name: config
  configMap:
    name: {{ include "athanor.fullname" . }}
{{- end }}
{{- if eq $security.mode "api-key" }}
- name: api-keys
  secret:
    secretName: {{ include "athanor.apiKeysSecret" . }}
{{- end }}
{{- with $security.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The tolerations: those of GPU nodes, and the release's own. */}}
{{- define "athanor.tolerations" -}}
{{- with concat (eq .Values.mode "gpu" | ternary .Values.gpu.tolerations list) .Values.tolerations -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}
