import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import { gitopsCases } from './gitops-cases.ts'
import { endOf, hourMs, jobOf, resourceOf, Story, startMs } from './situation.ts'

for (const { name, resource, ready, point } of gitopsCases) {
  test(`conditions of ${name}`, () => {
    const of = (type: string) => resource.status?.conditions?.find(condition => condition.type === type)
    const isTrue = (type: string) => of(type)?.status === 'True'
    assert.deepEqual([of('Ready')?.reason, isTrue('Ready'), isTrue('Reconciling'), isTrue('Stalled')], ready)
    const { status, reason } = of('RecoveryPoint') ?? {}
    assert.deepEqual([status, reason], point ?? [undefined, undefined])
    for (const condition of resource.status?.conditions ?? []) {
      assert.equal(condition.observedGeneration, resource.status?.observedGeneration)
    }
  })
}

function textOf(name: string, type: string): string {
  const { resource } = gitopsCases.find(one => one.name === name) ?? {}
  return resource?.status?.conditions?.find(condition => condition.type === type)?.message ?? ''
}

test('Stalled names what a user has to do, also where the operator continues by itself afterwards', () => {
  assert.match(
    textOf('a single backup that waits for a secret', 'Stalled'),
    /^Missing secrets: s3 \(spec\.storage.*The operator continues by itself\.$/,
  )
  assert.match(textOf('a single backup whose Job is rejected by a quota', 'Stalled'), /^A quota\. The operator/)
  assert.match(textOf('a continuous backup whose rounds are overdue', 'Stalled'), /^No round has succeeded.* operator/)
  assert.equal(textOf('a restore that runs', 'Stalled'), 'The operator continues by itself.')
  const failed = textOf('a restore that failed', 'Stalled')
  assert.match(failed, /set the trigger annotation, or create another resource\.$/)
  assert.doesNotMatch(failed, /change the spec/)
})

test('a spec that changed before the status showed its single run is reported', () => {
  const spec = { topics: { include: ['orders'] } }
  const [start] = new Story(resourceOf(spec), { controller: 'restore' }).plan(startMs).actions
  assert.ok(start?.type === 'start')
  const { generation, specHash } = start.step
  assert.ok(generation !== undefined && specHash !== undefined)
  const changed = resourceOf({ topics: { include: ['payments'] } })
  const metadata = { ...changed.metadata, generation: 2 }
  const readyAfter = (plans: JobState[][]) => {
    const story = new Story({ ...changed, metadata }, { controller: 'restore' })
    for (const [index, jobs] of plans.entries()) story.plan(startMs + index * 1000, jobs)
    return story.status?.conditions?.find(({ type }) => type === 'Ready')?.reason
  }
  const job = jobOf(start.run, { generation, specHash })
  const ended = { ...job, end: endOf() }
  assert.equal(readyAfter([[job], [ended]]), 'SpecChanged', 'the status was not written')
  assert.equal(readyAfter([[], [job], [ended]]), 'SpecChanged', 'another leader found the Job when it created it')
})

test('a spec that changed during its single run is reported until another run has used it', () => {
  const topics = (name: string) => ({ topics: { include: [name] } })
  const story = new Story(resourceOf(topics('orders')), { controller: 'restore' })
  const ready = () => story.status?.conditions?.find(({ type }) => type === 'Ready')
  const at = (generation: number, spec: ResourceSpec) => {
    story.resource = { ...story.resource, metadata: { ...story.resource.metadata, generation }, spec }
  }
  story.plan(startMs)
  at(2, topics('orders,payments'))
  story.plan(startMs + 1000, [jobOf('once')])
  const { events } = story.plan(startMs + hourMs, [jobOf('once', { end: endOf() })])
  assert.deepEqual([ready()?.status, ready()?.reason, ready()?.observedGeneration], ['False', 'SpecChanged', 2])
  assert.match(
    ready()?.message ?? '',
    /^Run once is complete with generation 1 of the spec.* kafka-backup\.dev\/trigger/,
  )
  assert.deepEqual(
    events.map(({ type, reason }) => [type, reason]),
    [
      ['Warning', 'SpecChanged'],
      ['Normal', 'RestoreCompleted'],
    ],
  )
  assert.deepEqual(story.plan(startMs + hourMs + 1000, [jobOf('once', { end: endOf() })]).events, [])
  const { metadata } = story.resource
  story.resource = { ...story.resource, metadata: { ...metadata, annotations: { 'kafka-backup.dev/trigger': 'a' } } }
  const [start] = story.plan(startMs + hourMs + 2000, [jobOf('once', { end: endOf() })]).actions
  assert.ok(start?.type === 'start')
  const completedMs = startMs + hourMs + 60_000
  story.plan(startMs + 2 * hourMs, [jobOf(start.run, { createdMs: completedMs, end: endOf({ completedMs }) })])
  assert.deepEqual([ready()?.status, ready()?.reason], ['True', 'Completed'])
  assert.deepEqual(
    story.status?.history?.map(({ generation }) => generation),
    [2, 1],
  )
})

test('a change that does not decide what a finished run does leaves it ready', () => {
  const story = new Story(resourceOf({ topics: { include: ['orders'] }, suspend: false }))
  story.plan(startMs)
  story.resource = {
    ...story.resource,
    metadata: { ...story.resource.metadata, generation: 2 },
    spec: { deletionPolicy: 'Delete', suspend: true, job: { backoffLimit: 1 }, topics: { include: ['orders'] } },
  }
  story.plan(startMs + hourMs, [jobOf('once', { end: endOf() })])
  const ready = story.status?.conditions?.find(({ type }) => type === 'Ready')
  assert.deepEqual([ready?.status, ready?.reason], ['True', 'Completed'])
})
