import { type RequestRow, requestTable } from '../src/kafka/api/request-table.ts'

/** The table of docs/kafka-versions.md. */
export function requestReference(): string {
  const rows: RequestRow[] = Object.values(requestTable)
  const lines = rows.map(row => `| ${cellsOf(row).join(' | ')} |`)
  return [
    '| Request | Versions | Permissions | Needed for | What is lost without it |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

function cellsOf(row: RequestRow): string[] {
  return [row.name, versionsOf(row), permissionsOf(row), row.requiredFor ?? '–', lossesIn(row)]
}

/** `Describe on topics, Read on groups`. */
function permissionsOf({ needs }: RequestRow): string {
  const on = { topic: 'topics', group: 'groups', cluster: 'the cluster' }
  const words = needs.map(need => {
    const [kind, operation] = need.split(' ') as [keyof typeof on, string]
    return `${operation} on ${on[kind]}`
  })
  return words.length === 0 ? '–' : words.join(', ')
}

function versionsOf({ oldest, newest }: RequestRow): string {
  return oldest === newest ? `${newest}` : `${oldest} to ${newest}`
}

function lossesIn({ without, limits = [] }: RequestRow): string {
  return [without, ...limits.map(({ below, loses }) => `below ${below}: ${loses}`)].join('; ')
}
