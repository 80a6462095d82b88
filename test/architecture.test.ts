import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { tableRows } from './markdown.ts'
import { findMessageEdits } from './message-text.ts'

const root = resolve(import.meta.dirname, '..')
const src = join(root, 'src')

/** What each folder (or file at the top of src) may import. `type:` allows only types. */
const allowed: Record<string, string[]> = {
  lib: [],
  'error-table': [],
  errors: ['error-table'],
  version: [],
  'aws-credentials': ['lib', 'errors'],
  batch: ['lib', 'errors'],
  kafka: ['lib', 'errors', 'aws-credentials', 'batch'],
  storage: ['lib', 'errors', 'aws-credentials'],
  observe: ['lib', 'errors'],
  registry: ['lib', 'errors', 'archive', 'type:storage', 'observe'],
  archive: ['lib', 'errors', 'batch', 'type:storage', 'observe'],
  encryption: ['lib', 'errors', 'aws-credentials', 'archive', 'type:storage'],
  backup: ['lib', 'errors', 'batch', 'kafka', 'archive', 'registry', 'type:storage', 'observe'],
  restore: ['lib', 'errors', 'batch', 'kafka', 'archive', 'registry', 'offsets', 'access', 'type:storage', 'observe'],
  inspect: ['lib', 'errors', 'batch', 'archive', 'registry', 'restore', 'type:storage'],
  export: ['lib', 'errors', 'batch', 'archive', 'registry', 'restore', 'inspect', 'type:storage'],
  import: ['lib', 'errors', 'batch', 'kafka', 'archive', 'type:storage', 'observe'],
  drill: ['lib', 'errors', 'kafka', 'archive', 'restore', 'type:storage'],
  console: ['lib', 'errors', 'version', 'archive', 'inspect', 'type:storage'],
  offsets: ['lib', 'errors', 'kafka', 'archive', 'type:storage', 'observe'],
  retention: ['lib', 'errors', 'archive', 'type:storage', 'observe'],
  copy: ['lib', 'errors', 'archive', 'type:storage', 'observe'],
  access: ['lib', 'errors', 'kafka', 'archive', 'type:storage', 'observe'],
  init: ['lib', 'errors', 'storage'],
  config: ['lib', 'errors', 'registry'],
  operator: ['lib', 'errors', 'config', 'observe'],
  jobs: [
    'lib',
    'errors',
    'version',
    'batch',
    'kafka',
    'storage',
    'observe',
    'archive',
    'encryption',
    'backup',
    'restore',
    'inspect',
    'export',
    'drill',
    'import',
    'console',
    'registry',
    'offsets',
    'retention',
    'copy',
    'access',
    'type:init',
    'config',
  ],
  library: [
    'lib',
    'errors',
    'archive',
    'backup',
    'restore',
    'type:registry',
    'retention',
    'type:copy',
    'config',
    'observe',
    'storage',
    'jobs',
  ],
  index: [
    'error-table',
    'errors',
    'backup',
    'restore',
    'type:registry',
    'type:retention',
    'config',
    'observe',
    'jobs',
    'library',
  ],
  cli: [
    'lib',
    'error-table',
    'errors',
    'version',
    'storage',
    'observe',
    'archive',
    'backup',
    'restore',
    'inspect',
    'export',
    'drill',
    'import',
    'config',
    'jobs',
    'registry',
    'offsets',
    'retention',
    'copy',
    'access',
    'init',
    'operator',
  ],
}

/** Budgets: what is larger is an outlier that must be named here with its reason. */
const MAX_LINES = 300
const MAX_FUNCTION_LINES = 50
const MAX_FAN_OUT = 10
const outliers = new Set<string>([])

interface SourceFile {
  path: string
  room: string
  lines: string[]
  imports: { target: string; room: string; typeOnly: boolean }[]
  packages: string[]
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => readSource(join(src, name)))

test('every import is allowed by the table', () => {
  const broken = files.flatMap(file =>
    file.imports
      .filter(({ room, typeOnly }) => room !== file.room && !isAllowed(file.room, room, typeOnly))
      .map(({ target }) => `${file.path} imports ${target}`),
  )
  assert.deepEqual(broken, [])
})

