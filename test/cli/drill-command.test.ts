import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import type { Evidence } from '../../src/drill/evidence.ts'
import type { DrillRequest } from '../../src/jobs/drill.ts'
import { drillEvidence, drillReport, fakeActions, verifiedEvidence } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}) {
  const io = new FakeIo()
  const code = await main(argv, io, fakeActions(replaced))
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const at = ['--path', '/backups', '--backup-id', 'orders', '--target', 'kafka:9092', '--evidence', '/drills']
const plainRestoreJob = async () => ({ restore: {} }) as never
const withEvidence = (change: Partial<Evidence>) => ({
  plainRestoreJob,
  runDrillJob: async () => ({ ...drillReport, evidence: { ...drillEvidence, ...change } }),
})

describe('drill', () => {
  test('passes the part, the keys and the places of a drill on', async () => {
    let request: DrillRequest | undefined
    const actions: Partial<Actions> = {
      plainRestoreJob,
      runDrillJob: async (_, asked) => {
        request = asked
        return drillReport
      },
    }
    const args = [
      '--sample',
      '2.5%',
      '--newest',
      '6h',
      '--topic',
      'a',
      '--topic',
      'b*',
      '--signing-key',
      'k',
      '--no-record',
    ]
    const { code, out } = await run(['drill', ...at, ...args, '--no-schemas'], actions)
    assert.equal(code, 0)
    assert.deepEqual(request, {
      scope: { topics: ['a', 'b*'], newestMs: 21_600_000, samplePercent: 2.5 },
      ...{ evidence: '/drills', scratchPrefix: 'kafka-backup-drill.', signingKey: 'k', record: false, schemas: false },
    })
    assert.match(out, /^PROVEN: 7 records/m)
    assert.match(out, /^Evidence: \/drills\/orders\/drills\/\S+ \(report\.txt, report\.html, evidence\.json\)$/m)
  })

  const left = { removed: [], left: [{ name: 'x', id: null, reason: 'denied' }] }
  for (const [name, change, expected] of [
    ['4 if topics are left', { clean_up: left }, 4],
    ['3 for differences', { result: 'failed', failure: { code: 'DIFFERENT', message: 'm' }, clean_up: left }, 3],
    ['3 for damage', { result: 'failed', failure: { code: 'ARCHIVE_DAMAGED', message: 'm' } }, 3],
    ['1 if nothing was proven', { result: 'failed', failure: { code: 'EMPTY', message: 'm' } }, 1],
    ['5 for another writer', { result: 'failed', failure: { code: 'RESTORE_CONFLICT', message: 'm' } }, 5],
  ] as const) {
    test(`exits with ${name}`, async () => {
      const { code } = await run(['drill', ...at], withEvidence(change as Partial<Evidence>))
      assert.equal(code, expected)
    })
  }

  for (const [args, message] of [
    [[...at, '--sample', '0'], /--sample is a percentage above 0 and up to 100, not "0"/],
    [[...at, '--sample', '101'], /--sample is a percentage/],
    [[...at, '--newest', 'soon'], /--newest "soon" is not a duration/],
    [[...at, '--public-key', 'k'], /--public-key is for `drill verify`/],
    [['verify', '--evidence', '/drills/x'], /pass --public-key: the key inside the evidence proves nothing/],
  ] as const) {
    test(`refuses ${args.slice(-2).join(' ')}`, async () => {
      const { code, err } = await run(['drill', ...args], { plainRestoreJob })
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }

  test('keeps the evidence in the folder of the backup unless another location is given', async () => {
    let request: DrillRequest | undefined
    const runDrillJob: Actions['runDrillJob'] = async (_, asked) => {
      request = asked
      return drillReport
    }
    const { code } = await run(['drill', ...at.slice(0, -2)], { plainRestoreJob, runDrillJob })
    assert.deepEqual([code, request?.evidence], [0, undefined])
    const actions = fakeActions({})
    const io = new FakeIo()
    const place = ['--path', '/backups', '--backup-id', 'orders']
    assert.equal(await main(['drill', 'verify', ...place, '--public-key', 'k'], io, actions), 0)
    assert.deepEqual(actions.calls.verifyNewestEvidence?.[1], { backupId: 'orders', publicKey: 'k' })
  })

  test('verify reports who signed, or what is wrong', async () => {
    const args = ['drill', 'verify', '--evidence', '/drills/x', '--public-key', 'k']
    const good = await run(args)
    assert.deepEqual([good.code, /^Authentic: signed with key abcdef0123456789, unchanged$/m.test(good.out)], [0, true])
    const bad = await run(args, {
      verifyEvidenceAt: async () => ({ ...verifiedEvidence, ok: false, problems: ['report.txt was changed'] }),
    })
    assert.equal(bad.code, 3)
    assert.match(bad.out, /^NOT AUTHENTIC\n.*\n {2}report\.txt was changed$/m)
  })
})
