/** A resource that the API server has to refuse, and what it has to say: the field and a help. */
export interface BadResource {
  name: string
  kind: string
  /** Over the spec of a good one; null takes a field away. */
  spec: Record<string, unknown>
  says: RegExp
  metadata?: { name?: string }
}

const cluster = { bootstrapServers: ['kafka:9092'] }
const s3 = { backend: 's3', bucket: 'backups', region: 'eu-central-1' }
const key = { name: 'a-secret', key: 'a-key' }

export const goodSpecs: Record<string, Record<string, unknown>> = {
  KafkaBackup: { kafkaCluster: cluster, topics: { include: ['*'] }, storage: s3 },
  KafkaRestore: { kafkaCluster: cluster, backupId: 'nightly', storage: s3 },
  KafkaOffsetReset: { kafkaCluster: cluster, storage: s3, groups: ['billing'], strategy: 'earliest' },
  KafkaOffsetRollback: { kafkaCluster: cluster, storage: s3, snapshotId: '20260131t080000z-1a2b3c4d' },
  KafkaBackupStorage: { storage: s3 },
}

const secure = (security: object) => ({ kafkaCluster: { ...cluster, security } })
const registry = (more: object) => ({
  enterprise: { schemaRegistry: { enabled: true, url: 'https://registry:8081', ...more } },
})
const pod = (spec: object) => ({ podTemplate: { spec } })

function bad(kind: string, name: string, spec: Record<string, unknown>, says: RegExp): BadResource {
  return { kind, name, spec, says }
}

const schedules: BadResource[] = [
  bad('KafkaBackup', 'a cron of four fields', { schedule: '0 2 * *' }, /spec\.schedule: .*five cron fields/),
  bad('KafkaBackup', 'a cron of six fields', { schedule: '0 0 2 * * *' }, /spec\.schedule: .*has no seconds/),
  bad('KafkaBackup', 'minute 60', { schedule: '60 2 * * *' }, /spec\.schedule: .*such as "0 2 \* \* \*"/),
  bad('KafkaBackup', 'an unknown name of a schedule', { schedule: '@noon' }, /spec\.schedule: .*@daily/),
  bad('KafkaBackup', 'an empty schedule', { schedule: '' }, /spec\.schedule: .*five cron fields/),
  bad(
    'KafkaBackup',
    'a schedule of verification in words',
    { verify: { schedule: 'weekly' } },
    /spec\.verify\.schedule: .*five cron fields/,
  ),
  bad(
    'KafkaBackup',
    'a schedule of drills in words',
    { drill: { schedule: 'weekly', kafkaCluster: cluster } },
    /spec\.drill\.schedule: .*five cron fields/,
  ),
  bad(
    'KafkaBackup',
    'a drill without a cluster',
    { drill: { schedule: '@daily' } },
    /spec\.drill\.kafkaCluster: Required/,
  ),
  bad(
    'KafkaBackup',
    'a drill of a sample of the newest records',
    { drill: { schedule: '@daily', kafkaCluster: cluster, samplePercent: 5, newest: '6h' } },
    /spec\.drill\.samplePercent: .*cannot be combined with newest/,
  ),
  bad(
    'KafkaBackup',
    'a drill of nothing',
    { drill: { schedule: '@daily', kafkaCluster: cluster, samplePercent: 0 } },
    /spec\.drill\.samplePercent: .*must be above 0/,
  ),
  bad(
    'KafkaBackup',
    'a drill with a password without TLS',
    {
      drill: {
        schedule: '@daily',
        kafkaCluster: { ...cluster, security: { protocol: 'SASL_SSL' } },
      },
    },
    /spec\.drill\.kafkaCluster\.security/,
  ),
  bad(
    'KafkaBackup',
    'a time zone that is none',
    { schedule: '@daily', timeZone: 'Europe/Wien' },
    /spec\.timeZone: .*IANA database, such as Europe\/Vienna/,
  ),
  bad(
    'KafkaBackup',
    'an offset as time zone',
    { schedule: '@daily', timeZone: '+02:00' },
    /spec\.timeZone: .*IANA database/,
  ),
  bad('KafkaBackup', 'a time zone without a schedule', { timeZone: 'UTC' }, /spec\.timeZone: .*add schedule/),
  bad(
    'KafkaBackup',
    'a deadline to start without a schedule',
    { startingDeadlineSeconds: 60 },
    /spec\.startingDeadlineSeconds: .*add schedule/,
  ),
  bad(
    'KafkaBackup',
    'a deadline of a second',
    { schedule: '@daily', startingDeadlineSeconds: 1 },
    /spec\.startingDeadlineSeconds: .*greater than or equal to 10/,
  ),
]

