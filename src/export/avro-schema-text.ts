import type { WriterSchema } from '../inspect/schema-decoder.ts'
import { parseExactJson } from '../lib/json.ts'
import { fullNameOf, isPrimitive, namespaceOf, qualify, shortNameOf } from '../registry/avro/avro-schema.ts'
import { parseAvro } from '../registry/avro/parse-avro.ts'

/** A schema as JSON, with everything that its author wrote: logical types, defaults, docs. */
type Node = unknown

interface Definition {
  node: Record<string, unknown>
  /** In which it is written. */
  namespace: string
}

/**
 * Pure. A writer's schema in one piece: what it refers to is defined where it is first named. Undefined where that is not a schema: a
 * registry may hold what only its own parser takes.
 */
export function inlineSchema({ text, references }: WriterSchema): Node | undefined {
  try {
    const known = new Map<string, Definition>()
    for (const one of references) collect(parseExactJson(one), '', known)
    const node = inline(parseText(text), '', { known, defined: new Set() })
    parseAvro(JSON.stringify(node, plainNumbers), [])
    return node
  } catch {
    return undefined
  }
}

/** A schema of one word may be stored without quotes. */
function parseText(text: string): Node {
  return isPrimitive(text.trim()) ? text.trim() : parseExactJson(text)
}

/** Only to look at it. */
function plainNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function isObject(node: Node): node is Record<string, unknown> {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
}

const namedTypes: readonly unknown[] = ['record', 'error', 'enum', 'fixed']

/** All named types of a schema, by their full names. */
function collect(node: Node, namespace: string, known: Map<string, Definition>): void {
  if (Array.isArray(node)) for (const one of node) collect(one, namespace, known)
  if (!isObject(node)) return
  const isNamed = namedTypes.includes(node.type)
  const full = isNamed ? fullNameOf(node, namespace) : ''
  if (isNamed && !known.has(full)) known.set(full, { node, namespace })
  const inner = isNamed ? namespaceOf(full) : namespace
  if (Array.isArray(node.fields))
    for (const field of node.fields) if (isObject(field)) collect(field.type, inner, known)
  for (const part of [node.items, node.values, isNamed ? undefined : node.type]) collect(part, inner, known)
}

interface Names {
  known: ReadonlyMap<string, Definition>
  /** So far, in the order of the text. */
  defined: Set<string>
}

function inline(node: Node, namespace: string, names: Names): Node {
  if (typeof node === 'string') return inlineName(node, namespace, names)
  if (Array.isArray(node)) return node.map(one => inline(one, namespace, names))
  if (!isObject(node)) return node
  if (namedTypes.includes(node.type)) return inlineNamed(node, namespace, names)
  const inlined = { ...node }
  for (const part of ['type', 'items', 'values'] as const) {
    if (part in node) inlined[part] = isTypeWord(part, node) ? node[part] : inline(node[part], namespace, names)
  }
  return inlined
}

/** `array` and `map` name no other type. */
function isTypeWord(part: string, { type }: Record<string, unknown>): boolean {
  return part === 'type' && (type === 'array' || type === 'map')
}

function inlineName(name: string, namespace: string, names: Names): Node {
  if (isPrimitive(name)) return name
  const full = qualify(name, namespace)
  if (names.defined.has(full)) return full
  const found = names.known.get(full) ?? names.known.get(name)
  return found ? inlineNamed(found.node, found.namespace, names) : name
}

function inlineNamed(node: Record<string, unknown>, namespace: string, names: Names): Node {
  const full = fullNameOf(node, namespace)
  if (names.defined.has(full)) return full
  names.defined.add(full)
  const own = namespaceOf(full)
  const head = { ...node, name: shortNameOf(full), namespace: own }
  if (!Array.isArray(node.fields)) return head
  const fields = node.fields.map(field =>
    isObject(field) ? { ...field, type: inline(field.type, own, names) } : field,
  )
  return { ...head, fields }
}
