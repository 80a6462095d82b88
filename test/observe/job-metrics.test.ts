import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { describe, test } from 'node:test'
import { openHttpListener } from '../../src/observe/http-server.ts'
import { openJobListener } from '../../src/observe/job-listener.ts'
import { JobMetrics } from '../../src/observe/job-metrics.ts'
import { jobMetrics } from '../../src/observe/job-metrics-catalogue.ts'
import { maxRoundAgeMs } from '../../src/observe/progress.ts'
import { ManualClock } from '../cli/manual-clock.ts'

const make = () => new JobMetrics({ backupId: 'b1', version: '1.2.3', now: () => 1_700_000_000_000 })

/** The samples by their name with labels. */
async function samplesOf(metrics: { format(): Promise<string> }): Promise<Map<string, number>> {
  const lines = (await metrics.format()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

const bound = (
  topic: string,
  partition: number,
  position: bigint | undefined,
  lastStable: bigint,
  highWatermark: bigint,
) => ({
  topic,
  partition,
  ...(position !== undefined && { position }),
  lastStable,
  highWatermark,
})

describe('the metrics of a job', () => {
  test('are those of the catalogue, each with its help and type', async () => {
    const text = await make().format()
    for (const [name, { type, help }] of Object.entries(jobMetrics)) {
      assert.ok(text.includes(`# HELP ${name} ${help}`), name)
      assert.ok(text.includes(`# TYPE ${name} ${type}`), name)
    }
    assert.match(text, /kafka_backup_job_info\{backup_id="b1",version="1\.2\.3"\} 1/)
  })

  test('show the recovery window of each topic, whose end moves with each complete commit', async () => {
    const metrics = make()
    const window = (topic: string, oldest: number, newest: number) => ({
      topic,
      oldestAt: new Date(oldest * 1000).toISOString(),
      newestAt: new Date(newest * 1000).toISOString(),
    })
    const start = 'kafka_backup_job_recovery_window_start_timestamp_seconds'
    const end = 'kafka_backup_job_recovery_window_end_timestamp_seconds'
    metrics.onProgress({ type: 'recovery_windows', topics: [window('a', 10, 90), window('b', 20, 90)] })
    const samples = await samplesOf(metrics)
    assert.deepEqual(
      ['a', 'b'].map(topic => [samples.get(`${start}{topic="${topic}"}`), samples.get(`${end}{topic="${topic}"}`)]),
      [
        [10, 90],
        [20, 90],
      ],
    )
    metrics.onProgress({ type: 'committed', generation: 2, complete: false })
    assert.equal((await samplesOf(metrics)).get(`${end}{topic="a"}`), 90)
    metrics.onProgress({ type: 'committed', generation: 3, complete: true })
    assert.ok(((await samplesOf(metrics)).get(`${end}{topic="a"}`) ?? 0) > 90)
    metrics.onProgress({ type: 'recovery_windows', topics: [window('a', 30, 95)] })
    const later = await samplesOf(metrics)
    assert.deepEqual([later.get(`${start}{topic="a"}`), later.has(`${start}{topic="b"}`)], [30, false])
  })

  test('sum the distance to the log end and to the last stable offset over the partitions of a topic', async () => {
    const metrics = make()
    metrics.onProgress({ type: 'bounds', partitions: [bound('a', 0, 10n, 60n, 100n), bound('a', 1, 0n, 5n, 5n)] })
    metrics.onProgress({ type: 'copied', topic: 'a', partition: 0, offsets: 20n, records: 18, bytes: 500 })
    const samples = await samplesOf(metrics)
    assert.equal(samples.get('kafka_backup_job_lag_offsets{topic="a"}'), 75)
    assert.equal(samples.get('kafka_backup_job_stable_lag_offsets{topic="a"}'), 35)
    assert.equal(samples.get('kafka_backup_job_records_total{topic="a"}'), 18)
    assert.equal(samples.get('kafka_backup_job_bytes_total{topic="a"}'), 500)
    assert.equal(samples.get('kafka_backup_job_partitions'), 2)
  })

  test('keep the position when only the ends are looked at again, and never show a negative lag', async () => {
    const metrics = make()
    metrics.onProgress({ type: 'bounds', partitions: [bound('a', 0, 10n, 10n, 10n)] })
    metrics.onProgress({ type: 'bounds', partitions: [bound('a', 0, undefined, 25n, 30n)] })
    assert.equal((await samplesOf(metrics)).get('kafka_backup_job_lag_offsets{topic="a"}'), 20)
    metrics.onProgress({ type: 'bounds', partitions: [bound('a', 0, 40n, 25n, 30n)] })
    assert.equal((await samplesOf(metrics)).get('kafka_backup_job_lag_offsets{topic="a"}'), 0)
  })

  test('forget what the next round no longer has: a deleted topic must not lag for ever', async () => {
    const metrics = make()
    metrics.onProgress({ type: 'bounds', partitions: [bound('a', 0, 10n, 30n, 30n), bound('b', 0, 5n, 6n, 6n)] })
    assert.equal((await samplesOf(metrics)).get('kafka_backup_job_lag_offsets{topic="a"}'), 20)
    metrics.onProgress({ type: 'planned', topics: 1, partitions: 1, offsets: 0n })
    metrics.onProgress({ type: 'bounds', partitions: [bound('b', 0, 6n, 6n, 6n)] })
    const samples = await samplesOf(metrics)
    assert.equal(samples.get('kafka_backup_job_lag_offsets{topic="a"}'), undefined)
    assert.equal(samples.get('kafka_backup_job_stable_lag_offsets{topic="a"}'), undefined)
    assert.equal(samples.get('kafka_backup_job_lag_offsets{topic="b"}'), 0)
    assert.equal(samples.get('kafka_backup_job_partitions'), 1)
  })

  test('count gaps, commits, rounds, retries, warnings and calls to the store', async () => {
    const metrics = make()
    metrics.onProgress({ type: 'gap', topic: 'a', partition: 0, from: 0n, to: 5n, reason: 'retention' })
    metrics.onProgress({ type: 'committed', generation: 7, complete: true })
    metrics.onProgress({ type: 'round', ok: true })
    metrics.onProgress({ type: 'round', ok: false })
    metrics.onProgress({ type: 'retry', what: 'x', delayMs: 5 })
    metrics.onProgress({ type: 'warning', message: 'x' })
    metrics.onStorageCall({ operation: 'create', ms: 30, bytes: 100 })
    metrics.onStorageCall({ operation: 'create', ms: 3000, bytes: 0, error: new Error('x') })
    const samples = await samplesOf(metrics)
    const expected: [string, number][] = [
      ['kafka_backup_job_gaps_total{reason="retention"}', 1],
      ['kafka_backup_job_generation', 7],
      ['kafka_backup_job_commits_total', 1],
      ['kafka_backup_job_last_commit_timestamp_seconds', 1_700_000_000],
      ['kafka_backup_job_last_up_to_date_timestamp_seconds', 1_700_000_000],
      ['kafka_backup_job_rounds_total{outcome="success"}', 1],
      ['kafka_backup_job_rounds_total{outcome="failure"}', 1],
      ['kafka_backup_job_retries_total', 1],
      ['kafka_backup_job_warnings_total', 1],
      ['kafka_backup_job_storage_call_duration_seconds_count{operation="create"}', 2],
      ['kafka_backup_job_storage_call_duration_seconds_bucket{le="0.1",operation="create"}', 1],
      ['kafka_backup_job_storage_failures_total{operation="create"}', 1],
      ['kafka_backup_job_storage_bytes_total{operation="create"}', 100],
    ]
    for (const [name, value] of expected) assert.equal(samples.get(name), value, name)
  })

  test('know the generation that a run goes on from, and show no time before there is one', async () => {
    const metrics = make()
    const names = ['kafka_backup_job_generation', 'kafka_backup_job_last_commit_timestamp_seconds']
    for (const name of names) assert.equal((await samplesOf(metrics)).get(name), undefined)
    metrics.onProgress({ type: 'resumed', generation: 3, committedAt: '2023-11-14T22:13:20.000Z' })
    const samples = await samplesOf(metrics)
    assert.deepEqual(
      names.map(name => samples.get(name)),
      [3, 1_700_000_000],
    )
  })

  test('have a bounded number of topics', async () => {
    const metrics = make()
    const partitions = Array.from({ length: 1500 }, (_, i) => bound(`topic-${i}`, 0, 0n, 1n, 1n))
    metrics.onProgress({ type: 'bounds', partitions })
    const samples = await samplesOf(metrics)
    const lags = [...samples].filter(([name]) => name.startsWith('kafka_backup_job_lag_offsets'))
    assert.equal(lags.length, 1001)
    assert.equal(samples.get('kafka_backup_job_lag_offsets{topic="(other)"}'), 500)
  })
})

describe('the listener of a job', () => {
  test('listens on an address of either family with brackets or without, as a pod has it', async () => {
    for (const [listen, shown] of [
      ['[::1]:0', /^\[::1\]:\d+$/],
      ['::1:0', /^\[::1\]:\d+$/],
      ['[127.0.0.1]:0', /^127\.0\.0\.1:\d+$/],
    ] as const) {
      const clock = new ManualClock()
      const listener = await openJobListener({ listen, job: 'backup', backupId: 'b1', version: '1', clock })
      try {
        assert.match(listener.address, shown)
        assert.equal((await fetch(`http://${listener.address}/healthz`)).status, 200)
      } finally {
        await listener.close()
      }
    }
  })

  const open = () =>
    openJobListener({ listen: '127.0.0.1:0', job: 'backup', backupId: 'b1', version: '1', clock: new ManualClock() })

  test('serves metrics and health, is ready when there is a plan, and knows no other page', async () => {
    const listener = await open()
    try {
      const status = async (path: string, method = 'GET') =>
        (await fetch(`http://${listener.address}${path}`, { method })).status
      assert.deepEqual([await status('/healthz'), await status('/readyz'), await status('/nothing')], [200, 503, 404])
      assert.equal(await status('/metrics', 'POST'), 405)
      listener.onProgress({ type: 'planned', topics: 1, partitions: 1, offsets: 1n })
      assert.equal(await status('/readyz'), 200)
      const answer = await fetch(`http://${listener.address}/metrics?x=1`)
      assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
      assert.match(await answer.text(), /kafka_backup_job_info/)
    } finally {
      await listener.close()
    }
    await assert.rejects(fetch(`http://${listener.address}/healthz`))
  })

  test('of a continuous run is ready while rounds succeed in time', async () => {
    const clock = new ManualClock()
    const maxAgeMs = maxRoundAgeMs(120_000)
    const options = { listen: '127.0.0.1:0', job: 'backup', backupId: 'b1', version: '1', clock }
    const listener = await openJobListener({ ...options, maxRoundAgeMs: maxAgeMs })
    try {
      const ready = async () => {
        const answer = await fetch(`http://${listener.address}/readyz`)
        return `${answer.status} ${(await answer.text()).trim()}`
      }
      const round = (ok: boolean) => listener.onProgress({ type: 'round', ok })
      listener.onProgress({ type: 'planned', topics: 1, partitions: 1, offsets: 1n })
      assert.equal(await ready(), '503 no round has succeeded yet')
      round(false)
      assert.equal(await ready(), '503 no round has succeeded yet')
      round(true)
      clock.pass(maxAgeMs)
      assert.equal(await ready(), '200 ok')
      round(false)
      clock.pass(60_000)
      assert.equal(await ready(), '503 no round has succeeded for 7m 00s')
      round(true)
      assert.equal(await ready(), '200 ok')
    } finally {
      await listener.close()
    }
    assert.deepEqual([maxRoundAgeMs(1000), maxRoundAgeMs(60_000), maxAgeMs], [180_000, 180_000, 360_000])
  })

  test('tells as JSON how far the job is', async () => {
    const listener = await open()
    try {
      const page = async () => JSON.parse(await (await fetch(`http://${listener.address}/progress`)).text())
      assert.equal((await page()).phase, 'preparing')
      listener.onProgress({ type: 'planned', topics: 1, partitions: 1, offsets: 4n })
      listener.onProgress({ type: 'copied', topic: 'a', partition: 0, offsets: 1n, records: 1, bytes: 10 })
      const { job, phase, fraction } = await page()
      assert.deepEqual([job, phase, fraction], ['backup', 'copying', 0.25])
      const { headers } = await fetch(`http://${listener.address}/progress`)
      assert.equal(headers.get('content-type'), 'application/json')
    } finally {
      await listener.close()
    }
  })

  test('outlives trouble with a connection: it must not end the backup that it tells of', async () => {
    const listener = await open()
    const onRequest = (message: unknown) => {
      const { server } = message as { server: Server }
      // As the server tells when the process has no file left for a connection.
      server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
    }
    subscribe('http.server.request.start', onRequest)
    try {
      assert.equal((await fetch(`http://${listener.address}/healthz`)).status, 200)
      assert.equal((await fetch(`http://${listener.address}/healthz`, { method: 'HEAD' })).status, 200)
    } finally {
      unsubscribe('http.server.request.start', onRequest)
      await listener.close()
    }
  })

  test('that cannot have its address names the field and the reason', async () => {
    const first = await open()
    try {
      const port = Number(first.address.split(':')[1])
      await assert.rejects(openHttpListener({ host: '127.0.0.1', port, field: 'metrics.listen' }, {}), {
        code: 'CONFIG_INVALID',
        exitCode: 2,
        message: /metrics\.listen: cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/,
      })
    } finally {
      await first.close()
    }
  })
})
