import type { CommandSpec } from './command-spec.ts'
import type { OptionSpec } from './option-specs.ts'

const apiGroup: OptionSpec = {
  name: 'api-group',
  value: { kind: 'text', label: 'group' },
  description: 'the API group of the four kinds of resources',
  fallback: 'kafka-backup.dev',
}

const where: readonly OptionSpec[] = [
  {
    name: 'namespace',
    value: { kind: 'text', label: 'name' },
    description: 'serves the resources of this namespace; may be repeated. Default: the namespace of the operator',
    isRepeatable: true,
    plural: 'namespaces',
  },
  { name: 'all-namespaces', description: 'works on the resources of all namespaces' },
  apiGroup,
  {
    name: 'kubeconfig',
    value: { kind: 'file', label: 'file' },
    description: 'how the API server is reached, outside of a cluster; otherwise the service account of the pod',
  },
]

const jobs: readonly OptionSpec[] = [
  {
    name: 'job-image',
    value: { kind: 'text', label: 'image' },
    description: 'the image that the Jobs run; otherwise KAFKA_BACKUP_IMAGE',
  },
  {
    name: 'job-service-account',
    value: { kind: 'text', label: 'name' },
    description: 'the service account of the Jobs, in the namespace of each',
    fallback: 'default',
  },
  {
    name: 'job-image-pull-secret',
    value: { kind: 'text', label: 'name' },
    description: 'a secret that the image is pulled with; may be repeated',
    isRepeatable: true,
  },
  {
    name: 'job-fs-group',
    value: { kind: 'text', label: 'number' },
    description:
      'the group that volumes of the Jobs belong to, or `none` where the cluster chooses it, as OpenShift does',
    fallback: '65532',
  },
  {
    name: 'progress-interval',
    value: { kind: 'text', label: 'time' },
    description: 'how often running pods are asked how far they are',
    fallback: '5s',
  },
]

const service: readonly OptionSpec[] = [
  {
    name: 'metrics-address',
    value: { kind: 'text', label: 'host:port' },
    description: 'where the metrics are served',
    fallback: '0.0.0.0:8080',
  },
  {
    name: 'metrics-path',
    value: { kind: 'text', label: 'path' },
    description: 'the path of the metrics',
    fallback: '/metrics',
  },
  {
    name: 'metrics-hold',
    value: { kind: 'text', label: 'time' },
    description:
      'how long a new counter shows zero after it was first scraped, so that its first increase is seen; longer than the time between two scrapes',
    fallback: '45s',
  },
  { name: 'no-metrics', description: 'serves no metrics' },
  {
    name: 'health-address',
    value: { kind: 'text', label: 'host:port' },
    description: 'where `/healthz` and `/readyz` are served',
    fallback: '0.0.0.0:8081',
  },
  {
    name: 'no-leader-elect',
    description: 'works without a lease; only where no second process runs',
  },
  {
    name: 'lease-name',
    value: { kind: 'text', label: 'name' },
    description: 'the Lease, in the namespace of the operator, that one of several replicas holds',
    fallback: 'kafka-backup-operator',
  },
  {
    name: 'workers',
    value: { kind: 'text', label: 'number' },
    description: 'resources of a kind that are worked on at the same time',
    fallback: '4',
  },
]

export const operatorCommand: CommandSpec = {
  name: 'operator',
  summary: 'run the Kubernetes operator',
  description:
    'Watches `KafkaBackup`, `KafkaRestore`, `KafkaOffsetReset` and `KafkaOffsetRollback` and runs a Job of this program for each run of them, until it is stopped. Of several replicas one works, the others wait for its lease. Its log is JSON, one object a line, unless `--log-format text` is given.',
  options: [...where, ...jobs, ...service],
  examples: [
    {
      command: 'kafka-backup operator --job-image registry.example.com/kafka-backup:1.0.0',
      meaning: 'in a pod, for its own namespace',
    },
    {
      command: 'kafka-backup operator --all-namespaces --job-image registry.example.com/kafka-backup:1.0.0',
      meaning: 'for the whole cluster',
    },
    {
      command:
        'kafka-backup operator --kubeconfig dev.yaml --namespace shop --no-leader-elect --job-image kafka-backup:dev --log-format text',
      meaning: 'on the own machine, to try it out',
    },
  ],
  exits: '0 also when it is stopped by a signal',
  onInterrupt: 'The Jobs continue; another replica, or the next start, takes over.',
  stopsAtOnce: true,
  isService: true,
}

export const crdsCommand: CommandSpec = {
  name: 'crds',
  summary: 'print the definitions of the resources of the operator',
  description:
    'Prints the CustomResourceDefinitions of the four kinds as YAML, or with `--format json` as one list. Nothing is connected to.',
  options: [apiGroup],
  examples: [
    { command: 'kafka-backup crds > crds.yaml', meaning: 'for `kubectl apply --server-side -f crds.yaml`' },
    { command: 'kafka-backup crds --api-group backup.example.com', meaning: 'under another group' },
  ],
  stopsAtOnce: true,
}
