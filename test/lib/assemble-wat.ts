type Node = string | Node[]

/**
 * Assembles the part of the WebAssembly text format that `src/lib/find-bytes.wat` uses: one imported memory, one exported function with
 * folded instructions. Anything else is refused.
 */
export function assembleWat(text: string): Buffer {
  const [keyword, imported = fail('no import'), func = fail('no function'), ...more] = parse(text)
  if (keyword !== 'module' || more.length > 0) fail('more than a module with an import and a function')
  const [, module, name, [, minimum] = fail('no memory')] = imported as [string, string, string, string[]]
  const { type, exported, code } = assembleFunction(func as Node[])
  const memory = [...nameOf(module), ...nameOf(name), 0x02, 0x00, ...unsigned(Number(minimum))]
  return Buffer.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [0x01, ...type]),
    ...section(2, [0x01, ...memory]),
    ...section(3, [0x01, 0x00]),
    ...section(7, [0x01, ...nameOf(exported), 0x00, 0x00]),
    ...section(10, [0x01, ...sized(code)]),
  ])
}

function fail(why: string): never {
  throw new Error(`cannot assemble: ${why}`)
}

function parse(text: string): Node[] {
  const tokens = text.replace(/;;.*/g, '').match(/[()]|"[^"]*"|[^\s()]+/g) ?? []
  const open: Node[][] = [[]]
  for (const token of tokens) {
    if (token === '(') open.push([])
    else if (token === ')') open.at(-2)?.push(open.pop() ?? [])
    else open.at(-1)?.push(token)
  }
  return (open[0]?.[0] as Node[]) ?? fail('empty text')
}

const types: Record<string, number> = { i32: 0x7f, v128: 0x7b }

function assembleFunction([, ...items]: Node[]): { type: number[]; exported: string; code: number[] } {
  const declared = (word: string) => items.filter((item): item is string[] => Array.isArray(item) && item[0] === word)
  const typeOf = (name = '') => types[name] ?? fail(`type ${name}`)
  const [params, locals] = [declared('param'), declared('local')]
  const results = declared('result').map(([, name]) => typeOf(name))
  const names = [...params, ...locals].map(([, name = '']) => name)
  const known = ['export', 'param', 'local', 'result']
  const body = items.filter(item => !known.includes(String(item[0]))).flatMap(item => assemble(item, names, []))
  const runs = groupRuns(locals.map(([, , name]) => typeOf(name)))
  return {
    type: [0x60, params.length, ...params.map(([, , name]) => typeOf(name)), results.length, ...results],
    exported: declared('export')[0]?.[1] ?? fail('no export'),
    code: [runs.length, ...runs.flat(), ...body, 0x0b],
  }
}

/** Neighboring locals of the same type are written as one group. */
function groupRuns(all: number[]): [number, number][] {
  const runs: [number, number][] = []
  for (const one of all) {
    const last = runs.at(-1)
    if (last?.[1] === one) last[0]++
    else runs.push([1, one])
  }
  return runs
}

/** Their operands come first. The loads name an alignment, and whether an offset may be given. */
const opcodes: Record<string, number[]> = {
  ...{ return: [0x0f], 'i32.eqz': [0x45], 'i32.ne': [0x47], 'i32.gt_s': [0x4a], 'i32.ge_s': [0x4e], 'i32.ctz': [0x68] },
  ...{ 'i32.add': [0x6a], 'i32.sub': [0x6b], 'i32.and': [0x71], 'i8x16.splat': [0xfd, 0x0f], 'i8x16.eq': [0xfd, 0x23] },
  ...{
    'v128.and': [0xfd, 0x4e],
    'v128.or': [0xfd, 0x50],
    'v128.any_true': [0xfd, 0x53],
    'i8x16.bitmask': [0xfd, 0x64],
  },
}
const loads: Record<string, number[]> = { 'i32.load8_u': [0x2d, 0], 'v128.load': [0xfd, 0x00, 4] }

function assemble(node: Node, locals: readonly string[], labels: readonly (string | undefined)[]): number[] {
  if (!Array.isArray(node)) return fail(`instruction ${node}`)
  const [word, ...rest] = node as [string, ...Node[]]
  const [first = ''] = rest
  const all = (some: Node[], within = labels) => some.flatMap(one => assemble(one, locals, within))
  const local = () => indexIn(locals, String(first))
  const label = () => indexIn(labels.toReversed(), String(first))
  switch (word) {
    case 'block':
    case 'loop':
      return [word === 'block' ? 0x02 : 0x03, 0x40, ...all(rest.slice(1), [...labels, String(first)]), 0x0b]
    case 'if':
      return [...all([first]), 0x04, 0x40, ...all((rest[1] as Node[]).slice(1), [...labels, undefined]), 0x0b]
    case 'br':
    case 'br_if':
      return [...all(rest.slice(1)), word === 'br' ? 0x0c : 0x0d, label()]
    case 'local.get':
      return [0x20, local()]
    case 'local.set':
      return [...all(rest.slice(1)), 0x21, local()]
    case 'i32.const':
      return [0x41, ...signed(Number(first))]
  }
  const load = loads[word]
  if (!load) return [...all(rest), ...(opcodes[word] ?? fail(`instruction ${word}`))]
  const offset = /^offset=(\d+)$/.exec(String(first))
  return [...all(offset ? rest.slice(1) : rest), ...load, ...unsigned(Number(offset?.[1] ?? 0))]
}

function indexIn(names: readonly (string | undefined)[], name: string): number {
  const index = names.indexOf(name)
  return index < 0 ? fail(`unknown name ${name}`) : index
}

function section(id: number, bytes: number[]): number[] {
  return [id, ...sized(bytes)]
}

function sized(bytes: number[]): number[] {
  return [...unsigned(bytes.length), ...bytes]
}

function nameOf(quoted: string): number[] {
  return sized([...Buffer.from(JSON.parse(quoted), 'utf8')])
}

/** LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function signed(value: number): number[] {
  const rest = value >> 7
  const isLast = (rest === 0 && (value & 0x40) === 0) || (rest === -1 && (value & 0x40) !== 0)
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(rest)]
}
