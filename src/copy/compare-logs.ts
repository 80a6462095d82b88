import type { ScannedGenerations } from '../archive/catalog.ts'
import { hashesOf, readCommit } from '../archive/log/read-commit.ts'
import type { Manifest } from '../archive/manifest.ts'
import { compareHistories, diverged } from './compare-histories.ts'
import { fromSource, fromTarget } from './damage-at.ts'
import type { Sides } from './sides.ts'

interface Logs {
  /** The generation that is to be copied. */
  manifest: Manifest
  source: ScannedGenerations
  target: ScannedGenerations
  newestThere: Manifest | undefined
  /** Compares all that both sides have, not only the newest. */
  isThorough: boolean
}

/**
 * Refuses a target that holds another backup of the same id, or the same one with commits that the source does not have. A commit names the
 * hash of the one before it, so that one which is the same on both sides proves those before it.
 */
export async function compareLogs(sides: Sides, logs: Logs, signal: AbortSignal): Promise<void> {
  const { manifest, source, target, newestThere, isThorough } = logs
  if (!newestThere) return
  const { backup_id: backupId } = manifest
  if (manifest.lineage !== newestThere.lineage) {
    const [one, other] = [newestThere, manifest].map(({ lineage = 'none' }) => lineage)
    throw diverged(sides, backupId, `it has the lineage ${one}, and the source has ${other}`)
  }
  const newest = source.commits.at(-1) ?? 0
  if (newestThere.generation > newest) {
    const why = `it has generation ${newestThere.generation}, and the newest of the source is ${newest}`
    throw diverged(sides, backupId, why)
  }
  if (target.commits.length === 0) return compareManifests(sides, logs, signal)
  const compared = isThorough ? target.commits : target.commits.slice(-1)
  for (const generation of compared.toReversed()) await compareCommit(sides, logs, generation, signal)
}

/** The target has generations of version 1 only. */
async function compareManifests(sides: Sides, { manifest, source, target, isThorough }: Logs, signal: AbortSignal) {
  const { backup_id: backupId } = manifest
  const other = target.manifests.find(one => source.commits.includes(one))
  if (other !== undefined) throw diverged(sides, backupId, `its generation ${other} is another one`)
  const shared = target.manifests.filter(one => source.manifests.includes(one))
  const history = { backupId, source: source.manifests, target: shared, shared }
  await compareHistories(sides, history, isThorough, signal)
}

/** Where the source has removed it, the commit that follows says what it was; without that one, the lineage has to do. */
async function compareCommit(
  sides: Sides,
  { manifest: { backup_id: backupId }, source }: Logs,
  generation: number,
  signal: AbortSignal,
): Promise<void> {
  const theirs = hashesOf(await fromTarget(sides, backupId, readCommit(sides.target, backupId, generation, signal)))
  const readOurs = (number: number) => fromSource(sides, readCommit(sides.source, backupId, number, signal))
  const ours = source.commits.includes(generation)
    ? hashesOf(await readOurs(generation))
    : source.commits.includes(generation + 1)
      ? [(await readOurs(generation + 1)).commit.previous?.blake3]
      : []
  const known = ours.filter(one => one !== undefined)
  if (known.length === 0 || known.some(one => theirs.includes(one))) return
  throw diverged(sides, backupId, `its generation ${generation} is another one`)
}
