import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { quickJob } from '../servers/operator-stage.ts'
import { findFreePorts } from '../servers/ports.ts'
import { waitFor } from '../servers/use-kube.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { assertKeptSecret, useOperatorWorld } from './operator-world.ts'
import { scramPassword, scramUser, useSecureKafka } from './secure-kafka.ts'

describe('the operator says what is wrong', () => {
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

  test('a secret that is missing is waited for by name', async () => {
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

  test('a secret without the key is told of, and the run goes on when it has it', async () => {
    const { stage } = world
    await stage.secret('half', { other: 'x' })
    const ref = await stage.apply('backup', 'half', spec({ s3Secret: 'half' }))
    const waiting = await stage.until(ref, 'waiting', ({ message = '' }) => message.includes("couldn't find key"))
    assert.equal(waiting.phase, 'Pending')
    await stage.secret('half', { other: 'x', key: s3.credentials.secretAccessKey })
    await stage.untilPhase(ref, 'Completed')
  })

  test('a wrong password fails without another try, and says which login is meant', async () => {
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

  test('a bucket that is not there is named', async () => {
    const { status } = await world.run('backup', 'wrong-bucket', spec({ bucket: 'nowhere' }), 'Failed')
    assert.match(status.message ?? '', /nowhere/)
    assert.match(status.reason ?? '', /^STORAGE_/)
  })

  test('brokers that cannot be reached are named when the tries are used up', async () => {
    const [port = 0] = await findFreePorts(1)
    const { status } = await world.run('backup', 'nobody', spec({ servers: [`127.0.0.1:${port}`] }), 'Failed')
    assert.equal(status.reason, 'KAFKA_UNREACHABLE')
    assert.match(status.message ?? '', new RegExp(`127\\.0\\.0\\.1:${port}`))
  })

  const templates: [what: string, reason: string, says: RegExp, template: object][] = [
    [
      'is in the way of the operator',
      'InvalidSpec',
      /volumeMounts\[0\]\.mountPath: "\/etc" is in the way/,
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
    test(`a pod template that ${what} is told of, and can be mended`, async () => {
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

  test('a variable of the operator is refused by the API server', async () => {
    const { stage } = world
    const more = { podTemplate: { spec: { env: [{ name: 'POD_IP', value: '1.2.3.4' }] } } }
    await assert.rejects(stage.apply('backup', 'taken', spec({ more })), { status: 422, message: /POD_IP/ })
  })

  test('no secret is in any of it', async () => {
    const secrets = [scramPassword, 'not-the-password-at-all', s3.credentials.secretAccessKey]
    await assertKeptSecret(world, secrets)
  })
})
