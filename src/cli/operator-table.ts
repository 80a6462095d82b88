import type { CommandSpec } from './command-spec.ts'
import type { OptionSpec } from './option-specs.ts'

export const apiGroup: OptionSpec = {
  name: 'api-group',
  value: { kind: 'text', label: 'group' },
  description: 'API group of the resource kinds',
  fallback: 'kafka-backup.dev',
}

const where: readonly OptionSpec[] = [
  {
    name: 'namespace',
    value: { kind: 'text', label: 'name' },
    description: 'watch the resources of this namespace; repeatable. Default: the namespace of the operator',
    isRepeatable: true,
    plural: 'namespaces',
  },
  { name: 'all-namespaces', description: 'watch the resources of all namespaces' },
  apiGroup,
  {
    name: 'strimzi-api',
    value: { kind: 'choice', label: 'version', choices: ['auto', 'v1', 'v1beta2'] },
    description:
      'read the Kafka resources of Strimzi in this API version, for `clusterRef`; `auto`: the newest one that the API server serves. Default: do not read them',
  },
  {
    name: 'kubeconfig',
    value: { kind: 'file', label: 'file' },
    description: 'kubeconfig file, to run outside of a cluster; default: the service account of the pod',
  },
]

const jobs: readonly OptionSpec[] = [
  {
    name: 'job-image',
    value: { kind: 'text', label: 'image' },
    description: 'image of the Jobs; default: KAFKA_BACKUP_IMAGE',
  },
  {
    name: 'job-service-account',
    value: { kind: 'text', label: 'name' },
    description: 'service account of the Jobs, in their namespace',
    fallback: 'default',
  },
  {
    name: 'job-image-pull-secret',
    value: { kind: 'text', label: 'name' },
    description: 'image pull secret of the Jobs; repeatable',
    isRepeatable: true,
  },
  {
    name: 'job-fs-group',
    value: { kind: 'text', label: 'number' },
    description: 'fsGroup of the Job volumes, or `none` if the cluster assigns it, as OpenShift does',
    fallback: '65532',
  },
  {
    name: 'job-resources',
    value: { kind: 'text', label: 'json' },
    description: 'resource requests and limits of Jobs whose resource sets none, as JSON; `{}` for none',
    fallback: '{"requests":{"cpu":"100m","memory":"256Mi"},"limits":{"memory":"1Gi"}}',
  },
  {
    name: 'job-pod-defaults',
    value: { kind: 'text', label: 'json' },
    description:
      'defaults of `podTemplate.spec` as JSON: `nodeSelector`, `tolerations`, `affinity`, `topologySpreadConstraints`, `priorityClassName`, `runtimeClassName`, `schedulerName`, `hostAliases`, `dnsPolicy`, `dnsConfig`',
  },
  {
    name: 'progress-interval',
    value: { kind: 'text', label: 'time' },
    description: 'how often to poll running pods for their progress',
    fallback: '5s',
  },
]

const service: readonly OptionSpec[] = [
  {
    name: 'metrics-address',
    value: { kind: 'text', label: 'host:port' },
    description: 'address that serves metrics',
    fallback: '0.0.0.0:8080',
  },
  {
    name: 'metrics-path',
    value: { kind: 'text', label: 'path' },
    description: 'path of the metrics',
    fallback: '/metrics',
  },
  {
    name: 'metrics-hold',
    value: { kind: 'text', label: 'time' },
    description:
      'how long a new counter shows zero after its first scrape, so that Prometheus sees the first increase; set it longer than the scrape interval',
    fallback: '45s',
  },
  {
    name: 'metrics-tls-cert',
    value: { kind: 'file', label: 'file' },
    description:
      'serve the metrics with HTTPS: certificate with its chain (PEM); a renewed file is used without a restart',
  },
  {
    name: 'metrics-tls-key',
    value: { kind: 'file', label: 'file' },
    description: 'key of `--metrics-tls-cert` (PEM)',
  },
  {
    name: 'metrics-auth',
    description:
      'serve the metrics only to bearer tokens whose user may `get` the path, as the API server decides; needs `--metrics-tls-cert`',
  },
  { name: 'no-metrics', description: 'do not serve metrics' },
  {
    name: 'health-address',
    value: { kind: 'text', label: 'host:port' },
    description: 'address that serves `/healthz` and `/readyz`',
    fallback: '0.0.0.0:8081',
  },
  {
    name: 'no-leader-elect',
    description: 'run without a lease; use it only with a single replica',
  },
  {
    name: 'lease-name',
    value: { kind: 'text', label: 'name' },
    description: 'name of the Lease in the namespace of the operator',
    fallback: 'kafka-backup-operator',
  },
  {
    name: 'workers',
    value: { kind: 'text', label: 'number' },
    description: 'number of resources of a kind to reconcile at the same time',
    fallback: '4',
  },
]

export const operatorCommand: CommandSpec = {
  name: 'operator',
  summary: 'run the Kubernetes operator',
  description:
    'Watch `KafkaBackup`, `KafkaRestore`, `KafkaOffsetReset`, `KafkaOffsetRollback` and `KafkaBackupStorage` resources, and start a Job for each run, until it is stopped. With several replicas, only the one that holds the lease works. The log is JSON, one object per line, unless you pass `--log-format text`.',
  options: [...where, ...jobs, ...service],
  examples: [
    {
      command: 'kafka-backup operator --job-image registry.example.com/kafka-backup:1.0.0',
      meaning: 'run in a pod, for its namespace',
    },
    {
      command: 'kafka-backup operator --all-namespaces --job-image registry.example.com/kafka-backup:1.0.0',
      meaning: 'watch the whole cluster',
    },
    {
      command:
        'kafka-backup operator --kubeconfig dev.yaml --namespace shop --no-leader-elect --job-image kafka-backup:dev --log-format text',
      meaning: 'run on your machine for development',
    },
  ],
  exits: '0 also if it is stopped by a signal',
  onInterrupt: 'Running Jobs continue; another replica, or the next start, takes over.',
  stopsAtOnce: true,
  isService: true,
}

export const crdsCommand: CommandSpec = {
  name: 'crds',
  summary: 'print the CustomResourceDefinitions of the operator',
  description:
    'Print the CustomResourceDefinitions of the five kinds as YAML, or with `--format json` as one list. It needs no connection.',
  options: [apiGroup],
  examples: [
    { command: 'kafka-backup crds > crds.yaml', meaning: 'then run `kubectl apply --server-side -f crds.yaml`' },
    { command: 'kafka-backup crds --api-group backup.example.com', meaning: 'use another API group' },
  ],
  stopsAtOnce: true,
}
