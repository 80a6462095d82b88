import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { withConnectionOptions } from '../../src/init/connection-options.ts'
import { formatJob } from '../../src/init/format-job.ts'
import { parseSchedule, proposeSchedule } from '../../src/init/propose-schedule.ts'
import { proposeTopics, selectSurveyed } from '../../src/init/propose-topics.ts'
import { storageSection } from '../../src/init/storage-section.ts'
import { clusterSurvey } from '../cli/fake-actions.ts'

const HOUR_MS = 3_600_000
const [, , orders = assert.fail()] = clusterSurvey.topics

describe('the proposal of topics', () => {
  test('takes everything but what is derived from other topics', () => {
    const proposal = proposeTopics(clusterSurvey.topics)
    assert.deepEqual([proposal.include, proposal.exclude], [['*'], ['*-repartition']])
    const taken = selectSurveyed(clusterSurvey.topics, proposal).map(({ name }) => name)
    assert.deepEqual(taken, ['orders', 'secret'])
  })

  test('takes internal topics only by their full names', () => {
    const names = (include: string[]) =>
      selectSurveyed(clusterSurvey.topics, { include, exclude: [] }).map(({ name }) => name)
    assert.deepEqual(names(['__*']), [])
    assert.deepEqual(names(['__consumer_offsets']), ['__consumer_offsets'])
  })
})

describe('the schedule', () => {
  test('is proposed by the shortest retention', () => {
    const of = (retentionMs: number | null) => proposeSchedule([{ ...orders, retentionMs }]).schedule
    assert.deepEqual(
      [of(null), of(168 * HOUR_MS), of(24 * HOUR_MS), of(HOUR_MS)],
      ['daily', 'daily', 'hourly', 'continuous'],
    )
    assert.match(proposeSchedule([orders]).reason, /24 hours \(orders\)/)
  })

  test('is a name or five fields of cron, with its longest interval', () => {
    assert.equal(parseSchedule('hourly').intervalMs, HOUR_MS)
    assert.equal(parseSchedule('*/15 * * * *').intervalMs, HOUR_MS / 4)
    assert.equal(parseSchedule('0 2 * * 1-5').intervalMs, 72 * HOUR_MS)
    for (const wrong of ['often', '0 2 * *', '* * * * * *', '0 0 31 2 *']) {
      assert.throws(() => parseSchedule(wrong), { code: 'USAGE' }, wrong)
    }
  })
})

