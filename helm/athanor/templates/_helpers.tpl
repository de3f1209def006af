{{- define "athanor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 52 characters: the pods of a StatefulSet carry its name and a hash of 11 characters in a label of at most 63. */}}
{{- define "athanor.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "athanor.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "athanor.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "athanor.headless" -}}
{{ include "athanor.fullname" . }}-headless
{{- end -}}

{{/* Not empty if an autoscaler sets the number of replicas. */}}
{{- define "athanor.autoscaled" -}}
{{- if or .Values.autoscaling.hpa.enabled .Values.autoscaling.keda.enabled -}}
true
{{- end -}}
{{- end -}}

{{- define "athanor.selectorLabels" -}}
app.kubernetes.io/name: {{ include "athanor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "athanor.labels" -}}
{{ include "athanor.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "athanor.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "athanor.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "athanor.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "athanor.apiKeysSecret" -}}
{{- default (printf "%s-api-keys" (include "athanor.fullname" .)) .Values.security.apiKeys.existingSecret -}}
{{- end -}}

{{- define "athanor.scheme" -}}
{{- ternary "HTTPS" "HTTP" (ne .Values.security.tls.existingSecret "") -}}
{{- end -}}

{{/* The largest number of pods. */}}
{{- define "athanor.mostPods" -}}
{{- ternary .Values.autoscaling.maxReplicas .Values.replicas (ne (include "athanor.autoscaled" .) "") | int -}}
{{- end -}}

{{/* Not empty if pods forward requests to each other. It must not depend on the number of pods, or a change of it would restart all. */}}
{{- define "athanor.forwards" -}}
{{- if and .Values.forwarding.enabled (ne .Values.security.mode "mtls") (or .Values.forwarding.tls (not .Values.security.tls.existingSecret)) -}}
true
{{- end -}}
{{- end -}}

{{/* The settings athanor.security and server.ssl, as environment variables that Spring Boot reads. */}}
{{- define "athanor.securityEnv" -}}
- name: ATHANOR_SECURITY_MODE
  value: {{ .mode }}
{{- if .allowUnauthenticated }}
- name: ATHANOR_SECURITY_ALLOWUNAUTHENTICATED
  value: "true"
{{- end }}
{{- if eq .mode "api-key" }}
- name: ATHANOR_SECURITY_APIKEYS_FILE
  value: /etc/athanor-keys/api-keys
{{- end }}
{{- if eq .mode "jwt" }}
- name: SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_AUDIENCES
  value: {{ join "," .jwt.audiences | quote }}
{{- with .jwt.issuerUri }}
- name: SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_ISSUERURI
  value: {{ . | quote }}
{{- end }}
{{- with .jwt.jwkSetUri }}
- name: SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_JWKSETURI
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if .tls.existingSecret }}
- name: SERVER_SSL_BUNDLE
  value: web
- name: SPRING_SSL_BUNDLE_PEM_WEB_KEYSTORE_CERTIFICATE
  value: file:/etc/athanor-tls/tls.crt
- name: SPRING_SSL_BUNDLE_PEM_WEB_KEYSTORE_PRIVATEKEY
  value: file:/etc/athanor-tls/tls.key
- name: SPRING_SSL_BUNDLE_PEM_WEB_RELOADONUPDATE
  value: "true"
{{- if eq .mode "mtls" }}
- name: SPRING_SSL_BUNDLE_PEM_WEB_TRUSTSTORE_CERTIFICATE
  value: file:/etc/athanor-tls/ca.crt
- name: SERVER_SSL_CLIENTAUTH
  # Probes have no certificate.
  value: want
{{- end }}
{{- end }}
{{- end -}}

{{/* The port of a URL; its scheme's default if it names none. */}}
{{- define "athanor.urlPort" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}

{{/* A quantity of bytes in whole MiB, rounded down. */}}
{{- define "athanor.mebibytes" -}}
{{- $text := kindIs "float64" . | ternary (printf "%.0f" (float64 .)) (toString .) -}}
{{- $units := dict "" 1.0 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- divf (mulf (trimSuffix $unit $text | float64) (get $units $unit)) 1048576 | floor | int64 -}}
{{- end -}}

{{/* The Java heap in MiB: what the memory limit leaves after everything else. Empty without a limit. */}}
{{- define "athanor.heap" -}}
{{- $limit := (.Values.resources.limits | default dict).memory -}}
{{- if $limit -}}
{{- $gpu := eq .Values.mode "gpu" -}}
{{- $devices := $gpu | ternary .Values.gpu.count 1 | int64 -}}
{{- $memory := .Values.memory -}}
{{- $others := include "athanor.mebibytes" $memory.staging | int64 | mul 2 $devices -}}
{{- range list $memory.requests $memory.spill $memory.buffers $memory.native -}}
{{- $others = include "athanor.mebibytes" . | int64 | add $others -}}
{{- end -}}
{{- $shares := $gpu | ternary 1 3 | int64 -}}
{{- $least := 512 | int64 -}}
{{- $heap := div (sub (include "athanor.mebibytes" $limit | int64) $others) $shares -}}
{{- if lt $heap $least -}}
{{- $emulator := $gpu | ternary "" " and the emulator's memory, which is twice the heap" -}}
{{- fail (printf "resources.limits.memory is %v: it must be at least %dMi, for a Java heap of %dMi%s, memory.requests %v, twice memory.staging %v for each of %d devices, memory.spill %v, memory.buffers %v and memory.native %v." $limit (add $others (mul $shares $least)) $least $emulator $memory.requests $memory.staging $devices $memory.spill $memory.buffers $memory.native) -}}
{{- end -}}
{{- $heap -}}
{{- end -}}
{{- end -}}

{{/* The options of the JVM and the limits on host memory, as environment variables that the JVM and Spring Boot read. */}}
{{- define "athanor.memoryEnv" -}}
{{- $memory := .Values.memory -}}
{{- $options := list -}}
{{- with include "athanor.heap" . -}}
{{- $options = append $options (printf "-Xmx%sm" .) -}}
{{- end -}}
{{- $options = append $options (printf "-XX:MaxDirectMemorySize=%sm" (include "athanor.mebibytes" $memory.buffers)) -}}
{{- if include "athanor.forwards" . -}}
{{- /* Pods come, go and change their addresses; the JVM would remember these for 30 seconds. */ -}}
{{- $options = append $options "-Dsun.net.inetaddr.ttl=5" -}}
{{- end -}}
{{- with .Values.jvmOptions -}}
{{- with regexFind "-Xmx|-XX:(Max|Initial|Min)RAM[A-Za-z]*|-XX:Max(Heap|DirectMemory)Size" . -}}
{{- fail (printf "jvmOptions has %s: set resources.limits.memory and memory instead; heap and direct memory are derived from them." .) -}}
{{- end -}}
{{- $options = append $options . -}}
{{- end -}}
- name: JDK_JAVA_OPTIONS
  value: {{ join " " $options | quote }}
- name: ATHANOR_RUN_INLINEBYTES
  value: {{ include "athanor.mebibytes" $memory.requests }}MB
- name: ATHANOR_RUN_STAGINGBYTES
  value: {{ include "athanor.mebibytes" $memory.staging }}MB
- name: ATHANOR_TENSORS_SPILLBYTES
  value: {{ include "athanor.mebibytes" $memory.spill | int64 | mul 1048576 | quote }}
{{- end -}}
