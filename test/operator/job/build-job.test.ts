import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../../src/errors.ts'
import type { PodTemplate } from '../../../src/operator/crd/resource.ts'
import { buildJob } from '../../../src/operator/job/build-job.ts'
import { readJobState } from '../../../src/operator/job/read-job-state.ts'
import { type DraftWish, sampleDraft } from './samples.ts'

interface Container {
  args: string[]
  env: { name: string }[]
  volumeMounts: { mountPath: string }[]
  securityContext: object
  [field: string]: unknown
}

interface JobSpec {
  template: {
    metadata: Record<string, Record<string, string>>
    spec: Record<string, unknown> & { containers: Container[] }
  }
  [field: string]: unknown
}

function build(wish: DraftWish = {}) {
  const job = buildJob(sampleDraft(wish))
  const spec = job.spec as unknown as JobSpec
  const pod = spec.template.spec
  const container = pod.containers[0]
  assert.ok(container)
  return { job, spec, pod, container }
}

test('a pod is restricted, and has no service account token', () => {
  const { pod, container } = build()
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  })
  const { automountServiceAccountToken, enableServiceLinks, restartPolicy, serviceAccountName } = pod
  assert.deepEqual(
    { automountServiceAccountToken, enableServiceLinks, restartPolicy, serviceAccountName },
    {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: 'Never',
      serviceAccountName: 'default',
    },
  )
  assert.equal(pod.terminationGracePeriodSeconds, 120)
  const paths = container.volumeMounts.map(({ mountPath }) => mountPath)
  assert.deepEqual(paths, ['/etc/kafka-backup', '/tmp'])
  const names = container.env.map(({ name }) => name)
  assert.deepEqual(names, ['KAFKA_BACKUP_RESULT_FILE', 'POD_IP'])
})

test('does not set fsGroup if the cluster assigns it', () => {
  const group = { fsGroup: 65_532, fsGroupChangePolicy: 'OnRootMismatch' }
  const always = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
  assert.deepEqual(build().pod.securityContext, { ...always, ...group })
  assert.deepEqual(build({ settings: { fsGroup: null } }).pod.securityContext, always)
  const own = { spec: { securityContext: { fsGroup: 7, runAsUser: 1000 } } }
  assert.deepEqual(build({ spec: { podTemplate: own } }).pod.securityContext, {
    ...always,
    ...group,
    fsGroup: 7,
    runAsUser: 1000,
  })
})

test('a Job retries errors that may pass, and fails immediately for others', () => {
  const { spec } = build()
  assert.deepEqual(
    [spec.backoffLimit, spec.podReplacementPolicy, spec.completionMode, spec.activeDeadlineSeconds],
    [6, 'Failed', undefined, undefined],
  )
  assert.deepEqual(spec.podFailurePolicy, {
    rules: [
      { action: 'FailJob', onExitCodes: { containerName: 'kafka-backup', operator: 'In', values: [2, 3, 5] } },
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ],
  })
  const limits = build({
    spec: { job: { backoffLimit: 0, activeDeadlineSeconds: 60, terminationGracePeriodSeconds: 9 } },
  })
  assert.deepEqual([limits.spec.backoffLimit, limits.spec.activeDeadlineSeconds], [0, 60])
  assert.equal(limits.pod.terminationGracePeriodSeconds, 9)
})

test('a removal retries while the backup is in use, and a continuous backup is retried without a limit', () => {
  const { rules } = build({ step: { purpose: 'delete' } }).spec.podFailurePolicy as { rules: Record<string, object>[] }
  assert.deepEqual(rules[0]?.onExitCodes, { containerName: 'kafka-backup', operator: 'In', values: [2, 3] })
  const continuous = { backup: { continuous: true } }
  assert.equal(build({ spec: continuous }).spec.backoffLimit, 2_147_483_647)
  assert.equal(build({ spec: { ...continuous, job: { backoffLimit: 3 } } }).spec.backoffLimit, 3)
  assert.equal(build({ spec: continuous, step: { purpose: 'verify' } }).spec.backoffLimit, 6)
})

test('each shard has its own retries, and the first one without any left fails the Job', () => {
  const { spec, container } = build({ step: { stage: 'shards', shards: 4 }, spec: { job: { backoffLimit: 2 } } })
  const { completionMode, completions, parallelism, backoffLimitPerIndex, maxFailedIndexes, backoffLimit } = spec
  assert.deepEqual(
    { completionMode, completions, parallelism, backoffLimitPerIndex, maxFailedIndexes, backoffLimit },
    {
      completionMode: 'Indexed',
      completions: 4,
      parallelism: 4,
      backoffLimitPerIndex: 2,
      maxFailedIndexes: 0,
      backoffLimit: 12,
    },
  )
  assert.deepEqual(container.args.slice(-2), ['--shard', '$(JOB_COMPLETION_INDEX)/4'])
})

