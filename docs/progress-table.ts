import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const source = join(import.meta.dirname, '../src/observe/progress.ts')

/** The events of `ProgressEvent` as its declaration has them, with the comments as their meaning. */
export function progressTable(text: string = readFileSync(source, 'utf8')): string {
  const [, union = ''] = /export type ProgressEvent =([\s\S]*?)\n\n/.exec(text) ?? []
  const members = [...union.matchAll(/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?\| \{\s*type: '(\w+)';?([^}]*)\}/g)]
  const rows = members.map(([, comment = '', name, fields = '']) => {
    const meaning = comment.replace(/\s*\n\s*\*?\s*/g, ' ').trim()
    if (meaning === '') throw new Error(`the event ${name} has no comment that explains it`)
    return `| \`${name}\` | ${formatFields(fields)} | ${meaning} |`
  })
  return ['| `event.type` | Fields | Meaning |', '|---|---|---|', ...rows].join('\n')
}

function formatFields(fields: string): string {
  return fields
    .split(/[;\n]/)
    .map(field => field.trim())
    .filter(field => field !== '')
    .map(field => `\`${field.replaceAll('|', '\\|')}\``)
    .join(', ')
}
