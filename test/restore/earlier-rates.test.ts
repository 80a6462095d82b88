import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reportKey } from '../../src/archive/layout.ts'
import { recoveryDocument } from '../../src/cli/commands/restore-estimate.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { parseRates, readEarlierRates } from '../../src/restore/earlier-rates.ts'
import type { Recovery } from '../../src/restore/recovery.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const MiB = 2 ** 20
const traits = { targetCluster: 'c1', rewritesIds: false, repartition: 'keep' }
const recovery = (changes: Partial<Recovery> = {}): Recovery => ({
  ...traits,
  ...{ measuredAt: '2026-01-02T03:04:05.000Z', schemasMs: 0, registryRequests: 0, comparisonMs: 0, groupsMs: 0 },
  ...{ recordsMs: 10_000, bytes: 500 * MiB, limitedBy: 'target' },
  ...changes,
})
/** As `restore --report` writes it. */
const reportOf = (changes?: Partial<Recovery>) => JSON.stringify({ recovery: recoveryDocument(recovery(changes)) })

describe('the rates of an earlier restore', () => {
  test('are those that its report has', () => {
    const rates = parseRates(reportOf({ schemasMs: 4000, registryRequests: 200 }), 'k', traits)
    assert.deepEqual([rates?.records, rates?.registry], [50 * MiB, 50])
    assert.deepEqual(rates?.source, {
      ...{
        kind: 'earlier_restore',
        at: '2026-01-02T03:04:05.000Z',
        report: 'k',
        isSameTarget: true,
        limitedBy: 'target',
      },
    })
  })

  test('do not count where the restore was too short, or another kind of work', () => {
    const others = [{ recordsMs: 900 }, { bytes: MiB - 1 }, { rewritesIds: true }, { repartition: 'by_key' }]
    for (const changes of others)
      assert.equal(parseRates(reportOf(changes), 'k', traits), undefined, JSON.stringify(changes))
    assert.equal(parseRates(reportOf({ targetCluster: 'c2' }), 'k', traits)?.source.kind, 'earlier_restore')
    const unnamed = { ...traits, targetCluster: null }
    const of = parseRates(reportOf({ targetCluster: null }), 'k', unnamed)?.source
    assert.ok(of?.kind === 'earlier_restore' && !of.isSameTarget, 'two clusters without an ID need not be the same')
  })

  test('are not taken from anything else, whatever it says', () => {
    const bad = [
      ...['', 'null', '[]', '7', '{"recovery":7}', '{"recovery":null}', '{}'],
      ...[
        { records_seconds: -1 },
        { records_seconds: '10' },
        { bytes: null },
        { measured_at: 'yesterday' },
        { measured_at: 5 },
      ].map(changes => JSON.stringify({ recovery: { ...recoveryDocument(recovery()), ...changes } })),
    ]
    for (const text of bad) assert.equal(parseRates(text, 'k', traits), undefined, text)
  })

  test('come from the newest report, and from one into the same cluster before all others', async () => {
    const storage = openMemoryStorage()
    const put = (stamp: string, text: string) => storage.create(reportKey('b1', stamp, 'r'), Buffer.from(text), never)
    const find = async () => readEarlierRates(storage, 'b1', traits, never)
    assert.equal(await find(), undefined)
    await put('20260101t000000z', reportOf({ bytes: 100 * MiB, targetCluster: 'c2' }))
    assert.equal((await find())?.records, 10 * MiB)
    await put('20260102t000000z', reportOf({ bytes: 200 * MiB }))
    await put('20260103t000000z', reportOf({ bytes: 300 * MiB }))
    await put('20260104t000000z', reportOf({ bytes: 400 * MiB, targetCluster: 'c2' }))
    await put('20260105t000000z', '{"backup_id": "b1"}')
    assert.equal((await find())?.records, 30 * MiB)
  })

  test('are unknown where the store does not let reports be read', async () => {
    for (const code of ['STORAGE_DENIED', 'STORAGE_NOT_FOUND'] as const) {
      const storage = openMemoryStorage()
      storage.list = () => {
        throw new KafkaBackupError(code, 'no')
      }
      assert.equal(await readEarlierRates(storage, 'b1', traits, never), undefined)
    }
  })
})
