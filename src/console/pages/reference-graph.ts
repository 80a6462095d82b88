import { type Html, html } from '../html.ts'
import { type BackupPlace, subjectLink } from '../links.ts'
import type { ReferenceGraph, ReferenceNode } from '../read-schemas.ts'

const BOX = { width: 220, height: 40, right: 60, below: 16 }

/** Pure. References from left to right; each box is a link, and the list below says the same in words. */
export function showReferences({ nodes, isCut }: ReferenceGraph, place: BackupPlace): Html {
  const columns = [...Map.groupBy(nodes, ({ level }) => level)].sort(([a], [b]) => a - b)
  const places = new Map(
    columns.flatMap(([, column], at) =>
      column.map(
        (node, row) => [node.key, { x: at * (BOX.width + BOX.right), y: row * (BOX.height + BOX.below) }] as const,
      ),
    ),
  )
  const width = columns.length * (BOX.width + BOX.right) - BOX.right
  const height = Math.max(...columns.map(([, column]) => column.length)) * (BOX.height + BOX.below)
  const edges = nodes.flatMap(node => node.refersTo.map(key => [places.get(node.key), places.get(key)] as const))
  return html`<figure class="chart graph"><svg viewBox="-2 -2 ${width + 4} ${height + 4}" width="${width + 4}" role="group" aria-label="References of the schema">
${edges.map(([from, to]) => from && to && html`<line class="edge" x1="${from.x + BOX.width}" y1="${from.y + BOX.height / 2}" x2="${to.x}" y2="${to.y + BOX.height / 2}"></line>`)}
${nodes.map(node => showBox(node, places.get(node.key) ?? { x: 0, y: 0 }, place))}</svg>
<figcaption><ul>${nodes.filter(({ refersTo }) => refersTo.length > 0).map(({ subject, version, refersTo }) => html`<li>${subject} version ${version} refers to ${refersTo.map(key => key.replace(/@(\d+)$/, ' version $1')).join(', ')}</li>`)}</ul>${isCut && html`<p>There are more references: the graph ends after ${nodes.length} versions.</p>`}</figcaption></figure>`
}

const SHOWN_CHARS = 26

function showBox({ subject, version }: ReferenceNode, { x, y }: { x: number; y: number }, place: BackupPlace): Html {
  const short = subject.length > SHOWN_CHARS ? `${subject.slice(0, SHOWN_CHARS - 1)}…` : subject
  const box = html`<rect class="box" x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6"></rect>`
  return html`<a href="${subjectLink(place, subject, { version })}">${box}<text class="label" x="${x + 12}" y="${y + 17}">${short} </text><text class="tick" x="${x + 12}" y="${y + 32}">version ${version}</text></a>`
}
