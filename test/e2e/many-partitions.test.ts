import assert from 'node:assert/strict'
import { statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { measureProcess } from '../../bench/measure.ts'
import { openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { jobText, withFolder } from './backup-job.ts'

const PARTITIONS = 5000
const MAX_BYTES = 200e6
const cli = join(import.meta.dirname, '../../bin/kafka-backup.js')

describe('a cluster with 5,000 partitions', () => {
  test('is backed up in bounded memory, with far less than one request per partition', async () => {
    const parent = await roomyMemory()
    await using server = await startKafka({ heapMb: 700, dataIn: parent })
    await using driver = await openDriver(server)
    await driver.createTopic('many', { partitions: PARTITIONS, configs: { 'segment.index.bytes': '1024' } })
    await driver.seedBulk('many', {
      count: PARTITIONS,
      partitions: PARTITIONS,
      valueBytes: 200,
      // Idempotent producers make the broker keep a state for each partition.
      config: { 'enable.idempotence': 'false', 'linger.ms': '200', 'delivery.timeout.ms': '300000' },
    })
    await withFolder(async path => {
      const config = join(path, 'job.yaml')
      const spec = { servers: server.bootstrapServers, path: join(path, 'store'), include: ['many'] }
      await writeFile(config, jobText(spec))
      const run = async (...args: string[]) => {
        const { stdout, stderr, peakBytes } = await measureProcess(process.execPath, [cli, ...args, '--format', 'json'])
        return { answer: JSON.parse(stdout), stderr, peakBytes }
      }
      const backup = await run('backup', '--config', config, '-v', '--log-format', 'json')
      assert.deepEqual([backup.answer.copied.records, backup.answer.copied.partitions], [PARTITIONS, PARTITIONS])
      assert.ok(backup.peakBytes < MAX_BYTES, `${Math.round(backup.peakBytes / 1e6)} MB at most`)
      assert.ok(requestsOf(backup.stderr) < PARTITIONS / 20, `${requestsOf(backup.stderr)} requests`)
      const verify = await run('verify', '--path', spec.path, '--backup-id', 'b1', '--deep')
      assert.deepEqual([verify.answer.ok, verify.answer.records], [true, PARTITIONS])
      assert.ok(verify.peakBytes < MAX_BYTES, `verify: ${Math.round(verify.peakBytes / 1e6)} MB at most`)
    }, parent)
  })
})

/** Broker and backup make several files durable for each partition, which takes a disk most of a minute. */
async function roomyMemory(): Promise<string> {
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize > 2e9 ? '/dev/shm' : tmpdir()
}

/** From the line of the log that sums them up. */
function requestsOf(log: string): number {
  const lines = log.split('\n').filter(line => line.includes('"requests"'))
  const { requests } = JSON.parse(lines.at(-1) ?? '{}') as { requests?: Record<string, number> }
  return Object.values(requests ?? { none: Number.POSITIVE_INFINITY }).reduce((sum, one) => sum + one, 0)
}
