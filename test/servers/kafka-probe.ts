import { connect } from 'node:net'

export interface SeenCluster {
  /** That are registered and take clients. */
  brokers: number
  clusterId: string
}

/**
 * What a broker sees of its cluster; undefined while it does not answer properly. A port that accepts connections is not
 * enough: a broker listens before it has joined its cluster.
 */
export function probeCluster(port: number, isOld = false, timeoutMs = 2000): Promise<SeenCluster | undefined> {
  const { encode, decode } = isOld ? metadata : describeCluster
  return new Promise(resolve => {
    let received = Buffer.alloc(0)
    const socket = connect(port, '127.0.0.1', () => socket.write(encode()))
    const finish = (seen: SeenCluster | undefined) => {
      socket.destroy()
      resolve(seen)
    }
    socket.setTimeout(timeoutMs, () => finish(undefined))
    socket.once('error', () => finish(undefined))
    socket.once('close', () => finish(undefined))
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) finish(decode(received))
    })
  })
}

/**
 * DescribeCluster v0:
 *   request  => include_authorized_operations BOOLEAN, TAGS                     (header v2)
 *   response => throttle_ms INT32, error INT16, message COMPACT_NULLABLE_STRING, cluster_id COMPACT_STRING,
 *               controller_id INT32, brokers COMPACT_ARRAY ...                  (header v1)
 */
const describeCluster = {
  encode: () => encodeRequest(60, 0, Buffer.alloc(3)),
  decode: (response: Buffer): SeenCluster | undefined => {
    let at = 4 + 4 + 1 + 4
    if (response.readInt16BE(at) !== 0) return undefined
    at += 2
    // Lengths are one more than the length, 0 for null; all of them fit one byte here.
    at += Math.max(1, response.readUInt8(at))
    const end = at + Math.max(1, response.readUInt8(at))
    return { clusterId: response.toString('utf8', at + 1, end), brokers: response.readUInt8(end + 4) - 1 }
  },
}

/**
 * Metadata v2, of no topic:
 *   request  => topics ARRAY of STRING
 *   response => brokers ARRAY of (node_id INT32, host STRING, port INT32, rack NULLABLE_STRING),
 *               cluster_id NULLABLE_STRING ...
 */
const metadata = {
  encode: () => encodeRequest(3, 2, Buffer.alloc(4)),
  decode: (response: Buffer): SeenCluster | undefined => {
    const brokers = response.readInt32BE(8)
    let at = 12
    const skipText = () => {
      at += 2 + Math.max(0, response.readInt16BE(at))
    }
    for (let broker = 0; broker < brokers; broker++) {
      at += 4
      skipText()
      at += 4
      skipText()
    }
    const start = at + 2
    skipText()
    return { clusterId: response.toString('utf8', start, at), brokers }
  },
}

/** The tags of a header v2 belong to the body. */
function encodeRequest(api: number, version: number, body: Buffer): Buffer {
  const clientId = Buffer.from('probe')
  const head = Buffer.alloc(14)
  head.writeInt32BE(10 + clientId.length + body.length, 0)
  head.writeInt16BE(api, 4)
  head.writeInt16BE(version, 6)
  head.writeInt32BE(1, 8)
  head.writeInt16BE(clientId.length, 12)
  return Buffer.concat([head, clientId, body])
}
