import { createHash } from 'node:crypto'

/**
 * What stands for the ID of a topic where a broker gives it none: made of its name alone, so it is the same in every run, and
 * the same for a topic that is created again under this name. It is a UUID of version 8, while brokers give out random ones
 * (version 4): no topic has it as its own.
 */
export function idOfName(name: string): string {
  const bytes = createHash('sha256').update(`kafka-backup: topic without an ID\0${name}`).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex')
}

/** Whether it was made from the name, and does not come from the cluster. */
export function isIdOfName(id: string, name: string): boolean {
  return id[12] === '8' && id === idOfName(name)
}
