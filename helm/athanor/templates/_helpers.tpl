{{- define "athanor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "athanor.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "athanor.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "athanor.name" .) | trunc 63 | trimSuffix "-" -}}
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

{{/* What the settings of athanor.security and server.ssl are, as Spring Boot reads them from the environment. */}}
{{- define "athanor.securityEnv" -}}
- name: ATHANOR_SECURITY_MODE
  value: {{ .mode }}
{{- if .allowOpen }}
- name: ATHANOR_SECURITY_ALLOWOPEN
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
