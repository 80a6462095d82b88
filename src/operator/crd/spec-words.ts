import { modes } from '../../config/mode.ts'
import { type Field, jobTree, kindName, leftOut, type Section } from './field-tree.ts'

/**
 * A text about a job file with the names that a resource has for its fields: `secret_access_key` is
 * `secretAccessKeySecret`, `source.topics` is `topics`. Other words that have a `_`, such as values, stay.
 */
export function inSpecWords(text: string): string {
  return text
    .replaceAll(/\b(source|target)\.(topics)\b/g, '$2')
    .replaceAll(/\bfilesystem\b/g, kindName('filesystem'))
    .replaceAll(/\b([a-z]+_env), /g, (whole, word: string) => (isGone(word) ? '' : whole))
    .replaceAll(/\b[a-z0-9]+(_[a-z0-9]+)+\b/g, word => specNames().get(word) ?? word)
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
