import { withCoordinator } from '../../src/kafka/at-coordinators.ts'
import { brokerError } from '../../src/kafka/broker-errors.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import type { Api } from '../../src/kafka/wire/api.ts'

const GROUP_ID_NOT_FOUND = 69

/** Requests of Kafka that delete things, which only tests send. A group that does not exist is fine. */
export async function deleteGroup(cluster: Cluster, group: string, signal: AbortSignal): Promise<void> {
  await withCoordinator(
    cluster,
    group,
    async link => {
      const [answer] = await link.call(deleteGroupsApi, { groups: [group] }, signal)
      const errorCode = answer?.errorCode ?? 0
      if (errorCode !== 0 && errorCode !== GROUP_ID_NOT_FOUND) throw brokerError(errorCode, `deleting group ${group}`)
    },
    signal,
  )
}

/**
 * DeleteGroups v2
 *   request  => [groups_names] TAGS
 *   response => throttle_time_ms [group_id error_code TAGS] TAGS
 */
export const deleteGroupsApi: Api<{ groups: string[] }, { group: string; errorCode: number }[]> = {
  ...{ name: 'DeleteGroups', key: 42, oldest: 2, newest: 2, flexibleFrom: 2 },
  encode: (writer, request) => writer.array(request.groups, group => writer.string(group)).noTags(),
  decode: reader => {
    reader.int32()
    return reader.array(() => {
      const answer = { group: reader.string(), errorCode: reader.int16() }
      reader.tags()
      return answer
    })
  },
}
