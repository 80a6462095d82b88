/**
 * A scalar of a document from elsewhere as text; empty for anything else. `String()` fails for an object whose `toString` is
 * not a function, and any JSON may hold one.
 */
export function textOf(value: unknown): string {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : ''
}

/** A number, or digits; NaN for anything else. `Number()` fails as `String()` does. */
export function numberOf(value: unknown): number {
  return ['string', 'number', 'bigint'].includes(typeof value) ? Number(value) : Number.NaN
}
