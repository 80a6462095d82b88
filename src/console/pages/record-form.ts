import type { FoundTopic } from '../find-topic.ts'
import { type Html, html, nothing } from '../html.ts'
import type { PageRequest } from '../page-request.ts'
import { plural } from './words.ts'

/** Larger topics get a field for the number. */
const MAX_CHOICES = 200

const fields: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['key', 'Key', ''],
  ['text', 'Value contains', ''],
  ['where', 'Field of the value', 'customer.id=42'],
  ['header', 'Header', 'name, or name=stored text or hex'],
  ['since', 'From time (UTC)', '2026-01-31T08:00:00Z'],
  ['until', 'Before time (UTC)', '2026-01-31T09:00:00Z'],
  ['from', 'From offset', ''],
]

/** Pure. The form that browses and searches; a filled one can be kept as a link. */
export function showRecordForm(
  { topic }: FoundTopic,
  contexts: readonly string[],
  { query, rawPath }: Pick<PageRequest, 'query' | 'rawPath'>,
): Html {
  const isUsed = fields.some(([name]) => name !== 'from' && query.has(name))
  const check = (name: string, label: string) =>
    html`<label class="check"><input type="checkbox" name="${name}" value="1"${query.get(name) === '1' && html` checked`}> ${label}</label>`
  return html`<form class="query" method="get" action="${rawPath}">
${query.has('generation') && html`<input type="hidden" name="generation" value="${query.get('generation')}">`}
<details${isUsed ? html` open` : nothing} id="search"><summary>Search and position</summary><div class="fields">
<div><label for="partition">Partition</label>${showPartitions(
    topic.partitions.map(one => one.partition),
    query.get('partition') ?? '',
  )}</div>
${fields.map(
  ([name, label, hint]) =>
    html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${query.get(name) ?? ''}" placeholder="${hint}" autocomplete="off" spellcheck="false"></div>`,
)}
${showContexts(contexts, query.get('context') ?? '')}
${check('prefix', 'Key is only the beginning')}${check('aborted', 'Also aborted records and markers')}
<div><button>Show records</button> <a href="${rawPath}">Clear</a></div></div></details></form>`
}

/** Only where IDs may count in another one than the default context. */
function showContexts(contexts: readonly string[], chosen: string): Html {
  if (contexts.length === 0) return nothing
  return html`<div><label for="context">Schema IDs of the context</label><select id="context" name="context"><option value="">default</option>${contexts.map(
    one => html`<option value="${one}"${one === chosen && html` selected`}>${one}</option>`,
  )}</select></div>`
}

function showPartitions(numbers: readonly number[], chosen: string): Html {
  if (numbers.length > MAX_CHOICES) {
    return html`<input id="partition" name="partition" value="${chosen}" inputmode="numeric" placeholder="${plural(numbers.length, 'partition')}">`
  }
  return html`<select id="partition" name="partition"><option value="">any</option>${numbers.map(
    one => html`<option value="${one}"${String(one) === chosen && html` selected`}>${one}</option>`,
  )}</select>`
}
