/** Amounts as Kubernetes writes them: `500m`, `512Mi`. */
export interface ResourceNeeds {
  requests?: Record<string, string | number>
  limits?: Record<string, string | number>
}

/** What a resource says of its pods; `spec` has the fields of a pod that a user may set, as Kubernetes has them. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec?: {
    serviceAccountName?: string
    nodeSelector?: Record<string, string>
    tolerations?: unknown[]
    affinity?: unknown
    topologySpreadConstraints?: unknown[]
    priorityClassName?: string
    runtimeClassName?: string
    schedulerName?: string
    imagePullSecrets?: { name: string }[]
    securityContext?: Record<string, unknown>
    hostAliases?: unknown[]
    dnsPolicy?: string
    dnsConfig?: unknown
    /** Added to those of the operator; names that it uses itself are refused. */
    env?: { name: string; [field: string]: unknown }[]
    envFrom?: unknown[]
    volumes?: { name: string; [field: string]: unknown }[]
    volumeMounts?: { name: string; mountPath: string; [field: string]: unknown }[]
  }
}
