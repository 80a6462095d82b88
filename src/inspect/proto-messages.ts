import protobuf from 'protobufjs'
import { type ProtoFile, parseProtos } from './proto-files.ts'
import { linkProtos } from './proto-link.ts'

export type { ProtoFile } from './proto-files.ts'

/**
 * The messages of a file. Only the parser of the library is used: to decode, it would generate code from the schema, and a
 * schema in a backup is untrusted input.
 */
export class ProtoMessages {
  readonly #top: readonly protobuf.Type[]

  /** `imports` are all files that it needs, directly or not. Throws an Error that says what is wrong in them. */
  constructor(text: string, imports: readonly ProtoFile[]) {
    const files = parseProtos(text, imports)
    linkProtos(files)
    this.#top = files[0] ? typesIn(files[0].place) : []
  }

  /** The message that indexes lead to: the first counts the messages of the file, the next those inside that one. */
  find(indexes: readonly number[]): protobuf.Type {
    let level = this.#top
    let found: protobuf.Type | undefined
    for (const index of indexes) {
      found = level[index]
      if (!found) throw new RangeError(`the schema has no message with the index ${indexes.join(', ')}`)
      level = typesIn(found)
    }
    if (!found) throw new RangeError('no message is named')
    return found
  }
}

/** In the order of the file. */
function typesIn(place: protobuf.NamespaceBase): protobuf.Type[] {
  return place.nestedArray.filter(nested => nested instanceof protobuf.Type)
}
