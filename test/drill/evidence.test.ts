import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { describeOutcome, type Evidence, encodeEvidence } from '../../src/drill/evidence.ts'
import { formatHtmlReport, formatTextReport } from '../../src/drill/evidence-report.ts'
import type { DrillPlan } from '../../src/drill/plan-drill.ts'
import { readPublicKey, readSigningKey, signBytes, signerOf } from '../../src/drill/sign-evidence.ts'
import { verifyEvidence } from '../../src/drill/verify-evidence.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import { drillEvidence } from '../cli/fake-actions.ts'
import { withFolder } from '../e2e/backup-job.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const keys = generateKeyPairSync('ed25519')

const plan: DrillPlan = {
  ...{ generation: 3, description: 'all topics', selection: 'all topics', isLimited: false },
  topics: [{ source: 'orders', scratch: 'drill.1.orders', partitions: [{ partition: 0, from: 0n, to: 7n }] }],
  options: {
    topics: { include: ['*'], exclude: [] },
    topicMapping: new Map(),
    offsetRanges: new Map(),
    timeWindow: {},
  },
}

/** A restore of `written` records, of which `compared` were read back and are equal. */
function reportOf(written: number, compared: number, differences = 0): BackupRestoreReport {
  const found = Array.from({ length: differences }, (_, i) => ({
    ...{ kind: 'different', sourcePartition: 0, sourceOffset: BigInt(i), targetOffset: BigInt(i), fields: ['value'] },
    ...{ expected: 'SECRET', actual: 'SECRET' },
  }))
  const partition = {
    sourcePartition: 0,
    partition: 0,
    records: compared,
    removed: 0,
    differences: found,
    isCut: false,
  }
  return {
    durationMs: 5000,
    topics: [{ source: 'orders', target: 'drill.1.orders', records: written, bytes: 700 }],
    totals: { topics: 1, partitions: 1, records: written, bytes: 700 },
    gaps: [],
    warnings: [],
    verification: {
      ...{ ok: differences === 0, durationMs: 1000, warnings: [] },
      topics: [{ source: 'orders', target: 'drill.1.orders', partitions: [partition] }],
      totals: { topics: 1, partitions: 1, records: compared, removed: 0, differences },
    },
    writing: { ms: 2000, bytes: 700, limitedBy: 'target' },
  } as unknown as BackupRestoreReport
}

const outcomeOf = (report?: BackupRestoreReport, error?: KafkaBackupError) =>
  describeOutcome({ plan, ids: new Map([['drill.1.orders', 'ID']]), report, error })

