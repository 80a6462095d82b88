import { KafkaBackupError } from '../errors.ts'
import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { alterTopicConfigs, createTopics, type RefusedChange } from '../kafka/topic-admin.ts'
import { waitForTopics } from '../kafka/topic-leaders.ts'
import { largest } from '../lib/largest.ts'
import { newTopic } from './fit-settings.ts'
import type { PlannedTopic } from './plan.ts'
import { isHeldBack, releaseSettings } from './topic-settings.ts'

const TIMEOUT_MS = 60_000

/**
 * Called with all topics that a restore has just created, also where it ends because others were refused, and with those that
 * were there before.
 */
export type OnTopicsCreated = (created: readonly NewlyCreated[], existing: readonly string[]) => Promise<void>

/** The ID is undefined where the cluster did not answer with it. */
export interface NewlyCreated {
  name: string
  id: string | undefined
}

interface PreparedTopics {
  ready: Map<string, MetadataTopic>
  /** Another run may have created them: the answer to the first request was lost. */
  unclear: ReadonlySet<string>
}

/** Makes the topics that are not there, with the settings they have while they are filled, and waits for their leaders. */
export async function prepareTopics(
  { cluster, onTopicsCreated }: { cluster: Cluster; onTopicsCreated?: OnTopicsCreated | undefined },
  topics: readonly PlannedTopic[],
  existing: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<PreparedTopics> {
  const missing = topics.filter(({ name }) => !existing.has(name))
  const created = await createTopics(cluster, missing.map(newTopic), { timeoutMs: TIMEOUT_MS }, signal)
  await onTopicsCreated?.(
    created.flatMap(one => {
      if (one.outcome === 'created') return [{ name: one.name, id: one.topicId }]
      return one.outcome === 'exists' && one.isMaybeOurs ? [{ name: one.name, id: undefined }] : []
    }),
    topics.filter(({ name }) => existing.has(name)).map(({ name }) => name),
  )
  const refused = created.filter(one => one.outcome === 'refused')
  if (refused.length > 0) {
    throw new KafkaBackupError('RESTORE_REFUSED', refused.map(({ error }) => error.message).join('; '), {
      help:
        'This run wrote no records, but it may have created other topics and registered schemas. Correct what the message ' +
        'names, then run the same command again.',
      details: { topic: refused[0]?.name },
    })
  }
  const foreign = created.flatMap(one => (one.outcome === 'exists' && !one.isMaybeOurs ? [one.name] : []))
  if (foreign.length > 0) {
    throw new KafkaBackupError(
      'RESTORE_CONFLICT',
      `another client has just created topic ${foreign.join(', topic ')}`,
      {
        details: { topic: foreign[0] },
      },
    )
  }
  const wanted = topics.map(({ name, partitions, streams }) => ({
    name,
    partitions: existing.has(name)
      ? largest(
          streams.map(({ partition }) => partition + 1),
          1,
        )
      : partitions,
  }))
  const ready = await waitForTopics(cluster, wanted, signal)
  const unclear = created.flatMap(one => (one.outcome === 'exists' && one.isMaybeOurs ? [one.name] : []))
  return { ready: new Map(ready.map(topic => [topic.name, topic])), unclear: new Set(unclear) }
}

/**
 * The settings that were held back, for the topics that the restore has made, by its notes or by what they still have. One
 * that existed before keeps its settings. A setting that the target refuses is reported, and does not undo the restore.
 */
export async function applySettings(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  made: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string[]> {
  const own = await cluster.topicConfigs(
    topics.map(({ name }) => name),
    signal,
  )
  const changes = topics.flatMap(({ name, afterwards }) => {
    const current = own.get(name) ?? {}
    return made.has(name) || isHeldBack(current) ? [{ topic: name, configs: releaseSettings(current, afterwards) }] : []
  })
  const refused = await alterTopicConfigs(cluster, changes, {}, signal)
  // One setting that is refused keeps the others of its topic from being set.
  const rest = refused.flatMap(({ topic, settings }) => {
    const configs = changes.find(change => change.topic === topic)?.configs ?? {}
    const taken = Object.entries(configs).filter(([name]) => !settings.includes(name))
    return settings.length > 0 ? [{ topic, configs: Object.fromEntries(taken) }] : []
  })
  const again = await alterTopicConfigs(cluster, rest, {}, signal)
  refuseDenied([...refused, ...again])
  return [...refused, ...again].map(({ topic, error }) => `${topic}: a setting was refused: ${error.message}`)
}

/** Who may not set anything yet may do so later: the restore is not done, and the same command sets the topics up. */
function refuseDenied(refused: readonly RefusedChange[]): void {
  const [first, ...others] = refused.filter(({ error }) => error.code === 'KAFKA_DENIED')
  if (!first) return
  const more = others.length === 0 ? '' : `, and ${others.length} more topics`
  throw new KafkaBackupError(
    'KAFKA_DENIED',
    `the records are there, without their settings: ${first.error.message}${more}`,
    {
      help: 'Grant AlterConfigs on the topics of the restore, and run the same command again.',
      details: { topic: first.topic, resource: `topic ${first.topic}`, operation: 'AlterConfigs' },
    },
  )
}
