/** A record of an archive of OSO kafka-backup. */
export interface OsoRecord {
  offset: bigint
  timestamp: bigint
  key: Buffer | null
  value: Buffer | null
  headers: OsoHeader[]
}

export interface OsoHeader {
  key: Buffer
  value: Buffer | null
}
