import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { listGenerations, openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import { copyBackup } from '../../src/index.ts'
import { compareJob, offsetMapJob } from '../../src/jobs/compare.ts'
import { pruneAt } from '../../src/jobs/prune.ts'
import { checkRestoreJob, dryRunRestoreJob, runRestoreJob } from '../../src/jobs/restore.ts'
import { openLocation } from '../open-location.ts'
import { readTopicEntry } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { restoreJobText } from './restore-job.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }

describe('older incarnations of a topic stay restorable', () => {
  const kafka = useOwnKafka()
  const consume = (topic: string) => kafka.driver.consume(topic, { isolation: 'read_committed' })
  const specOf = (path: string, topic: string) => ({ servers: kafka.server.bootstrapServers, path, include: [topic] })
  const seed = (topic: string, count: number, own: number) =>
    kafka.driver.seedBulk(topic, { count, partitions: 2, valueBytes: 100, seed: own })

  function jobOf(path: string, restore: Record<string, unknown>): RestoreJob {
    const spec = {
      servers: kafka.server.bootstrapServers,
      path,
      restore: { retention: 'hold', verify: true, ...restore },
    }
    return parseJob(restoreJobText(spec), { source: 'test job', env: process.env, mode: 'restore' })
  }

  async function assertIntact(path: string): Promise<void> {
    const { problems } = await verifyBackup(openLocation(path), 'b1', { deep: true, ...quiet }, never)
    assert.deepEqual(problems, [])
  }

  test('a re-created topic is restored by its ID or a time, after a prune and from a copy, with its groups', () =>
    withFolder(path =>
      withFolder(async elsewhere => {
        await kafka.driver.createTopic('again', { partitions: 2 })
        await seed('again', 1000, 1)
        await kafka.driver.readGroup({ group: 'readers', topics: ['again'], take: 150 })
        const old = await consume('again')
        await backUp(specOf(path, 'again'))
        await kafka.driver.deleteTopic('again')
        await kafka.driver.createTopic('again', { partitions: 2 })
        await seed('again', 50, 2)
        await kafka.driver.readGroup({ group: 'readers', topics: ['again'], take: 10 })
        const { manifest } = await backUp(specOf(path, 'again'))
        const replaced = manifest.topics.find(({ state }) => state === 'replaced')
        assert.ok(replaced?.replaced_at)
        const label = `again@${replaced.id.slice(0, 8)}`

        const plain = jobOf(path, { topics: { include: ['again'] }, topic_mapping: { again: 'again-new' } })
        const warning = new RegExp(
          `1,000 records of an older incarnation, ${label} \\(replaced .*include: \\['${label}'\\]`,
        )
        for (const { warnings } of [
          await checkRestoreJob(plain, never),
          await dryRunRestoreJob(plain, never),
          await runRestoreJob(plain, quiet, never),
        ]) {
          assert.match(warnings.join('\n'), warning)
        }
        assertSameRecords(await consume('again'), await consume('again-new'))

        const { backups } = await pruneAt(
          openLocation(path),
          { match: ['b1'], graceMs: 0 },
          quiet,
          { isDryRun: false },
          never,
        )
        assert.equal(backups[0]?.generationsRemoved, 1)
        await assertIntact(path)
        const described = await callCli(['describe', '--path', path, '--backup-id', 'b1'])
        assert.match(described.stdout, new RegExp(`${label} \\(replaced\\) +2 +1,000 `), described.stderr)

        const byId = jobOf(path, {
          topics: { include: [label] },
          topic_mapping: { [label]: 'again-old' },
          consumer_groups: { include: ['readers'], mapping: { readers: 'readers-old' } },
        })
        const report = await runRestoreJob(byId, quiet, never)
        assert.deepEqual(
          [report.topics[0]?.source, report.totals.records, report.verification?.ok],
          [label, 1000, true],
        )
        assert.deepEqual(
          report.warnings.filter(line => line.includes('older incarnation')),
          [],
        )
        assertSameRecords(old, await consume('again-old'))
        const carried = report.consumerGroups?.groups[0]
        assert.deepEqual([carried?.outcome, carried?.committed.length], ['committed', 2])
        const read = carried?.committed.reduce((sum, { targetOffset }) => sum + targetOffset, 0n)
        assert.equal(read, 300n)
        assert.equal((await compareJob(byId, quiet, never)).ok, true)
        const map = await offsetMapJob(byId, { topic: label }, quiet, never)
        assert.deepEqual(
          map.map(({ topic, count }) => [topic, count]),
          [
            [label, 500n],
            [label, 500n],
          ],
        )

        await copyBackup({ from: { location: path }, to: { location: elsewhere }, backupId: 'b1' })
        await assertIntact(elsewhere)
        const before = new Date(Date.parse(replaced.replaced_at) - 1).toISOString()
        const byTime = jobOf(elsewhere, {
          topics: { include: [`*@${before}`] },
          topic_mapping: { [label]: 'again-then' },
        })
        assert.equal((await runRestoreJob(byTime, quiet, never)).totals.records, 1000)
        assertSameRecords(old, await consume('again-then'))
      }),
    ))

  test('a source that was rolled back and has grown again is refused, or becomes a new incarnation', () =>
    withFolder(path =>
      withFolder(async snapshot => {
        const [data] = kafka.server.dataDirs
        assert.ok(data)
        await kafka.driver.createTopic('ledger', { partitions: 2 })
        await seed('ledger', 100, 1)
        await kafka.server.stopBroker(0)
        await cp(data, snapshot, { recursive: true })
        // Each start raises the leader epochs: one more than the source will have after the rollback.
        await kafka.server.startBroker(0)
        await kafka.server.stopBroker(0)
        await kafka.server.startBroker(0)
        await seed('ledger', 300, 2)
        const old = await consume('ledger')
        await backUp(specOf(path, 'ledger'))

        const rollBack = async () => {
          await kafka.server.stopBroker(0)
          await rm(data, { recursive: true })
          await cp(snapshot, data, { recursive: true })
          await kafka.server.startBroker(0)
        }
        await rollBack()
        await seed('ledger', 500, 3)
        const present = await consume('ledger')
        assert.deepEqual(await kafka.driver.endOffsets('ledger'), [300n, 300n])

        const refused = {
          code: 'SOURCE_TRUNCATED',
          exitCode: 1,
          message: /ledger\/0 has another history than this backup/,
        }
        await assert.rejects(backUp(specOf(path, 'ledger')), refused)
        assert.deepEqual(await listGenerations(openLocation(path), 'b1', never), [1])

        const spec = { ...specOf(path, 'ledger'), backup: { on_truncation: 'new_incarnation' } }
        const { manifest, warnings, newGaps } = await backUp(spec)
        assert.match(warnings.join('\n'), /topic ledger starts a new incarnation/)
        assert.deepEqual(new Set(newGaps.map(({ reason }) => reason)), new Set(['source_truncated']))
        assert.equal((await backUp(spec)).copied.records, 0)
        const { topics } = await openBackup(openLocation(path), 'b1', never)
        assert.deepEqual(
          topics.map(({ id, incarnation, state }) => [id, incarnation, state]),
          [
            [manifest.topics[0]?.id, undefined, 'replaced'],
            [manifest.topics[0]?.id, 2, 'current'],
          ],
        )
        await assertIntact(path)
        for (const [index, expected] of [old, present].entries()) {
          const entry = topics[index]
          assert.ok(entry)
          assertSameRecords(expected, await readTopicEntry(path, entry))
        }
        const label = `ledger@${topics[0]?.id.slice(0, 8)}.1`
        const job = jobOf(path, {
          topics: { include: ['ledger', label] },
          topic_mapping: { ledger: 'ledger-new', [label]: 'ledger-old' },
        })
        assert.deepEqual((await runRestoreJob(job, quiet, never)).totals.records, 400 + 600)
        assertSameRecords(old, await consume('ledger-old'))
        assertSameRecords(present, await consume('ledger-new'))

        // Rolled back again, it comes back in the very epoch that it had: only the records themselves differ.
        await withFolder(async other => {
          await backUp(specOf(other, 'ledger'))
          await rollBack()
          await seed('ledger', 700, 4)
          const same = {
            code: 'SOURCE_TRUNCATED',
            message: /ledger\/\d has another history .* is not the one that is stored/,
          }
          await assert.rejects(backUp(specOf(other, 'ledger')), same)
          const over = await backUp({ ...spec, path: other })
          assert.deepEqual(
            over.manifest.topics.map(({ state, partitions }) => [state, partitions.map(({ records }) => records)]),
            [
              ['replaced', [300, 300]],
              ['current', [400, 400]],
            ],
          )
          await assertIntact(other)
        })
      }),
    ))
})
