import { readManifest } from '../archive/catalog.ts'
import { damaged } from '../archive/damage.ts'
import { holdKey } from '../archive/holds.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import { readCommit } from '../archive/log/read-commit.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { type KeptGeneration, planGenerations } from './plan-generations.ts'
import type { PruneContext } from './prune-context.ts'
import { commitTimeMs } from './survey.ts'

const MANIFESTS_AT_ONCE = 4

/** Generations that stay although they have a successor: the newest complete one, those that are held, and those that rules keep. */
export async function findKept(
  context: PruneContext,
  manifests: ReadonlyMap<number, StoredObject>,
  newestComplete: number | undefined,
  signal: AbortSignal,
): Promise<Set<number>> {
  // With the lease of the prune, no hold can be placed any more.
  const held = await context.holds(signal)
  assertThere(context.backupId, held, manifests)
  const byRules = await keepByRules(context, manifests, signal)
  context.outcome.generationsKept = byRules
  const kept = byRules.map(({ generation }) => generation)
  return new Set([...held, ...kept, ...(newestComplete === undefined ? [] : [newestComplete])])
}

/** Without its own object, nothing shows what a generation needs: its data would look as if nothing needed it. */
function assertThere(backupId: string, held: ReadonlySet<number>, manifests: ReadonlyMap<number, unknown>): void {
  const lost = [...held].find(generation => !manifests.has(generation))
  if (lost === undefined) return
  const release = `kafka-backup hold --backup-id ${backupId} --generation ${lost} --release`
  throw damaged(
    holdKey(backupId, lost),
    `holds generation ${lost}, which the backup does not have any more: bring its object back, or end the hold with \`${release}\``,
  )
}

/** All manifests are read. One that is damaged ends the work: it may be the one that a rule keeps, and its segments may be intact. */
async function keepByRules(
  { parts, backupId, policy }: PruneContext,
  manifests: ReadonlyMap<number, StoredObject>,
  signal: AbortSignal,
): Promise<KeptGeneration[]> {
  const { generations: rules } = policy
  if (!rules) return []
  const facts = await runPool([...manifests], MANIFESTS_AT_ONCE, async ([generation, { key, modifiedMs }]) => {
    try {
      const { complete, created_at } = await readFacts(parts.storage, backupId, generation, key, signal)
      return { generation, complete, timeMs: commitTimeMs(created_at, modifiedMs) }
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_TOO_NEW')) throw error
      return { generation, complete: false, timeMs: modifiedMs }
    }
  })
  return planGenerations(facts, rules)
}

/** What a generation of either version says of itself. */
async function readFacts(
  storage: Storage,
  backupId: string,
  generation: number,
  key: string,
  signal: AbortSignal,
): Promise<Pick<Manifest, 'complete' | 'created_at'>> {
  if (!parseLogKey(backupId, key)) return readManifest(storage, backupId, generation, signal)
  return (await readCommit(storage, backupId, generation, signal)).commit
}
