import { type Placed, placeRows } from './build-dashboard.ts'

/** Characters for each of the 24 columns of Grafana. */
const SCALE = 4

/** A picture of the dashboard in text: rows, and the panels in their places. */
export function formatLayout(): string {
  const lines = placeRows().flatMap(({ title, placed }) => [`▾ ${title}`, ...drawLines(placed), ''])
  return ['```text', ...lines.slice(0, -1), '```'].join('\n')
}

function drawLines(placed: Placed[]): string[] {
  const tops = [...new Set(placed.map(({ gridPos }) => gridPos.y))]
  return tops.flatMap(y => {
    const line = placed.filter(({ gridPos }) => gridPos.y === y)
    const draw = (text: (each: Placed, width: number) => string) =>
      line.map(each => text(each, each.gridPos.w * SCALE - 2)).join('')
    return [
      draw((_, width) => `┌${'─'.repeat(width)}┐`),
      draw(({ panel }, width) => `│${fit(` ${panel.title}`, width)}│`),
      draw(({ panel }, width) => `│${fit(` ${describeUnit(panel.type, panel.unit)}`, width)}│`),
      draw((_, width) => `└${'─'.repeat(width)}┘`),
    ]
  })
}

function describeUnit(type: string, unit: string): string {
  return unit === 'short' ? type : `${type}, ${unit.replace('suffix: ', '')}`
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)
}