describe('the outcome of a drill', () => {
  test('is proven if every record was written, read back and found equal', () => {
    const outcome = outcomeOf(reportOf(7, 7))
    assert.deepEqual([outcome.result, outcome.failure], ['proven', null])
    assert.deepEqual(outcome.recovery, { total: 4, schemas: 0, records: 2, comparison: 1, bytes_per_second: 350 })
    assert.deepEqual(outcome.topics[0]?.partitions[0], { partition: 0, from: 0n, to: 7n, compared: 7, differences: [] })
    assert.equal(outcome.topics[0]?.id, 'ID')
  })

  for (const { name, outcome, code } of [
    { name: 'a difference', outcome: outcomeOf(reportOf(7, 6, 1)), code: 'DIFFERENT' },
    { name: 'no record', outcome: outcomeOf(reportOf(0, 0)), code: 'EMPTY' },
    { name: 'a record that was not compared', outcome: outcomeOf(reportOf(7, 6)), code: 'NOT_COMPARED' },
    {
      name: 'an error',
      outcome: outcomeOf(undefined, new KafkaBackupError('ARCHIVE_DAMAGED', 'x')),
      code: 'ARCHIVE_DAMAGED',
    },
  ]) {
    test(`is failed with ${name}`, () => {
      assert.deepEqual([outcome.result, outcome.failure?.code], ['failed', code])
    })
  }

  test('names partitions of the target where records of several were mixed by their keys', () => {
    const report = reportOf(7, 6, 1)
    const [topic = assert.fail()] = report.verification?.topics ?? []
    const [only = assert.fail()] = topic.partitions
    topic.partitions = [
      { ...only, sourcePartition: null, partition: 0, records: 2, differences: [] },
      { ...only, sourcePartition: null, partition: 5, records: 4 },
    ]
    const [described = assert.fail()] = outcomeOf(report).topics
    assert.deepEqual(described.partitions, [{ partition: 0, from: 0n, to: 7n, compared: null, differences: [] }])
    const difference = {
      kind: 'different',
      source_partition: 0,
      source_offset: 0n,
      target_offset: 0n,
      fields: ['value'],
    }
    assert.deepEqual(described.mixed_partitions, [
      { partition: 0, compared: 2, differences: [] },
      { partition: 5, compared: 4, differences: [difference] },
    ])
    const text = formatTextReport({ ...drillEvidence, ...outcomeOf(report) })
    assert.match(text, /^orders +drill\.1\.orders +ID +1 +7 +6 +1$/m, 'all partitions count')
    assert.match(text, /^orders +0 +different +0 +0 +value$/m)
  })

  test('names the offsets of differences, and not what is in the records', () => {
    const text = JSON.stringify(outcomeOf(reportOf(7, 6, 1)), (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    assert.match(text, /"source_offset":"0"/)
    assert.doesNotMatch(text, /SECRET/)
  })
})

describe('reports', () => {
  test('state what was proven, when, by which version, and what was removed', () => {
    for (const report of [formatTextReport(drillEvidence), formatHtmlReport(drillEvidence)]) {
      assert.match(report, /PROVEN: 7 records of 1 topics \(all topics\) were restored, read back and found equal/)
      for (const part of ['2025-11-15T10:01:00.000Z', 'kafka-backup 0.1.0', 'dG9waWMtb25lLWlkLTE', '12.5 s']) {
        assert.ok(report.includes(part), part)
      }
    }
  })

  test('state first that nothing is proven, and what is left', () => {
    const failed: Evidence = {
      ...drillEvidence,
      ...{ result: 'failed', failure: { code: 'KAFKA_DENIED', message: 'may not write' } },
      clean_up: { removed: [], left: [{ name: 'drill.1.orders', id: null, reason: 'denied' }] },
    }
    const text = formatTextReport(failed)
    assert.match(text, /^NOT PROVEN: may not write$/m)
    assert.match(text, /drill\.1\.orders +- +LEFT: denied/)
  })

  test('escape names that come from archives', () => {
    const hostile: Evidence = { ...drillEvidence, scope: '<script>alert(1)</script>\u001b[31m' }
    assert.doesNotMatch(formatHtmlReport(hostile), /<script>/)
    for (const report of [formatHtmlReport(hostile), formatTextReport(hostile)]) assert.ok(!report.includes('\u001b'))
  })
})

describe('signed evidence', () => {
  async function stored(change: (name: string, body: Buffer) => Buffer | undefined = (_, body) => body) {
    const evidence = { ...drillEvidence, signer: signerOf(keys.privateKey) }
    const reports = { text: formatTextReport(evidence), html: formatHtmlReport(evidence) }
    const bytes = encodeEvidence(evidence, reports)
    const storage = openMemoryStorage()
    const bodies = {
      'evidence.json': bytes,
      'evidence.json.sig': signBytes(bytes, keys.privateKey),
      'report.txt': Buffer.from(reports.text),
      'report.html': Buffer.from(reports.html),
    }
    for (const [name, body] of Object.entries(bodies)) {
      const changed = change(name, body)
      if (changed) await storage.create(name, changed, never)
    }
    return storage
  }

  const check = async (change?: Parameters<typeof stored>[0], key = keys.publicKey) =>
    verifyEvidence(await stored(change), key, never)

  test('is authentic with its key', async () => {
    const verified = await check()
    assert.deepEqual([verified.ok, verified.problems, verified.missing], [true, [], []])
    assert.equal(verified.evidence.run, drillEvidence.run)
  })

  test('is refused after a change of any byte of the document, the signature or a report', async () => {
    for (const changed of ['evidence.json', 'evidence.json.sig', 'report.txt', 'report.html']) {
      const verified = await check((name, body) => {
        if (name !== changed) return body
        // A digit of the run, so that the document is still one.
        return changed === 'evidence.json'
          ? Buffer.from(String(body).replace('"run": "0', '"run": "1'))
          : Buffer.from(body.map((byte, at) => (at === 5 ? byte ^ 1 : byte)))
      })
      assert.deepEqual([verified.ok, verified.problems.length], [false, 1], changed)
    }
  })

  test('is refused with another key, and without a signature', async () => {
    const other = generateKeyPairSync('ed25519').publicKey
    assert.match((await check(undefined, other)).problems[0] ?? '', /the document names key [0-9a-f]{16}$/)
    const unsigned = await check((name, body) => (name.endsWith('.sig') ? undefined : body))
    assert.deepEqual(unsigned.problems, ['evidence.json.sig is missing'])
  })

  test('stands without its reports, which are named', async () => {
    const verified = await check((name, body) => (name.startsWith('report') ? undefined : body))
    assert.deepEqual([verified.ok, verified.missing], [true, ['report.txt', 'report.html']])
  })

  test('is refused if it is something else', async () => {
    const change = (name: string, body: Buffer) => (name === 'evidence.json' ? Buffer.from('{}') : body)
    await assert.rejects(check(change), { code: 'ARCHIVE_DAMAGED', message: /is not the evidence of a drill/ })
  })

  test('names a key file that is not an ed25519 key', () =>
    withFolder(async folder => {
      const write = async (name: string, pem: string | Buffer) => {
        await writeFile(join(folder, name), pem)
        return join(folder, name)
      }
      const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const rsaFile = await write('rsa.key', rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }))
      await assert.rejects(readSigningKey(rsaFile), {
        code: 'USAGE',
        message: /rsa\.key is not an ed25519 private key/,
      })
      await assert.rejects(readSigningKey(join(folder, 'none')), { code: 'USAGE', message: /none cannot be read/ })
      const own = await write('own.key', keys.privateKey.export({ type: 'pkcs8', format: 'pem' }))
      await assert.rejects(readPublicKey(own), { code: 'USAGE', message: /it is a private key/ })
    }))
})
