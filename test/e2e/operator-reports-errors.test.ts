import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { type ObjectRef, trueCondition } from '../servers/kube-object.ts'
import { quickJob } from '../servers/operator-stage.ts'
import { findFreePorts } from '../servers/ports.ts'
import { waitFor } from '../servers/use-kube.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { assertKeptSecret, useOperatorWorld } from './operator-world.ts'
import { scramPassword, scramUser, useSecureKafka } from './secure-kafka.ts'

describe('the operator reports errors', () => {
  const kafka = useSecureKafka()
  const world = useOperatorWorld()
  let s3: S3Server

  before(async () => {
    s3 = await startS3()
    await s3.makeBucket('backups')
    const { stage } = world
    await stage.secret('right', { password: scramPassword })
    await stage.secret('wrong', { password: 'not-the-password-at-all' })
    await stage.secret('ca', { 'ca.pem': await readFile(kafka.identities.ca.cert, 'utf8') })
    await stage.secret('s3', { key: s3.credentials.secretAccessKey })
  })
  after(() => s3?.stop())

  interface Choice {
    login?: string
    key?: string
    servers?: string[]
    bucket?: string
    s3Secret?: string
    more?: Record<string, unknown>
  }
  const spec = (choice: Choice = {}) => {
    const { login = 'right', key = 'password', servers = [kafka.at('SASLTLS')], bucket = 'backups' } = choice
    const { s3Secret = 's3', more = {} } = choice
    const passwordSecret = { name: login, key }
    return {
      kafkaCluster: {
        bootstrapServers: servers,
        security: {
          protocol: 'SASL_SSL',
          tls: { caCertSecret: { name: 'ca', key: 'ca.pem' } },
          sasl: { mechanism: 'SCRAM-SHA-512', username: scramUser, passwordSecret },
        },
      },
      topics: { include: ['t'] },
      storage: {
        backend: 's3',
        bucket,
        endpoint: s3.endpoint,
        accessKeyId: s3.credentials.accessKeyId,
        secretAccessKeySecret: { name: s3Secret, key: 'key' },
      },
      job: quickJob,
      ...more,
    }
  }

  const hasFailedJob = async (ref: ObjectRef) =>
    (await world.stage.jobs(ref)).some(job => trueCondition(job, 'Failed') !== undefined)

  test('waits for a missing secret and names it', async () => {
    const { stage } = world
    const ref = await stage.apply('backup', 'waits', spec({ login: 'later' }))
    const waiting = await stage.until(ref, 'waiting', ({ reason }) => reason === 'SecretMissing')
    assert.equal(waiting.phase, 'Pending')
    assert.match(waiting.message ?? '', /later/)
    assert.match(waiting.message ?? '', /passwordSecret/)
    assert.deepEqual(await stage.jobs(ref), [])
    await waitFor('an event of it', async () =>
      (await stage.events(ref)).some(({ type, note }) => type === 'Warning' && note.includes('later')),
    )
    await stage.secret('later', { password: scramPassword })
    await stage.untilPhase(ref, 'Completed')
  })

  test('reports a secret without the key, and continues when it has it', async () => {
    const { stage } = world
    await stage.secret('half', { other: 'x' })
    const ref = await stage.apply('backup', 'half', spec({ s3Secret: 'half' }))
    const waiting = await stage.until(ref, 'waiting', ({ message = '' }) => message.includes("couldn't find key"))
    assert.equal(waiting.phase, 'Pending')
    await stage.secret('half', { other: 'x', key: s3.credentials.secretAccessKey })
    await stage.untilPhase(ref, 'Completed')
  })

  test('a wrong password fails without a retry, and names the login', async () => {
    const { ref, status } = await world.run('backup', 'wrong-password', spec({ login: 'wrong' }), 'Failed')
    assert.equal(status.reason, 'KAFKA_AUTH')
    assert.match(status.message ?? '', new RegExp(scramUser))
    assert.ok((status.completionTime ?? '') !== '')
    await waitFor('an event of it', async () =>
      (await world.stage.events(ref)).some(({ type, note }) => type === 'Warning' && note.includes(scramUser)),
    )
    const labels = { backup_name: 'wrong-password', outcome: 'failure' }
    await world.operator.untilSample('kafka_backup_backups_total', labels, 1)
  })

  test('a permanently failed Job stays with its pod and log, and is not retried', async () => {
    const { stage } = world
    const more = { job: { terminationGracePeriodSeconds: 5 } }
    const { ref } = await world.run('backup', 'keeps-log', spec({ login: 'wrong', more }), 'Failed')
    await waitFor('the Job to end', () => hasFailedJob(ref))
    const [job] = await stage.jobs(ref)
    assert.equal(job?.metadata.deletionTimestamp, undefined)
    const [pod, ...others] = await stage.pods(ref)
    assert.deepEqual(others, [], 'no second pod was started, or it was ended')
    const log = await stage.kubelet.logs(stage.namespace, pod?.metadata.name ?? '', 'kafka-backup')
    assert.match(log, new RegExp(scramUser), 'kubectl logs of the runbook has the reason')
  })

  test('a continuous backup with a wrong password is restarted, is not ready, and recovers when it is corrected', async () => {
    const { stage, operator } = world
    await stage.secret('rotated', { password: 'not-the-password-at-all' })
    const more = { backup: { continuous: true, commitInterval: '1s' }, job: { terminationGracePeriodSeconds: 5 } }
    const ref = await stage.apply('backup', 'rotating', spec({ login: 'rotated', more }))
    const failing = await stage.until(ref, 'restarted', ({ restarts = 0 }) => restarts > 0)
    const [ready, stalled] = ['Ready', 'Stalled'].map(type => failing.conditions?.find(one => one.type === type))
    assert.deepEqual([ready?.status, ready?.reason, stalled?.status], ['False', 'NoRoundYet', 'False'])
    assert.match(ready?.message ?? '', new RegExp(scramUser))
    const labels = { backup_name: 'rotating' }
    assert.ok(((await operator.sample('kafka_backup_backup_restarts', labels)) ?? 0) > 0)
    assert.equal(await operator.sample('kafka_backup_expected_interval_seconds', labels), 300)
    await waitFor('an event of it', async () =>
      (await stage.events(ref)).some(({ type, reason }) => type === 'Warning' && reason === 'BackupRetried'),
    )
    await stage.secret('rotated', { password: scramPassword })
    const mended = await stage.until(ref, 'ready', isReady)
    assert.ok(mended.lastSuccessfulTime !== undefined)
    await stage.kube.api.delete(ref)
    await stage.kube.api.waitGone(ref)
  })

  test('a continuous backup with the wrong keys stops as stalled, and its Job stays', async () => {
    const { stage, operator } = world
    const { status } = await world.run('backup', 'plain', spec())
    await stage.secret('keys', { current: Buffer.alloc(32, 7).toString('base64') })
    const more = {
      backup: { continuous: true, commitInterval: '1s' },
      backupId: status.backupId ?? '',
      encryption: { recipients: [{ name: 'ops', keySecret: { name: 'keys', key: 'current' } }] },
      job: { terminationGracePeriodSeconds: 5 },
    }
    const ref = await stage.apply('backup', 'stalls', spec({ more }))
    const stalled = await stage.until(ref, 'stalled', ({ conditions = [] }) =>
      conditions.some(one => one.type === 'Stalled' && one.status === 'True'),
    )
    assert.deepEqual([stalled.phase, stalled.reason], ['Failed', 'ENCRYPTION_MISMATCH'])
    assert.match(stalled.message ?? '', /not restarted automatically/)
    await waitFor('the Job to end', () => hasFailedJob(ref))
    await waitFor('an event of it', async () =>
      (await stage.events(ref)).some(({ reason }) => reason === 'BackupStalled'),
    )
    await operator.untilSample('kafka_backup_backups_total', { backup_name: 'stalls', outcome: 'failure' }, 1)
  })

  test('names a missing bucket', async () => {
    const { status } = await world.run('backup', 'wrong-bucket', spec({ bucket: 'nowhere' }), 'Failed')
    assert.match(status.message ?? '', /nowhere/)
    assert.match(status.reason ?? '', /^STORAGE_/)
  })

  test('names unreachable brokers when the retries are used up', async () => {
    const [port = 0] = await findFreePorts(1)
    const { status } = await world.run('backup', 'nobody', spec({ servers: [`127.0.0.1:${port}`] }), 'Failed')
    assert.equal(status.reason, 'KAFKA_UNREACHABLE')
    assert.match(status.message ?? '', new RegExp(`127\\.0\\.0\\.1:${port}`))
  })

  const templates: [what: string, reason: string, says: RegExp, template: object][] = [
    [
      'is in the way of the operator',
      'InvalidSpec',
      /volumeMounts\[0\]\.mountPath: "\/etc" conflicts with/,
      { volumes: [{ name: 'extra', emptyDir: {} }], volumeMounts: [{ name: 'extra', mountPath: '/etc' }] },
    ],
    [
      'is refused by the API server',
      'JobRefused',
      /nodeSelectorTerms: Required value/,
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } },
    ],
  ]
  for (const [what, expected, says, template] of templates) {
    test(`reports a pod template that ${what}, and accepts a correction`, async () => {
      const { stage } = world
      const name = expected.toLowerCase()
      const ref = await stage.apply('backup', name, spec({ more: { podTemplate: { spec: template } } }))
      const failed = await stage.until(ref, 'told of', ({ reason }) => reason === expected)
      assert.match(failed.message ?? '', says)
      assert.deepEqual([failed.phase, failed.completionTime], ['Failed', undefined])
      await stage.apply('backup', name, spec())
      await stage.until(ref, 'Completed', ({ phase }) => phase === 'Completed')
    })
  }

  test('the API server refuses a variable that belongs to the operator', async () => {
    const { stage } = world
    const more = { podTemplate: { spec: { env: [{ name: 'POD_IP', value: '1.2.3.4' }] } } }
    await assert.rejects(stage.apply('backup', 'taken', spec({ more })), { status: 422, message: /POD_IP/ })
  })

  test('no output contains a secret', async () => {
    const secrets = [scramPassword, 'not-the-password-at-all', s3.credentials.secretAccessKey]
    await assertKeptSecret(world, secrets)
  })
})

function isReady({ conditions = [] }: { conditions?: readonly { type: string; status: string }[] }): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}
