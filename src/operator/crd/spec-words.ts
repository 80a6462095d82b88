import { type Mode, modes } from '../../config/mode.ts'
import { type FieldPath, formatPath } from '../../config/problem.ts'
import { type Field, jobTree, kindName, leftOut, type Section } from './field-tree.ts'
import { layoutOf, specPathOf } from './layout.ts'

/**
 * A text about a job file with the names that a resource has for its fields: `secret_access_key` is
 * `secretAccessKeySecret`, `source.topics` is `topics`. Other words that have a `_`, such as values, stay.
 */
export function inSpecWords(text: string): string {
  return text
    .replaceAll(/\b(source|target)\.(topics)\b/g, '$2')
    .replaceAll(/\bfilesystem\b/g, kindName('filesystem'))
    .replaceAll(/\b([a-z]+_env), /g, (whole, word: string) => (isGone(word) ? '' : whole))
    .replaceAll(fieldName, word => specNames().get(word) ?? word)
}

const fieldName = /\b[a-z0-9]+(_[a-z0-9]+)+\b/g
/** Names with dots between them, neither part of a host name nor of a file's path. */
const fieldPath = /(?<![\w/-]|\w\.)[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*|\.\d+)*(?![\w/-]|\.\w)/g
/** What precedes the name of a user's object, which may look like a field. */
const objectBefore = /\b(topics?|groups?|subjects?|users?|buckets?|containers?|contexts?|principals?) [`"']?$/

/**
 * The message of a job for a reader who knows only the resource: `restore.existing_topics` is
 * `spec.restore.existingTopics`. The end of a path stands for the path, as messages shorten them.
 */
export function inSpecPaths(text: string): string {
  return text.replaceAll(fieldPath, (name, at: number) => {
    if (objectBefore.test(text.slice(0, at))) return name
    const found = name.includes('.') ? specPathNamed(name) : name.includes('_') ? specNames().get(name) : undefined
    return found ?? name
  })
}

/** Undefined where no field has such a path, or several fields have it. */
function specPathNamed(text: string): string | undefined {
  const path: FieldPath = text.split('.').map(part => (/^\d+$/.test(part) ? Number(part) : part))
  const name = path.filter(part => typeof part === 'string').join('.')
  const ends = (['backup', 'restore'] as const).flatMap(controller =>
    pathsOf(controller)
      .filter(known => known === name || known.endsWith(`.${name}`))
      .map(known => ({ controller, known })),
  )
  const whole = ends.filter(({ known }) => known === name)
  const found = (whole.length > 0 ? whole : ends).map(({ controller, known }) => {
    const head = known === name ? [] : known.slice(0, -name.length - 1).split('.')
    return formatPath(specPathOf(layoutOf(controller), [...head, ...path], {}))
  })
  return new Set(found).size === 1 ? found[0] : undefined
}

const knownPaths = new Map<Mode, string[]>()

/** The paths of all fields of a job file that a resource has, without the indexes of lists. */
function pathsOf(mode: 'backup' | 'restore'): string[] {
  const known = knownPaths.get(mode) ?? ['storage.path', ...pathsIn(jobTree(mode))]
  knownPaths.set(mode, known)
  return known
}

function pathsIn({ path, fields, chooser }: Section): string[] {
  const at = (key: string) => (path === '' ? key : `${path}.${key}`)
  const below = fields.flatMap(field => {
    const section = sectionOf(field)
    return section ? [at(field.key), ...pathsIn(section)] : ownNames(field).map(([key]) => at(key))
  })
  return chooser ? [at(chooser.key), ...below] : below
}

/** A field that a resource does not have is not listed as allowed. */
function isGone(word: string): boolean {
  return Object.keys(leftOut).some(path => path.endsWith(`.${word}`))
}

let known: ReadonlyMap<string, string> | undefined

function specNames(): ReadonlyMap<string, string> {
  known ??= new Map(modes.flatMap(mode => namesOf(jobTree(mode))))
  return known
}

function namesOf({ fields }: Section): [string, string][] {
  return fields.flatMap(field => [
    ...ownNames(field),
    ...(sectionOf(field) ? namesOf(sectionOf(field) as Section) : []),
  ])
}

function ownNames(field: Field): [string, string][] {
  if (field.type !== 'leaf') return [[field.key, field.name]]
  const name = field.forms[0]?.name ?? field.key
  const isFile = field.forms.some(({ type }) => type === 'secret-file')
  return isFile
    ? [
        [field.key, name],
        [field.key.replace(/_file$/, ''), name],
      ]
    : [[field.key, name]]
}

function sectionOf(field: Field): Section | undefined {
  return field.type === 'section' ? field.section : field.type === 'list' ? field.item : undefined
}
