import { type FieldPath, formatPath, isMap, type Problem, valueAt } from './problem.ts'
import { parseFragment } from './yaml-source.ts'

/** What `--set` left behind: the changed job, the paths it changed, and what could not be done. */
export interface Overridden {
  tree: unknown
  paths: FieldPath[]
  problems: Problem[]
}

/** A key such as orders/0 is part of the value. */
const UNUSUAL_PATH =
  "has another character than A-Z a-z 0-9 _ - . in its path; set the map instead, such as 'restore.offset_ranges={orders/0: {end: 5}}'"

/**
 * Applies `--set path=value` arguments in their order; the tree handed in stays as it is. Scalars stay the text that
 * was written and are typed by their field: `--set backup_id=20240131` gives a text, `--set backup.segment_bytes=…` a
 * size. No message shows a value, since any of them may be a secret.
 */
export function applyOverrides(tree: unknown, settings: readonly string[]): Overridden {
  const result: Overridden = { tree, paths: [], problems: [] }
  for (const [index, setting] of settings.entries()) {
    const [, written = '', value = ''] = /^([^=]*)=(.*)$/s.exec(setting) ?? []
    const path = written.trim().split('.')
    const parsed = parseFragment(value)
    if (!path.every(segment => /^[A-Za-z0-9_-]+$/.test(segment)) || path.includes('__proto__')) {
      const wrong = /[^\w.\s-]/.test(written)
        ? UNUSUAL_PATH
        : 'needs the form path=value, such as backup.compression=none'
      result.problems.push(refuse([`--set (argument ${index + 1})`], wrong))
      continue
    }
    result.paths.push(path)
    const changed: Changed =
      'wrong' in parsed
        ? { wrong: `the value is not valid YAML: ${parsed.wrong}` }
        : setAt(result.tree, path, parsed.value, [])
    if ('wrong' in changed) result.problems.push(refuse(path, changed.wrong))
    else result.tree = changed.value
  }
  return result
}

/** The tree with a list of one in the place of a single value. */
export function wrapAt(tree: unknown, path: FieldPath): unknown {
  const changed = setAt(tree, path.map(String), [valueAt(tree, path)], [])
  return 'wrong' in changed ? tree : changed.value
}

type Changed = { value: unknown } | { wrong: string }

/** A copy of `node` with the value at `rest`; `done` is the path from the root to `node`. */
function setAt(node: unknown, rest: readonly string[], value: unknown, done: FieldPath): Changed {
  const [head, ...tail] = rest
  if (head === undefined) return { value }
  const parent = node ?? (head === '0' ? [] : {})
  const at = formatPath(done)
  if (Array.isArray(parent)) {
    const index = /^\d+$/.test(head) ? Number(head) : Number.NaN
    if (!(index <= parent.length)) {
      return { wrong: `${at} is a list of ${parent.length}; after it comes an index from 0 to ${parent.length}` }
    }
    const changed = setAt(parent[index], tail, value, [...done, index])
    return 'wrong' in changed ? changed : { value: parent.toSpliced(index, 1, changed.value) }
  }
  if (!isMap(parent)) return { wrong: `${at} is a single value, so nothing can be set below it` }
  const changed = setAt(Object.hasOwn(parent, head) ? parent[head] : undefined, tail, value, [...done, head])
  return 'wrong' in changed ? changed : { value: { ...parent, [head]: changed.value } }
}

function refuse(path: FieldPath, wrong: string): Problem {
  return { path, about: 'field', wrong }
}
