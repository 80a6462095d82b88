import { newestById } from '../archive/incarnation.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { BackupOptions } from './backup-options.ts'
import { findReplaced } from './find-truncation.ts'
import { identifyTopics } from './identify-topics.ts'
import { observeHistory } from './observe-history.ts'
import { observeSource } from './observe-source.ts'
import type { ObservedSource } from './observed-source.ts'
import { refuseOtherCluster } from './plan.ts'
import type { BackupParts } from './round.ts'

/** The cluster of the records; what another one says does not belong to them. */
export async function observeAgain(
  manifest: Manifest,
  options: BackupOptions,
  { cluster }: BackupParts,
  signal: AbortSignal,
): Promise<ObservedSource> {
  const observed = await observeSource({ ...options, missingTopics: 'warn' }, cluster, signal)
  refuseOtherCluster(observed, manifest)
  return identifyTopics(observed, manifest, cluster, signal)
}

/** Offsets that were committed in another history of a log do not belong to the records of the generation. */
export async function assertUntruncated(
  manifest: Manifest,
  observed: ObservedSource,
  { cluster }: BackupParts,
  signal: AbortSignal,
): Promise<void> {
  const compared = await observeHistory(observed, manifest, cluster, signal)
  findReplaced(compared, newestById(manifest.topics), { onTruncation: 'fail' })
}
