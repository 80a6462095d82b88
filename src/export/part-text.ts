import { type ShownPart, textOfPart } from '../inspect/show-record.ts'

/** The text of a key or a value next to its bytes; null where the bytes are neither decoded nor text. */
export function partText(part: ShownPart): string | null {
  return part.encoding === 'json' || part.encoding === 'text' ? textOfPart(part) : null
}
