import type { Storage } from '../../src/storage/storage.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { numbersToTry } from '../full.ts'

export class Death extends Error {}

/** A process that dies at its nth call to the store: none of its later calls arrives. */
export function dying(storage: Storage, nth: number, kind: 'kill-before' | 'kill-after') {
  let isDead = false
  const kill = () => {
    isDead = true
    throw new Death()
  }
  const faulty = withFaults(storage, [{ nth, effect: { kind } }], { kill })
  const alive = () => {
    if (isDead) throw new Death()
  }
  const guarded = new Proxy(faulty, {
    get: (target, name: keyof Storage) => {
      const value = target[name]
      if (typeof value !== 'function') return value
      return (...args: never[]) => {
        alive()
        return (value as (...all: never[]) => unknown)(...args)
      }
    },
  })
  return { storage: guarded, calls: faulty.calls }
}

/** Before and after a call, of the calls to try. */
export function momentsToTry(calls: number) {
  const moments = ['kill-before', 'kill-after'] as const
  return moments.flatMap((moment, turn) => numbersToTry(calls, turn).map(nth => [nth, moment] as const))
}
