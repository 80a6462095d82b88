import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml'

/** The values of a chart as a table: each with its default and the comment above it. */
export function valuesTable(text: string): string {
  const document = parseDocument(text)
  const rows = valueRows(document.contents as YAMLMap)
  return ['| Value | Default | What it is |', '|---|---|---|', ...rows.map(row => `| ${row.join(' | ')} |`)].join('\n')
}

/** A map with a comment is one value; a map without one is a group of values. */
export function valueRows(map: YAMLMap, above: readonly string[] = []): string[][] {
  return map.items.flatMap((pair, index) => {
    const path = [...above, keyOf(pair)]
    const comment = commentOf(map, pair, index)
    if (comment === '' && isMap(pair.value)) return valueRows(pair.value, path)
    return [[`\`${path.join('.')}\``, `\`${JSON.stringify(toJS(pair.value))}\``, comment.replaceAll('|', '\\|')]]
  })
}

/** The paragraph right above. The first pair's comment belongs to the map around it, for the parser. */
function commentOf(map: YAMLMap, { key }: Pair, index: number): string {
  const own = isScalar(key) ? key.commentBefore : undefined
  const text = own ?? (index === 0 ? map.commentBefore : undefined) ?? ''
  const lines = (text.split('\n\n').at(-1) ?? '').split('\n')
  return lines.map(line => line.trim()).join(' ')
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : String(key)
}

function toJS(value: unknown): unknown {
  return isScalar(value) ? value.value : (value as { toJSON(): unknown }).toJSON()
}