const strimzi = { name: 'prod', listener: 'tls' }

const references: BadResource[] = [
  ...['KafkaBackup', 'KafkaRestore', 'KafkaOffsetReset', 'KafkaOffsetRollback'].flatMap(kind => [
    bad(kind, 'two storages', { storageRef: { name: 'minio' } }, /exactly one of storage and storageRef/),
    bad(kind, 'no storage', { storage: null }, /exactly one of storage and storageRef/),
  ]),
  ...['KafkaBackup', 'KafkaRestore', 'KafkaOffsetReset', 'KafkaOffsetRollback'].flatMap(kind => [
    bad(kind, 'two clusters', { clusterRef: strimzi }, /exactly one of kafkaCluster and clusterRef/),
    bad(kind, 'no cluster', { kafkaCluster: null }, /exactly one of kafkaCluster and clusterRef/),
  ]),
  bad('KafkaBackup', 'a KafkaUser without Strimzi', { kafkaUserRef: { name: 'u' } }, /kafkaUserRef is for clusterRef/),
  bad(
    'KafkaBackup',
    'no listener of Strimzi',
    { kafkaCluster: null, clusterRef: { name: 'prod' } },
    /spec\.clusterRef\.listener: Required/,
  ),
  bad('KafkaBackup', 'a storage of no name', { storage: null, storageRef: {} }, /spec\.storageRef\.name: Required/),
  bad('KafkaBackupStorage', 'no location', { storage: null }, /spec\.storage: Required/),
  bad('KafkaBackupStorage', 'no bucket', { storage: { backend: 's3' } }, /spec\.storage\.bucket: Required/),
  bad(
    'KafkaBackupStorage',
    'an interval of a minute',
    { validationInterval: '1m' },
    /validationInterval: .*at least 5m/,
  ),
  bad(
    'KafkaBackupStorage',
    'an interval of seconds',
    { validationInterval: '900s' },
    /validationInterval: .*such as 30m/,
  ),
]

const runs: BadResource[] = [
  bad('KafkaBackup', 'another mode', { mode: 'differential' }, /spec\.mode: .*"incremental", "full"/),
  bad('KafkaBackup', 'no pods at all', { parallelism: 0 }, /spec\.parallelism: .*greater than or equal to 1/),
  bad(
    'KafkaRestore',
    'more pods than a restore may have',
    { parallelism: 129 },
    /spec\.parallelism: .*less than or equal to 128/,
  ),
  bad('KafkaRestore', 'a probe of everything', { probe: 'all' }, /spec\.probe: .*"store", "target"/),
  bad(
    'KafkaRestore',
    'a probe of a restore with several pods',
    { probe: 'target', parallelism: 2 },
    /spec\.probe: .*set parallelism to 1/,
  ),
  bad(
    'KafkaBackup',
    'Allow with one backup',
    { concurrencyPolicy: 'Allow' },
    /spec\.concurrencyPolicy: .*set mode to full/,
  ),
  bad('KafkaBackup', 'a policy in lower case', { concurrencyPolicy: 'forbid' }, /spec\.concurrencyPolicy: .*"Forbid"/),
  bad(
    'KafkaBackup',
    'a continuous backup on a schedule',
    { schedule: '@daily', backup: { continuous: true } },
    /spec\.schedule: .*remove schedule/,
  ),
  bad(
    'KafkaBackup',
    'a continuous backup of mode full',
    { mode: 'full', backup: { continuous: true } },
    /spec\.mode: .*set mode to incremental/,
  ),
  bad(
    'KafkaBackup',
    'a continuous backup of many pods',
    { parallelism: 2, backup: { continuous: true } },
    /spec\.parallelism: .*set parallelism to 1/,
  ),
  bad(
    'KafkaBackup',
    'a continuous backup that is verified',
    { verify: {}, backup: { continuous: true } },
    /spec\.verify: .*remove verify/,
  ),
  bad(
    'KafkaBackup',
    'a continuous backup with an end',
    { job: { activeDeadlineSeconds: 60 }, backup: { continuous: true } },
    /spec\.job\.activeDeadlineSeconds: .*remove/,
  ),
  bad(
    'KafkaBackup',
    'another deletion policy',
    { deletionPolicy: 'Orphan' },
    /spec\.deletionPolicy: .*"Retain", "Delete"/,
  ),
  bad(
    'KafkaBackup',
    'a backup id too long for a time behind it',
    { mode: 'full', backupId: 'x'.repeat(190) },
    /spec\.backupId: .*at most 183/,
  ),
  {
    ...bad('KafkaBackup', 'a name too long for a backup', {}, /spec\.backupId: .*set a backupId/),
    metadata: { name: 'x'.repeat(220) },
  },
  bad(
    'KafkaBackup',
    'no limit of retries below none',
    { job: { backoffLimit: -1 } },
    /spec\.job\.backoffLimit: .*greater than or equal to 0/,
  ),
]

