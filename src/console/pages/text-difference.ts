import { type Html, html } from '../html.ts'

/** Longer texts are compared line by line only where they begin and end alike. */
const MAX_CELLS = 4_000_000

interface DifferentLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** Pure. The lines of two texts, with the fewest that were removed and added. */
export function compareLines(before: string, after: string): DifferentLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const same = (lines: readonly string[]) => lines.map(text => ({ kind: 'same' as const, text }))
  const middle = compareMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end))
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))]
}

function compareMiddle(a: readonly string[], b: readonly string[]): DifferentLine[] {
  const removed = (text: string) => ({ kind: 'removed' as const, text })
  const added = (text: string) => ({ kind: 'added' as const, text })
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)]
  const width = b.length + 1
  // The length of the longest common part of what is behind each pair of places.
  const common = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const down = common[(i + 1) * width + j] ?? 0
      const right = common[i * width + j + 1] ?? 0
      common[i * width + j] = a[i] === b[j] ? (common[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(down, right)
    }
  }
  const lines: DifferentLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i++] ?? '' })
      j++
    } else if (
      j === b.length ||
      (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push(removed(a[i++] ?? ''))
    } else lines.push(added(b[j++] ?? ''))
  }
  return lines
}

/** Each becomes an element, which takes a hundred times its memory. */
const MAX_LINES = 20_000

const marks = { same: ' ', added: '+', removed: '-' } as const

/** Pure. Signs as well as colors tell lines apart. */
export function showDifference(before: string, after: string): Html {
  const count = before.split('\n', MAX_LINES).length + after.split('\n', MAX_LINES).length
  if (count >= MAX_LINES) return html`<p class="none">The texts have too many lines to compare them here.</p>`
  const lines = compareLines(before, after)
  if (lines.every(({ kind }) => kind === 'same')) return html`<p class="none">The texts are equal.</p>`
  return html`<pre tabindex="0" class="difference">${lines.map(
    ({ kind, text }) => html`<span class="${kind}">${marks[kind]} ${text}
</span>`,
  )}</pre>`
}
