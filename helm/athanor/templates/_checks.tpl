{{/* Rejects values that contradict each other; values.schema.json checks single values. */}}
{{- define "athanor.check" -}}
{{- if and (eq .Values.security.mode "none") (not .Values.security.allowUnauthenticated) }}
{{- fail "security.mode is none, which admits everyone who reaches the pods: choose api-key, jwt or mtls, or set security.allowUnauthenticated." }}
{{- end }}
{{- if and (eq .Values.security.mode "jwt") (or (not .Values.security.jwt.audiences) (not (or .Values.security.jwt.issuerUri .Values.security.jwt.jwkSetUri))) }}
{{- fail "security.mode is jwt, which needs security.jwt.audiences and security.jwt.issuerUri or jwkSetUri." }}
{{- end }}
{{- if and (eq .Values.security.mode "mtls") (not .Values.security.tls.existingSecret) }}
{{- fail "security.mode is mtls, which needs security.tls.existingSecret with tls.crt, tls.key and ca.crt." }}
{{- end }}
{{- if eq (int .Values.port) (int .Values.management.port) }}
{{- fail (printf "port and management.port are both %d: they must differ." (int .Values.port)) }}
{{- end }}
{{- if eq (int .Values.port) (int .Values.grpcPort) }}
{{- fail (printf "port and grpcPort are both %d: they must differ." (int .Values.port)) }}
{{- end }}
{{- if eq (int .Values.management.port) (int .Values.grpcPort) }}
{{- fail (printf "management.port and grpcPort are both %d: they must differ." (int .Values.grpcPort)) }}
{{- end }}
{{- if and (include "athanor.forwards" .) (gt (int (include "athanor.mostPods" .)) 256) }}
{{- fail (printf "%s is %s: at most 256 pods forward requests to each other. Install several releases, or set forwarding.enabled to false." (include "athanor.autoscaled" . | empty | ternary "replicas" "autoscaling.maxReplicas") (include "athanor.mostPods" .)) }}
{{- end }}
{{- range $kind, $route := .Values.gateway }}
{{- if $route.enabled }}
{{- if not $route.parentRefs }}
{{- fail (printf "gateway.%s.enabled is true, which needs gateway.%s.parentRefs: name the Gateway to attach to, such as [{name: GATEWAY}]." $kind $kind) }}
{{- end }}
{{- if eq $.Values.security.mode "mtls" }}
{{- fail (printf "gateway.%s.enabled is true and security.mode is mtls: a Gateway terminates TLS, so client certificates do not reach the pods. Choose api-key or jwt, or disable the route." $kind) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.autoscaling }}
{{- if and .hpa.enabled .keda.enabled }}
{{- fail "autoscaling.hpa.enabled and autoscaling.keda.enabled are both true: enable one, since KEDA creates an autoscaler itself." }}
{{- end }}
{{- if include "athanor.autoscaled" $ }}
{{- if and (not .queueDepth) (not .queueMilliseconds) }}
{{- fail "autoscaling.queueDepth and autoscaling.queueMilliseconds are both 0: set at least one, or disable autoscaling." }}
{{- end }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "autoscaling.minReplicas is %d and autoscaling.maxReplicas is %d: the minimum must not exceed the maximum." (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