const connections: BadResource[] = [
  bad('KafkaBackup', 'no brokers', { kafkaCluster: {} }, /spec\.kafkaCluster\.bootstrapServers: Required/),
  bad(
    'KafkaBackup',
    'an empty list of brokers',
    { kafkaCluster: { bootstrapServers: [] } },
    /spec\.kafkaCluster\.bootstrapServers: .*at least 1/,
  ),
  bad(
    'KafkaBackup',
    'a broker without a port',
    { kafkaCluster: { bootstrapServers: ['kafka'] } },
    /spec\.kafkaCluster\.bootstrapServers\[0\]: .*host:port/,
  ),
  bad('KafkaBackup', 'no topics', { topics: null }, /spec\.topics: Required/),
  bad(
    'KafkaBackup',
    'a login without TLS or SASL',
    secure({ protocol: 'SASL_SSL' }),
    /spec\.kafkaCluster\.security\.sasl: Required.*SASL_SSL/,
  ),
  bad(
    'KafkaBackup',
    'certificates without TLS',
    secure({ protocol: 'PLAINTEXT', tls: { caCertSecret: key } }),
    /spec\.kafkaCluster\.security\.tls: .*SSL/,
  ),
  bad(
    'KafkaBackup',
    'an unknown protocol',
    secure({ protocol: 'TLS' }),
    /spec\.kafkaCluster\.security\.protocol: .*"SASL_SSL"/,
  ),
  bad(
    'KafkaBackup',
    'SCRAM without a password',
    secure({ protocol: 'SASL_SSL', sasl: { mechanism: 'SCRAM-SHA-512', username: 'a' } }),
    /spec\.kafkaCluster\.security\.sasl\.passwordSecret: Required/,
  ),
  bad(
    'KafkaBackup',
    'a certificate without its key',
    secure({ protocol: 'SSL', tls: { clientCertSecret: key } }),
    /spec\.kafkaCluster\.security\.tls\.clientKeySecret: Required/,
  ),
  bad(
    'KafkaBackup',
    'a secret without a key',
    secure({ protocol: 'SSL', tls: { caCertSecret: { name: 'a' } } }),
    /spec\.kafkaCluster\.security\.tls\.caCertSecret\.key: Required/,
  ),
  bad(
    'KafkaBackup',
    'a secret with a name that none can have',
    secure({ protocol: 'SSL', tls: { caCertSecret: { name: 'A_B', key: 'c' } } }),
    /spec\.kafkaCluster\.security\.tls\.caCertSecret\.name: .*a name of/,
  ),
  bad(
    'KafkaBackup',
    'a registry without an address',
    { enterprise: { schemaRegistry: { enabled: true } } },
    /spec\.enterprise\.schemaRegistry\.url: Required.*enabled/,
  ),
  bad(
    'KafkaBackup',
    'mtls without certificates',
    registry({ auth: { type: 'mtls' } }),
    /spec\.enterprise\.schemaRegistry\.tls\.caCertSecret: Required.*mtls/,
  ),
  bad(
    'KafkaBackup',
    'two logins at a registry',
    registry({ auth: { type: 'basic', username: 'a', passwordSecret: key }, credentialsSecret: { name: 'a' } }),
    /spec\.enterprise\.schemaRegistry\.credentialsSecret: .*keep one/,
  ),
  bad(
    'KafkaRestore',
    'IDs rewritten and forced',
    registry({ restore: { rewriteIds: true, forceIds: true } }),
    /spec\.enterprise\.schemaRegistry\.restore\.forceIds: .*set one of the two/,
  ),
]

