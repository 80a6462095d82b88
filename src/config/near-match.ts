/** The candidate that was probably meant; undefined where none is close. Case, `_` and `-` do not count. */
export function nearMatch(written: string, candidates: readonly string[]): string | undefined {
  const wanted = normalize(written)
  const limit = wanted.length <= 3 ? 1 : 2
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of candidates) {
    const distance = editDistance(wanted, normalize(candidate))
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance }
  }
  return best?.candidate
}

/** Whether two names are the same but for case, `_` and `-`. */
export function sameName(one: string, other: string): boolean {
  return normalize(one) === normalize(other)
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** Levenshtein: insertions, deletions and substitutions that lead from one text to the other. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const substituted = at(previous, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(substituted, at(previous, column) + 1, at(current, column - 1) + 1))
    }
    previous = current
  }
  return at(previous, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
