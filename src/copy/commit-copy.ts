import { copyState } from '../archive/log/copy-state.ts'
import { withStableName } from '../archive/log/document.ts'
import type { OpenedGeneration } from '../archive/log/open-generation.ts'
import { originalsOf } from '../archive/log/read-commit.ts'
import type { Manifest } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import { parseJson } from '../lib/json.ts'
import type { CopyOptions, Sides } from './sides.ts'

/** From here on the generation exists at the target. All that it names is there. */
export async function commitCopy(
  sides: Sides,
  opened: OpenedGeneration,
  manifest: Manifest,
  there: Parameters<typeof copyState>[1],
  options: CopyOptions,
  signal: AbortSignal,
): Promise<void> {
  sides.assertHeld?.()
  const { tool_version, run, complete, created_at, started_at } = opened.commit
  const facts = {
    tool_version,
    run,
    complete,
    created_at,
    started_at,
    originals: originalsOf(opened),
  }
  const { encryption: _, ...plain } = manifest
  const adapted: Manifest = { ...plain, ...encryptionAt(sides, manifest) }
  const confirm = () => sides.assertHeld?.()
  const seed = JSON.stringify([opened.ref.blake3, adapted.encryption ?? null])
  const copied = await withStableName(seed, name =>
    copyState(sides.target, there, adapted, { facts, newWriter: () => name, confirm }, signal),
  )
  options.onProgress({ type: 'committed', generation: copied.generation, complete })
  for (const message of await renewCopies(sides.target, copied, signal))
    options.onProgress({ type: 'warning', message })
}

/** What the target says of its encryption. */
function encryptionAt({ adaptManifest }: Sides, { encryption }: Manifest): Pick<Manifest, 'encryption'> {
  if (!adaptManifest) return encryption ? { encryption } : {}
  const adapted = adaptManifest(Buffer.from(JSON.stringify({ ...(encryption && { encryption }) })))
  const { encryption: own } = parseJson(adapted.toString('utf8')) as Pick<Manifest, 'encryption'>
  return own ? { encryption: own } : {}
}
