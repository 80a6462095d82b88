import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccessReading, AccessSection } from '../../src/archive/access-section.ts'
import type { Prepared } from '../../src/backup/round.ts'
import { takeAccess } from '../../src/backup/take-sections.ts'
import { stored } from '../access/rules.ts'
import { draftManifest } from '../archive/sample-archive.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const off = { state: 'off' } as const
const before: AccessSection = {
  taken_at: '',
  key: 'b1/kafka/access-1.run1.json',
  size: 1,
  blake3: '0'.repeat(64),
  acls: { state: 'taken', count: 3 },
  quotas: { state: 'taken', count: 0 },
  users: { state: 'failed', error: 'denied' },
}

async function take(reading: AccessReading | undefined, access?: AccessSection) {
  const head = { format: 'kafka-backup', format_version: 1 } as const
  const prepared: Prepared = {
    observed: { observedAt: '', clusterId: 'c', brokers: 1, topics: [], visible: new Set(), warnings: [] },
    plan: { topics: [], warnings: ['earlier'] },
    previous: access && { ...draftManifest([], { access }), ...head },
  }
  const storage = openMemoryStorage()
  const readAccess = reading && { readAccess: async () => reading }
  const parts = { storage, clock: new JumpingClock(), newRun: () => 'run2', ...readAccess }
  const taken = await takeAccess(prepared, 'b1', parts, never)
  return { access: taken.access, warnings: taken.plan.warnings, storage }
}

describe('the access rules of a generation', () => {
  test('are stored as they were read', async () => {
    const items = [stored({})]
    const { access, warnings, storage } = await take({ acls: { state: 'taken', items }, quotas: off, users: off })
    assert.deepEqual([access?.acls, access?.quotas], [{ state: 'taken', count: 1 }, off])
    assert.ok(storage.objects.has(access?.key ?? ''))
    assert.deepEqual(warnings, ['earlier'])
  })

  test('that could not be read are told, and do not fail the run', async () => {
    const { access, warnings } = await take({ acls: off, quotas: { state: 'failed', error: 'why' }, users: off })
    assert.deepEqual(access?.quotas, { state: 'failed', error: 'why' })
    assert.deepEqual(warnings.slice(1), ['client quotas could not be read, so this generation has none: why'])
  })

  test('are absent where nobody reads them, which is told of those that were there before', async () => {
    const { access, warnings, storage } = await take(undefined, before)
    assert.deepEqual([access, storage.objects.size], [undefined, 0])
    assert.deepEqual(warnings.slice(1), ['ACLs are no longer taken (backup.acls); the generation before had 3'])
    assert.deepEqual((await take(undefined)).warnings, ['earlier'])
  })

  test('of which none is left are told, too', async () => {
    const empty = { state: 'taken', items: [] } as const
    const none = { acls: { ...empty, items: [] }, quotas: { ...empty, items: [] }, users: off }
    const { warnings } = await take(none, before)
    assert.deepEqual(warnings.slice(1), [
      'the source no longer has ACLs; the generation before had 3, which stay in it',
    ])
  })
})
