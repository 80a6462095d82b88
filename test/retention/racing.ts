import type { RetentionPolicy } from '../../src/retention/policy.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { World } from './world.ts'

type Others = (world: World, storage: Storage, rest: () => Promise<void>) => (() => Promise<unknown>)[]

/** A prune and others at the same time, in an order that the round decides. */
export async function raceAgainst(
  round: number,
  { begin, policy }: { begin: (world: World) => Promise<void>; policy: Partial<RetentionPolicy> },
  others: Others,
): Promise<World> {
  const random = createRandom(round)
  const world = new World()
  await begin(world)
  const storage = shuffled(world.storage, random)
  const rest = async () => {
    for (let left = Math.floor(random() * 200); left > 0; left--) await new Promise(resolve => setImmediate(resolve))
  }
  const late = async (work: () => Promise<unknown>) => {
    await rest()
    return work()
  }
  let isOver = false
  const works = [() => world.prune(policy, { storage }), ...others(world, storage, rest)]
  const all = Promise.all(works.map(late)).finally(() => {
    isOver = true
  })
  all.catch(() => undefined)
  // Who waits for a prune sleeps two seconds at a time.
  while (!isOver) {
    await new Promise(resolve => setImmediate(resolve))
    world.clock.pass(5)
  }
  await all
  return world
}

/** Every call waits for some turns of the loop, so that what runs at the same time meets in another order each time. */
function shuffled(storage: Storage, random: () => number): Storage {
  const turns = async () => {
    for (let left = Math.floor(random() * 8); left > 0; left--) await new Promise(resolve => setImmediate(resolve))
  }
  const after =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await turns()
      return call(...args)
    }
  return {
    ...storage,
    create: after(storage.create),
    replace: after(storage.replace),
    read: after(storage.read),
    readRange: after(storage.readRange),
    stat: after(storage.stat),
    remove: after(storage.remove),
    list: async function* (...args) {
      await turns()
      yield* storage.list(...args)
    },
  }
}
