import { type FieldPath, isMap, type Problem } from './problem.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A reference up to its brace, or up to the end where the brace is missing; `$${` is how a literal `${` is written. */
const references = /\$\$\{|\$\{([^}]*)(\}?)/g

/**
 * The job with every `${VAR}` and `${VAR:-default}` in its texts replaced; keys stay as they are. What a variable holds
 * is not looked at again. A reference that cannot be replaced is a problem and stays in the text.
 */
export function interpolate(tree: unknown, env: Environment): { tree: unknown; problems: Problem[] } {
  const problems: Problem[] = []
  const report = (path: FieldPath, wrong: string) => problems.push({ path, about: 'field', wrong })
  return { tree: replaceIn(tree, []), problems }

  function replaceIn(value: unknown, path: FieldPath): unknown {
    if (typeof value === 'string') return replaceInText(value, env, wrong => report(path, wrong))
    if (Array.isArray(value)) return value.map((item, index) => replaceIn(item, [...path, index]))
    if (!isMap(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceIn(item, [...path, key])]))
  }
}

function replaceInText(text: string, env: Environment, report: (wrong: string) => void): string {
  return text.replace(references, (whole, body: string | undefined, brace: string) => {
    if (body === undefined) return '${'
    const [, name, fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(body) ?? []
    if (brace === '' || name === undefined) {
      report(`has a \${ that begins no variable; write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`)
      return whole
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && value !== '') return value
    if (fallback !== undefined) return fallback
    report(
      `the environment variable ${name} is ${value === '' ? 'empty' : 'not set'}; set it, or write \${${name}:-default}`,
    )
    return whole
  })
}
