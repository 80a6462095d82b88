import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import type { Hooks } from '../../src/jobs/parts.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { assertConfig } from './topic-settings.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const start = Date.now() - 3_600_000

const seeds: SeedRecord[] = Array.from({ length: 400 }, (_, i) => ({
  partition: i % 2,
  key: Buffer.from(`key ${i % 3}`),
  value: Buffer.from(`value ${i}`),
  timestamp: start + i,
}))

describe('a restore with restore.verify', () => {
  const kafka = useKafka()

  const jobText = (path: string, topic: string, restore: Record<string, unknown> = {}) =>
    JSON.stringify({
      mode: 'restore',
      backup_id: 'b1',
      target: { bootstrap_servers: kafka.server.bootstrapServers },
      storage: { backend: 'filesystem', path },
      restore: { topic_mapping: { [topic]: `${topic}-copy` }, verify: true, ...restore },
    })

  const makeJob = (...args: Parameters<typeof jobText>): RestoreJob =>
    parseJob(jobText(...args), { source: 'test job', env: {}, mode: 'restore' })

  /** A topic whose settings would compact and delete at once, in a backup. */
  async function withBackup(topic: string, work: (path: string) => Promise<void>): Promise<void> {
    const configs = { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.01', 'segment.ms': '100' }
    await kafka.driver.createTopic(topic, {
      partitions: 2,
      configs: { ...configs, 'min.compaction.lag.ms': '86400000' },
    })
    await kafka.driver.produce(topic, seeds)
    await withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: [topic] })
      await work(path)
    })
  }

  const quiet: Hooks = { onProgress: () => undefined }

  /** A run that ends after its last record, when it begins to compare. */
  async function interruptComparison(job: RestoreJob): Promise<void> {
    const stop = new AbortController()
    const onProgress: Hooks['onProgress'] = event => {
      if (event.type === 'planned' && event.phase === 'compare') stop.abort()
    }
    await assert.rejects(runRestoreJob(job, { onProgress }, stop.signal), { name: 'AbortError' })
  }

  test('compares all records before topics get their settings, and again if it was complete', () =>
    withBackup('same', async path => {
      const events: ProgressEvent[] = []
      const report = await runRestoreJob(makeJob(path, 'same'), { onProgress: event => events.push(event) }, never)
      assert.deepEqual([report.isDone, report.verification?.ok, report.verification?.totals.records], [true, true, 400])
      await assertConfig(kafka.server, 'same-copy', 'cleanup.policy', 'compact')
      const phases = events.flatMap(event => (event.type === 'planned' ? [event.phase ?? 'restore'] : []))
      assert.deepEqual(phases, ['restore', 'compare'])
      // Its topics are in use by now: what comes behind the restore is none of its business.
      await kafka.driver.produce('same-copy', seeds.slice(0, 5))
      const again = await runRestoreJob(makeJob(path, 'same'), quiet, never)
      assert.deepEqual([again.wasComplete, again.verification?.ok, again.totals.found], [true, true, 400])
    }))

  test('leaves a differing target without its settings, until the difference is resolved or accepted', () =>
    withBackup('differs', async path => {
      await interruptComparison(makeJob(path, 'differs'))
      await kafka.driver.produce('differs-copy', seeds.slice(0, 1))
      const report = await runRestoreJob(makeJob(path, 'differs'), quiet, never)
      assert.deepEqual([report.isDone, report.verification?.ok], [false, false])
      const found = report.verification?.topics[0]?.partitions[0]?.differences
      assert.deepEqual(
        found?.map(({ kind, targetOffset }) => [kind, targetOffset]),
        [['extra', 200n]],
      )
      await assertConfig(kafka.server, 'differs-copy', 'cleanup.policy', 'delete')
      const file = join(path, 'restore.yaml')
      await writeFile(file, jobText(path, 'differs'))
      const cli = (...args: string[]) => callCli(['restore', '--config', file, ...args])
      const again = await cli()
      assert.equal(again.code, 3, again.stderr)
      assert.match(again.stdout, /^THE TARGET DIFFERS: /)
      assert.match(again.stdout, /^differs-copy\/0 +- +200 +extra /m)
      assert.match(again.stderr, /^compare: 1 topic, 2 partitions, 400 offsets to compare$/m)
      const accepted = await cli('--set', 'restore.verify=false', '--format', 'json')
      const { complete, totals } = JSON.parse(accepted.stdout)
      assert.deepEqual([accepted.code, complete, totals.records, totals.already_there], [0, true, 0, 400])
      await assertConfig(kafka.server, 'differs-copy', 'cleanup.policy', 'compact')
    }))
})
