import { KafkaBackupError } from '../../errors.ts'

export interface Endpoint {
  host: string
  port: number
}

/** `host:port`, with an IPv6 address in brackets. */
export function parseEndpoint(text: string): Endpoint {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port < 1 || port > 65535) {
    throw new KafkaBackupError('CONFIG_INVALID', `\`${text}\` is not a broker address; write host:port`)
  }
  return { host, port }
}
