import type { GenerationSummary } from '../../archive/generations.ts'
import { readFailureOf } from '../../archive/read-failure.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import { type Html, html } from '../html.ts'
import { type BackupPlace, backupLink } from '../links.ts'
import type { Column } from './table.ts'
import { badge, showFailure, showTime } from './words.ts'

/** Pure. The states of a backup, each a link to the backup as it was. */
export function generationColumns(place: BackupPlace): Column<GenerationSummary>[] {
  return [
    {
      ...{ key: 'generation', title: 'Generation', isNumber: true, order: one => one.generation },
      cell: one => html`<a href="${backupLink({ ...place, generation: one.generation })}">${one.generation}</a>`,
    },
    {
      ...{ key: 'created', title: 'Committed', order: one => read(one, ({ created_at }) => created_at) ?? null },
      cell: one => showTime(read(one, ({ created_at }) => created_at)),
    },
    {
      ...{
        key: 'state',
        title: 'State',
        order: one => ('error' in one ? readFailureOf(one.code) : one.complete ? 'complete' : 'incomplete'),
      },
      cell: showState,
    },
    {
      ...{ key: 'topics', title: 'Topics', isNumber: true, order: one => read(one, ({ topics }) => topics) ?? null },
      cell: one => read(one, ({ topics }) => formatCount(topics)) ?? '',
    },
    {
      ...{
        key: 'records',
        title: 'Records',
        isNumber: true,
        order: one => read(one, ({ records }) => records) ?? null,
      },
      cell: one => read(one, ({ records }) => formatCount(records)) ?? '',
    },
    {
      ...{
        key: 'stored',
        title: 'Stored',
        isNumber: true,
        order: one => read(one, ({ stored_bytes }) => stored_bytes) ?? null,
      },
      cell: one => read(one, ({ stored_bytes }) => formatBytes(stored_bytes)) ?? '',
    },
    {
      ...{ key: 'gaps', title: 'Gaps', isNumber: true, order: one => read(one, ({ gaps }) => gaps) ?? null },
      cell: one => read(one, ({ gaps }) => formatCount(gaps)) ?? '',
    },
  ]
}

type Readable = Exclude<GenerationSummary, { error: string }>

function read<T>(one: GenerationSummary, pick: (readable: Readable) => T): T | undefined {
  return 'error' in one ? undefined : pick(one)
}

function showState(one: GenerationSummary): Html {
  const held = one.hold && html` ${badge('plain', 'held')}`
  if ('error' in one) return html`${showFailure(readFailureOf(one.code))} <small>${one.error}</small>${held}`
  return html`${badge(one.complete ? 'good' : 'warn', one.complete ? 'complete' : 'incomplete')}${held}`
}
