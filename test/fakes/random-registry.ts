import type { RegistrySnapshot, SchemaVersion } from '../../src/archive/registry-model.ts'
import { snapshotOf, versionOf } from './registry-snapshots.ts'

/** A registry with a history: holes, deleted versions, schemas under several subjects and numbers, references. */
export function randomRegistry(seed: number): RegistrySnapshot {
  const pick = random(seed)
  const versions: SchemaVersion[] = []
  const numbers = new Map<string, number>()
  for (let made = 0; made < 9; made++) {
    const subject = ['a', 'b', 'c', ':.eu:a'][pick(4)] ?? 'a'
    const context = subject.startsWith(':') ? ':.eu:' : ''
    const known = versions.filter(one => one.subject.startsWith(':') === (context !== ''))
    const version = (numbers.get(subject) ?? 0) + 1 + (pick(4) === 0 ? pick(3) : 0)
    numbers.set(subject, version)
    const twin = pick(4) === 0 ? known[pick(Math.max(1, known.length))] : undefined
    const isDeleted = pick(4) === 0
    const target = pick(2) === 0 ? known[pick(Math.max(1, known.length))] : undefined
    const refs = target ? [`${target.subject.replace(context, '')}@${target.version}`] : []
    if (twin) {
      const { id, schema, references } = twin
      const isTwice = known.some(one => one.subject === subject && one.id === id && !one.isDeleted)
      versions.push(versionOf(subject, version, id, { schema, references, isDeleted: isDeleted || isTwice }))
    } else {
      versions.push(
        versionOf(subject, version, ((made * 37 + seed) % 101) + 1, {
          refs,
          isDeleted,
          schema: `{"type":"fixed","name":"n${made}","size":${seed + 1}}`,
        }),
      )
    }
  }
  const ids = (context: boolean) =>
    Math.max(0, ...versions.filter(one => one.subject.startsWith(':') === context).map(({ id }) => id))
  return snapshotOf(versions, {
    contexts: ['.', '.eu'],
    subjects: { a: { compatibility: 'FULL', mode: 'READONLY' }, b: { config: { normalize: true } } },
    global: { compatibility: 'NONE', mode: pick(2) === 0 ? 'READONLY' : 'READWRITE', config: null },
    maxIds: new Map([['.', ids(false) + pick(2) * 5]]),
  })
}

/** Numbers that are the same in every run. */
function random(seed: number): (below: number) => number {
  let state = seed * 2654435761 + 1
  return below => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0
    return state % below
  }
}
