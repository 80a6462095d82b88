import { textOf } from '../lib/json.ts'
import { leaf } from './leaf.ts'
import { nearMatch } from './near-match.ts'
import { isMap, valueAt } from './problem.ts'

export const modes = ['backup', 'restore'] as const

export type Mode = (typeof modes)[number]

/** The field `mode` of a job of that mode; `modeOf` says which one a job is checked as. */
export function modeField<const M extends Mode>(mode: M) {
  return leaf<M, M>({
    description: 'What the job does, and with it which sections it has.',
    type: 'text',
    allowed: modes.join(', '),
    json: { const: mode },
    read: (value, complain) => {
      if (value === mode) return mode
      complain({ wrong: 'is not known', near: nearMatch(writtenAs(value), modes) })
      return undefined
    },
  })
}

/** The mode that a job has or, where the field is missing or mistyped, seems to be meant for. */
export function modeOf(tree: unknown): Mode {
  const written = writtenAs(valueAt(tree, ['mode']))
  const meant = modes.find(mode => mode === written) ?? modes.find(mode => nearMatch(written, [mode]) !== undefined)
  if (meant !== undefined) return meant
  const has = (section: string) => isMap(tree) && Object.hasOwn(tree, section)
  return has('target') || (has('restore') && !has('source')) ? 'restore' : 'backup'
}

/** A list of one may be meant for what is in it. */
function writtenAs(value: unknown): string {
  return textOf(Array.isArray(value) ? value[0] : value)
}
