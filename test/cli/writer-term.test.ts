import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { parseClusterlessJob } from '../../src/config/load-job.ts'
import { deleteReport, fakeActions, pruneReport } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const job = parseClusterlessJob(
  JSON.stringify({
    mode: 'backup',
    backup_id: 'orders',
    storage: { backend: 'filesystem', path: '/backups' },
    backup: { lease_duration: '10m' },
  }),
  { source: 'the test', env: {}, mode: 'backup' },
)

/** The term of a writer's lease that the command believes; undefined where it does not know it. */
async function termOf(argv: readonly string[]): Promise<number | undefined> {
  const terms: (number | undefined)[] = []
  const actions = fakeActions({
    loadClusterlessJob: async () => job,
    pruneAt: async (_storage, _policy, _hooks, { writerTtlMs }) => {
      terms.push(writerTtlMs)
      return pruneReport
    },
    deleteAt: async (_storage, backupId, _hooks, { writerTtlMs }) => {
      terms.push(writerTtlMs)
      return { ...deleteReport, backupId }
    },
    findBackupsAt: async () => ['orders'],
  })
  assert.equal(await main([...argv, '--yes', '--no-progress'], new FakeIo(), actions), 0)
  assert.equal(terms.length, 1)
  return terms[0]
}

describe('the lease_duration of the job is believed', () => {
  for (const [what, expected, argv] of [
    ['by a prune of its backup', 600_000, ['prune', '--config', 'job.yaml']],
    ['by a prune that names the same', 600_000, ['prune', '--config', 'job.yaml', '--match', 'orders']],
    ['not by a prune of others too', undefined, ['prune', '--config', 'job.yaml', '--match', 'orders*']],
    ['not by a prune without a job', undefined, ['prune', '--path', '/backups', '--keep-last', '1']],
    ['by a delete of its backup', 600_000, ['delete', '--config', 'job.yaml']],
    ['not by a delete of another', undefined, ['delete', '--config', 'job.yaml', '--backup-id', 'other']],
    ['not by a delete of several', undefined, ['delete', '--config', 'job.yaml', '--match', 'orders']],
    ['not by a delete without a job', undefined, ['delete', '--path', '/backups', '--backup-id', 'orders']],
  ] as const) {
    test(what, async () => assert.equal(await termOf(argv), expected))
  }
})
