type Camel<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S

/** The type of a map of snake_case keys in camelCase; a key of `R` takes the name given there. */
export type CamelKeys<T, R extends Partial<Record<keyof T, string>> = Record<never, string>> = {
  [K in keyof T as K extends keyof R ? Extract<R[K], string> : Camel<K>]: T[K]
}

/**
 * The keys of one map (not of what lies below it) in camelCase. `names` renames some, for those whose unit the file
 * leaves to the value: `commit_interval: 60s` becomes `commitIntervalMs`.
 */
export function camelKeys<T extends object, const R extends Partial<Record<keyof T, string>> = Record<never, string>>(
  map: T,
  names?: R,
): CamelKeys<T, R> {
  const renamed: Record<string, string | undefined> = names ?? {}
  const entries = Object.entries(map).map(([key, value]) => [renamed[key] ?? camel(key), value] as const)
  return Object.fromEntries(entries) as CamelKeys<T, R>
}

function camel(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
