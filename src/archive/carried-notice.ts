import type { Manifest } from './manifest.ts'

type Dated = Pick<
  Manifest,
  'generation' | 'created_at' | 'carried_sections' | 'topic_settings_at' | 'consumer_groups' | 'access'
>

/** What a generation may have read before its last records, besides schemas, and what that means for a restore. */
const meanings = {
  consumer_groups: ['committed offsets', 'groups read again what they have read since'],
  access: ['access rules', 'changes since are missing'],
  topic_settings: ['topic settings', 'changes since are missing'],
} as const

/** Pure. A warning with both times where something was read before the last records were copied; undefined where it was not. */
export function carriedNotice(manifest: Dated, part: keyof typeof meanings): string | undefined {
  const takenAt = readBefore(manifest, part)
  if (takenAt === undefined) return undefined
  const [what, meaning] = meanings[part]
  const { generation, created_at } = manifest
  return (
    `the ${what} of generation ${generation} were read at ${takenAt}, before its last records were copied ` +
    `(it was committed at ${created_at}); ${meaning}`
  )
}

function readBefore(manifest: Dated, part: keyof typeof meanings): string | undefined {
  if (part === 'topic_settings') return manifest.topic_settings_at
  const section = manifest[part]
  if (!section || !('taken_at' in section) || !manifest.carried_sections?.includes(part)) return undefined
  return section.taken_at
}
