import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSummaries } from '../../../src/cli/commands/kubectl-report.ts'
import { outputStyleOf } from '../../../src/cli/output-style.ts'
import { type Resource, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { Condition, ConditionType } from '../../../src/operator/crd/status.ts'
import { summarize } from '../../../src/operator/kubectl/summarize.ts'
import { FakeIo } from '../../cli/fake-io.ts'

function backupWith(name: string, status: Partial<Record<ConditionType, Condition['status']>>): Resource {
  const { apiVersion, kind } = resourceKinds().backup
  const conditions = Object.entries({ Ready: 'True', RecoveryPoint: 'True', ...status }).map(
    ([type, one]): Condition => ({
      ...{ type: type as ConditionType, status: one as Condition['status'] },
      ...{ reason: `Is${one}`, message: `${type} of ${name}.`, lastTransitionTime: '2026-11-16T02:00:00Z' },
    }),
  )
  const metadata = { name, namespace: 'shop', generation: 1 }
  return { apiVersion, kind, metadata, spec: {}, status: { observedGeneration: 1, phase: 'Completed', conditions } }
}

test('a backup that is ready is shown with its problem if the last verification or drill failed', () => {
  const rows = [
    backupWith('well', { Verified: 'True', Drilled: 'Unknown' }),
    backupWith('damaged', { Verified: 'False' }),
    backupWith('not-proven', { Verified: 'True', Drilled: 'False' }),
    backupWith('old', { RecoveryPoint: 'False', Verified: 'False' }),
  ].map(resource => summarize('backup', resource))
  assert.deepEqual(
    rows.map(({ ready, message }) => [ready, message]),
    [
      ['True', ''],
      ['True', 'Verified of damaged.'],
      ['True', 'Drilled of not-proven.'],
      ['True', 'RecoveryPoint of old.'],
    ],
  )
  const { stdout, env } = new FakeIo()
  const lines = formatSummaries(rows, Date.parse('2026-11-16T03:00:00Z'), outputStyleOf(stdout, env))
  assert.match(lines.join('\n'), /KafkaBackup damaged: IsFalse: Verified of damaged\./)
  assert.match(lines[4] ?? '', /well/, 'it is the last row')
})