test('no argument is expanded as a variable', () => {
  const args = ['offsets', 'reset', '--group', '$(POD_IP)', '--group', 'a$$b']
  assert.deepEqual(build({ pod: { args } }).container.args.slice(3), ['$$(POD_IP)', '--group', 'a$$$$b'])
})

test('resources, service account and scheduling of the resource override those of the operator', () => {
  const resources = { limits: { memory: '1Gi' } }
  const settings = {
    resources: { limits: { memory: '512Mi' } },
    imagePullSecrets: [{ name: 'a' }],
    imagePullPolicy: 'Never',
  }
  const plain = build({ settings })
  assert.deepEqual(plain.container.resources, settings.resources)
  assert.deepEqual([plain.container.imagePullPolicy, plain.pod.imagePullSecrets], ['Never', [{ name: 'a' }]])
  const template: PodTemplate = {
    metadata: { labels: { team: 'a' }, annotations: { note: 'b' } },
    spec: {
      serviceAccountName: 'own',
      nodeSelector: { disk: 'fast' },
      tolerations: [{ operator: 'Exists' }],
      imagePullSecrets: [{ name: 'a' }, { name: 'b' }],
      env: [{ name: 'NODE_OPTIONS', value: '--use-system-ca' }],
      envFrom: [{ secretRef: { name: 's' } }],
      volumes: [{ name: 'krb5', configMap: { name: 'krb5' } }],
      volumeMounts: [{ name: 'krb5', mountPath: '/etc/krb5' }],
    },
  }
  const { pod, container, spec } = build({ settings, spec: { resources, podTemplate: template } })
  assert.deepEqual([container.resources, container.envFrom], [resources, [{ secretRef: { name: 's' } }]])
  assert.deepEqual(
    [pod.serviceAccountName, pod.nodeSelector, pod.tolerations],
    ['own', { disk: 'fast' }, [{ operator: 'Exists' }]],
  )
  assert.deepEqual(pod.imagePullSecrets, [{ name: 'a' }, { name: 'b' }])
  const heap = '--max-old-space-size=416 --max-semi-space-size=32'
  assert.deepEqual(container.env.at(-1), { name: 'NODE_OPTIONS', value: `${heap} --use-system-ca` })
  assert.deepEqual(plain.container.env.at(-1), {
    name: 'NODE_OPTIONS',
    value: '--max-old-space-size=208 --max-semi-space-size=16',
  })
  assert.deepEqual(container.volumeMounts.at(-1), { name: 'krb5', mountPath: '/etc/krb5' })
  assert.equal(spec.template.metadata.labels?.team, 'a')
  assert.equal(spec.template.metadata.labels?.['kafka-backup.dev/resource'], 'orders')
})

test('placement defaults of the operator apply where the resource sets none', () => {
  const zone = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }
  const settings = { podDefaults: { priorityClassName: 'batch', topologySpreadConstraints: [zone] } }
  const { pod } = build({ settings })
  const labelSelector = { matchLabels: { 'kafka-backup.dev/resource': 'orders' } }
  assert.deepEqual(
    [pod.priorityClassName, pod.topologySpreadConstraints],
    ['batch', [{ labelSelector, ...zone }]],
    'a constraint without a selector spreads the pods of the resource',
  )
  const podTemplate = { spec: { priorityClassName: 'high', topologySpreadConstraints: [] } }
  const own = build({ settings, spec: { podTemplate } }).pod
  assert.deepEqual([own.priorityClassName, own.topologySpreadConstraints], ['high', []])
  const selected = { ...zone, labelSelector: { matchLabels: { a: 'b' } } }
  const kept = build({ settings: { podDefaults: { topologySpreadConstraints: [selected] } } }).pod
  assert.deepEqual(kept.topologySpreadConstraints, [selected])
})

