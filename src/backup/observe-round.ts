import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { BackupOptions } from './backup-options.ts'
import type { KnownState, RereadRules } from './backup-plan.ts'
import { identifyTopics } from './identify-topics.ts'
import { observeHistory } from './observe-history.ts'
import { observeSizes } from './observe-sizes.ts'
import { observeSource, type SettingsCache } from './observe-source.ts'
import type { ObservedSource } from './observed-source.ts'

/** What a round asks of the source. Without more, all of it. */
export interface Reading {
  /** Settings that need not be read again. */
  settings?: SettingsCache
  /** Whether sizes are asked for. */
  readsSizes?: boolean
}

/** Looks at the source, and compares it with what is durable, without changing anything. */
export async function observeRound(
  options: BackupOptions,
  { cluster, settings, readsSizes = true }: Reading & { cluster: Cluster },
  known: KnownState | undefined,
  rules: RereadRules | null,
  signal: AbortSignal,
): Promise<ObservedSource> {
  const shown = await identifyTopics(await observeSource(options, cluster, signal, settings), known, cluster, signal)
  const observed = await observeHistory(shown, known, cluster, signal)
  return readsSizes ? observeSizes(observed, known, rules, cluster, signal) : observed
}

const MAX_NAMED = 10

/** Pure. `topic/partition` of each that no broker leads: a run does not copy it, and ends as partial. */
export function leaderlessIn({ topics }: Pick<ObservedSource, 'topics'>): string[] {
  return topics.flatMap(({ name, leaderless }) => leaderless.map(partition => `${name}/${partition}`))
}

export function leaderlessError(names: readonly string[]): KafkaBackupError {
  return new KafkaBackupError('KAFKA_NOT_READY', `partitions without a leader are not copied: ${listFirst(names)}`)
}

/** Pure. The first names, and how many more there are. */
export function listFirst(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`
}
