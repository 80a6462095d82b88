import { formatJsonPieces } from '../lib/json.ts'
import { damaged } from './damage.ts'
import { hashOf } from './hash.ts'

/** The end of a sealed document: the hash of every byte before it. */
const SEAL = /,\n "checksum": "([0-9a-f]{64})"\n}\n$/
const SEAL_BYTES = ',\n "checksum": "'.length + 64 + '"\n}\n'.length

/** A JSON document that vouches for itself; for those that no other object holds the hash of. */
export function sealJson(document: object): Buffer {
  // Of thousands of partitions, all text at once takes several times the memory of its bytes.
  const pieces = Array.from(formatJsonPieces(document, 1), text => Buffer.from(text))
  const bodyBytes = pieces.reduce((sum, { length }) => sum + length, 0) - '\n}'.length
  const sealed = Buffer.allocUnsafeSlow(bodyBytes + SEAL_BYTES)
  let at = 0
  for (const piece of pieces) at += piece.copy(sealed, at)
  sealed.write(`,\n "checksum": "${hashOf(sealed.subarray(0, bodyBytes))}"\n}\n`, bodyBytes, 'latin1')
  return sealed
}

/**
 * Refuses a document whose checksum is not that of its bytes. One that does not claim any passes: the first version wrote
 * none. `isClaimed` says that the document, parsed, has the field.
 */
export function checkSeal(bytes: Buffer, key: string, isClaimed: boolean): void {
  const end = Math.max(0, bytes.length - SEAL_BYTES)
  const claimed = SEAL.exec(bytes.toString('latin1', end))?.[1]
  if (claimed === undefined ? !isClaimed : claimed === hashOf(bytes.subarray(0, end))) return
  throw damaged(key, 'does not have the checksum that it claims')
}