test('refuses template fields that belong to the operator, by name', () => {
  const refused: [PodTemplate, RegExp][] = [
    [
      { metadata: { labels: { 'kafka-backup.dev/purpose': 'x' } } },
      /metadata\.labels: "kafka-backup.dev\/purpose" is set/,
    ],
    [{ metadata: { annotations: { 'kafka-backup.dev/run': 'x' } } }, /metadata\.annotations: /],
    [{ metadata: { labels: { 'app.kubernetes.io/name': 'x' } } }, /metadata\.labels: /],
    [{ metadata: { labels: { 'batch.kubernetes.io/job-name': 'x' } } }, /metadata\.labels: /],
    [{ spec: { env: [{ name: 'POD_IP', value: 'x' }] } }, /spec\.env\[0\]\.name: "POD_IP" is used by the operator/],
    [{ spec: { env: [{ name: 'PASSWORD', value: 'x' }] } }, /"PASSWORD" is used/],
    [{ spec: { env: [{ name: 'JOB_COMPLETION_INDEX' }] } }, /JOB_COMPLETION_INDEX/],
    [{ spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } }, /spec\.volumes\[0\]\.name: "tmp"/],
    [mountAt('/etc/kafka-backup/job.yaml'), /volumeMounts\[0\]\.mountPath: .* conflicts with \/etc\/kafka-backup/],
    [mountAt('/etc'), /conflicts with/],
    [mountAt('/'), /conflicts with/],
    [mountAt('/tmp/'), /conflicts with \/tmp/],
    [mountAt('/a/../etc/./kafka-backup'), /conflicts with \/etc\/kafka-backup/],
    [{ spec: { volumes: [{ name: 'a', hostPath: { path: '/' } }] } }, /volumes\[0\]\.hostPath: .*restricted/],
    [{ spec: { volumes: [{ name: 'a', nfs: { server: 's', path: '/' } }] } }, /volumes\[0\]\.nfs: .*restricted/],
    [
      { spec: { securityContext: { seLinuxOptions: { type: 'spc_t' } } } },
      /seLinuxOptions\.type: "spc_t" .*restricted/,
    ],
    [{ spec: { securityContext: { seLinuxOptions: { user: 'u' } } } }, /seLinuxOptions\.user: .*restricted/],
    [{ spec: { securityContext: { seccompProfile: { type: 'Unconfined' } } } }, /seccompProfile\.type: .*restricted/],
    [
      { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/kafka-backup': 'unconfined' } } },
      /annotations: "container\.apparmor.*restricted/,
    ],
    [mountAt('/dev'), /conflicts with \/dev\/termination-log/],
    [
      { spec: { volumeMounts: [{ name: 'tmp', mountPath: '/x' }] } },
      /"tmp" is not in spec\.podTemplate\.spec\.volumes/,
    ],
    [{ spec: { securityContext: { runAsUser: 0 } } }, /securityContext\.runAsUser: 0 is root/],
    [{ spec: { securityContext: { runAsNonRoot: false } } }, /runAsNonRoot/],
  ]
  const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
  for (const [podTemplate, message] of refused) {
    assert.throws(
      () => build({ spec: { podTemplate }, pod: { env } }),
      (error: unknown) => {
        assert.ok(error instanceof KafkaBackupError)
        assert.equal(error.code, 'CONFIG_INVALID')
        assert.match(error.message, message)
        assert.match(error.message, /^spec\.podTemplate\./)
        return true
      },
    )
  }
  assert.doesNotThrow(() => build({ spec: { podTemplate: mountAt('/tmp/cache') } }))
  assert.doesNotThrow(() => build({ spec: { podTemplate: mountAt('/etc/kafka') } }))
  const seLinuxOptions = { level: 's0:c123,c456', type: 'container_t' }
  const volumes = [{ name: 'a' }, { name: 'b', csi: { driver: 'd' } }, { name: 'c', projected: { sources: [] } }]
  const seccompProfile = { type: 'Localhost', localhostProfile: 'p.json' }
  const podTemplate = { spec: { volumes, securityContext: { seLinuxOptions, seccompProfile } } }
  assert.doesNotThrow(() => build({ spec: { podTemplate } }))
})

test('reads the run of a Job from its labels and annotations', () => {
  const spec = { generation: 7, specHash: '0123456789abcdef' }
  const { job } = build({ step: { purpose: 'verify', stage: 'shards', shards: 5, backupId: 'orders-ü', ...spec } })
  const { run, purpose, stage, shards, backupId, dueMs, generation, specHash, end, running } = readJobState(job, [], 0)
  assert.deepEqual({ generation, specHash }, spec)
  assert.deepEqual(
    { run, purpose, stage, shards, backupId, end, running },
    {
      run: 'scheduled-20261116t0200z',
      purpose: 'verify',
      stage: 'shards',
      shards: 5,
      backupId: 'orders-ü',
      end: undefined,
      running: [],
    },
  )
  assert.equal(dueMs, Date.parse('2026-11-16T02:00:00Z'))
})

function mountAt(mountPath: string): PodTemplate {
  return { spec: { volumes: [{ name: 'own', emptyDir: {} }], volumeMounts: [{ name: 'own', mountPath }] } }
}
