import { DEFAULT_CONTEXT, splitSubject } from '../../archive/registry-model.ts'
import type { RegistryState } from './registry-state.ts'
import type { Including, StoredVersion } from './version-index.ts'

/** The most rows of one answer, and their number where none or more is asked for, as in the registry we follow. */
export const MAX_SCHEMAS = 1000

export interface Page {
  offset: number
  /** 0 or less for the most there is. */
  limit: number
}

export interface SchemaFilter extends Page {
  /** Beginning of a subject of the default context; `:.context:` or `:*:` before it for another or for all. */
  prefix: string
  including: Including
  latestOnly: boolean
}

export function listSubjects(
  { versions }: RegistryState,
  { prefix, including, offset, limit }: Omit<SchemaFilter, 'latestOnly'>,
): string[] {
  const names = versions.subjects(including).filter(hasPrefix(prefix))
  return names.slice(offset, limit > 0 ? offset + limit : undefined)
}

/** By subject and version. */
export function listSchemas({ versions }: RegistryState, filter: SchemaFilter): StoredVersion[] {
  const { prefix, including, latestOnly, offset, limit } = filter
  const rows = versions
    .subjects(including)
    .filter(hasPrefix(prefix))
    .flatMap(subject => versions.versions(subject, including).slice(latestOnly ? -1 : 0))
  return rows.slice(offset, offset + (limit > 0 && limit <= MAX_SCHEMAS ? limit : MAX_SCHEMAS))
}

function hasPrefix(prefix: string): (subject: string) => boolean {
  const anywhere = /^:\*:([\s\S]*)$/.exec(prefix)
  if (anywhere) return subject => splitSubject(subject).name.startsWith(anywhere[1] ?? '')
  const wanted = prefix.startsWith(':.') ? splitSubject(prefix) : { context: DEFAULT_CONTEXT, name: prefix }
  return subject => {
    const { context, name } = splitSubject(subject)
    return context === wanted.context && name.startsWith(wanted.name)
  }
}
