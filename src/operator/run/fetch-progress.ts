import { get } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { onUnanswered } from '../../lib/http.ts'
import { startTimeLimit } from '../../lib/time-limit.ts'
import { jobPort } from '../resource/job-pod.ts'
import type { FetchProgress } from './operator-options.ts'

const TIMEOUT_MS = 2000
const MAX_BYTES = 64 * 1024

/** Asks pods at the port, over a connection that is not kept: a pod may be another one the next time. */
export function openFetchProgress(clock: Clock, port = jobPort): FetchProgress {
  return async (ip, signal) => {
    const limit = startTimeLimit(TIMEOUT_MS, clock, signal)
    try {
      return await fetchText(ip, port, limit.signal)
    } catch (error) {
      throw limit.reasonOf(error)
    } finally {
      limit.end()
    }
  }
}

function fetchText(host: string, port: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get({ host, port, path: '/progress', signal, agent: false }, response => {
      if (response.statusCode !== 200) {
        response.destroy()
        reject(new Error(`the pod at ${host} answered ${response.statusCode}`))
        return
      }
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > MAX_BYTES)
          response.destroy(new Error(`the pod at ${host} answered with more than ${MAX_BYTES} bytes`))
      })
      response.once('error', reject)
      response.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    })
    asked.once('error', reject)
    onUnanswered(asked, reject)
  })
}