test('no folders import each other in a cycle', () => {
  const edges = new Map<string, Set<string>>()
  for (const { room, imports } of files) {
    for (const { room: other } of imports)
      if (other !== room) edges.set(room, (edges.get(room) ?? new Set()).add(other))
  }
  const visit = (room: string, path: string[]): string | undefined => {
    if (path.includes(room)) return [...path, room].join(' -> ')
    for (const next of edges.get(room) ?? []) {
      const found = visit(next, [...path, room])
      if (found) return found
    }
    return undefined
  }
  assert.deepEqual(
    [...edges.keys()].map(room => visit(room, [])).filter(circle => circle !== undefined),
    [],
  )
})

test('no files import each other in a cycle, not even for types', () => {
  const byPath = new Map(files.map(file => [file.path, file]))
  const done = new Set<string>()
  const visit = (path: string, above: string[]): string | undefined => {
    if (above.includes(path)) return [...above.slice(above.indexOf(path)), path].join(' -> ')
    if (done.has(path)) return undefined
    for (const { target } of byPath.get(path)?.imports ?? []) {
      const found = visit(target, [...above, path])
      if (found) return found
    }
    done.add(path)
    return undefined
  }
  assert.deepEqual([...new Set(files.map(file => visit(file.path, [])).filter(cycle => cycle !== undefined))], [])
})

test('rooms are small: files, functions and fan-out stay within their budgets', () => {
  const large = files.flatMap(file => [
    ...(file.lines.length > MAX_LINES ? [`${file.path}: ${file.lines.length} lines`] : []),
    ...longFunctions(file).map(({ name, lines }) => `${file.path}: ${name} has ${lines} lines`),
    ...(fanOut(file) > MAX_FAN_OUT && !isHub(file) ? [`${file.path}: needs ${fanOut(file)} other files`] : []),
  ])
  assert.deepEqual(
    large.filter(line => !outliers.has(line)),
    [],
  )
})

test('only lib and batch stay free of packages where they promise it', () => {
  const impure = files.filter(
    ({ room, packages }) => room === 'lib' && packages.some(name => !name.startsWith('node:')),
  )
  assert.deepEqual(
    impure.map(file => file.path),
    [],
  )
  const reaching = files.filter(({ room, packages }) => room === 'batch' && packages.some(isInputOutput))
  assert.deepEqual(
    reaching.map(file => file.path),
    [],
  )
})

test('time passes only in lib/clock.ts', () => {
  const clocks = files.filter(
    ({ path, lines }) =>
      path !== 'src/lib/clock.ts' && /\bDate\.now\(|\bnew Date\(\)|\bset(Timeout|Interval)\(/.test(lines.join('\n')),
  )
  assert.deepEqual(
    clocks.map(file => file.path),
    [],
  )
})

test('no code takes the text of a message apart, or decides by it', () => {
  assert.deepEqual(findMessageEdits(root, 'tsconfig.build.json'), [])
})

test('the check of messages finds texts that are edited, matched and compared', () => {
  const folder = mkdtempSync(join(tmpdir(), 'message-text-'))
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'tsconfig.json'), '{ "include": ["src"] }')
  const lines = [
    'declare const error: Error & { remedy?: string }',
    "export const edited = error.message.replace('a', 'b')",
    'export const matched = /^grant/.test(error.remedy ?? "")',
    'export const { message } = error',
    "export const compared = message === 'gone'",
    "export const bound = (({ message: text }: Error) => text.trim().split(' '))(error)",
    "export const rendered = ['failed', error.message].join(': ')",
  ]
  writeFileSync(join(folder, 'src/code.ts'), lines.join('\n'))
  const found = findMessageEdits(folder, 'tsconfig.json').map(one => Number(one.split(':')[1]))
  assert.deepEqual(found, [2, 3, 5, 6])
  rmSync(folder, { recursive: true })
})

/** Folders whose sub-folders the tree shows too. */
const shownWithin = ['kafka', 'operator', 'registry', 'storage']