describe('the job file', () => {
  const job = {
    backupId: 'prod',
    connection: { bootstrapServers: ['kafka:9092'], secrets: [], notes: [] },
    topics: proposeTopics(clusterSurvey.topics),
    storage: storageSection('/backups'),
    schedule: parseSchedule('daily'),
    taken: [orders],
  }
  const env = { KAFKA_PASSWORD: 'hunter2-secret' }
  const parse = (text: string) => parseJob(text, { source: 'backup.yaml', env, mode: 'backup' })

  test('is a job that the validator takes, for every kind of location', () => {
    for (const [location, expected] of [
      ['/backups', { backend: 'filesystem', path: '/backups' }],
      ['s3://bucket/pre?endpoint=http://minio:9000', { backend: 's3', bucket: 'bucket', prefix: 'pre' }],
      ['az://container/pre?account=acme', { backend: 'azure', container: 'container', account: 'acme' }],
      ['gs://bucket', { backend: 'gcs', bucket: 'bucket' }],
    ] as const) {
      const { storage } = parse(formatJob({ ...job, storage: storageSection(location) }))
      assert.partialDeepStrictEqual(storage, expected)
    }
  })

  test('explains what it takes, what it leaves out and when it runs', () => {
    const text = formatJob(job)
    assert.match(text, /At that time: 1 topic, 4\.7 GiB on the brokers/)
    assert.match(text, /# \*-repartition: Kafka Streams writes these again from their input \(1\)\./)
    assert.match(text, /# {3}17 2 \* \* \* kafka-backup backup <this file>/)
    assert.equal(parse(text).monitoring?.expectedIntervalMs, 24 * HOUR_MS)
    assert.deepEqual(parse(text).source.topics, { include: ['*'], exclude: ['*-repartition'] })
    assert.equal(parse(formatJob({ ...job, schedule: parseSchedule('continuous') })).backup.continuous, true)
  })

  test('has suggestions that become valid without their first column', () => {
    const text = formatJob(job)
    const at = text.indexOf('# retention:')
    const used = text.slice(0, at) + text.slice(at).replaceAll(/^# /gm, '')
    assert.equal(parse(used).retention?.generations?.keepDaily, 14)
  })

  test('refers to secrets by variable, and keeps hostile names inside their comments', () => {
    const connection = withConnectionOptions(undefined, {
      ...{ bootstrapServers: 'kafka:9093', mechanism: 'PLAIN', username: 'a: "b"\n# c' },
    })
    const text = formatJob({ ...job, connection: { ...connection, notes: ['one\nmode: restore'] } })
    assert.doesNotMatch(text, /hunter2/)
    assert.match(text, /# Set KAFKA_PASSWORD: the password of the user\./)
    const { source, mode } = parse(text)
    assert.equal(mode, 'backup')
    assert.partialDeepStrictEqual(source.security?.sasl, { username: 'a: "b"\n# c', password: 'hunter2-secret' })
    assert.equal(source.security?.protocol, 'SASL_SSL')
  })
})

describe('options of the connection', () => {
  test('win over those of a file', () => {
    const file = {
      bootstrapServers: ['k:1'],
      security: { protocol: 'SSL', tls: { ca_cert: '/a', client_cert: '/b' } },
      secrets: [],
      notes: ['n'],
    }
    assert.deepEqual(withConnectionOptions(file, { bootstrapServers: 'x:1, y:2', tlsCa: '/other' }), {
      bootstrapServers: ['x:1', 'y:2'],
      security: { protocol: 'SSL', tls: { ca_cert: '/other', client_cert: '/b' } },
      secrets: [],
      notes: ['n'],
    })
  })

  test('keep the secrets of a file that the job still refers to, and no other', () => {
    const withKey = {
      bootstrapServers: ['k:1'],
      security: { protocol: 'SSL', tls: { client_key: '/k', client_key_password: `\${${'KAFKA_KEY_PASSWORD'}}` } },
      secrets: [{ variable: 'KAFKA_KEY_PASSWORD', origin: 'the file', value: 'k' }],
      notes: [],
    }
    const { secrets } = withConnectionOptions(withKey, { protocol: 'SASL_SSL', mechanism: 'PLAIN', username: 'u' })
    assert.deepEqual(
      secrets.map(({ variable }) => variable),
      ['KAFKA_PASSWORD', 'KAFKA_KEY_PASSWORD'],
    )
    assert.deepEqual(withConnectionOptions(withKey, { protocol: 'PLAINTEXT' }).secrets, [])
  })

  test('are refused where the protocol would ignore them', () => {
    const login = { mechanism: 'PLAIN', username: 'u' }
    for (const protocol of ['PLAINTEXT', 'SSL']) {
      assert.throws(() => withConnectionOptions(undefined, { ...login, protocol }), { message: /has no login/ })
    }
    const options = { ...login, protocol: 'SASL_PLAINTEXT', tlsCa: 'ca.pem' }
    assert.throws(() => withConnectionOptions(undefined, options), { message: /has no TLS/ })
  })

  test('are refused where one lacks another, or looks like a password', () => {
    assert.throws(() => withConnectionOptions(undefined, { username: 'u' }), {
      message: /--username needs --mechanism/,
    })
    assert.throws(() => withConnectionOptions(undefined, { mechanism: 'PLAIN' }), { message: /needs --username/ })
    assert.throws(() => withConnectionOptions(undefined, { mechanism: 'OAUTHBEARER' }), { message: /pass --from/ })
    assert.throws(() => withConnectionOptions(undefined, { passwordEnv: 'hunter2!' }), {
      message: /name of an environment/,
    })
  })
})
