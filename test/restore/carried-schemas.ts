import { openBackup } from '../../src/archive/catalog.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import type { Storage } from '../../src/storage/storage.ts'

const never = new AbortController().signal

/** One more generation whose schemas are those of the one before; its number. */
export async function carrySchemas(storage: Storage): Promise<number> {
  const { format: _, format_version: __, ...newest } = await openBackup(storage, 'b1', never)
  const manifest = {
    ...newest,
    generation: newest.generation + 1,
    run: `carried${newest.generation}`,
    carried_sections: ['schema_registry' as const],
  }
  const draft = { manifest, freshSegments: new Map(), attempt: 1 }
  await renewManifestCopy(storage, (await commitGeneration(storage, draft, never)).manifest, never)
  return manifest.generation
}
