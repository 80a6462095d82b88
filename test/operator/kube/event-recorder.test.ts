import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import type { KubeObject } from '../../../src/operator/kube/object.ts'
import { FakeKube } from '../../fakes/fake-kube.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

const about: KubeObject = { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 'a', namespace: 'one', uid: 'u' } }
const failed = { type: 'Warning', reason: 'BackupFailed', action: 'Backup', note: 'exit 1' } as const
const signal = new AbortController().signal

interface Applied extends KubeObject {
  eventTime: string
  note: string
  series?: { count: number; lastObservedTime: string }
  regarding: Record<string, string>
}

test('an event names its object, with a time that the API server accepts', async () => {
  const { recorder, applied } = openRecorder()
  await recorder.record(about, failed, signal)
  const [event] = applied
  assert.equal(event?.eventTime, '2026-01-02T03:04:05.000000Z')
  assert.equal(event?.metadata.namespace, 'one')
  assert.match(event?.metadata.name ?? '', /^a\.[0-9a-f]{16}$/)
  assert.equal(event?.series, undefined)
  assert.deepEqual([event?.regarding.kind, event?.regarding.uid], ['Thing', 'u'])
})

test('counts repeated events, and creates new ones for others and after a while', async () => {
  const { recorder, applied, clock } = openRecorder()
  for (let count = 0; count < 3; count++) {
    await recorder.record(about, failed, signal)
    clock.pass(5 * 60_000)
  }
  await recorder.record(about, { ...failed, note: 'exit 3' }, signal)
  clock.pass(2 * 60_000)
  await recorder.record(about, failed, signal)
  const [first, second, third, other, late] = applied
  assert.deepEqual(
    applied.map(({ series }) => series?.count),
    [undefined, 2, 3, undefined, undefined],
  )
  assert.equal(new Set([first, second, third].map(event => event?.metadata.name)).size, 1)
  assert.equal(third?.eventTime, first?.eventTime)
  assert.equal(third?.series?.lastObservedTime, '2026-01-02T03:14:05.000000Z')
  assert.notEqual(other?.metadata.name, first?.metadata.name)
  assert.notEqual(late?.metadata.name, first?.metadata.name)
})

test('cuts a note to the byte limit of the API server', async () => {
  const { recorder, applied } = openRecorder()
  const notes = ['x'.repeat(5000), 'ä'.repeat(600), 'a🐟'.repeat(300), 'x'.repeat(1024), 'ä'.repeat(512)]
  for (const note of notes) await recorder.record(about, { ...failed, note }, signal)
  const written = applied.map(({ note }) => note)
  assert.deepEqual(
    written.map(note => Buffer.byteLength(note)),
    [1024, 1023, 1024, 1024, 1024],
  )
  for (const [index, note] of written.slice(0, 3).entries()) {
    assert.ok(note.isWellFormed() && note.endsWith('…') && notes[index]?.startsWith(note.slice(0, -1)), note)
  }
  assert.deepEqual(written.slice(3), notes.slice(3))
})

test('gives the event of a long name a valid name', async () => {
  const { recorder, applied } = openRecorder()
  const name = `${'a'.repeat(229)}-${'b'.repeat(20)}`
  await recorder.record({ ...about, metadata: { ...about.metadata, name } }, failed, signal)
  assert.match(applied[0]?.metadata.name ?? '', /^a+\.[0-9a-f]{16}$/)
})

function openRecorder() {
  const applied: Applied[] = []
  const kube = new FakeKube().api()
  const api: KubeApi = {
    ...kube,
    apply: (kind, object, how, end) => {
      applied.push(object as unknown as Applied)
      return kube.apply(kind, object, how, end)
    },
  }
  const clock = new JumpingClock()
  const recorder = new EventRecorder({ api, clock, fieldManager: 'operator', instance: 'pod-1' })
  return { recorder, applied, clock }
}
