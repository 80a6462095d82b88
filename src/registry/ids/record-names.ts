import type { SchemaVersion } from '../../archive/registry-model.ts'

/** The full names of the records that a schema may describe, as serializers put them into subjects. */
export function recordNames(schemaType: SchemaVersion['schemaType'], text: string): Set<string> {
  switch (schemaType) {
    case 'AVRO':
      return avroNames(parseJson(text))
    case 'JSON':
      return titleOf(parseJson(text))
    case 'PROTOBUF':
      return messageNames(text)
    default:
      return schemaType satisfies never
  }
}

/** Of a union every branch may be written. */
function avroNames(schema: unknown): Set<string> {
  if (typeof schema === 'string') return new Set([schema])
  if (Array.isArray(schema)) return new Set(schema.flatMap(branch => [...avroNames(branch)]))
  if (!isObject(schema)) return new Set()
  const { name, namespace, type } = schema
  if (typeof name !== 'string') return typeof type === 'string' ? new Set([type]) : new Set()
  const isQualified = name.includes('.') || typeof namespace !== 'string' || namespace === ''
  return new Set([isQualified ? name : `${namespace}.${name}`])
}

function titleOf(schema: unknown): Set<string> {
  return isObject(schema) && typeof schema.title === 'string' ? new Set([schema.title]) : new Set()
}

/** Any message of the file, also one inside another; found by braces, which a file that a registry took has in pairs. */
function messageNames(text: string): Set<string> {
  const plain = text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, ' ')
  const [, scope] = /(?:^|[;\s])package\s+([\w.]+)\s*;/.exec(plain) ?? []
  const names = new Set<string>()
  const open: (string | undefined)[] = []
  for (const [token, name] of plain.matchAll(/\bmessage\s+(\w+)\s*\{|[{}]/g)) {
    if (token === '}') {
      open.pop()
      continue
    }
    open.push(name)
    if (name === undefined) continue
    names.add([scope, ...open].filter(part => part !== undefined).join('.'))
  }
  return names
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null
}
