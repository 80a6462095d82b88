import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { assertDeletable, deleteTopic, deleteTopicNamed } from '../kafka/topic-deletion.ts'
import type { Clock } from '../lib/clock.ts'
import type { ScratchTopic } from './journal.ts'

export interface CleanUp {
  removed: { name: string; id: string }[]
  left: { name: string; id: string | null; reason: string }[]
}

/** Before anything is created. Throws where a scratch name is taken, or where the user could not delete what a drill creates. */
export async function assertScratch(cluster: Cluster, names: readonly string[], signal: AbortSignal): Promise<void> {
  const { topics } = await cluster.metadata({ topics: null }, signal)
  const taken = names.filter(name => topics.some(topic => topic.name === name))
  if (taken.length > 0) {
    throw new KafkaBackupError('RESTORE_REFUSED', `the target already has topic ${taken.join(', topic ')}`, {
      help: 'Nothing was changed. A drill writes only to topics that it creates; pass another --scratch-prefix.',
      details: { topic: taken[0] },
    })
  }
  const [first] = names
  if (first !== undefined) await assertDeletable(cluster, first, signal)
}

const TIMEOUT_MS = 60_000
const POLL_MS = 200

/**
 * Deletes the topics that a drill created, by their IDs. One whose creation got no answer is found by its name, which has
 * the random run in it. Anything else that has the name or the ID is left alone. A topic that is not listed is deleted as well, because
 * a broker lists a new topic only some time after its creation. Not interrupted, and never fails.
 */
export async function removeScratch(
  { cluster, clock }: { cluster: Cluster; clock: Clock },
  { run, topics }: { run: string; topics: readonly ScratchTopic[] },
): Promise<CleanUp> {
  const stop = new AbortController()
  const cancel = clock.after(TIMEOUT_MS, () => stop.abort(new KafkaBackupError('KAFKA_TIMEOUT', 'it took too long')))
  const result: CleanUp = { removed: [], left: [] }
  try {
    const found = await cluster.metadata({ topics: null }, stop.signal)
    const { own, unseen, foreign } = planRemoval(run, topics, found.topics)
    result.left.push(...foreign)
    for (const name of unseen) {
      await deleteTopicNamed(cluster, name, stop.signal).catch(error =>
        result.left.push({ name, id: null, reason: reasonFor(error) }),
      )
    }
    const asked: { name: string; id: string }[] = []
    for (const topic of own) {
      await deleteTopic(cluster, topic, stop.signal).then(
        () => asked.push(topic),
        error => result.left.push({ ...topic, reason: reasonFor(error) }),
      )
    }
    for (const topic of await awaitGone({ cluster, clock }, asked, stop.signal)) {
      result.left.push({ ...topic, reason: 'the cluster accepted its deletion, and still lists it' })
    }
    const left = new Set(result.left.map(({ name }) => name))
    result.removed.push(...asked.filter(({ name }) => !left.has(name)))
  } catch (error) {
    const known = new Set([...result.left, ...result.removed].map(({ name }) => name))
    const rest = topics.filter(({ name }) => !known.has(name))
    result.left.push(...rest.map(topic => ({ ...topic, reason: reasonFor(error) })))
  } finally {
    cancel()
  }
  return result
}

interface Removal {
  own: { name: string; id: string }[]
  /** Names of topics that are not listed, and whose creation got no answer: the cluster may be creating them. */
  unseen: string[]
  foreign: CleanUp['left']
}

/**
 * Pure. A topic is removed if it has a name with the run in it, and the ID under which the drill created it. Anyone who may write to the location
 * can write a journal: an ID that the cluster lists under another name is that of a topic of others.
 */
export function planRemoval(
  run: string,
  topics: readonly ScratchTopic[],
  found: readonly { name: string; id: string }[],
): Removal {
  const removal: Removal = { own: [], unseen: [], foreign: [] }
  for (const { name, id } of topics) {
    const actual = found.find(topic => topic.name === name)
    if (!name.includes(`${run}.`)) {
      removal.foreign.push({ name, id, reason: `its name does not belong to the drill ${run}` })
    } else if (!actual) {
      const other = found.find(topic => topic.id === id)
      if (id === null) removal.unseen.push(name)
      else if (other) removal.foreign.push({ name, id, reason: `its ID is that of topic ${other.name}` })
      else removal.own.push({ name, id })
    } else if (id !== null && actual.id !== id) {
      removal.foreign.push({ name, id, reason: `another client has created the topic again, with ID ${actual.id}` })
    } else {
      removal.own.push({ name, id: actual.id })
    }
  }
  return removal
}

/** Clusters delete topics after the answer. Answers with those that are still there. */
async function awaitGone(
  { cluster, clock }: { cluster: Cluster; clock: Clock },
  asked: readonly { name: string; id: string }[],
  signal: AbortSignal,
): Promise<{ name: string; id: string }[]> {
  let there = [...asked]
  const until = clock.monotonic() + TIMEOUT_MS / 2
  while (there.length > 0) {
    const { topics } = await cluster.metadata({ topics: null }, signal)
    there = there.filter(({ name, id }) => topics.some(topic => topic.name === name && topic.id === id))
    if (there.length === 0 || clock.monotonic() > until) break
    await clock.sleep(POLL_MS, signal)
  }
  return there
}

function reasonFor(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