const storages: BadResource[] = [
  bad('KafkaBackup', 'no storage', { storage: null }, /spec\.storage: Required/),
  bad('KafkaBackup', 'an unknown backend', { storage: { backend: 'filesystem' } }, /spec\.storage\.backend: .*"pvc"/),
  bad('KafkaBackup', 'no bucket', { storage: { backend: 's3' } }, /spec\.storage\.bucket: Required.*s3/),
  bad(
    'KafkaBackup',
    'a bucket and a container',
    { storage: { ...s3, container: 'a' } },
    /spec\.storage\.container: .*azure/,
  ),
  bad('KafkaBackup', 'a volume without a claim', { storage: { backend: 'pvc' } }, /spec\.storage\.pvc: Required.*pvc/),
  bad(
    'KafkaBackup',
    'a claim without a name',
    { storage: { backend: 'pvc', pvc: {} } },
    /spec\.storage\.pvc\.claimName: Required/,
  ),
  bad(
    'KafkaBackup',
    'a proxy given in two ways',
    { storage: { ...s3, proxy: 'http://proxy:3128', proxySecret: key } },
    /spec\.storage\.proxySecret: .*give proxy or proxySecret, not both/,
  ),
  bad(
    'KafkaBackup',
    'a way out of the volume',
    { storage: { backend: 'pvc', pvc: { claimName: 'a', subPath: '../b' } } },
    /spec\.storage\.pvc\.subPath: .*without `\.\.`|spec\.storage\.pvc\.subPath: .*must be/,
  ),
  bad(
    'KafkaBackup',
    'half an access key',
    { storage: { ...s3, accessKeyIdSecret: key } },
    /spec\.storage\.secretAccessKeySecret: Required/,
  ),
  bad(
    'KafkaBackup',
    'a secret in plain words',
    { storage: { ...s3, accessKeyId: 'a', secretAccessKey: 'b' } },
    /unknown field "spec\.storage\.secretAccessKey"/,
  ),
  bad(
    'KafkaBackup',
    'a recipient with two keys',
    { encryption: { recipients: [{ keySecret: key, passphraseSecret: key }] } },
    /spec\.encryption\.recipients\[0\]: .*one key/,
  ),
  bad(
    'KafkaBackup',
    'fewer than no backups kept',
    { retention: { keepLast: -1 } },
    /spec\.retention\.keepLast: .*greater than or equal to 0/,
  ),
]

