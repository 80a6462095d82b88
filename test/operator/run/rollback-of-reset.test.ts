import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../../src/operator/crd/status.ts'
import { observeResource } from '../../../src/operator/run/observe-resource.ts'
import { newMemory } from '../../../src/operator/run/resource-memory.ts'
import { kinds, namespace } from './operator-model.ts'
import { plainPlanner } from './plain-planner.ts'

interface ResetChanges {
  annotations?: Record<string, string>
  suspend?: boolean
}

function snapshotFor(status: ResourceStatus | undefined, more: ResetChanges = {}): string | null | undefined {
  return observeRollback(status, more).referredSnapshotId
}

function observeRollback(status: ResourceStatus | undefined, more: ResetChanges = {}) {
  const of = (controller: 'offset_reset' | 'offset_rollback', spec: Resource['spec']): Resource => {
    const { apiVersion, kind } = kinds[controller]
    return { apiVersion, kind, metadata: { name: 'go-back', namespace, uid: controller }, spec }
  }
  const { annotations = {}, ...spec } = more
  const plain = of('offset_reset', spec)
  const reset = status && { ...plain, metadata: { ...plain.metadata, annotations }, status }
  const empty = { ownedBy: () => [], list: () => [], get: () => undefined }
  const resources = { offset_reset: { get: () => reset }, offset_rollback: { list: () => [] } }
  const view = { kinds, jobs: empty, pods: empty, resources, starting: new Set() }
  const parts = { apiGroup: 'kafka-backup.dev', view: view as never, planner: plainPlanner, nowMs: 0 }
  const rollback = of('offset_rollback', { resetRef: { name: 'go-back' } })
  return observeResource(rollback, newMemory('offset_rollback'), { ...parts, controller: 'offset_rollback' })
}

test('a rollback has the snapshot of a reset that is not running', () => {
  const active: ResourceStatus['active'] = [
    { run: 'trigger-1', purpose: 'main', job: 'go-back-1', startTime: '2026-11-16T02:00:00Z' },
  ]
  assert.equal(snapshotFor(undefined), null)
  assert.equal(snapshotFor({ active }), null)
  assert.equal(snapshotFor({ snapshotId: 's-1' }), 's-1')
  assert.equal(snapshotFor({ snapshotId: 's-1', active }), null, 'it runs again')
})

test('a rollback without a snapshot knows what the reset lacks', () => {
  const lacks = (status: ResourceStatus | undefined) => observeRollback(status).referredReset
  const run = { run: 'once', purpose: 'main' as const, job: 'go-back-1', startTime: '2026-11-16T02:00:00Z' }
  const ended = { ...run, phase: 'Completed' as const, completionTime: '2026-11-16T02:01:00Z' }
  assert.equal(lacks(undefined), 'missing')
  assert.equal(lacks({}), 'new')
  assert.equal(lacks({ active: [run] }), 'active')
  assert.equal(lacks({ history: [ended] }), 'unchanged')
  assert.equal(lacks({ history: [ended], snapshotId: 's-1' }), undefined)
})

test('a rollback waits for pods of a reset whose Job was removed', () => {
  const progressing = (status: 'True' | 'False') => {
    const times = { lastTransitionTime: '2026-11-16T02:00:00Z', observedGeneration: 1 }
    return [{ type: 'Progressing' as const, status, reason: 'Stopping', message: 'A Job is being removed.', ...times }]
  }
  assert.equal(snapshotFor({ snapshotId: 's-1', conditions: progressing('True') }), null)
  assert.equal(snapshotFor({ snapshotId: 's-1', conditions: progressing('False') }), 's-1')
})

test('a rollback waits for a reset that was triggered again and has not started yet', () => {
  const status = { snapshotId: 's-1', lastTrigger: '1' }
  const annotations = { 'kafka-backup.dev/trigger': '2' }
  assert.equal(snapshotFor(status, { annotations: { 'kafka-backup.dev/trigger': '1' } }), 's-1')
  assert.equal(snapshotFor(status, { annotations }), null)
  assert.equal(snapshotFor(status, { annotations, suspend: true }), 's-1', 'it does not start')
})

interface RollbackChanges {
  reset?: string
  namespace?: string
  trigger?: string
  job?: object
}

function rollbackFor(status: ResourceStatus, more: RollbackChanges = {}) {
  const { apiVersion, kind } = kinds.offset_rollback
  const annotations = more.trigger === undefined ? {} : { 'kafka-backup.dev/trigger': more.trigger }
  const rollback: Resource = {
    ...{ apiVersion, kind, status, spec: { resetRef: { name: more.reset ?? 'go-back' } } },
    metadata: { name: 'undo', namespace: more.namespace ?? namespace, uid: 'rollback', annotations },
  }
  const empty = { ownedBy: () => [], list: () => [], get: () => undefined }
  const resources = { offset_rollback: { list: () => [rollback] } }
  const jobs = { ...empty, ownedBy: (uid: string) => (uid === 'rollback' && more.job ? [more.job] : []) }
  const view = { kinds, jobs, pods: empty, resources, starting: new Set() }
  const parts = { apiGroup: 'kafka-backup.dev', view: view as never, planner: plainPlanner, nowMs: 0 }
  const reset = { ...kinds.offset_reset, metadata: { name: 'go-back', namespace, uid: 'reset' }, spec: {} }
  const situation = observeResource(reset, newMemory('reset'), { ...parts, controller: 'offset_reset' })
  return 'activeRollback' in situation ? situation.activeRollback : undefined
}

test('a reset that is triggered again waits for a rollback to its snapshot that runs', () => {
  const active: ResourceStatus['active'] = [
    { run: 'once', purpose: 'main', job: 'undo-1', startTime: '2026-11-16T02:00:00Z' },
  ]
  assert.equal(rollbackFor({ active }), 'undo')
  assert.equal(rollbackFor({ active }, { reset: 'another' }), undefined)
  assert.equal(rollbackFor({ active }, { namespace: 'another' }), undefined)
  assert.equal(rollbackFor({}), undefined, 'it has ended')
  assert.equal(rollbackFor({}, { trigger: '1' }), undefined, 'it was only triggered, and waits for the reset')
})

test('a reset waits for a rollback whose Job is there before its status shows it, as after a change of the leader', () => {
  const job = { metadata: { name: 'undo-1', uid: 'j' } }
  const run = { run: 'once', purpose: 'main' as const, job: 'undo-1', startTime: '2026-11-16T02:00:00Z' }
  const ended = { ...run, phase: 'Failed' as const, completionTime: '2026-11-16T02:01:00Z' }
  assert.equal(rollbackFor({}, { job }), 'undo')
  assert.equal(rollbackFor({ history: [ended] }, { job }), undefined, 'a stopped Job stays for its log')
  const over = { ...job, status: { conditions: [{ type: 'Failed', status: 'True' }] } }
  assert.equal(rollbackFor({}, { job: over }), undefined)
})
