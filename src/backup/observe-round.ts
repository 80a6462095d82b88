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