const pods: BadResource[] = [
  bad(
    'KafkaBackup',
    'pods as root',
    pod({ securityContext: { runAsUser: 0 } }),
    /spec\.podTemplate\.spec\.securityContext\.runAsUser: .*greater than or equal to 1/,
  ),
  bad(
    'KafkaBackup',
    'pods that may be root',
    pod({ securityContext: { runAsNonRoot: false } }),
    /spec\.podTemplate\.spec\.securityContext\.runAsNonRoot: .*set it to true/,
  ),
  bad(
    'KafkaBackup',
    'pods without seccomp',
    pod({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    /spec\.podTemplate\.spec\.securityContext\.seccompProfile\.type: .*"RuntimeDefault"/,
  ),
  bad(
    'KafkaBackup',
    'an amount that is none',
    { resources: { limits: { memory: '1 GB' } } },
    /spec\.resources\.limits.*512Mi/,
  ),
  bad(
    'KafkaBackup',
    'a variable of the operator',
    pod({ env: [{ name: 'POD_IP', value: 'a' }] }),
    /spec\.podTemplate\.spec\.env\[0\]\.name: .*cannot be set/,
  ),
  bad(
    'KafkaBackup',
    'the same variable twice',
    pod({ env: [{ name: 'A' }, { name: 'A' }] }),
    /spec\.podTemplate\.spec\.env\[1\]: Duplicate/,
  ),
  bad(
    'KafkaBackup',
    'a container of its own',
    pod({ containers: [] }),
    /unknown field "spec\.podTemplate\.spec\.containers"/,
  ),
  bad(
    'KafkaBackup',
    'a mount without a path',
    pod({ volumeMounts: [{ name: 'a' }] }),
    /spec\.podTemplate\.spec\.volumeMounts\[0\]\.mountPath: Required/,
  ),
  bad(
    'KafkaBackup',
    'an unknown effect',
    pod({ tolerations: [{ effect: 'Never' }] }),
    /spec\.podTemplate\.spec\.tolerations\[0\]\.effect: .*"NoSchedule"/,
  ),
  bad('KafkaBackup', 'a misspelt field', { shedule: '@daily' }, /unknown field "spec\.shedule"/),
]

const others: BadResource[] = [
  bad('KafkaRestore', 'no backup', { backupId: null }, /spec\.backupId: Required/),
  bad('KafkaRestore', 'a schedule of a restore', { schedule: '@daily' }, /unknown field "spec\.schedule"/),
  bad(
    'KafkaRestore',
    'a time window in words',
    { restore: { timeWindowStart: 'yesterday' } },
    /spec\.restore\.timeWindowStart: .*ISO 8601/,
  ),
  bad('KafkaOffsetReset', 'no groups', { groups: [] }, /spec\.groups: .*at least 1/),
  bad('KafkaOffsetReset', 'an unknown strategy', { strategy: 'from_backup' }, /spec\.strategy: .*"header_based"/),
  bad('KafkaOffsetReset', 'a time that is missing', { strategy: 'timestamp' }, /spec\.timestamp: Required.*timestamp/),
  bad(
    'KafkaOffsetReset',
    'a time that is not asked for',
    { timestamp: '2026-01-31T08:00:00Z' },
    /spec\.timestamp: .*strategy timestamp/,
  ),
  bad('KafkaOffsetReset', 'an offset that is missing', { strategy: 'offset' }, /spec\.offset: Required.*offset/),
  bad(
    'KafkaOffsetReset',
    'an offset below zero',
    { strategy: 'offset', offset: -1 },
    /spec\.offset: .*greater than or equal to 0/,
  ),
  bad(
    'KafkaOffsetReset',
    'an offset that JSON does not hold exactly',
    { strategy: 'offset', offset: 2 ** 53 },
    /spec\.offset: .*less than or equal to 9\.?007199/,
  ),
  bad('KafkaOffsetReset', 'headers without positions', { strategy: 'header_based' }, /spec.*fromSnapshot or backupId/),
  bad(
    'KafkaOffsetReset',
    'headers with two positions',
    { strategy: 'header_based', backupId: 'a', fromSnapshot: 'b' },
    /spec.*fromSnapshot or backupId is required .*, and not both/,
  ),
  bad('KafkaOffsetRollback', 'an empty list of groups', { groups: [] }, /spec\.groups: .*at least 1/),
  bad('KafkaOffsetRollback', 'no snapshot', { snapshotId: null }, /spec.*snapshotId or resetRef/),
  bad(
    'KafkaOffsetRollback',
    'two snapshots',
    { resetRef: { name: 'a' } },
    /spec.*snapshotId or resetRef is required .*, and not both/,
  ),
  bad(
    'KafkaOffsetRollback',
    'a snapshot of a snapshot',
    { operation: 'snapshot' },
    /spec\.snapshotId: .*takes a new one/,
  ),
  bad(
    'KafkaOffsetRollback',
    'a plain snapshot that is accepted where one is taken',
    { operation: 'snapshot', snapshotId: null, acceptPlainSnapshot: true },
    /spec\.acceptPlainSnapshot: .*operation rollback and verify/,
  ),
  bad(
    'KafkaOffsetReset',
    'a plain snapshot that is accepted where none is read',
    { acceptPlainSnapshot: true },
    /spec\.acceptPlainSnapshot: .*is for fromSnapshot/,
  ),
  bad('KafkaOffsetRollback', 'an unknown operation', { operation: 'undo' }, /spec\.operation: .*"rollback"/),
]

export const badResources = [...references, ...schedules, ...runs, ...connections, ...storages, ...pods, ...others]
