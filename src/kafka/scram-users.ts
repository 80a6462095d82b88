import { scramMechanisms } from './acls.ts'
import { describeUserScramCredentials } from './api/describe-user-scram-credentials.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

/** A login by SCRAM as Kafka tells of it: never with its password, salt or keys. */
export interface ScramUser {
  user: string
  /** `SCRAM-SHA-256`, `SCRAM-SHA-512`. */
  mechanism: string
  iterations: number
}

/** All of them, in no order; a user may have several mechanisms. */
export function listScramUsers(cluster: Cluster, signal: AbortSignal): Promise<ScramUser[]> {
  return cluster.settling(async () => {
    const { errorCode, errorMessage, users } = await cluster.callAny(describeUserScramCredentials, {}, signal)
    if (errorCode !== 0) throw brokerError(errorCode, 'listing the SCRAM users of the cluster', errorMessage)
    const failed = users.find(one => one.errorCode !== 0)
    if (failed) throw brokerError(failed.errorCode, `describing the SCRAM user ${failed.user}`, failed.errorMessage)
    return users.flatMap(({ user, credentials }) =>
      credentials.map(({ mechanism, iterations }) => ({
        user,
        mechanism: scramMechanisms.nameOf(mechanism),
        iterations,
      })),
    )
  }, signal)
}
