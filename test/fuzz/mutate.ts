type Random = () => number

const pick = <T>(items: readonly T[], random: Random): T | undefined => items[Math.floor(random() * items.length)]
const below = (limit: number, random: Random) => Math.floor(random() * limit)

/** One to four changes of bytes: flips, cuts, repeats, extreme integers. */
export function mutateBytes(seed: Buffer, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(seed)
  for (let left = 1 + below(4, random); left > 0; left--) bytes = pick(byteChanges, random)?.(bytes, random) ?? bytes
  return bytes
}

const byteChanges: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (bytes, random) => {
    const at = below(bytes.length, random)
    if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8, random))
    return bytes
  },
  (bytes, random) => bytes.subarray(0, below(bytes.length + 1, random)),
  (bytes, random) => {
    const [at, length] = [below(bytes.length, random), below(64, random)]
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)])
  },
  (bytes, random) => {
    const value = pick([-1, 0, 1, 0x7fffffff, -0x80000000, 0x00ffffff], random) ?? 0
    if (bytes.length >= 4) bytes.writeInt32BE(value, below(bytes.length - 3, random))
    return bytes
  },
  (bytes, random) => {
    const at = below(bytes.length, random)
    const added = Buffer.from(Array.from({ length: below(16, random) }, () => below(256, random)))
    return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)])
  },
]

const values: readonly unknown[] = [
  ...[null, true, -1, 0, 1, 0.5, 2 ** 31, 2 ** 53, 1e308, '', '..', '../../x', 'a\nb', '\x1b[2J', '__proto__'],
  ...['x'.repeat(5000), [], {}, [[[[[[[[]]]]]]]], { __proto__: null, constructor: 1 }, { toString: 1, valueOf: 1 }],
  ...[
    '\ud800',
    '\u202e',
    "$(touch x)';`touch x`",
    'constructor',
    '2026-13-45T99:99:99Z',
    'A'.repeat(300),
    [null],
    [[], {}],
  ],
]

/** One to three changes of a document: values of other kinds, fields taken away, renamed, added, items repeated. */
export function mutateJson(seed: unknown, random: Random): string {
  const tree = structuredClone(seed)
  for (let left = 1 + below(3, random); left > 0; left--) changeNode(tree, random)
  const text = JSON.stringify(tree)
  return random() < 0.2 ? mutateText(text, random) : text
}

/** One change of text that no object can hold: a cut, a number beyond a double, a field twice, depth. */
export function mutateText(text: string, random: Random): string {
  return pick(textChanges, random)?.(text, random) ?? text
}

const textChanges: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => text.slice(0, below(text.length, random)),
  (text, random) =>
    replaceAt(text, /-?\d+/g, pick(['9'.repeat(40), '-9223372036854775809', '1e999', '-0'], random) ?? '', random),
  (text, random) => replaceAt(text, /\{/g, '{"__proto__":{"polluted":1},', random),
  (text, random) => {
    const [field] = [...text.matchAll(/"[^"]*":/g)].map(([match]) => match).slice(below(20, random))
    return replaceAt(text, /\}/g, `,${field ?? '"a":'}null}`, random)
  },
  (text, random) => replaceAt(text, /:/g, `:${'['.repeat(5000)}${']'.repeat(5000)},"deep":`, random),
  (text, random) => {
    const at = below(text.length, random)
    return `${text.slice(0, at)}${pick(['\0', '"', '}', ',', '\ufeff', '\\'], random)}${text.slice(at)}`
  },
]

function replaceAt(text: string, pattern: RegExp, by: string, random: Random): string {
  const match = pick([...text.matchAll(pattern)], random)
  return match ? `${text.slice(0, match.index)}${by}${text.slice(match.index + match[0].length)}` : text
}

function changeNode(tree: unknown, random: Random): void {
  const nodes: (Record<string, unknown> | unknown[])[] = []
  collectNodes(tree, nodes)
  const node = pick(nodes, random)
  if (!node) return
  const entries = node as Record<string, unknown>
  const key = pick(Object.keys(node), random)
  switch (below(4, random)) {
    case 0:
      if (key !== undefined) entries[key] = structuredClone(pick(values, random))
      break
    case 1:
      if (key !== undefined) delete entries[key]
      break
    case 2:
      if (Array.isArray(node)) node.push(...node.slice(0, 3))
      else entries[`${key ?? ''}x`] = structuredClone(pick(values, random))
      break
    default:
      if (key !== undefined && typeof entries[key] === 'string') {
        entries[key] = `${entries[key]}${pick(['/', '\0', '..', 'é', ' ', '\n'], random)}`
      }
  }
}

function collectNodes(value: unknown, into: (Record<string, unknown> | unknown[])[]): void {
  if (typeof value !== 'object' || value === null) return
  into.push(value as Record<string, unknown>)
  for (const item of Object.values(value)) collectNodes(item, into)
}
