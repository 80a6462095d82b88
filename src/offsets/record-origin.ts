import type { HeadedRecord } from './offsets-port.ts'

/** Where a record was before a restore. */
export interface RecordOrigin {
  topic: string
  partition: number
  offset: bigint
}

/** From its headers; the last header of each name counts, as a restore adds its own behind those that were there. */
export function readOrigin({ headers }: Pick<HeadedRecord, 'headers'>): RecordOrigin | undefined {
  const text = (name: string) => {
    const value = headers.findLast(([one]) => one === name)?.[1]
    return value ? Buffer.from(value).toString('utf8') : undefined
  }
  const offset = text('x-original-offset')
  if (offset === undefined || !/^\d{1,19}$/.test(offset)) return undefined
  const [topic, partition] = [text('x-original-topic'), text('x-original-partition')]
  if (topic === undefined || partition === undefined || !/^\d{1,10}$/.test(partition)) return undefined
  return { topic, partition: Number(partition), offset: BigInt(offset) }
}
