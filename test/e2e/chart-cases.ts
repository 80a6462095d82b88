import type { ChartValues } from '../servers/chart.ts'

/** Namespaces that the cases name; the release's own is another one. */
export const otherNamespaces = ['team-a', 'team-b', 'monitoring']

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`

const everyMonitor = {
  serviceMonitor: {
    enabled: true,
    namespace: 'monitoring',
    interval: '15s',
    labels: { release: 'prometheus' },
    relabelings: [{ targetLabel: 'cluster', replacement: 'east' }],
    metricRelabelings: [{ sourceLabels: ['__name__'], regex: 'nodejs_.*', action: 'drop' }],
  },
  podMonitor: {
    enabled: true,
    namespace: 'monitoring',
    interval: '10s',
    labels: { release: 'prometheus' },
    relabelings: [{ targetLabel: 'cluster', replacement: 'east' }],
    metricRelabelings: [{ sourceLabels: ['__name__'], regex: 'nodejs_.*', action: 'drop' }],
  },
  prometheusRule: { enabled: true, namespace: 'monitoring', labels: { release: 'prometheus' } },
  dashboard: { enabled: true, namespace: 'monitoring', annotations: { grafana_folder: 'Kafka' } },
}

const placement: ChartValues = {
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'infra', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'kafka-backup-operator' } },
          },
        },
      ],
    },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
    {
      maxSkew: 2,
      topologyKey: 'rack',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { a: 'b' } },
    },
  ],
  priorityClassName: 'system-cluster-critical',
}

const extras: ChartValues = {
  extraArgs: ['-v'],
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=256' }],
  extraEnvFrom: [{ secretRef: { name: 'proxy', optional: true } }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca', optional: true } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
  podLabels: { team: 'platform' },
  podAnnotations: { note: 'hello: "world"' },
  annotations: { owner: 'platform' },
  commonLabels: { cost: '42' },
}

/** Values that people install with, by what they want. The definitions, which are large, are in a few of them. */
export const chartCases: Record<string, ChartValues> = {
  defaults: {},
  ...withoutDefinitions({
    'one replica without a leader': { replicas: 1, leaderElection: { enabled: false } },
    'a role to release resources in deleted namespaces': { rbac: { releaseInDeletedNamespaces: true } },
    'three replicas with a lease of their own': {
      replicas: 3,
      leaderElection: { leaseName: 'backup-leader' },
      workers: 8,
    },
    'all namespaces': { clusterWide: true },
    'a console for port-forward': { console: { enabled: true, locations: ['s3://backups/prod', '/backups'] } },
    'a console behind an ingress': {
      networkPolicy: { enabled: true },
      console: {
        enabled: true,
        locations: ['s3://backups/prod'],
        allowedHosts: ['console.example.com'],
        tls: { secretName: 'console-tls' },
        token: { secretName: 'console-token' },
        serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/reader' } },
        env: [{ name: 'AWS_REGION', value: 'eu-central-1' }],
        ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      },
    },
    'a console behind a proxy in its pod': {
      console: {
        enabled: true,
        locations: ['gs://backups'],
        allowedHosts: ['console.example.com'],
        sidecars: [
          {
            name: 'proxy',
            image: 'oauth2-proxy:v7',
            args: ['--upstream=http://127.0.0.1:8088'],
            ports: [{ containerPort: 4180 }],
          },
        ],
        service: { targetPort: 4180 },
      },
    },
    'all namespaces with monitoring': { clusterWide: true, metrics: everyMonitor, networkPolicy: { enabled: true } },
    'two namespaces': { watchNamespaces: ['team-a', 'team-b'], networkPolicy: { enabled: true } },
    'two namespaces with monitoring': { watchNamespaces: ['team-a', 'team-b'], metrics: everyMonitor },
    'monitoring in the own namespace': {
      metrics: {
        serviceMonitor: { enabled: true },
        podMonitor: { enabled: true },
        prometheusRule: { enabled: true },
        dashboard: { enabled: true },
      },
    },
    'metrics with TLS for users with a token': {
      metrics: {
        ...everyMonitor,
        tls: { secretName: 'metrics-tls' },
        auth: { enabled: true, readers: [{ name: 'prometheus', namespace: 'monitoring' }] },
      },
    },
    'metrics with TLS and settings of the monitor': {
      metrics: {
        tls: { secretName: 'metrics-tls' },
        auth: { enabled: true },
        serviceMonitor: {
          enabled: true,
          tlsConfig: { insecureSkipVerify: true },
          authorization: { type: 'Bearer', credentials: { name: 'scraper', key: 'token' } },
        },
      },
    },
    'no metrics, though monitors are asked for': { metrics: { enabled: false, serviceMonitor: { enabled: true } } },
    'another port and path of the metrics': { metrics: { port: 9090, path: '/prometheus', ...everyMonitor } },
    'accounts and roles of somebody else': {
      rbac: { create: false, aggregateRoles: false },
      serviceAccount: { create: false, name: 'own-account' },
      jobs: { serviceAccount: { create: false, name: 'own-jobs' } },
    },
    'identities of a cloud': {
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/operator' } },
      jobs: { serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/backup' } } },
    },
    'defaults of the job pods': {
      jobs: {
        resources: { requests: { cpu: '2' }, limits: null },
        nodeSelector: { disk: 'fast' },
        tolerations: [{ key: 'batch', operator: 'Exists' }],
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
        ],
        priorityClassName: 'batch',
      },
    },
    'no permission to read secrets': { rbac: { checkSecrets: false } },
    'clusters of Strimzi': { strimzi: { enabled: true } },
    'an image by its digest': { image: { repository: 'images.example.org/kafka-backup', digest } },
    'another image for the jobs': {
      image: { digest },
      imagePullSecrets: [{ name: 'registry-login' }],
      jobs: { image: { tag: '9.9.9' }, imagePullSecrets: [{ name: 'jobs-login' }, { name: 'other-login' }] },
    },
    'a fixed user': { podSecurityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 } },
    OpenShift: { jobs: { fsGroup: 'none' } },
    'no disruption budget': { podDisruptionBudget: { enabled: false } },
    'a budget in percent': { podDisruptionBudget: { maxUnavailable: '50%' } },
    'a closed network': {
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        apiServerPorts: [6443],
        extraEgress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [{ port: 3128, protocol: 'TCP' }] }],
      },
    },
    'a network policy of the jobs': {
      watchNamespaces: ['team-a', 'team-b'],
      metrics: { podMonitor: { enabled: true } },
      networkPolicy: {
        jobs: { enabled: true, egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] },
      },
    },
    'a network policy of the jobs of all namespaces': {
      clusterWide: true,
      networkPolicy: { jobs: { enabled: true, namespaces: ['team-a'] } },
    },
    'IPv6 only': { listenAddress: '[::]' },
    'placement of the pods': placement,
    'everything extra': extras,
    'labels that the chart has as well': {
      commonLabels: { 'app.kubernetes.io/part-of': 'platform', team: 'data' },
      podLabels: { 'app.kubernetes.io/part-of': 'pods' },
      metrics: {
        serviceMonitor: { enabled: true, labels: { 'app.kubernetes.io/part-of': 'monitoring', team: 'monitors' } },
        podMonitor: { enabled: true, labels: { team: 'monitors' } },
        prometheusRule: { enabled: true, labels: { team: 'monitors' } },
        dashboard: { enabled: true, labels: { team: 'monitors' } },
      },
    },
    'other names': { nameOverride: 'backups', fullnameOverride: 'our-backups' },
    'names that are too long': { fullnameOverride: 'a-name-that-is-as-long-as-a-name-of-a-label-can-ever-be-in-here' },
  }),
  'another API group': { apiGroup: 'backup.example.org', metrics: { podMonitor: { enabled: true } } },
  'CRDs that go with the release': { crds: { keep: false, annotations: { 'argocd.argoproj.io/sync-wave': '-1' } } },
}

function withoutDefinitions(cases: Record<string, ChartValues>): Record<string, ChartValues> {
  const crds = { install: false }
  return Object.fromEntries(Object.entries(cases).map(([name, values]) => [name, { ...values, crds }]))
}

/** What must not be rendered, with words of the refusal. */
export const refusedCases: Record<string, { values: ChartValues; says: RegExp }> = {
  'a console without a location': { values: { console: { enabled: true } }, says: /console\.locations is needed/ },
  'a console with TLS and without a token': {
    values: { console: { enabled: true, locations: ['/backups'], tls: { secretName: 'console-tls' } } },
    says: /belong together/,
  },
  'metrics with tokens and without TLS': {
    values: { metrics: { auth: { enabled: true } } },
    says: /metrics\.auth\.enabled needs metrics\.tls\.secretName/,
  },
  'two replicas without a leader': {
    values: { leaderElection: { enabled: false } },
    says: /replicas above 1 need leaderElection\.enabled/,
  },
  'all namespaces and some': {
    values: { clusterWide: true, watchNamespaces: ['team-a'] },
    says: /clusterWide and watchNamespaces exclude each other/,
  },
  'a network policy of the jobs in namespaces that the chart does not know': {
    values: { clusterWide: true, networkPolicy: { jobs: { enabled: true } } },
    says: /needs networkPolicy\.jobs\.namespaces with clusterWide/,
  },
  'an account that nobody makes': {
    values: { serviceAccount: { create: false } },
    says: /serviceAccount\.name is needed/,
  },
  'a cloud identity of the jobs in all namespaces': {
    values: { clusterWide: true, jobs: { serviceAccount: { annotations: { role: 'backup' } } } },
    says: /jobs\.serviceAccount\.annotations has no effect with clusterWide.*jobs\.serviceAccount\.name/,
  },
  'annotations of an account of the jobs that exists already': {
    values: { jobs: { serviceAccount: { create: false, name: 'own', annotations: { role: 'backup' } } } },
    says: /jobs\.serviceAccount\.annotations has no effect without jobs\.serviceAccount\.create/,
  },
  'annotations of an account of the operator that exists already': {
    values: { serviceAccount: { create: false, name: 'own', annotations: { role: 'operator' } } },
    says: /serviceAccount\.annotations has no effect without serviceAccount\.create/,
  },
  'resources of the jobs that are none': {
    values: { jobs: { resources: { limit: { memory: '1Gi' } } } },
    says: /limit/,
  },
  'a value that does not exist': { values: { replicaCount: 3 }, says: /replicaCount/ },
  'a misspelt value of the metrics': { values: { metrics: { serviceMonitor: { enable: true } } }, says: /enable/ },
  'a port that is none': { values: { metrics: { port: 99_999 } }, says: /port/ },
  'a digest that is none': { values: { image: { digest: 'latest' } }, says: /digest/ },
  'an alert that does not exist': {
    values: { metrics: { prometheusRule: { alerts: { KafkaBackupMising: { enabled: false } } } } },
    says: /KafkaBackupMising|alerts/,
  },
  'a misspelt time of a probe': { values: { livenessProbe: { periodSecond: 3 } }, says: /periodSecond/ },
  'one port for metrics and health': { values: { health: { port: 8080 } }, says: /metrics\.port and health\.port/ },
  'an interval that is none': { values: { metrics: { serviceMonitor: { interval: 'often' } } }, says: /interval/ },
}