test('docs/architecture.md shows the folders of src, and those of the large ones', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const tree = /\nsrc\/\n([\s\S]*?)\ntest\//.exec(page)?.[1] ?? ''
  const shown: string[] = []
  for (const [, indent = '', name = ''] of tree.matchAll(/^( {2}| {4})(\w[\w-]*)\/ /gm)) {
    shown.push(indent.length === 2 ? name : `${shown.findLast(one => !one.includes('/'))}/${name}`)
  }
  const inner = shownWithin.flatMap(folder => foldersOf(join(src, folder)).map(name => `${folder}/${name}`))
  assert.deepEqual(shown.toSorted(), [...foldersOf(src), ...inner].toSorted())
})

test('docs/architecture.md shows the same import table', () => {
  const rows = tableRows(readFileSync(join(root, 'docs/architecture.md'), 'utf8'), 'imports')
  const shown = Object.fromEntries(rows.map(([room = '', list = '']) => [room, list]))
  const expected = Object.fromEntries(
    Object.entries(allowed).map(([room, list]) => [
      room,
      list.map(one => (one.startsWith('type:') ? `${one.slice(5)} (types only)` : one)).join(', ') || '(nothing)',
    ]),
  )
  assert.deepEqual(shown, expected)
})

function foldersOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
}

function readSource(path: string): SourceFile {
  const text = readFileSync(path, 'utf8')
  const specifiers = [
    ...text.matchAll(/^(?:import|export) (type )?[^'"\n]*?(?:\{[^}]*\}[^'"\n]*?)?from '([^']+)'/gm),
  ].map(([whole, type, name]) => ({ typeOnly: type !== undefined || onlyTypes(whole), name: name ?? '' }))
  const lazy = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, name]) => ({ typeOnly: false, name: name ?? '' }))
  const all = [...specifiers, ...lazy]
  return {
    path: relative(root, path),
    room: roomOf(path),
    lines: text.trimEnd().split('\n'),
    imports: all
      .filter(({ name }) => name.startsWith('.'))
      .map(({ typeOnly, name }) => {
        const target = resolve(dirname(path), name)
        return { target: relative(root, target), room: roomOf(target), typeOnly }
      }),
    packages: all.map(({ name }) => name).filter(name => !name.startsWith('.')),
  }
}

/** `import { type A, type B } from` loads nothing either. */
function onlyTypes(statement: string): boolean {
  const names =
    /\{([^}]*)\}/
      .exec(statement)?.[1]
      ?.split(',')
      .map(name => name.trim()) ?? []
  return names.filter(name => name !== '').length > 0 && names.every(name => name === '' || name.startsWith('type '))
}

function roomOf(path: string): string {
  const [first = ''] = relative(src, path).split('/')
  return first.replace(/\.ts$/, '')
}

function isAllowed(room: string, other: string, typeOnly: boolean): boolean {
  const list = allowed[room] ?? []
  return list.includes(other) || (typeOnly && list.includes(`type:${other}`))
}

/** Other files that this one runs; types cost a reader nothing to load. */
function fanOut({ imports }: SourceFile): number {
  return imports.filter(({ typeOnly }) => !typeOnly).length
}

function isHub({ room }: SourceFile): boolean {
  return room === 'jobs' || room === 'cli' || room === 'index'
}

function isInputOutput(name: string): boolean {
  return /^node:(fs|net|tls|http|https|child_process|dns|timers)/.test(name)
}

/** Functions and methods by their indentation, which the formatter guarantees. */
function longFunctions({ lines }: SourceFile): { name: string; lines: number }[] {
  const found: { name: string; lines: number }[] = []
  lines.forEach((line, start) => {
    const match =
      /^( {0,2})(?:export )?(?:private |static |readonly )*(?:async )?(?:function\*? )?(#?\w+)(?:<[^>]*>)?\(.*$/.exec(
        line,
      )
    if (!match || /^( {0,2})(if|for|while|switch|return|const|let)\b/.test(line) || !/[{(]$/.test(line)) return
    const closing = lines.find((each, at) => at > start && each.startsWith(`${match[1]})`))
    if (line.endsWith('(') && !closing?.endsWith('{')) return // A call.
    const end = lines.findIndex(
      (each, at) => at > start && each.startsWith(`${match[1]}}`) && !each.startsWith(`${match[1]} `),
    )
    const length = end - start + 1
    if (end > 0 && length > MAX_FUNCTION_LINES) found.push({ name: match[2] ?? '', lines: length })
  })
  return found
}
